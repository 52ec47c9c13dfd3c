-- Orders by expressions of a distance, in every place where a query can have them.
-- Each answer is compared with that of a scan of the table.
SET client_min_messages = warning;
CREATE SCHEMA ann_order_expr;
SET search_path = ann_order_expr, public;
CREATE TABLE item (id int PRIMARY KEY, g int, v vector(8) NOT NULL);
INSERT INTO item SELECT i, i % 10, (SELECT array_agg(sin(i * j * 0.37 + j)::float4)
	FROM generate_series(1, 8) j)::vector FROM generate_series(1, 3000) i;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g);
CREATE TABLE part (id int, g int, v vector(8)) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE part_2 PARTITION OF part FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO part SELECT id, g, CASE WHEN id % 400 > 0 THEN v END FROM item;
CREATE INDEX part_v ON part USING ann (v vector_cosine_ops, g);
VACUUM ANALYZE item, part;
SET vector_ext.recall = 1;
SELECT v AS q FROM item WHERE id = 77 \gset

CREATE VIEW scored AS SELECT id, g, 1 - (v <=> (SELECT v FROM item WHERE id = 77)) AS score
FROM item;
CREATE VIEW narrow AS SELECT id, score * 100 AS percent FROM scored WHERE g < 5;
CREATE FUNCTION similarity(a vector, b vector) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN 1 - (a <=> b);
CREATE FUNCTION nearest(q vector, n int) RETURNS SETOF int LANGUAGE sql STABLE
SET search_path = ann_order_expr, public
AS 'SELECT id FROM item ORDER BY 1 - (v <=> q) DESC LIMIT n';
CREATE FUNCTION nearest_loop(q vector, n int) RETURNS SETOF int LANGUAGE plpgsql STABLE AS $$
DECLARE
	row record;
BEGIN
	FOR row IN SELECT id FROM item ORDER BY -(v <=> q) DESC LIMIT n LOOP
		RETURN NEXT row.id;
	END LOOP;
END $$;

-- The rows of a query with the index and without it, as text, and the use of it.
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wanted text;
	mine text;
	line text;
	used text := ' table';
BEGIN
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT string_agg(t::text, '' '') FROM (%s) t', query) INTO wanted;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	EXECUTE format('SELECT string_agg(t::text, '' '') FROM (%s) t', query) INTO mine;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		used := CASE WHEN line ~ 'Index Scan using (item|part_._v|part_v)' THEN ' index' ELSE used END;
	END LOOP;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	RETURN CASE WHEN wanted = mine THEN 'same' ELSE 'DIFFERS' END || used;
END $$;

