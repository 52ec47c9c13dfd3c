-- What a scan of an ann index returns, against a sequential scan of the table.
CREATE SCHEMA ann_scan;
SET search_path = ann_scan, public;
SET client_min_messages = warning;

-- Reproducible values from -1 to 1.
CREATE FUNCTION vec(seed int, dims int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint8extended(seed * 10000::bigint + d, 7) & 65535)
					 / 32768.0 - 1 ORDER BY d)::vector
	FROM generate_series(1, dims) d
$$;

-- The query of plans that are shown: not folded to a constant.
CREATE FUNCTION query() RETURNS vector LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN ann_scan.vec(0, 12); END
$$;

-- 20,000 rows: about 200 NULLs, 200 zero vectors, 2,000 pairs of equal vectors.
CREATE TABLE item (id int, grp int, v vector(12));
INSERT INTO item
SELECT id, id % 100,
	   CASE WHEN id % 97 = 0 THEN NULL
			WHEN id % 101 = 0 THEN array_fill(0::real, ARRAY[12])::vector
			WHEN id % 10 = 0 THEN vec(id - 1, 12)
			ELSE vec(id, 12) END
FROM generate_series(1, 20000) id;
ANALYZE item;
SELECT count(*), count(v), count(*) FILTER (WHERE vector_norm(v) = 0) AS zero
FROM item;

-- The exact answers, while there is no index.
CREATE TABLE exact (op text, at bigint, id int, distance float8);
INSERT INTO exact
SELECT '<->', row_number() OVER (ORDER BY v <-> vec(0, 12), ctid), id,
	   v <-> vec(0, 12) FROM item;
