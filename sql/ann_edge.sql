-- Values at the ends of float4, dead rows, two distances: right, or said so.
CREATE SCHEMA ann_edge;
SET search_path = ann_edge, public;
SET client_min_messages = warning;
SET enable_seqscan = off;

-- Distances that overflow to infinity are distances: no row is lost.
CREATE TABLE wide (id int, v vector(3));
INSERT INTO wide
SELECT id, format('[%s,%s,0]', id, -id)::vector FROM generate_series(1, 50) id;
INSERT INTO wide VALUES (101, '[3e38,3e38,0]'), (102, '[-3e38,3e38,0]'),
	(103, '[1e20,0,0]'), (104, '[1e30,1e-30,0]'), (105, '[1e-40,0,0]'),
	(106, '[0,0,0]'), (107, NULL);
CREATE INDEX wide_l2 ON wide USING ann (v vector_l2_ops) WITH (lists = 0);
CREATE INDEX wide_ip ON wide USING ann (v vector_ip_ops) WITH (lists = 0);
CREATE INDEX wide_cosine ON wide USING ann (v vector_cosine_ops)
	WITH (lists = 0);
SELECT count(*), count(*) FILTER (WHERE d = 'infinity') AS infinite
FROM (SELECT v <-> '[-3e38,-3e38,0]' AS d FROM wide
	  ORDER BY v <-> '[-3e38,-3e38,0]') a;
SELECT id, v <-> '[0,0,0]' AS d FROM wide ORDER BY v <-> '[0,0,0]'
OFFSET 50 LIMIT 7;
SELECT count(*), count(*) FILTER (WHERE d = 'infinity') AS infinite,
	   count(*) FILTER (WHERE d = '-infinity') AS minus
