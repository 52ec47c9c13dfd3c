-- Calibration at CREATE INDEX, and what ann_recall() measures.  Vectors are made
-- by a formula.
CREATE SCHEMA ann_calibrate;
SET search_path = ann_calibrate, public;
SET check_function_bodies = off;
SET jit = off;
CREATE FUNCTION noise(seed bigint, d int) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$
	SELECT ((h & 65535) + (h >> 16 & 65535) + (h >> 32 & 65535)) / 65536.0 - 1.5
	FROM (SELECT hashint8extended(seed * 1000 + d, 11)) a (h)
$$;
-- Clusters of different width.  A query unlike the rows lies between two.
CREATE FUNCTION point(id int, clusters int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((0.5 + noise(id % clusters - 1000000, d)
					  + noise(id, d) * (0.3 + id % 60 / 100.0)) / sqrt(d)
					 ORDER BY d)::vector
	FROM generate_series(1, 32) d
$$;
CREATE TABLE item AS SELECT id, point(id, 60) AS v
FROM generate_series(1, 12000) id;
INSERT INTO item VALUES (0, NULL);
CREATE TABLE query AS
SELECT id, (point(id, 60) + point(id + 7, 60)) AS v
FROM generate_series(12001, 12200) id;
ANALYZE item;
-- Bytes of META's table: what a build writes, and the defaults.
CREATE FUNCTION same_parameters(a text, b text) RETURNS bool
LANGUAGE sql AS $$
	SELECT pg_read_binary_file(pg_relation_filepath(a::regclass), 176, 216) =
		pg_read_binary_file(pg_relation_filepath(b::regclass), 176, 216)
$$;
SET client_min_messages = warning; -- dimensions from the rows: ann_build

-- deterministic; and not the defaults, which a flat index keeps
CREATE INDEX one ON item USING ann (v vector_cosine_ops);
CREATE INDEX two ON item USING ann (v vector_cosine_ops);
CREATE INDEX flat ON item USING ann (v vector_cosine_ops) WITH (lists = 0);
CREATE INDEX small ON item USING ann (v vector_cosine_ops)
	WITH (lists = 4) WHERE id < 900;
CHECKPOINT;
SELECT same_parameters('one', 'two') AS deterministic,
	same_parameters('one', 'flat') AS defaults_kept,
	same_parameters('small', 'flat') AS too_few_rows;
DROP INDEX two, flat, small;

-- rows as queries: the recall asked for, and more work for more of it
CREATE TABLE measured AS SELECT 0.0 AS asked, * FROM ann_recall('one') WHERE false;
DO $$
DECLARE
	asked float8;
BEGIN
	FOREACH asked IN ARRAY ARRAY[0.8, 0.9, 0.95, 0.99, 0.999, 1] LOOP
		PERFORM set_config('vector_ext.recall', asked::text, false);
		INSERT INTO measured SELECT asked, * FROM ann_recall('one', 10, 400);
	END LOOP;
END $$;
RESET vector_ext.recall;
SELECT asked, queries, neighbours, recall >= asked - 0.01 AS held,
	target = asked AS target, probed BETWEEN 1 AND 300 AS probed,
	share BETWEEN 0.01 AND 1 AS share, milliseconds > 0 AS timed
FROM measured ORDER BY asked;
SELECT max(entries) FILTER (WHERE asked = 1) >
	max(entries) FILTER (WHERE asked < 0.99) AS more FROM measured;

-- other k; probes are what they are
SELECT k, recall >= 0.93 AS held FROM (VALUES (1), (30), (100)) a (k),
	ann_recall('one', k, 400);
SET vector_ext.probes = 1;
SELECT recall < 0.9 AS low, target,
	probed BETWEEN 1 AND 1.1 AS probed FROM ann_recall('one', 10, 400);
RESET vector_ext.probes;

-- queries unlike the rows
CREATE FUNCTION unlike_recall(op text) RETURNS float8 LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
	q record;
	exact int[];
	found int;
	hits int := 0;
BEGIN
	FOR q IN SELECT * FROM query LOOP
		EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM item '
					   'ORDER BY (v %s $1) + 0, id LIMIT 10) a', op)
		INTO exact USING q.v;
		EXECUTE format('SELECT count(*) FROM (SELECT id FROM item '
					   'ORDER BY v %s $1 LIMIT 10) a WHERE id = ANY ($2)', op)
		INTO found USING q.v, exact;
		hits := hits + found;
	END LOOP;
	RETURN hits / 2000.0;