INSERT INTO exact
SELECT '<#>', row_number() OVER (ORDER BY v <#> vec(0, 12), ctid), id,
	   v <#> vec(0, 12) FROM item;
INSERT INTO exact
SELECT '<=>', row_number() OVER (ORDER BY v <=> vec(0, 12), ctid), id,
	   v <=> vec(0, 12) FROM item;

-- The rows of a query in the order in which the index gives them.
CREATE FUNCTION answer(op text, condition text, rest text)
RETURNS TABLE (at bigint, id int, distance float8)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format(
		'SELECT row_number() OVER (), s.* FROM (SELECT id, v %1$s $1 FROM item '
		'%2$s ORDER BY v %1$s $1 %3$s) s', op, condition, rest);
	line text;
	found bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query USING vec(0, 12) LOOP
		found := found OR line LIKE '%Index Scan using item_v_idx%';
	END LOOP;
	IF NOT found THEN
		RAISE 'the index is not used by %', query;
	END IF;
	RETURN QUERY EXECUTE query USING vec(0, 12);
END
$$;

-- A plan.  Version 18 marks in it what enable_seqscan = off could not avoid.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line !~ '^ *Disabled: true$' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END
$$;

CREATE FUNCTION compare(op text,
	OUT lists int, OUT metric text, OUT rows bigint, OUT repeated bigint,
	OUT wrong_distance bigint, OUT missing bigint, OUT limit_rows bigint,
	OUT misordered bigint, OUT inexact bigint, OUT grp_rows bigint,
	OUT grp_wrong bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT i.lists, i.metric INTO lists, metric
	FROM ann_info('item_v_idx') i;
	-- Without LIMIT: every row once, with the operator's distance.
	CREATE TEMP TABLE got AS SELECT * FROM answer(compare.op, '', '');
	SELECT count(*), count(*) - count(DISTINCT g.id),
		   count(*) FILTER (WHERE g.distance IS DISTINCT FROM e.distance)
	INTO rows, repeated, wrong_distance
	FROM got g LEFT JOIN exact e ON e.op = compare.op AND e.id = g.id;
	SELECT count(*) INTO missing
	FROM item i WHERE NOT EXISTS (SELECT FROM got g WHERE g.id = i.id);
	DROP TABLE got;
	-- With LIMIT, and a part of the recall: still in the order of distance.
	SELECT count(*), count(*) FILTER (WHERE distance < before)
	INTO limit_rows, misordered
	FROM (SELECT distance, lag(distance) OVER (ORDER BY at) AS before
		  FROM answer(compare.op, '', 'LIMIT 3000')) a;
	-- With recall 1: the exact answer, ties by place in the table.
	SET LOCAL vector_ext.recall = 1;
	SELECT count(*) INTO inexact
	FROM answer(compare.op, '', 'LIMIT 3000') a
	FULL JOIN (SELECT * FROM exact e
			   WHERE e.op = compare.op AND e.at <= 3000) e USING (at)
	WHERE a.id IS DISTINCT FROM e.id;
	SET LOCAL vector_ext.recall = 0.95;
	-- With a condition that the index does not know.
	SELECT count(*), count(*) FILTER (WHERE id % 100 <> 7)
	INTO grp_rows, grp_wrong
	FROM answer(compare.op, 'WHERE grp = 7', 'LIMIT 150');
END
$$;

SET jit = off;
SET enable_seqscan = off;
SET enable_sort = off;
CREATE INDEX item_v_idx ON item USING ann (v) WITH (lists = 0);
SELECT * FROM compare('<->');
DROP INDEX item_v_idx;
CREATE INDEX item_v_idx ON item USING ann (v vector_ip_ops) WITH (lists = 0);
SELECT * FROM compare('<#>');
DROP INDEX item_v_idx;
CREATE INDEX item_v_idx ON item USING ann (v vector_cosine_ops) WITH (lists = 0);
SELECT * FROM compare('<=>');
DROP INDEX item_v_idx;
CREATE INDEX item_v_idx ON item USING ann (v vector_ip_ops) WITH (lists = 100);
SELECT * FROM compare('<#>');
DROP INDEX item_v_idx;
CREATE INDEX item_v_idx ON item USING ann (v vector_cosine_ops) WITH (lists = 100);
SELECT * FROM compare('<=>');
-- One list to visit must not shorten the answer.
SET vector_ext.probes = 1;
SELECT * FROM compare('<=>');
RESET vector_ext.probes;
-- A small memory for the scan: it sorts the rest on disk.
SET work_mem = '64kB';
SELECT * FROM compare('<=>');
RESET work_mem;

-- After the numbers come the distances of zero vectors, then those of NULL.
SELECT kind, min(at), max(at), count(*)
FROM (SELECT at, CASE WHEN distance IS NULL THEN 'null'
					  WHEN distance = 'NaN' THEN 'nan' ELSE 'number' END AS kind
	  FROM answer('<=>', '', '')) a
GROUP BY kind ORDER BY 2;
-- A zero query: every distance is NaN or NULL, and the NULLs are last.
SELECT kind, min(at), max(at), count(*)
FROM (SELECT row_number() OVER () AS at,
			 CASE WHEN distance IS NULL THEN 'null'
				  WHEN distance = 'NaN' THEN 'nan' ELSE 'number' END AS kind
	  FROM (SELECT v <=> '[0,0,0,0,0,0,0,0,0,0,0,0]' AS distance FROM item
			ORDER BY v <=> '[0,0,0,0,0,0,0,0,0,0,0,0]') a) a
GROUP BY kind ORDER BY 2;
DROP INDEX item_v_idx;

CREATE INDEX item_v_idx ON item USING ann (v) WITH (lists = 100);
SELECT * FROM compare('<->');

-- A NULL query returns every row, as a constant and as a parameter.
SELECT count(DISTINCT id), count(*), count(distance)
FROM (SELECT id, v <-> (SELECT NULL::vector) AS distance FROM item
	  ORDER BY v <-> (SELECT NULL::vector)) a;
SELECT count(*)
FROM (SELECT id FROM item ORDER BY v <-> NULL::vector LIMIT 30) a;
-- A zero query under L2 is a query like others.
SELECT count(*)
FROM (SELECT v <-> array_fill(0, ARRAY[12])::vector AS distance FROM item
	  ORDER BY v <-> array_fill(0, ARRAY[12])::vector LIMIT 197) a
WHERE distance = 0;

-- OFFSET pages join without a seam.
SET vector_ext.recall = 1;
SELECT count(*), count(*) FILTER (WHERE s.id <> e.id) AS wrong
FROM generate_series(0, 19) page,
	 LATERAL (SELECT page * 30 + row_number() OVER () AS at, id
			  FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12)
					OFFSET page * 30 LIMIT 30) s) s,
	 exact e
