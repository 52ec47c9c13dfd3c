-- Every error of type vector that a user can reach, with its SQLSTATE. Binary
-- input is in vector_copy.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

CREATE FUNCTION raised(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat(SQLSTATE, ' ', left(message, 100), E'\n  detail: ' || nullif(detail, ''), E'\n  hint: ' || nullif(hint, ''));
END
$$;
\pset format unaligned
\pset tuples_only on

-- Text form.
SELECT raised(format('SELECT %L::vector', input)) FROM (VALUES
	(1, ''), (2, '  '), (3, '1,2'), (4, '(1,2)'), (5, '{1,2}'), (6, '['), (7, '[1'), (8, '[1,'), (9, '[1,2'), (10, '[,1]'),
	(11, '[1,]'), (12, '[1,,2]'), (13, '[1 2]'), (14, '[a]'), (15, '[1,b2]'), (16, '[1;2]'), (17, '[1]2'), (18, '[1][2]'),
	(19, '[1],'), (20, '[1,2],3'), (21, '[[1]]'), (22, '[1e]'), (23, '[--1]'), (24, '[1,2]é')) t (n, input) ORDER BY n;
SELECT raised(format('SELECT %L::vector', input)) FROM (VALUES
	(1, '[]'), (2, '[ ]'), (3, '[NaN]'), (4, '[1,nan]'), (5, '[Infinity]'), (6, '[-inf]'), (7, '[4e38]'), (8, '[1,-4e38]'),
	(9, '[1e1000,1]')) t (n, input) ORDER BY n;
SELECT raised(format('SELECT %L::vector', '[' || repeat('1,', 16000) || '1]'));
SELECT raised(format('SELECT %L::vector', '[' || repeat(',', 100000) || ']'));

-- Type modifier.
SELECT raised(format('SELECT NULL::vector(%s)', modifier)) FROM (VALUES (1, '0'), (2, '-1'), (3, '16001'), (4, '1,2'),
	(5, '99999999999'), (6, '''a''')) t (n, modifier) ORDER BY n;
SELECT raised(format('SELECT %s', expression)) FROM (VALUES (1, $$'[1,2]'::vector(3)$$), (2, $$'[1,2,3,4]'::vector(3)$$),
	(3, $$'[1,2]'::vector::vector(3)$$), (4, $$'{1,2}'::real[]::vector(3)$$)) t (n, expression) ORDER BY n;

-- Arrays.
SELECT raised(format('SELECT (%s)::vector', expression)) FROM (VALUES (1, $$'{}'::real[]$$), (2, $$'{}'::int[]$$),
	(3, $$'{{1,2},{3,4}}'::real[]$$), (4, $$'{{1}}'::numeric[]$$), (5, $$'{1,NULL}'::real[]$$), (6, $$'{NULL}'::int[]$$),
	(7, $$'{NaN}'::real[]$$), (8, $$'{Infinity}'::real[]$$), (9, $$'{NaN}'::float8[]$$), (10, $$'{-Infinity}'::float8[]$$),
	(11, $$'{4e38}'::float8[]$$), (12, $$'{-1e300}'::float8[]$$), (13, $$'{4e38}'::numeric[]$$), (14, $$'{1e400}'::numeric[]$$),
	(15, $$'{NaN}'::numeric[]$$), (16, $$array_fill(1::real, '{16001}')$$), (17, $$array_fill(1::int, '{4,4001}')$$),
	(18, $$'{1}'::text[]$$), (19, $$'{-Infinity}'::numeric[]$$)) t (n, expression) ORDER BY n;

-- Two vectors of different dimensions.
SELECT raised(format('SELECT %L::vector %s %L::vector', '[1,2]', op, '[3]'))
	FROM unnest('{<->,<#>,<=>,<+>,+,-,*}'::text[]) op;
SELECT raised(format('SELECT %s(%L::vector, %L::vector)', name, '[1,2]', '[3]'))
	FROM unnest('{l2_distance,inner_product,cosine_distance,l1_distance,vector_l2_squared_distance,
		vector_negative_inner_product,vector_spherical_distance}'::text[]) name;
SELECT raised(format('SELECT %L::vector %s %L::%s', '[1,2]', op, '{3}', type))
	FROM unnest('{<->,<#>,<=>,<+>}'::text[]) op, unnest('{real[],float8[]}'::text[]) type;
SELECT raised($$SELECT '[1,2]'::vector <-> '{1,NULL}'::real[]$$);

-- Results that no vector can hold.
SELECT raised(format('SELECT %s', expression)) FROM (VALUES (1, $$'[3e38]'::vector + '[3e38]'$$),
	(2, $$'[-3e38]'::vector - '[3e38]'$$), (3, $$'[1,1e37]'::vector * '[1,1e3]'$$), (4, $$'[1e-37]'::vector * '[-1e-37]'$$),
	(5, $$array_fill(1, '{16000}')::vector || '[1]'$$), (6, $$subvector('[1,2,3]'::vector, 1, 0)$$),
	(7, $$subvector('[1,2,3]'::vector, 4, 1)$$), (8, $$subvector('[1,2,3]'::vector, 1, -1)$$),
	(9, $$subvector('[1,2,3]'::vector, -2147483648, 2147483647)$$), (10, $$subvector('[1,2,3]'::vector, 2147483647, 2147483647)$$),
	(11, $$subvector('[1,2,3]'::vector, -2147483648, -2147483648)$$)) t (n, expression) ORDER BY n;

-- Aggregates and the states a user may hand them.
SELECT raised(format('SELECT %s(v) FROM unnest(ARRAY[%L::vector, %L]) v', name, '[1,2]', '[3]')) FROM unnest('{avg,sum}'::text[]) name;
SELECT raised($$SELECT sum(v) FROM unnest(ARRAY['[3e38]'::vector, '[3e38]']) v$$);
SELECT raised(format('SELECT vector_accum(%L, %L)', state, '[1,2]')) FROM (VALUES (1, '{}'), (2, '{NULL}'), (3, '{{1,2}}'),
	(4, '{1}'), (5, '{1,2}'), (6, '{1,2,NULL}')) t (n, state) ORDER BY n;
SELECT raised(format('SELECT vector_combine(%L, %L)', a, b)) FROM (VALUES (1, '{1,2}', '{1,2,3}'), (2, '{}', '{0}'),
	(3, '{0}', '{1}')) t (n, a, b) ORDER BY n;
SELECT raised(format('SELECT %s(%L)', name, state)) FROM unnest('{vector_avg,vector_sum}'::text[]) name,
	unnest('{"{}","{1}","{1,NULL}","{1,1e300}","{1,NaN}","{NaN,1}","{{1,2},{3,4}}"}'::text[]) state;
SELECT raised($$SELECT vector_avg(array_fill(1::float8, '{16002}'))$$);

\pset tuples_only off
\pset format aligned
DROP FUNCTION raised;