SELECT same(format(query, :'q')) AS answer, left(query, 70) AS query FROM (VALUES
	('SELECT id FROM scored ORDER BY score DESC LIMIT 20'),
	('SELECT id, percent FROM narrow ORDER BY percent DESC LIMIT 20 OFFSET 30'),
	('SELECT id FROM item ORDER BY similarity(v, %1$L) DESC LIMIT 20'),
	('SELECT id, 1 - (v <=> %1$L) AS s FROM item ORDER BY s DESC LIMIT 20'),
	('SELECT id FROM (SELECT id, g, (v <=> %1$L) * -1 AS s FROM item) t WHERE g = 3 ORDER BY s DESC LIMIT 20'),
	('SELECT id FROM item ORDER BY 1::numeric - (v <=> %1$L) DESC LIMIT 20'),
	('SELECT id FROM item ORDER BY (1 - (v <=> %1$L))::float8 DESC LIMIT 20'),
	('SELECT id FROM item ORDER BY 1 - (v <=> (%1$L::vector::real[])) DESC LIMIT 20'),
	('SELECT id FROM item ORDER BY 1 - (v <=> (%1$L::vector::real[]::float8[])) DESC LIMIT 20'),
	('WITH t AS MATERIALIZED (SELECT * FROM item ORDER BY -(v <=> %1$L) DESC LIMIT 50) SELECT id FROM t ORDER BY id LIMIT 9'),
	('SELECT id FROM item ORDER BY 1 - (v <=> %1$L) DESC, id LIMIT 20'),
	('SELECT DISTINCT ON (1 - (v <=> %1$L)) id FROM item ORDER BY 1 - (v <=> %1$L) DESC LIMIT 20'),
	('SELECT id, rank() OVER (ORDER BY 1 - (v <=> %1$L) DESC) FROM item ORDER BY 2 LIMIT 20'),
	('SELECT i.id FROM item i JOIN part p ON p.id = i.id AND p.g = 4 ORDER BY 1 - (i.v <=> %1$L) DESC LIMIT 20'),
	('SELECT a.id, b.id FROM part_0 a, LATERAL (SELECT id FROM item ORDER BY 1 - (v <=> a.v) DESC LIMIT 2) b WHERE a.id < 60 AND a.v IS NOT NULL'),
	('SELECT id, (SELECT i.id FROM item i WHERE i.id <> p.id ORDER BY 1 - (i.v <=> p.v) DESC LIMIT 1) FROM part_1 p WHERE id < 50 AND v IS NOT NULL'),
	('SELECT id FROM part ORDER BY 1 - (v <=> %1$L) DESC NULLS LAST LIMIT 20'),
	('SELECT id FROM part WHERE g IN (1, 2) ORDER BY -(v <=> %1$L) DESC NULLS LAST LIMIT 20 OFFSET 5'),
	('SELECT count(*), sum(id) FROM (SELECT id FROM part ORDER BY -(v <=> %1$L) DESC LIMIT 7) t'),
	('SELECT id FROM part WHERE v IS NOT NULL AND 1 - (v <=> %1$L) > 0.2 ORDER BY 1 - (v <=> %1$L) DESC LIMIT 50'),
	('(SELECT id FROM item ORDER BY 1 - (v <=> %1$L) DESC LIMIT 3) UNION ALL (SELECT id FROM item WHERE g = 1 ORDER BY v <=> %1$L LIMIT 3)'),
	('SELECT id FROM item WHERE id IN (SELECT id FROM item ORDER BY 1 - (v <=> %1$L) DESC LIMIT 5) ORDER BY id'),
	('SELECT nearest(%1$L, 12)'),
	('SELECT nearest_loop(%1$L, 12)'),
	('SELECT id FROM item ORDER BY 1 - (v <=> NULL) DESC, id LIMIT 3')
) t (query);

-- One table and its partitions give the same rows.
SELECT count(*) FROM (
	(SELECT id FROM item WHERE id % 400 > 0 ORDER BY 1 - (v <=> :'q') DESC LIMIT 100)
	INTERSECT
	(SELECT id FROM part ORDER BY 1 - (v <=> :'q') DESC NULLS LAST LIMIT 100)) t;
EXPLAIN (COSTS OFF) SELECT id FROM part ORDER BY 1 - (v <=> $$[1,2,3,4,5,6,7,8]$$) DESC NULLS LAST LIMIT 3;

-- A prepared query, its plan made once for all parameters and for each anew; a
-- parameter that is NULL.
PREPARE falling (vector, int) AS SELECT id FROM item ORDER BY 1 - (v <=> $1) DESC LIMIT $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE falling (:'q', 3);
EXECUTE falling (:'q', 3);
SELECT probed > 0 AS probed, returned FROM ann_last_scan();
SET plan_cache_mode = force_custom_plan;
EXECUTE falling (:'q', 3);
SET plan_cache_mode = force_generic_plan;
PREPARE counted (vector) AS SELECT count(*) FROM
	(SELECT id FROM item ORDER BY 1 - (v <=> $1) DESC LIMIT 5) t;
EXECUTE counted (NULL);
RESET plan_cache_mode;

-- A cursor goes on where it was, and takes all rows at last.
BEGIN;
DECLARE c CURSOR FOR SELECT id, 1 - (v <=> :'q') AS s FROM item ORDER BY s DESC;
FETCH 1 FROM c;
MOVE 2998 FROM c;
FETCH ALL FROM c;
COMMIT;

-- Row-level security: the policy's column is tested in the index.
CREATE ROLE regress_ann_order;
GRANT USAGE ON SCHEMA ann_order_expr TO regress_ann_order;
GRANT SELECT ON item TO regress_ann_order;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON item USING (g = 7);
SET ROLE regress_ann_order;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY 1 - (v <=> $$[1,2,3,4,5,6,7,8]$$) DESC LIMIT 3;
SELECT id FROM item ORDER BY 1 - (v <=> :'q') DESC LIMIT 3;
SELECT count(*) FROM item WHERE 1 - (v <=> :'q') > 0.5;
RESET ROLE;
SELECT count(*) FROM item WHERE g = 7 AND 1 - (v <=> :'q') > 0.5;
DROP SCHEMA ann_order_expr CASCADE;
DROP ROLE regress_ann_order;