WHERE e.op = '<->' AND e.at = s.at;
SELECT array_agg(id) = (SELECT array_agg(e.id ORDER BY at) FROM exact e
						WHERE op = '<->' AND at BETWEEN 1001 AND 1100) AS same
FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12) OFFSET 1000 LIMIT 100) a;
SELECT count(*)
FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12) OFFSET 19990 LIMIT 100) a;
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12) LIMIT 0) a;
-- WITH TIES counts equal distances: rows 1 and 2 of a pair.
SELECT count(*) FROM (
	SELECT id FROM item ORDER BY v <-> vec(19, 12)
	FETCH FIRST 1 ROWS WITH TIES) a;

-- A cursor goes on beyond what a LIMIT would have told.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM item ORDER BY v <-> vec(0, 12);
CREATE TEMP TABLE fetched (at serial, id int);
DO $$
DECLARE
	c refcursor := 'c';
	got int;
BEGIN
	LOOP
		FETCH c INTO got;
		EXIT WHEN NOT FOUND;
		INSERT INTO fetched (id) VALUES (got);
	END LOOP;
END
$$;
SELECT count(*), count(DISTINCT f.id),
	   count(*) FILTER (WHERE f.id <> e.id AND e.distance IS NOT NULL) AS wrong
FROM fetched f JOIN exact e ON e.op = '<->' AND e.at = f.at;
FETCH NEXT FROM c;
COMMIT;
-- Backwards only with SCROLL, which puts a sort or a copy on top.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM item ORDER BY v <-> vec(0, 12);
MOVE 5 IN c;
FETCH BACKWARD 2 FROM c;
SELECT id FROM exact WHERE op = '<->' AND at IN (3, 4) ORDER BY at DESC;
COMMIT;
-- A holdable cursor.
BEGIN;
DECLARE c CURSOR WITH HOLD FOR
	SELECT id FROM item ORDER BY v <-> vec(0, 12) LIMIT 5;
COMMIT;
FETCH ALL FROM c;
SELECT id FROM exact WHERE op = '<->' AND at <= 5 ORDER BY at;
CLOSE c;

-- LIMIT by a parameter, an expression, a subquery; custom and generic plans.
CREATE TABLE answers (name text, at bigint, id int);
CREATE FUNCTION judge(wanted bigint)
RETURNS TABLE (name text, rows bigint, wrong bigint)
LANGUAGE sql AS $$
	SELECT name, count(*),
		   count(*) FILTER (WHERE a.id <> e.id) + abs(wanted - count(*))
	FROM answers a JOIN exact e ON e.op = '<->' AND e.at = a.at
	GROUP BY name ORDER BY name
$$;
PREPARE top (vector, bigint, bigint, text) AS
INSERT INTO answers SELECT $4, row_number() OVER (), s.id
FROM (SELECT id FROM item ORDER BY v <-> $1 LIMIT $2 OFFSET $3) s;
SET plan_cache_mode = force_custom_plan;
EXECUTE top (vec(0, 12), 777, 0, 'custom');
SET plan_cache_mode = force_generic_plan;
EXECUTE top (vec(0, 12), 777, 0, 'generic');
EXECUTE top (vec(1, 12), 5, 2, 'of another query');
EXECUTE top (vec(0, 12), 777, 0, 'generic again');
PREPARE top_plan (vector, bigint) AS
SELECT id FROM item ORDER BY v <-> $1 LIMIT $2;
EXPLAIN (COSTS OFF) EXECUTE top_plan (vec(0, 12), 777);
RESET plan_cache_mode;
DELETE FROM answers WHERE name = 'of another query';
INSERT INTO answers SELECT 'expression', row_number() OVER (), s.id
FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12)
	  LIMIT length('seven') * 100 + 277) s;
INSERT INTO answers SELECT 'subquery', row_number() OVER (), s.id
FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12)
	  LIMIT (SELECT 777)) s;
