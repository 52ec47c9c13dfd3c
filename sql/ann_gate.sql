-- Conditions that other indexes know, before an ordered scan: the node AnnGate.
SET client_min_messages = warning;
CREATE SCHEMA ann_gate;
SET search_path = ann_gate, public;
CREATE TABLE item AS
SELECT i AS id, i % 100 AS b, i % 7 AS z, i AS hot,
	ARRAY[i % 10, i % 13, 100 + i % 17] AS tags,
	to_tsvector('simple', 'word' || i % 50 || ' other' || i % 3) AS t,
	CASE WHEN i % 400 = 0 THEN NULL
		WHEN i % 401 = 0 THEN array_fill(0, ARRAY[16])::vector(16)
		ELSE (SELECT array_agg(sin(i * j * 0.37 + j)::float4)
			FROM generate_series(1, 16) j)::vector(16)
	END AS v
FROM generate_series(1, 20000) i;
ALTER TABLE item ALTER v TYPE vector(16);
ALTER TABLE item SET (fillfactor = 70);
CREATE INDEX item_b ON item (b);
CREATE INDEX item_z ON item (z);
CREATE INDEX item_tags ON item USING gin (tags);
CREATE INDEX item_t ON item USING gin (t);
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops) WITH (lists = 50);
VACUUM ANALYZE item;
SELECT v AS q FROM item WHERE id = 7 \gset

