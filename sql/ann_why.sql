-- ann_why: each reason, in the order in which they are looked for.
SET client_min_messages = warning;
CREATE SCHEMA ann_why;
SET search_path = ann_why, public;
CREATE TABLE item (id int PRIMARY KEY, g int, v vector(3), w vector(3));
INSERT INTO item SELECT i, i % 10, ARRAY[sin(i), cos(i), i % 17]::vector,
	ARRAY[i, 1, 2]::vector FROM generate_series(1, 20000) i;
CREATE TABLE other AS SELECT id, v FROM item WHERE id < 100;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g);
CREATE INDEX item_part ON item USING ann (w) WHERE g = 3;
VACUUM ANALYZE item, other;
CREATE VIEW seen AS SELECT id, g, 1 - (v <=> '[1,2,3]') AS score, v FROM item;

-- It is used.
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item WHERE g = 4 ORDER BY v <=> $1 LIMIT $2');
SELECT ann_why('item_v', 'SELECT id FROM seen ORDER BY score DESC NULLS LAST LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item WHERE v <=> ''[1,2,3]'' < 0.0001');
SELECT ann_why('item_v', 'WITH near AS MATERIALIZED (SELECT id FROM item
	ORDER BY v <=> ''[1,2,3]'' LIMIT 5) DELETE FROM other WHERE id IN (SELECT id FROM near)');
SELECT ann_why('item_v', 'SELECT * FROM other o, LATERAL (SELECT id FROM item
	ORDER BY item.v <=> o.v LIMIT 3) x');
SELECT count(*) FROM other;
SELECT ann_why('item_part', 'SELECT id FROM item WHERE g = 3 ORDER BY w <-> ''[1,2,3]'' LIMIT 5');

-- It is not.
SELECT ann_why('item_v', 'SELECT id FROM other ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item WHERE false ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item TABLESAMPLE SYSTEM (10) ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_part', 'SELECT id FROM item WHERE g > 2 ORDER BY w <-> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> NULL LIMIT 5');
SELECT ann_why('item_v', 'SELECT g, min(v <=> ''[1,2,3]'') FROM item GROUP BY g ORDER BY 2 LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY random() LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY id + 1, v <=> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <-> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY w <=> ''[1,2,3]'' LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> w LIMIT 5');
SELECT ann_why('item_v', 'SELECT i.id FROM item i, other o ORDER BY i.v <=> o.v LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY (v <=> ''[1,2,3]'') ^ 2 LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY (v <=> ''[1,2,3]'')::numeric LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' DESC LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' NULLS FIRST LIMIT 5');
SELECT ann_why('item_v', 'SELECT id FROM seen ORDER BY score LIMIT 5');
SET cpu_index_tuple_cost = 10;
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]''');
RESET cpu_index_tuple_cost;
SELECT ann_why('item_v', 'SELECT id FROM item WHERE id = 7 ORDER BY v <=> ''[1,2,3]'' LIMIT 5')
	LIKE 'another plan is cheaper by the planner''s estimate%' AS cheaper;
SET enable_indexscan = off;
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
RESET enable_indexscan;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'item_v'::regclass;
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'item_v'::regclass;

-- Nothing is run, the caller's rights count, and bad input is told.
SELECT ann_why('item_v', 'DELETE FROM item');
SELECT count(*) FROM item;
SELECT ann_why('item_v', 'SELECT 1; SELECT 2');
SELECT ann_why('item_v', '');
SELECT ann_why('item_v', 'EXPLAIN SELECT 1');
SELECT ann_why('item_v', 'SELECT nothing FROM item');
SELECT ann_why('item_pkey', 'SELECT 1');
SELECT ann_why('item_v', NULL);
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
CREATE ROLE regress_ann_why;
GRANT USAGE ON SCHEMA ann_why TO regress_ann_why;
SET ROLE regress_ann_why;
SELECT ann_why('item_v', 'SELECT id FROM item ORDER BY v <=> ''[1,2,3]'' LIMIT 5');
RESET ROLE;
DROP SCHEMA ann_why CASCADE;
DROP ROLE regress_ann_why;