CREATE VIEW nearest AS
	SELECT id, v <-> vec(0, 12) AS distance FROM item ORDER BY v <-> vec(0, 12);
INSERT INTO answers SELECT 'view', row_number() OVER (), s.id
FROM (SELECT id FROM nearest LIMIT 777) s;
INSERT INTO answers
WITH w AS MATERIALIZED (SELECT id FROM nearest LIMIT 777)
SELECT 'with', row_number() OVER (), id FROM w;
CREATE FUNCTION nearest_ids(query vector, n int) RETURNS SETOF int
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT id FROM item ORDER BY v <-> query LIMIT n;
END
$$;
INSERT INTO answers SELECT 'plpgsql', row_number() OVER (), s.id
FROM (SELECT nearest_ids(vec(0, 12), 777) AS id) s;
INSERT INTO answers SELECT 'array of real', row_number() OVER (), s.id
FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12)::real[] LIMIT 777) s;
INSERT INTO answers
SELECT 'array of double precision', row_number() OVER (), s.id
FROM (SELECT id FROM item
	  ORDER BY v <-> vec(0, 12)::real[]::float8[] LIMIT 777) s;
SELECT * FROM judge(777);

-- Arrays on the right-hand side use the index.
EXPLAIN (COSTS OFF) SELECT id FROM item
ORDER BY v <-> ARRAY[1,2,3,4,5,6,7,8,9,10,11,12]::real[] LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM item
ORDER BY v <-> ARRAY[1,2,3,4,5,6,7,8,9,10,11,12]::float8[] LIMIT 5;
PREPARE by_array (real[]) AS SELECT id FROM item ORDER BY v <-> $1 LIMIT 5;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_array ('{1,2,3,4,5,6,7,8,9,10,11,12}');
RESET plan_cache_mode;

-- Rescans: a nested loop with a query from the outer row, and a self join.
SELECT plan('
SELECT q.id, n.id FROM (SELECT id, v FROM item WHERE id <= 40 OFFSET 0) q,
	LATERAL (SELECT id FROM item i ORDER BY i.v <-> q.v LIMIT 3) n');
SELECT count(*), count(*) FILTER (WHERE n.distance <> m.distance) AS wrong
FROM (SELECT id, v FROM item WHERE id <= 40 OFFSET 0) q,
	LATERAL (SELECT row_number() OVER () AS at, s.*
			 FROM (SELECT i.v <-> q.v AS distance FROM item i
				   ORDER BY i.v <-> q.v LIMIT 3) s) n,
	LATERAL (SELECT row_number() OVER (ORDER BY d) AS at, d AS distance
			 FROM (SELECT i.v <-> q.v AS d FROM item i OFFSET 0) s
			 ORDER BY d LIMIT 3) m
WHERE n.at = m.at;
-- Its own vector is the nearest of a row.
SELECT count(*), count(*) FILTER (WHERE n.v <> q.v) AS wrong
FROM (SELECT id, v FROM item WHERE id <= 400 AND v IS NOT NULL OFFSET 0) q,
	LATERAL (SELECT v FROM item i ORDER BY i.v <-> q.v LIMIT 1) n;
-- A join below the LIMIT.
CREATE TABLE grp AS SELECT g AS grp, 'group ' || g AS name
FROM generate_series(0, 9) g;
CREATE INDEX ON grp (grp);
ANALYZE grp;
SELECT count(*), count(*) FILTER (WHERE grp > 9) AS wrong
FROM (SELECT i.grp FROM item i JOIN grp g USING (grp)
	  ORDER BY i.v <-> vec(0, 12) LIMIT 500) a;
-- FOR UPDATE.
SELECT count(*) FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12)
					  LIMIT 12 FOR UPDATE) a;
-- DISTINCT and aggregates over the ordered rows.
SELECT count(DISTINCT grp) FROM (SELECT grp FROM item
								 ORDER BY v <-> vec(0, 12) LIMIT 2000) a;
-- A distance bound together with the order.
SELECT count(*) = (SELECT count(*) FROM exact
				   WHERE op = '<->' AND distance < 2) AS same
FROM (SELECT id FROM item WHERE v <-> vec(0, 12) < 2
	  ORDER BY v <-> vec(0, 12)) a;