-- The rows of a query without the ann index and with it, in order; and the plan.
CREATE FUNCTION gated(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	mine text[];
	wanted text[];
	node text := 'no gate';
	agg text := format('SELECT array_agg(t::text) FROM (%s) t', query);
BEGIN
	SET LOCAL enable_indexscan = off;
	EXECUTE agg INTO wanted;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || agg LOOP
		IF line LIKE '%AnnGate%' THEN
			node := 'gate';
		END IF;
	END LOOP;
	EXECUTE agg INTO mine;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	RETURN format('%s rows, %s, %s', coalesce(array_length(wanted, 1), 0),
		CASE WHEN mine IS DISTINCT FROM wanted THEN 'DIFFERENT' ELSE 'the same' END,
		node);
END $$;

SET vector_ext.recall = 1;
CREATE TABLE question (n serial, w text);
INSERT INTO question (w) VALUES ('b = 3'), ('b < 5 AND z = 1'), ('b IN (1, 2) OR z = 9'),
	('tags @> ARRAY[3, 110]'), ('t @@ ''word7 & other1'''), ('t @@ ''nothing'''),
	('b = 3 AND id % 2 = 1'), ('b = 3 AND v IS NOT NULL'), ('b = 0');
SELECT w, gated(format('SELECT id, v <=> %L AS d FROM item WHERE %s ORDER BY 2 LIMIT 12', :'q', w)),
	gated(format('SELECT 1 - (v <=> %L) AS s FROM item WHERE %s ORDER BY 1 DESC NULLS LAST', :'q', w))
	AS falling
FROM question ORDER BY n;
SELECT gated(format('SELECT * FROM item WHERE b = 3 ORDER BY v <=> %L', :'q'));

-- The children, and what passed.
SET enable_seqscan = off;
SET enable_sort = off;
PREPARE ask (vector, int) AS SELECT id FROM item WHERE b = $2 AND z = 1 ORDER BY v <=> $1 LIMIT 5;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE ask (:'q', 3);
EXECUTE ask (:'q', 3);
EXECUTE ask (:'q', NULL);
-- Where it is not known how many will pass, the gate is made when few do.
PREPARE below (int, vector) AS SELECT array_agg(id) FROM
	(SELECT id FROM item WHERE b < $1 AND z < 6 ORDER BY v <=> $2 LIMIT 20) t;
EXPLAIN (COSTS OFF) EXECUTE below (3, :'q');
CREATE FUNCTION below(n int, q vector) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine int[];
	wanted int[];
BEGIN
	EXECUTE format('EXECUTE below(%s, %L)', n, q) INTO mine;
	SET LOCAL enable_indexscan = off;
	EXECUTE format('SELECT array_agg(id) FROM (SELECT id FROM item
		WHERE b < %s AND z < 6 ORDER BY v <=> %L LIMIT 20) t', n, q) INTO wanted;
	SET LOCAL enable_indexscan = on;
	RETURN format('%s rows, %s', coalesce(cardinality(wanted), 0),
		CASE WHEN mine IS DISTINCT FROM wanted THEN 'DIFFERENT' ELSE 'the same' END);
END $$;
SELECT n, below(n, :'q') FROM unnest(ARRAY[100, 50, 20, 10, 5, 2, 1, 0, 90]) n;
SELECT below(0, :'q');
SELECT stop FROM ann_last_scan();
-- A condition without columns is checked once, above all.
PREPARE when_so (int) AS SELECT count(*) FROM
	(SELECT 1 FROM item WHERE b = 3 AND $1 = 5 ORDER BY v <=> '[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]' LIMIT 5) t;
EXPLAIN (COSTS OFF) EXECUTE when_so (5);
EXECUTE when_so (5);
EXECUTE when_so (4);
RESET plan_cache_mode;

-- A bitmap that did not fit keeps whole pages.
SET work_mem = '64kB';
SELECT gated(format('SELECT v <=> %L AS d FROM item WHERE z = 1 ORDER BY 1', :'q'));
-- Nor do the blocks of a large table fit, one by one.
CREATE TABLE wide (id int, b int, v vector(3), pad char(700));
ALTER TABLE wide ALTER pad SET STORAGE PLAIN;
INSERT INTO wide SELECT i, i % 10, ARRAY[sin(i), cos(i), sin(i * 0.3)]::vector, 'x'
	FROM generate_series(1, 40000) i;
CREATE INDEX ON wide (b);
CREATE INDEX ON wide USING ann (v);
VACUUM ANALYZE wide;
SELECT gated('SELECT v <-> ''[1,2,3]'' AS d FROM wide WHERE b = 1 ORDER BY 1 LIMIT 300');
RESET work_mem;
DROP TABLE wide;

-- An index holds the root of a HOT chain, not its newest member.
UPDATE item SET hot = -hot WHERE b = 3;
UPDATE item SET hot = -hot WHERE b = 3;
SELECT gated(format('SELECT id, hot FROM item WHERE b = 3 AND z < 2 ORDER BY v <=> %L, id LIMIT 30', :'q'));
DELETE FROM item WHERE b = 3 AND id % 3 = 0;
INSERT INTO item SELECT 100000 + id, b, z, hot, tags, t, v FROM item WHERE b = 3;
SELECT gated(format('SELECT v <=> %L AS d FROM item WHERE b = 3 AND z < 2 ORDER BY 1 LIMIT 30', :'q'));

-- Under joins, in subqueries, with cursors, for update.
SELECT gated('SELECT a.id, x.d FROM item a, LATERAL (SELECT v <=> a.v AS d FROM item
	WHERE b = a.b AND z = 1 ORDER BY 1 LIMIT 3) x WHERE a.id BETWEEN 5 AND 25 ORDER BY 1, 2');
-- With what does not depend on the other row, the bitmap is made once.
SELECT gated('SELECT a.id, x.d FROM item a, LATERAL (SELECT v <=> a.v AS d FROM item
	WHERE b = 5 AND z = 1 ORDER BY 1 LIMIT 3) x WHERE a.id BETWEEN 5 AND 25 ORDER BY 1, 2');
CREATE FUNCTION counts(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
		IF line ~ '(AnnGate|Bitmap Index Scan on item_b).*loops=' THEN
			RETURN NEXT regexp_replace(line, '.*(AnnGate|Bitmap).*(loops=\d+).*', '\1 \2');
		ELSIF line ~ 'Rows Let Pass' THEN
			RETURN NEXT ltrim(line);
		ELSIF line ~ 'Entries Left Out' THEN
			RETURN NEXT 'Entries Left Out: ' || CASE WHEN line ~ ' [1-9]' THEN 'some' ELSE 'none' END;
		END IF;
	END LOOP;
END $$;
SELECT counts('SELECT x.id FROM (VALUES (5), (6), (7)) a (n), LATERAL (SELECT id FROM item
	WHERE b = 5 ORDER BY v <=> array_fill(a.n, ARRAY[16])::vector LIMIT 3) x');
SELECT counts('SELECT x.id FROM (VALUES (5), (6), (7)) a (n), LATERAL (SELECT id FROM item
	WHERE b = a.n ORDER BY v <=> array_fill(a.n, ARRAY[16])::vector LIMIT 3) x');
SELECT id FROM item WHERE b = 5 AND z = 1 ORDER BY v <=> :'q' LIMIT 1;
SELECT probed, fetched, stop FROM ann_last_scan();
SELECT gated(format('WITH near AS MATERIALIZED (SELECT id, tags FROM item WHERE b = 4 AND z = 2
	ORDER BY v <=> %L LIMIT 10) SELECT id FROM near WHERE tags @> ARRAY[4]', :'q'));
BEGIN;
SELECT count(*) FROM (SELECT id FROM item WHERE b = 4 AND z = 2 ORDER BY v <=> :'q' LIMIT 5 FOR UPDATE) t;
DECLARE c SCROLL CURSOR FOR SELECT v <=> :'q' AS d FROM item WHERE b = 4 AND z = 2 ORDER BY 1 LIMIT 5;
MOVE 3 IN c;
MOVE BACKWARD 2 IN c;
FETCH 1 FROM c;
ROLLBACK;

-- With filter columns of the index itself, and in partitions.
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, z) WITH (lists = 50);
SELECT gated(format('SELECT id, v <=> %L AS d FROM item WHERE tags @> ARRAY[3, 110] AND z IN (1, 2) ORDER BY 2 LIMIT 12', :'q'));
-- A partial index has not all rows that the others find.
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops) WHERE z = 2;
SELECT gated(format('SELECT v <=> %L AS d FROM item WHERE b IN (3, 4) AND z = 2 ORDER BY 1', :'q'));
CREATE TABLE part (LIKE item) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO part SELECT * FROM item;
CREATE INDEX ON part (b);
CREATE INDEX ON part USING ann (v vector_cosine_ops);
ANALYZE part;
SELECT gated(format('SELECT v <=> %L AS d FROM part WHERE b = 5 ORDER BY 1 LIMIT 12', :'q'));

-- A policy holds, whatever index finds its rows.
CREATE ROLE ann_gate_reader;
GRANT USAGE ON SCHEMA ann_gate TO ann_gate_reader;
GRANT SELECT ON item TO ann_gate_reader;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY only_b ON item USING (b = 6);
SET ROLE ann_gate_reader;
SELECT count(*), min(b), max(b) FROM
	(SELECT b FROM item WHERE z >= 0 ORDER BY v <=> :'q' LIMIT 20) t;
RESET ROLE;
DROP OWNED BY ann_gate_reader;
DROP ROLE ann_gate_reader;
DROP SCHEMA ann_gate CASCADE;
