-- The default btree operator class: indexes, ORDER BY, DISTINCT, GROUP BY, joins.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

SELECT opcname, opcdefault, amname FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
	WHERE opcname = 'vector_ops' AND amname = 'btree';
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'vector_ops' AND opcmethod = 403;
SELECT oprname, oprcom::regoperator, oprnegate::regoperator, oprrest, oprjoin FROM pg_operator
	WHERE oprleft = 'vector'::regtype AND oprright = 'vector'::regtype ORDER BY oprname;

CREATE TABLE vb (id int, v vector);
INSERT INTO vb VALUES (1, '[1,2,3]'), (2, '[1,2]'), (3, '[0,9]'), (4, '[1,2,3]'), (5, NULL), (6, '[-0]'), (7, '[0]');
SELECT v FROM vb ORDER BY v, id;
SELECT v FROM vb ORDER BY v DESC NULLS LAST, id;
SELECT DISTINCT v FROM vb WHERE id < 6 ORDER BY v;
SELECT v, count(*) FROM vb WHERE id < 6 GROUP BY v ORDER BY v;
SELECT count(DISTINCT v) FROM vb;
SELECT '[1]'::vector IN ('[2]', '[1]'), '[3]'::vector IN ('[2]', '[1]');

CREATE INDEX vb_v ON vb (v);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS off) SELECT id FROM vb WHERE v = '[1,2,3]';
SELECT id FROM vb WHERE v = '[1,2,3]' ORDER BY id;
SELECT id FROM vb WHERE v = '[0]' ORDER BY id;
EXPLAIN (COSTS off) SELECT v FROM vb ORDER BY v;
SELECT v FROM vb WHERE v > '[0]' AND v <= '[1,2,3]' ORDER BY v;
SELECT v FROM vb WHERE v >= '[1,2]' ORDER BY v DESC;
SELECT v FROM vb WHERE v < '[1]' ORDER BY v, id;
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP INDEX vb_v;
DELETE FROM vb WHERE id IN (4, 7);
CREATE UNIQUE INDEX vb_v ON vb (v);
INSERT INTO vb VALUES (8, '[0]');
INSERT INTO vb VALUES (8, '[0]') ON CONFLICT (v) DO UPDATE SET id = 9;
SELECT id, v FROM vb WHERE v = '[0]';
DROP TABLE vb;

-- Sorts of many and of toasted vectors, merge joins, statistics.
CREATE TABLE vb AS SELECT i, ARRAY[i % 10, i % 7, i]::vector AS v FROM generate_series(1, 2000) i;
ANALYZE vb;
CREATE INDEX ON vb (v);
SELECT count(*) AS out_of_order FROM (SELECT v, lag(v) OVER (ORDER BY v) AS before FROM vb) s WHERE v < before;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM vb a JOIN vb b USING (v);
RESET enable_hashjoin;
RESET enable_nestloop;
SELECT count(*) FROM vb WHERE v < '[5]';
DROP TABLE vb;
CREATE TABLE vb AS SELECT i, (array_fill(1, '{3999}') || (i % 5))::vector AS v FROM generate_series(1, 20) i;
SELECT count(*), min(i) FROM vb GROUP BY v ORDER BY v;
DROP TABLE vb;
