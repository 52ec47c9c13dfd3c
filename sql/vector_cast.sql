-- Casts between vector and arrays, and to vector(n).
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

SELECT ARRAY[1,2,3]::vector, ARRAY[1.5,2.5]::vector, ARRAY[1,2,3]::real[]::vector, ARRAY[1,2,3]::float8[]::vector;
SELECT ARRAY[1,2,3]::vector(3), '{1,2,3}'::real[]::vector(3), '{1}'::numeric[]::vector(1);
SELECT '[1,2,3]'::vector::real[], '[0.1,-1e-45]'::vector::real[];
SELECT '{1e-60}'::float8[]::vector AS underflow, '{1e-60}'::numeric[]::vector AS underflow_numeric,
	'{2147483647,-2147483648}'::int[]::vector AS rounded;
SELECT '[3:5]={1,2,3}'::real[]::vector AS lower_bound;
SELECT array_fill(1, '{16000}')::vector = array_fill(1::real, '{16000}')::vector AS largest;

-- In assignments arrays become vectors; the dimensions are checked.
CREATE TABLE vc (v vector(3), r real[]);
INSERT INTO vc (v) VALUES (ARRAY[1,2,3]), (ARRAY[1.5,2,3]), ('{4,5,6}'::real[]), ('{7,8,9}'::float8[]);
SELECT v FROM vc;
UPDATE vc SET r = v;
SELECT r FROM vc;
INSERT INTO vc (v) VALUES (ARRAY[1,2]);
INSERT INTO vc (v) VALUES ('[1,2]');
INSERT INTO vc (v) SELECT '[1,2]'::vector;
ALTER TABLE vc ALTER v TYPE vector;
INSERT INTO vc (v) VALUES ('[1]');
ALTER TABLE vc ALTER v TYPE vector(3);
DROP TABLE vc;

SELECT castsource::regtype, casttarget::regtype, castcontext FROM pg_cast
	WHERE ('vector'::regtype IN (castsource, casttarget)) AND (castsource::regtype::text || casttarget::regtype::text)
		!~ 'halfvec|sparsevec' ORDER BY castsource::regtype::text, casttarget::regtype::text;