-- A second sort key needs the order by distance to be complete.
SET enable_sort = on;
SELECT array_agg(id) = (SELECT array_agg(id ORDER BY distance, id)
						FROM (SELECT * FROM exact WHERE op = '<->'
							  ORDER BY distance, id LIMIT 60) e) AS same
FROM (SELECT id FROM item ORDER BY v <-> vec(0, 12), id LIMIT 60) a;
-- Descending order is not the index's.
SELECT plan('SELECT id FROM item ORDER BY v <-> query() DESC LIMIT 5');
RESET vector_ext.recall;
RESET enable_seqscan;
RESET enable_sort;

-- Without any setting, the index is chosen, whatever the metric of the others.
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <-> query() LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <=> query() LIMIT 10;
CREATE INDEX item_cosine_idx ON item USING ann (v vector_cosine_ops);
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <=> query() LIMIT 10;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE grp = 7
ORDER BY v <-> query() LIMIT 10;
RESET enable_sort;
-- No order, no use.
EXPLAIN (COSTS OFF) SELECT count(*) FROM item;

-- A partial index serves as a bitmap, too.
CREATE INDEX item_part_idx ON item USING ann (v) WHERE grp < 3;
SET enable_seqscan = off;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM item WHERE grp < 3;
SELECT count(*), sum(id) FROM item WHERE grp < 3;
SELECT count(*), sum(id) FROM (SELECT * FROM item OFFSET 0) i WHERE grp < 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM item WHERE grp < 3 AND id < 5000;
SELECT count(*) FROM item WHERE grp < 3 AND id < 5000;
RESET enable_indexscan;
-- And as an order.
EXPLAIN (COSTS OFF)
SELECT id FROM item WHERE grp < 3 ORDER BY v <-> query() LIMIT 20;
SELECT array_agg(id) = (SELECT array_agg(id ORDER BY at)
						FROM (SELECT * FROM exact WHERE op = '<->'
							  AND id % 100 < 3 ORDER BY at LIMIT 20) e) AS same
FROM (SELECT id FROM item WHERE grp < 3 ORDER BY v <-> vec(0, 12) LIMIT 20) a;
RESET enable_seqscan;

-- Partitions: the order is merged.
CREATE TABLE part (id int, grp int, v vector(12)) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (MINVALUE) TO (5000);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (5000) TO (5001);
CREATE TABLE part3 PARTITION OF part FOR VALUES FROM (5001) TO (MAXVALUE);
INSERT INTO part SELECT * FROM item;
CREATE INDEX ON part USING ann (v) WITH (lists = 20);
ANALYZE part;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM part ORDER BY v <-> query() LIMIT 10;
SELECT count(*), count(*) FILTER (WHERE distance < before) AS misordered
FROM (SELECT distance, lag(distance) OVER (ORDER BY at) AS before
	  FROM (SELECT row_number() OVER () AS at, s.*
			FROM (SELECT v <-> vec(0, 12) AS distance FROM part
				  ORDER BY v <-> vec(0, 12) LIMIT 3000) s) a) a;
SET vector_ext.recall = 1;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM part
										  ORDER BY v <-> vec(0, 12)) a;
SELECT count(*) FILTER (WHERE a.distance <> e.distance) AS wrong
FROM (SELECT row_number() OVER () AS at, s.*
	  FROM (SELECT v <-> vec(0, 12) AS distance FROM part
			ORDER BY v <-> vec(0, 12) OFFSET 100 LIMIT 500) s) a
	 JOIN exact e ON e.op = '<->' AND e.at = a.at + 100;
-- Inheritance likewise.
CREATE TABLE child () INHERITS (item);
INSERT INTO child SELECT 20000 + id, 0, vec(id, 12) FROM generate_series(1, 50) id;
CREATE INDEX ON child USING ann (v);
SELECT count(*) FILTER (WHERE id > 20000) AS of_child, count(*)
FROM (SELECT id FROM item ORDER BY v <-> vec(1, 12) LIMIT 2) a;
RESET vector_ext.recall;
RESET enable_seqscan;

DROP SCHEMA ann_scan CASCADE;
