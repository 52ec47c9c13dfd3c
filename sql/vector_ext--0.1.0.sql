\echo Use "CREATE EXTENSION vector_ext" to load this file. \quit

-- type vector

CREATE TYPE vector;


CREATE FUNCTION vector_in(cstring, oid, integer) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_out(vector) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_recv(internal, oid, integer) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_send(vector) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE vector (
	INPUT = vector_in,
	OUTPUT = vector_out,
	TYPMOD_IN = vector_typmod_in,
	RECEIVE = vector_recv,
	SEND = vector_send,
	STORAGE = external
);

-- distances


CREATE FUNCTION l2_distance(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE FUNCTION inner_product(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE FUNCTION cosine_distance(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE FUNCTION l1_distance(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

-- other public functions


CREATE FUNCTION vector_dims(vector) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_norm(vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION l2_normalize(vector) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION binary_quantize(vector) RETURNS bit
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION subvector(vector, integer, integer) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- functions behind operators


CREATE FUNCTION vector_add(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_sub(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_mul(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_concat(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_lt(vector, vector) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_le(vector, vector) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_eq(vector, vector) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_ne(vector, vector) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_ge(vector, vector) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_gt(vector, vector) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_cmp(vector, vector) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_l2_squared_distance(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE FUNCTION vector_negative_inner_product(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE FUNCTION vector_spherical_distance(vector, vector) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

-- aggregates


CREATE FUNCTION vector_accum(double precision[], vector) RETURNS double precision[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_combine(double precision[], double precision[]) RETURNS double precision[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_avg(double precision[]) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_sum(double precision[]) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE avg(vector) (
	SFUNC = vector_accum,
	STYPE = double precision[],
	FINALFUNC = vector_avg,
	COMBINEFUNC = vector_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);


CREATE AGGREGATE sum(vector) (
	SFUNC = vector_accum,
	STYPE = double precision[],
	FINALFUNC = vector_sum,
	COMBINEFUNC = vector_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);


-- casts


CREATE FUNCTION vector(vector, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION array_to_vector(integer[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION array_to_vector(real[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION array_to_vector(double precision[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION array_to_vector(numeric[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_to_float4(vector, integer, boolean) RETURNS real[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE CAST (vector AS vector)
	WITH FUNCTION vector(vector, integer, boolean) AS IMPLICIT;


CREATE CAST (vector AS real[])
	WITH FUNCTION vector_to_float4(vector, integer, boolean) AS IMPLICIT;


CREATE CAST (integer[] AS vector)
	WITH FUNCTION array_to_vector(integer[], integer, boolean) AS ASSIGNMENT;


CREATE CAST (real[] AS vector)
	WITH FUNCTION array_to_vector(real[], integer, boolean) AS ASSIGNMENT;


CREATE CAST (double precision[] AS vector)
	WITH FUNCTION array_to_vector(double precision[], integer, boolean) AS ASSIGNMENT;


CREATE CAST (numeric[] AS vector)
	WITH FUNCTION array_to_vector(numeric[], integer, boolean) AS ASSIGNMENT;


-- operators: distances, which an index can order by


CREATE OPERATOR <-> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = l2_distance,
	COMMUTATOR = <->
);


CREATE OPERATOR <#> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_negative_inner_product,
	COMMUTATOR = <#>
);


CREATE OPERATOR <=> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = cosine_distance,
	COMMUTATOR = <=>
);


CREATE OPERATOR <+> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = l1_distance,
	COMMUTATOR = <+>
);


-- operators: arithmetic


CREATE OPERATOR + (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_add,
	COMMUTATOR = +
);


CREATE OPERATOR - (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_sub
);


CREATE OPERATOR * (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_mul,
	COMMUTATOR = *
);


CREATE OPERATOR || (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_concat
);


-- operators: comparison


CREATE OPERATOR < (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);


CREATE OPERATOR <= (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);


CREATE OPERATOR = (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel
);


CREATE OPERATOR <> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);


CREATE OPERATOR >= (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);


CREATE OPERATOR > (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);


CREATE OPERATOR CLASS vector_ops
	DEFAULT FOR TYPE vector USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 vector_cmp(vector, vector);

-- distance operators with an array on the right-hand side: the support function
-- turns each into the operator of the same name on vectors

CREATE FUNCTION vector_array_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;


CREATE FUNCTION vector_array_l2_distance(vector, integer[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l2_distance(vector, real[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l2_distance(vector, double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l2_distance(vector, numeric[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_negative_inner_product(vector, integer[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_negative_inner_product(vector, real[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_negative_inner_product(vector, double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_negative_inner_product(vector, numeric[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_cosine_distance(vector, integer[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_cosine_distance(vector, real[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_cosine_distance(vector, double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_cosine_distance(vector, numeric[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l1_distance(vector, integer[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l1_distance(vector, real[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l1_distance(vector, double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE FUNCTION vector_array_l1_distance(vector, numeric[]) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT vector_array_support
	COST 100;

CREATE OPERATOR <-> (
	LEFTARG = vector, RIGHTARG = integer[], FUNCTION = vector_array_l2_distance
);


CREATE OPERATOR <-> (
	LEFTARG = vector, RIGHTARG = real[], FUNCTION = vector_array_l2_distance
);


CREATE OPERATOR <-> (
	LEFTARG = vector, RIGHTARG = double precision[], FUNCTION = vector_array_l2_distance
);


CREATE OPERATOR <-> (
	LEFTARG = vector, RIGHTARG = numeric[], FUNCTION = vector_array_l2_distance
);


CREATE OPERATOR <#> (
	LEFTARG = vector, RIGHTARG = integer[], FUNCTION = vector_array_negative_inner_product
);


CREATE OPERATOR <#> (
	LEFTARG = vector, RIGHTARG = real[], FUNCTION = vector_array_negative_inner_product
);


CREATE OPERATOR <#> (
	LEFTARG = vector, RIGHTARG = double precision[], FUNCTION = vector_array_negative_inner_product
);


CREATE OPERATOR <#> (
	LEFTARG = vector, RIGHTARG = numeric[], FUNCTION = vector_array_negative_inner_product
);


CREATE OPERATOR <=> (
	LEFTARG = vector, RIGHTARG = integer[], FUNCTION = vector_array_cosine_distance
);


CREATE OPERATOR <=> (
	LEFTARG = vector, RIGHTARG = real[], FUNCTION = vector_array_cosine_distance
);


CREATE OPERATOR <=> (
	LEFTARG = vector, RIGHTARG = double precision[], FUNCTION = vector_array_cosine_distance
);


CREATE OPERATOR <=> (
	LEFTARG = vector, RIGHTARG = numeric[], FUNCTION = vector_array_cosine_distance
);


CREATE OPERATOR <+> (
	LEFTARG = vector, RIGHTARG = integer[], FUNCTION = vector_array_l1_distance
);


CREATE OPERATOR <+> (
	LEFTARG = vector, RIGHTARG = real[], FUNCTION = vector_array_l1_distance
);


CREATE OPERATOR <+> (
	LEFTARG = vector, RIGHTARG = double precision[], FUNCTION = vector_array_l1_distance
);


CREATE OPERATOR <+> (
	LEFTARG = vector, RIGHTARG = numeric[], FUNCTION = vector_array_l1_distance
);


-- end of type vector

-- access method ann

CREATE FUNCTION ann_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;

CREATE ACCESS METHOD ann TYPE INDEX HANDLER ann_handler;

COMMENT ON ACCESS METHOD ann IS
	'approximate nearest neighbour index over quantised vectors, flat or in lists';

-- The argument is not used: the result is a constant of the library.
CREATE FUNCTION ann_vector_l2_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_vector_ip_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_vector_cosine_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- what the planner makes of conditions and orders, and nobody writes

CREATE TYPE vector_ball;

CREATE FUNCTION vector_ball_in(cstring, oid, integer) RETURNS vector_ball
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_ball_out(vector_ball) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE vector_ball (
	INPUT = vector_ball_in, OUTPUT = vector_ball_out, ALIGNMENT = double,
	STORAGE = extended
);

COMMENT ON TYPE vector_ball IS
	'made by the planner: the vectors within a distance of another';

CREATE FUNCTION vector_ball(
	centre vector, bound float8, slope float8, "offset" float8
) RETURNS vector_ball
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION vector_within_l2(vector, vector_ball) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE OPERATOR <->@ (
	LEFTARG = vector, RIGHTARG = vector_ball, FUNCTION = vector_within_l2,
	RESTRICT = areasel, JOIN = areajoinsel
);

-- as <->, in an order that falls with it: NULL and NaN first; NaN first, NULL last
CREATE OPERATOR <->| (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = l2_distance
);

CREATE OPERATOR <->|| (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = l2_distance
);

CREATE FUNCTION vector_within_ip(vector, vector_ball) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE OPERATOR <#>@ (
	LEFTARG = vector, RIGHTARG = vector_ball, FUNCTION = vector_within_ip,
	RESTRICT = areasel, JOIN = areajoinsel
);

-- as <#>, in an order that falls with it: NULL and NaN first; NaN first, NULL last
CREATE OPERATOR <#>| (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_negative_inner_product
);

CREATE OPERATOR <#>|| (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_negative_inner_product
);

CREATE FUNCTION vector_within_cosine(vector, vector_ball) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	COST 100;

CREATE OPERATOR <=>@ (
	LEFTARG = vector, RIGHTARG = vector_ball, FUNCTION = vector_within_cosine,
	RESTRICT = areasel, JOIN = areajoinsel
);

-- as <=>, in an order that falls with it: NULL and NaN first; NaN first, NULL last
CREATE OPERATOR <=>| (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = cosine_distance
);

CREATE OPERATOR <=>|| (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = cosine_distance
);

CREATE OPERATOR CLASS vector_l2_ops
	DEFAULT FOR TYPE vector USING ann AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY float_ops,
	OPERATOR 9 <->@ (vector, vector_ball),
	OPERATOR 10 <->| (vector, vector) FOR ORDER BY float_ops,
	OPERATOR 11 <->|| (vector, vector) FOR ORDER BY float_ops,
	FUNCTION 1 (vector, vector) ann_vector_l2_support(internal);

CREATE OPERATOR CLASS vector_ip_ops
	FOR TYPE vector USING ann AS
	OPERATOR 1 <#> (vector, vector) FOR ORDER BY float_ops,
	OPERATOR 9 <#>@ (vector, vector_ball),
	OPERATOR 10 <#>| (vector, vector) FOR ORDER BY float_ops,
	OPERATOR 11 <#>|| (vector, vector) FOR ORDER BY float_ops,
	FUNCTION 1 (vector, vector) ann_vector_ip_support(internal);

CREATE OPERATOR CLASS vector_cosine_ops
	FOR TYPE vector USING ann AS
	OPERATOR 1 <=> (vector, vector) FOR ORDER BY float_ops,
	OPERATOR 9 <=>@ (vector, vector_ball),
	OPERATOR 10 <=>| (vector, vector) FOR ORDER BY float_ops,
	OPERATOR 11 <=>|| (vector, vector) FOR ORDER BY float_ops,
	FUNCTION 1 (vector, vector) ann_vector_cosine_support(internal);

-- filter columns: what is stored of a value is said by a constant, too

CREATE FUNCTION ann_bool_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_int2_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_int4_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_int8_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_float4_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_float8_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_date_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_time_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_timestamp_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_timestamptz_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_oid_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_enum_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_uuid_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_hash_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION ann_array_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE OPERATOR FAMILY integer_ops USING ann;

CREATE OPERATOR CLASS int2_ops
	DEFAULT FOR TYPE int2 USING ann FAMILY integer_ops AS
	OPERATOR 2 < (int2, int2),
	OPERATOR 3 <= (int2, int2),
	OPERATOR 4 = (int2, int2),
	OPERATOR 5 >= (int2, int2),
	OPERATOR 6 > (int2, int2),
	FUNCTION 2 (int2, int2) ann_int2_support(internal);

CREATE OPERATOR CLASS int4_ops
	DEFAULT FOR TYPE int4 USING ann FAMILY integer_ops AS
	OPERATOR 2 < (int4, int4),
	OPERATOR 3 <= (int4, int4),
	OPERATOR 4 = (int4, int4),
	OPERATOR 5 >= (int4, int4),
	OPERATOR 6 > (int4, int4),
	FUNCTION 2 (int4, int4) ann_int4_support(internal);

CREATE OPERATOR CLASS int8_ops
	DEFAULT FOR TYPE int8 USING ann FAMILY integer_ops AS
	OPERATOR 2 < (int8, int8),
	OPERATOR 3 <= (int8, int8),
	OPERATOR 4 = (int8, int8),
	OPERATOR 5 >= (int8, int8),
	OPERATOR 6 > (int8, int8),
	FUNCTION 2 (int8, int8) ann_int8_support(internal);

ALTER OPERATOR FAMILY integer_ops USING ann ADD
	OPERATOR 2 < (int2, int4),
	OPERATOR 3 <= (int2, int4),
	OPERATOR 4 = (int2, int4),
	OPERATOR 5 >= (int2, int4),
	OPERATOR 6 > (int2, int4),
	OPERATOR 2 < (int2, int8),
	OPERATOR 3 <= (int2, int8),
	OPERATOR 4 = (int2, int8),
	OPERATOR 5 >= (int2, int8),
	OPERATOR 6 > (int2, int8),
	OPERATOR 2 < (int4, int2),
	OPERATOR 3 <= (int4, int2),
	OPERATOR 4 = (int4, int2),
	OPERATOR 5 >= (int4, int2),
	OPERATOR 6 > (int4, int2),
	OPERATOR 2 < (int4, int8),
	OPERATOR 3 <= (int4, int8),
	OPERATOR 4 = (int4, int8),
	OPERATOR 5 >= (int4, int8),
	OPERATOR 6 > (int4, int8),
	OPERATOR 2 < (int8, int2),
	OPERATOR 3 <= (int8, int2),
	OPERATOR 4 = (int8, int2),
	OPERATOR 5 >= (int8, int2),
	OPERATOR 6 > (int8, int2),
	OPERATOR 2 < (int8, int4),
	OPERATOR 3 <= (int8, int4),
	OPERATOR 4 = (int8, int4),
	OPERATOR 5 >= (int8, int4),
	OPERATOR 6 > (int8, int4);

CREATE OPERATOR FAMILY float_ops USING ann;

CREATE OPERATOR CLASS float4_ops
	DEFAULT FOR TYPE float4 USING ann FAMILY float_ops AS
	OPERATOR 2 < (float4, float4),
	OPERATOR 3 <= (float4, float4),
	OPERATOR 4 = (float4, float4),
	OPERATOR 5 >= (float4, float4),
	OPERATOR 6 > (float4, float4),
	FUNCTION 2 (float4, float4) ann_float4_support(internal);

CREATE OPERATOR CLASS float8_ops
	DEFAULT FOR TYPE float8 USING ann FAMILY float_ops AS
	OPERATOR 2 < (float8, float8),
	OPERATOR 3 <= (float8, float8),
	OPERATOR 4 = (float8, float8),
	OPERATOR 5 >= (float8, float8),
	OPERATOR 6 > (float8, float8),
	FUNCTION 2 (float8, float8) ann_float8_support(internal);

ALTER OPERATOR FAMILY float_ops USING ann ADD
	OPERATOR 2 < (float4, float8),
	OPERATOR 3 <= (float4, float8),
	OPERATOR 4 = (float4, float8),
	OPERATOR 5 >= (float4, float8),
	OPERATOR 6 > (float4, float8),
	OPERATOR 2 < (float8, float4),
	OPERATOR 3 <= (float8, float4),
	OPERATOR 4 = (float8, float4),
	OPERATOR 5 >= (float8, float4),
	OPERATOR 6 > (float8, float4);

CREATE OPERATOR CLASS bool_ops
	DEFAULT FOR TYPE bool USING ann AS
	OPERATOR 2 < (bool, bool),
	OPERATOR 3 <= (bool, bool),
	OPERATOR 4 = (bool, bool),
	OPERATOR 5 >= (bool, bool),
	OPERATOR 6 > (bool, bool),
	FUNCTION 2 (bool, bool) ann_bool_support(internal);

CREATE OPERATOR CLASS date_ops
	DEFAULT FOR TYPE date USING ann AS
	OPERATOR 2 < (date, date),
	OPERATOR 3 <= (date, date),
	OPERATOR 4 = (date, date),
	OPERATOR 5 >= (date, date),
	OPERATOR 6 > (date, date),
	FUNCTION 2 (date, date) ann_date_support(internal);

CREATE OPERATOR CLASS time_ops
	DEFAULT FOR TYPE time USING ann AS
	OPERATOR 2 < (time, time),
	OPERATOR 3 <= (time, time),
	OPERATOR 4 = (time, time),
	OPERATOR 5 >= (time, time),
	OPERATOR 6 > (time, time),
	FUNCTION 2 (time, time) ann_time_support(internal);

CREATE OPERATOR CLASS timestamp_ops
	DEFAULT FOR TYPE timestamp USING ann AS
	OPERATOR 2 < (timestamp, timestamp),
	OPERATOR 3 <= (timestamp, timestamp),
	OPERATOR 4 = (timestamp, timestamp),
	OPERATOR 5 >= (timestamp, timestamp),
	OPERATOR 6 > (timestamp, timestamp),
	FUNCTION 2 (timestamp, timestamp) ann_timestamp_support(internal);

CREATE OPERATOR CLASS timestamptz_ops
	DEFAULT FOR TYPE timestamptz USING ann AS
	OPERATOR 2 < (timestamptz, timestamptz),
	OPERATOR 3 <= (timestamptz, timestamptz),
	OPERATOR 4 = (timestamptz, timestamptz),
	OPERATOR 5 >= (timestamptz, timestamptz),
	OPERATOR 6 > (timestamptz, timestamptz),
	FUNCTION 2 (timestamptz, timestamptz) ann_timestamptz_support(internal);

CREATE OPERATOR CLASS oid_ops
	DEFAULT FOR TYPE oid USING ann AS
	OPERATOR 2 < (oid, oid),
	OPERATOR 3 <= (oid, oid),
	OPERATOR 4 = (oid, oid),
	OPERATOR 5 >= (oid, oid),
	OPERATOR 6 > (oid, oid),
	FUNCTION 2 (oid, oid) ann_oid_support(internal);

CREATE OPERATOR CLASS uuid_ops
	DEFAULT FOR TYPE uuid USING ann AS
	OPERATOR 2 < (uuid, uuid),
	OPERATOR 3 <= (uuid, uuid),
	OPERATOR 4 = (uuid, uuid),
	OPERATOR 5 >= (uuid, uuid),
	OPERATOR 6 > (uuid, uuid),
	FUNCTION 2 (uuid, uuid) ann_uuid_support(internal);

CREATE OPERATOR CLASS enum_ops
	DEFAULT FOR TYPE anyenum USING ann AS
	OPERATOR 2 < (anyenum, anyenum),
	OPERATOR 3 <= (anyenum, anyenum),
	OPERATOR 4 = (anyenum, anyenum),
	OPERATOR 5 >= (anyenum, anyenum),
	OPERATOR 6 > (anyenum, anyenum),
	FUNCTION 2 (anyenum, anyenum) ann_enum_support(internal);

-- a hash, whose rows are looked at once more: equality only

CREATE OPERATOR CLASS text_ops
	DEFAULT FOR TYPE text USING ann AS
	OPERATOR 4 = (text, text),
	FUNCTION 2 (text, text) ann_hash_support(internal);

CREATE OPERATOR CLASS bpchar_ops
	DEFAULT FOR TYPE bpchar USING ann AS
	OPERATOR 4 = (bpchar, bpchar),
	FUNCTION 2 (bpchar, bpchar) ann_hash_support(internal);

CREATE OPERATOR CLASS name_ops
	DEFAULT FOR TYPE name USING ann AS
	OPERATOR 4 = (name, name),
	FUNCTION 2 (name, name) ann_hash_support(internal);

CREATE OPERATOR CLASS numeric_ops
	DEFAULT FOR TYPE numeric USING ann AS
	OPERATOR 4 = (numeric, numeric),
	FUNCTION 2 (numeric, numeric) ann_hash_support(internal);

CREATE OPERATOR CLASS inet_ops
	DEFAULT FOR TYPE inet USING ann AS
	OPERATOR 4 = (inet, inet),
	FUNCTION 2 (inet, inet) ann_hash_support(internal);

ALTER OPERATOR FAMILY name_ops USING ann ADD OPERATOR 4 = (name, text);

-- a signature of the elements, with another look as well
CREATE OPERATOR CLASS array_ops
	DEFAULT FOR TYPE anyarray USING ann AS
	OPERATOR 7 && (anyarray, anyarray),
	OPERATOR 8 @> (anyarray, anyarray),
	FUNCTION 2 (anyarray, anyarray) ann_array_support(internal);

-- end of access method ann

-- inspection of ann indexes

CREATE FUNCTION ann_info(index regclass,
	OUT metric text, OUT dimensions int, OUT bits int, OUT layout text,
	OUT lists_option int, OUT lists int, OUT flat bool,
	OUT rows bigint, OUT dead_rows bigint,
	OUT null_rows bigint, OUT zero_rows bigint,
	OUT pages bigint, OUT index_bytes bigint, OUT bytes_per_row float8,
	OUT slots_per_page int, OUT seed bigint, OUT format int,
	OUT shape_seq bigint, OUT mean_residual float8,
	OUT average_list_rows float8, OUT largest_list_rows bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION ann_info(regclass) IS
	'sizes and settings of an ann index; rows as of the build or the last VACUUM';

CREATE FUNCTION ann_lists(index regclass,
	OUT list_id bigint, OUT rows bigint, OUT pages int, OUT run int,
	OUT code_pages int,
	OUT mean_residual float8, OUT centroid_norm float8, OUT kind text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
	ROWS 1000;

COMMENT ON FUNCTION ann_lists(regclass) IS
	'the lists of an ann index, with their rows now';

CREATE FUNCTION ann_check(index regclass, heapallindexed bool DEFAULT false,
	OUT pages_checked bigint, OUT rows_checked bigint,
	OUT leaked_pages bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION ann_check(regclass, bool) IS
	'verifies the invariants of an ann index and, on request, every row of its table';

CREATE FUNCTION ann_prewarm(index regclass, what text DEFAULT 'all')
	RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION ann_prewarm(regclass, text) IS
	'reads the directory or all pages of an ann index into shared buffers; how many';

CREATE FUNCTION ann_last_scan(
	OUT index regclass, OUT lists int, OUT probed int,
	OUT entries bigint, OUT filtered bigint, OUT refined bigint,
	OUT candidates bigint,
	OUT fetched bigint, OUT detoasted bigint, OUT returned bigint,
	OUT rounds bigint, OUT stop text,
	OUT buffers_hit bigint, OUT buffers_read bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION ann_last_scan() IS
	'the work of the ann index scan that ended last in this session';

CREATE FUNCTION ann_recall(index regclass, k int DEFAULT 10,
	sample int DEFAULT 200,
	OUT queries int, OUT neighbours int, OUT recall float8, OUT target float8,
	OUT probed float8, OUT entries float8, OUT share float8,
	OUT milliseconds float8)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION ann_recall(regclass, int, int) IS
	'the recall of an ann index at the current settings, with rows of its table as queries';

CREATE FUNCTION ann_build_estimate(rows bigint, dimensions int,
	OUT lists int, OUT index_bytes bigint, OUT memory_bytes bigint,
	OUT sampling float8, OUT clustering float8, OUT assigning float8,
	OUT writing float8, OUT calibrating float8, OUT seconds float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION ann_build_estimate(bigint, int) IS
	'what CREATE INDEX USING ann would take: size, memory, and seconds of each phase';

CREATE FUNCTION ann_why(index regclass, query text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION ann_why(regclass, text) IS
	'the first reason why the plan of a query does not use an ann index';

-- end of inspection of ann indexes