END
$$;
SET vector_ext.recall = 0.9;
SELECT unlike_recall('<=>') >= 0.89 AS held;
SET vector_ext.recall = 0.95;
SELECT unlike_recall('<=>') >= 0.94 AS held;
SET vector_ext.recall = 0.99;
SELECT unlike_recall('<=>') >= 0.98 AS held;
RESET vector_ext.recall;
DROP INDEX one;
CREATE INDEX one ON item USING ann (v vector_ip_ops);
SELECT recall >= 0.94 AS held FROM ann_recall('one', 10, 400);
SELECT unlike_recall('<#>') >= 0.94 AS held;
DROP INDEX one;
CREATE INDEX one ON item USING ann (v);
SELECT recall >= 0.94 AS held FROM ann_recall('one', 10, 400);
SELECT unlike_recall('<->') >= 0.94 AS held;

-- an index that has grown by inserts since
CREATE TABLE grown (LIKE item);
INSERT INTO grown SELECT * FROM item WHERE id BETWEEN 1 AND 2000;
CREATE INDEX grown_v ON grown USING ann (v) WITH (lists = 60);
INSERT INTO grown SELECT * FROM item WHERE id > 2000;
SELECT recall >= 0.94 AS held FROM ann_recall('grown_v', 10, 400);

-- expressions, partial indexes, equal rows, few rows, none
CREATE INDEX expression ON item USING ann ((v + v)) WHERE id % 2 = 0;
SELECT queries, recall >= 0.94 AS held FROM ann_recall('expression');
CREATE TABLE equal AS SELECT point(1, 60) AS v FROM generate_series(1, 3000);
CREATE INDEX equal_v ON equal USING ann (v) WITH (lists = 10);
SELECT queries, recall FROM ann_recall('equal_v', 5, 20);
CREATE TABLE few AS SELECT v FROM item WHERE id BETWEEN 0 AND 3;
CREATE INDEX few_v ON few USING ann (v);
SELECT queries, neighbours, recall FROM ann_recall('few_v');
DELETE FROM few WHERE v IS NOT NULL;
SELECT queries, recall, entries FROM ann_recall('few_v');
CREATE TABLE none (v vector(3));
CREATE INDEX none_v ON none USING ann (v);
SELECT queries, recall FROM ann_recall('none_v');
-- zero vectors have no neighbours by cosine
INSERT INTO none VALUES ('[0,0,0]'), ('[1,0,0]'), ('[1,1,0]');
CREATE INDEX none_cosine ON none USING ann (v vector_cosine_ops);
SELECT queries, recall FROM ann_recall('none_cosine', 1);

-- errors
SELECT recall FROM ann_recall('none_v', 0);
SELECT recall FROM ann_recall('none_v', 10, 100000);
SELECT recall FROM ann_recall('item');
CREATE ROLE ann_calibrate_stranger;
GRANT ALL ON SCHEMA ann_calibrate TO ann_calibrate_stranger;
GRANT ALL ON ALL TABLES IN SCHEMA ann_calibrate TO ann_calibrate_stranger;
SET ROLE ann_calibrate_stranger;
SELECT recall FROM ann_recall('none_v');
RESET ROLE;
DROP SCHEMA ann_calibrate CASCADE;
DROP ROLE ann_calibrate_stranger;
