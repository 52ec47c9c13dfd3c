-- What ann_last_scan says of each way a scan can go.  Vectors are made by a
-- formula, so counts are the same everywhere.
SET enable_seqscan = off;
SET enable_sort = off;
CREATE FUNCTION made(seed int, dims int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(sin(seed * 12.9898 + i * 78.233))::real[]::vector
	FROM generate_series(1, dims) i
$$;
CREATE TABLE worked (id int PRIMARY KEY, v vector(16))
	WITH (autovacuum_enabled = false);
INSERT INTO worked SELECT i, made(i, 16) FROM generate_series(1, 3000) i;
INSERT INTO worked VALUES (3001, NULL);
CREATE INDEX worked_v ON worked USING ann (v) WITH (lists = 20, seed = 7);

-- nothing before the first scan of the session
\c
SET enable_seqscan = off;
SET enable_sort = off;
SELECT index FROM ann_last_scan();

-- so many lists as asked for
SET vector_ext.probes = 3;
SELECT count(*) FROM (SELECT id FROM worked ORDER BY v <-> made(5, 16) LIMIT 10) a;
SELECT index, lists, probed, entries >= candidates AS entries,
	candidates >= fetched AS candidates, fetched BETWEEN 10 AND 100 AS fetched,
	refined, detoasted, returned, rounds, stop,
	buffers_hit + buffers_read > probed AS buffers
FROM ann_last_scan();

-- the same by the rule
RESET vector_ext.probes;
SELECT count(*) FROM (SELECT id FROM worked ORDER BY v <-> made(5, 16) LIMIT 10) a;
SELECT lists, probed BETWEEN 1 AND 19 AS probed,
	entries BETWEEN 1000 AND 2999 AS entries, returned, rounds, stop
FROM ann_last_scan();

-- every list
SET vector_ext.recall = 1;
SELECT count(*) FROM (SELECT id FROM worked ORDER BY v <-> made(5, 16) LIMIT 10) a;
SELECT probed, entries, returned, rounds, stop FROM ann_last_scan();
RESET vector_ext.recall;

-- a cursor that asks for more takes a further round; told when it is closed
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM worked ORDER BY v <-> made(5, 16);
MOVE 100 IN c;
SELECT returned FROM ann_last_scan();
CLOSE c;
SELECT returned, rounds > 1 AS rounds FROM ann_last_scan();
COMMIT;

-- all rows: sorted, once each, the NULL too
SELECT count(*) FROM (SELECT id FROM worked ORDER BY v <-> made(5, 16)) a;
SELECT probed, fetched, returned, stop FROM ann_last_scan();

-- a query that is NULL, and a scan that is asked for no row
SELECT count(*) FROM (SELECT id FROM worked ORDER BY v <-> (SELECT NULL::vector) LIMIT 3) a;
SELECT fetched, returned, stop FROM ann_last_scan();
SELECT id FROM worked ORDER BY v <-> made(5, 16) LIMIT 0;
SELECT returned FROM ann_last_scan();

-- an inner scan: the last of its runs
SELECT count(*) FROM generate_series(1, 3) q,
	LATERAL (SELECT id FROM worked ORDER BY v <-> made(q, 16) LIMIT q) a;
SELECT returned FROM ann_last_scan();

-- a failed scan leaves what was there
SELECT id FROM worked ORDER BY v <-> '[1,2]'::vector LIMIT 1;
SELECT returned FROM ann_last_scan();

-- vectors out of line
CREATE TABLE toasted (id int, v vector(1000)) WITH (autovacuum_enabled = false);
ALTER TABLE toasted ALTER v SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i, made(i, 1000) FROM generate_series(1, 50) i;
CREATE INDEX ON toasted USING ann (v) WITH (lists = 0);
SELECT count(*) FROM (SELECT id FROM toasted ORDER BY v <-> made(5, 1000) LIMIT 5) a;
SELECT lists, probed, entries, fetched = detoasted AS all_detoasted,
	detoasted >= 5 AS detoasted, returned, stop
FROM ann_last_scan();

-- the index is gone, its name with it
DROP TABLE toasted;
SELECT index::text ~ '^\d+$' AS number FROM ann_last_scan();
DROP TABLE worked;
DROP FUNCTION made;
