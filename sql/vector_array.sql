-- Distance operators with an array on the right-hand side.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

CREATE TABLE va (id int, v vector(3));
INSERT INTO va VALUES (1, '[1,2,3]'), (2, '[4,5,6]'), (3, '[-1,0,1]'), (4, NULL);

SELECT '[1,2,3]'::vector <-> '{1,2,5}'::real[] AS "real", '[1,2,3]'::vector <-> '{1,2,5}'::float8[] AS double,
	'[1,2,3]'::vector <-> ARRAY[1,2,5] AS integer, '[1,2,3]'::vector <-> ARRAY[1,2,5.5] AS "numeric";
SELECT id, v <-> r = v <-> r::vector AS l2, v <#> r = v <#> r::vector AS ip, v <=> r = v <=> r::vector AS cosine,
	v <+> r = v <+> r::vector AS l1
	FROM va, (SELECT '{0.1,0.2,0.3}'::real[] r) s ORDER BY id;
SELECT id, v <-> r = v <-> r::vector AS l2, v <#> r = v <#> r::vector AS ip, v <=> r = v <=> r::vector AS cosine,
	v <+> r = v <+> r::vector AS l1
	FROM va, (SELECT '{0.1,0.2,0.3}'::float8[] r) s ORDER BY id;
SELECT '[1]'::vector <-> NULL::real[] AS "null";

-- What the planner makes of them: the operator an index on v can serve.
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM va ORDER BY v <-> '{1,2,3}'::real[];
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM va ORDER BY v <#> '{1,2,3}'::float8[];
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM va ORDER BY v <=> ARRAY[1,2,3];
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM va ORDER BY v <+> ARRAY[1.5,2,3];

-- Parameters, under custom and generic plans; an untyped one is a vector.
SET plan_cache_mode = force_generic_plan;
PREPARE by_double(float8[]) AS SELECT id FROM va WHERE v IS NOT NULL ORDER BY v <-> $1;
PREPARE by_real(real[]) AS SELECT id FROM va WHERE v IS NOT NULL ORDER BY v <=> $1;
PREPARE untyped AS SELECT id FROM va WHERE v IS NOT NULL ORDER BY v <-> $1;
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name;
EXPLAIN (VERBOSE, COSTS off) EXECUTE by_double('{4,5,6}');
EXPLAIN (VERBOSE, COSTS off) EXECUTE by_real('{4,5,6}');
EXPLAIN (VERBOSE, COSTS off) EXECUTE untyped('[4,5,6]');
EXECUTE by_double('{4,5,6}');
EXECUTE by_real('{-1,0,1}');
EXECUTE untyped('[4,5,6]');
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Literals without a type are vectors on either side.
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM va ORDER BY v <-> '[1,2,3]', '[1,2,3]' <=> v;

-- Columns, views, functions, domains.
CREATE TABLE queries (q real[]);
INSERT INTO queries VALUES ('{4,5,6}'), ('{-1,0,1}');
SELECT q, id FROM queries, LATERAL (SELECT id FROM va ORDER BY v <-> q LIMIT 1) nearest ORDER BY q;
CREATE VIEW near AS SELECT id, v <-> '{1,2,3}'::real[] AS distance FROM va;
SELECT pg_get_viewdef('near') LIKE '%<-> ''{1,2,3}''::real[]%' AS stored_as_written;
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM near ORDER BY distance;
CREATE FUNCTION nearest(q float8[]) RETURNS int LANGUAGE plpgsql AS
	$$ BEGIN RETURN (SELECT id FROM va ORDER BY v <-> q LIMIT 1); END $$;
SELECT nearest('{4,5,7}'), nearest('{0,0,0}');
CREATE DOMAIN embedding AS vector(3);
EXPLAIN (VERBOSE, COSTS off) SELECT v::embedding <-> q FROM va, queries;

-- The functions give the same without a planner: here as the final function
-- of aggregates, which the executor calls by itself.
CREATE AGGREGATE l2_to(real[] ORDER BY vector)
	(SFUNC = vector_add, STYPE = vector, INITCOND = '[0,0,0]', FINALFUNC = vector_array_l2_distance);
CREATE AGGREGATE ip_to(float8[] ORDER BY vector)
	(SFUNC = vector_add, STYPE = vector, INITCOND = '[0,0,0]', FINALFUNC = vector_array_negative_inner_product);
CREATE AGGREGATE cosine_to(int[] ORDER BY vector)
	(SFUNC = vector_add, STYPE = vector, INITCOND = '[0,0,0]', FINALFUNC = vector_array_cosine_distance);
CREATE AGGREGATE l1_to(numeric[] ORDER BY vector)
	(SFUNC = vector_add, STYPE = vector, INITCOND = '[0,0,0]', FINALFUNC = vector_array_l1_distance);
SELECT id, l2_to('{1,2,5}') WITHIN GROUP (ORDER BY v) = v <-> '[1,2,5]' AS l2,
	ip_to('{1,2,5}') WITHIN GROUP (ORDER BY v) = v <#> '[1,2,5]' AS ip,
	cosine_to('{1,2,5}') WITHIN GROUP (ORDER BY v) = v <=> '[1,2,5]' AS cosine,
	l1_to('{1,2,5.5}') WITHIN GROUP (ORDER BY v) = v <+> '[1,2,5.5]' AS l1
	FROM va WHERE v IS NOT NULL GROUP BY id, v ORDER BY id;
SELECT l2_to('{1,2}') WITHIN GROUP (ORDER BY v) FROM va WHERE id = 1;

-- An expression planned alone, for one row at a time.
CREATE TABLE checked (v vector(2) CHECK (v <-> '{0,0}'::real[] < 10));
INSERT INTO checked VALUES ('[3,4]');
INSERT INTO checked VALUES ('[30,40]');

-- Moved to a schema nobody searches, they still find their twins.
CREATE SCHEMA elsewhere;
ALTER EXTENSION vector_ext SET SCHEMA elsewhere;
EXPLAIN (VERBOSE, COSTS off) SELECT id FROM va ORDER BY v OPERATOR(elsewhere.<->) '{1,2,3}'::real[];
SELECT * FROM near ORDER BY distance, id;
ALTER EXTENSION vector_ext SET SCHEMA public;
DROP SCHEMA elsewhere;

DROP AGGREGATE l2_to(real[] ORDER BY vector), ip_to(float8[] ORDER BY vector), cosine_to(int[] ORDER BY vector),
	l1_to(numeric[] ORDER BY vector);
DROP FUNCTION nearest;
DROP VIEW near;
DROP DOMAIN embedding;
DROP TABLE va, queries, checked;