FROM (SELECT v <#> '[3e38,1e38,0]' AS d FROM wide
	  ORDER BY v <#> '[3e38,1e38,0]') a;
SELECT count(*), count(*) FILTER (WHERE d = 'nan') AS nan
FROM (SELECT v <=> '[-3e38,-3e38,0]' AS d FROM wide
	  ORDER BY v <=> '[-3e38,-3e38,0]') a;

-- Lists whose centroids are huge or tiny are whole.
DROP INDEX wide_l2, wide_ip, wide_cosine;
INSERT INTO wide SELECT 1000 + id, format('[%s,0,%s]', 1e37 * id, 1e37)::vector
FROM generate_series(1, 20) id;
INSERT INTO wide SELECT 2000 + id, format('[%s,0,0]', id * 1e-42)::vector
FROM generate_series(1, 20) id;
CREATE INDEX wide_l2 ON wide USING ann (v vector_l2_ops) WITH (lists = 8);
CREATE INDEX wide_ip ON wide USING ann (v vector_ip_ops) WITH (lists = 8);
CREATE TABLE tiny AS SELECT * FROM wide WHERE id > 2000;
CREATE INDEX tiny_flat ON tiny USING ann ((v::vector(3)));
SELECT index, rows FROM (VALUES ('wide_l2'), ('wide_ip'), ('tiny_flat')) i(index),
	LATERAL (SELECT rows FROM ann_info(index::regclass)) s,
	LATERAL (SELECT FROM ann_check(index::regclass, true)) c;
SELECT count(*), count(DISTINCT id)
FROM (SELECT id FROM wide ORDER BY v <-> '[1,2,3]') a;
SELECT count(*), count(DISTINCT id)
FROM (SELECT id FROM wide ORDER BY v <#> '[1,2,3]') a;

-- Many dead entries in the lists visited: the LIMIT is in order all the same.
CREATE TABLE dead (id int, v vector(2)) WITH (autovacuum_enabled = off);
INSERT INTO dead SELECT id, format('[%s,%s]', id * 37 % 101, id * 53 % 97)::vector
FROM generate_series(1, 2000) id;
CREATE INDEX ON dead USING ann (v) WITH (lists = 40);
DELETE FROM dead WHERE id % 10 <> 0;
SET vector_ext.probes = 1;
SELECT count(*), count(*) FILTER (WHERE d < before) AS misordered
FROM (SELECT d, lag(d) OVER (ORDER BY at) AS before
	  FROM (SELECT row_number() OVER () AS at, s.*
			FROM (SELECT v <-> '[50,50]' AS d FROM dead
				  ORDER BY v <-> '[50,50]' LIMIT 40) s) a) a;
RESET vector_ext.probes;

-- The index knows no order within equal distances.
CREATE TABLE many (id int, v vector(2));
INSERT INTO many
SELECT id, format('[%s,%s]', id * 37 % 101, id * 53 % 97)::vector
FROM generate_series(1, 5000) id;
CREATE INDEX ON many USING ann (v) WITH (lists = 60);
SELECT count(*), count(*) FILTER (WHERE (d, e) < (d_before, e_before)) AS misordered
FROM (SELECT d, e, lag(d) OVER (ORDER BY at) AS d_before,
			 lag(e) OVER (ORDER BY at) AS e_before
	  FROM (SELECT row_number() OVER () AS at, s.*
			FROM (SELECT v <-> '[50,50]' AS d, v <-> '[0,0]' AS e FROM many
				  ORDER BY v <-> '[50,50]', v <-> '[0,0]') s) a) a;

-- Nodes that compare neighbours see all rows in true order.
CREATE TABLE right_one AS SELECT v <-> '[50,50]' AS d FROM many;
ANALYZE many, right_one;
SELECT count(DISTINCT d) FROM right_one;
SET enable_hashagg = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT v <-> '[50,50]' FROM many;
SELECT count(*) FROM (SELECT DISTINCT v <-> '[50,50]' FROM many) a;
SELECT count(*) FROM (SELECT v <-> '[50,50]' FROM many GROUP BY 1) a;
SELECT count(DISTINCT r)
FROM (SELECT rank() OVER (ORDER BY v <-> '[50,50]') AS r FROM many) a;
SELECT count(*) FROM (SELECT m.id FROM many m
	JOIN right_one r ON m.v <-> '[50,50]' = r.d ORDER BY m.v <-> '[50,50]') a;
SELECT count(*)
FROM right_one a JOIN right_one b ON a.d = b.d;
RESET enable_hashagg;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_sort;
-- A LIMIT above reaches through them.
SET vector_ext.probes = 1;
SELECT count(*), count(*) FILTER (WHERE d < before) AS misordered
FROM (SELECT d, lag(d) OVER (ORDER BY at) AS before
	  FROM (SELECT row_number() OVER (ORDER BY v <-> '[50,50]') AS at,
				   v <-> '[50,50]' AS d FROM many LIMIT 300) s) a;
RESET vector_ext.probes;

-- A query that is never used may be what it likes.
SELECT CASE WHEN id < 0 THEN
	(SELECT m.id FROM many m ORDER BY m.v <-> '[1,2,3]' LIMIT 1) END AS none
FROM many LIMIT 1;

-- Neither is the LIMIT of a plan that never runs computed.
SET plan_cache_mode = force_generic_plan;
PREPARE divided(int) AS SELECT CASE WHEN $1 <> 0 THEN
	(SELECT m.id FROM many m ORDER BY m.v <-> '[1,2]' LIMIT 10 / $1) END AS id;
EXECUTE divided(0);
EXECUTE divided(10);
RESET plan_cache_mode;

-- The dimensions of a domain are those of its type.
CREATE DOMAIN place AS vector(2);
CREATE TABLE at (id int, v place);
CREATE INDEX at_idx ON at USING ann (v);
INSERT INTO at VALUES (1, '[1,2]'), (2, '[3,4]');
SELECT dimensions FROM ann_info('at_idx');
SELECT id FROM at ORDER BY v <-> '[3,3]';

DROP SCHEMA ann_edge CASCADE;
