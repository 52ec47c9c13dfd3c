-- Orders that fall or rise with a distance, and conditions on it, against the
-- answers of a scan of the table.
SET client_min_messages = warning;
CREATE SCHEMA ann_range;
SET search_path = ann_range, public;

-- NULLs and zero vectors are among the rows.
CREATE TABLE item AS
SELECT i AS id, i % 10 AS g, i % 3 = 0 AS yes,
	CASE WHEN i % 500 = 0 THEN NULL
		WHEN i % 501 = 0 THEN array_fill(0, ARRAY[24])::vector(24)
		ELSE (SELECT array_agg(sin(i * j * 0.37 + j)::float4)
			FROM generate_series(1, 24) j)::vector(24)
	END AS v
FROM generate_series(1, 5000) i;
ALTER TABLE item ALTER v TYPE vector(24);
SELECT v AS q FROM item WHERE id = 7 \gset
SELECT array_fill(0, ARRAY[24])::vector AS zero \gset

-- Runs a query without the index and with it, by an index scan and by a bitmap;
-- says how many rows came, and whether the same values came in the same order
-- (in any order without ORDER BY), and whether the index was used each time.
CREATE FUNCTION same(expression text, rest text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(x) FROM (SELECT %s AS x FROM item %s) t',
		expression, rest);
	line text;
	wanted float8[];
	mine float8[];
	used bool;
	answer text := '';
BEGIN
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO wanted;
	SET LOCAL enable_seqscan = off;
	FOR i IN 1..2 LOOP
		PERFORM set_config('enable_indexscan', (i = 1)::text, true);
		PERFORM set_config('enable_bitmapscan', (i = 2)::text, true);
		PERFORM set_config('enable_sort', (i = 2)::text, true);
		used := false;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			used := used OR line LIKE '%item_v%';
		END LOOP;
		EXECUTE query INTO mine;
		IF rest NOT LIKE '%ORDER BY%' THEN
			SELECT array_agg(x ORDER BY x) FROM unnest(mine) x INTO mine;
			SELECT array_agg(x ORDER BY x) FROM unnest(wanted) x INTO wanted;
		END IF;
		answer := answer || CASE WHEN mine IS DISTINCT FROM wanted THEN ' DIFFERS'
			WHEN used THEN ' index' ELSE ' table' END;
	END LOOP;
	SET LOCAL enable_seqscan = on;
	RETURN coalesce(array_length(wanted, 1), 0) || answer;
END $$;

-- Every form of a metric: its operator, a query, and two distances that some rows
-- are below.
CREATE FUNCTION forms(op text, q text, near float8, far float8)
RETURNS TABLE (form text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	d text := format('(v %s %L)', op, q);
	f text;
	t text;
BEGIN
	FOREACH f IN ARRAY ARRAY['1 - @| DESC', '1 - @| DESC NULLS LAST', '-@| DESC',
		'@ * -1| DESC', '-1 * @| DESC NULLS LAST', '2 + @ / 3|', '3 - (1 - @)|',
		'@ - 0.5| NULLS LAST', '1 - @|', '@| DESC', '@ / -2 + 1| DESC'] LOOP
		t := replace(f, '@', d);
		form := f;
		answer := same(split_part(t, '|', 1), format('ORDER BY %s LIMIT 25',
			replace(t, '|', '')));
		RETURN NEXT;
	END LOOP;
	FOREACH f IN ARRAY ARRAY['@ < #n', '@ <= #f', '#n > @', '#f >= @', '1 - @ > 1 - #f',
		'-@ >= -(#f)', '@ * -1 > -(#f)', '@ < #n AND g = 3',
		'@ < #f AND yes AND g IN (1, 2, 3)', '@ BETWEEN #n AND #f', '@ < -50',
		'@ < $nan', '@ <= $inf', '@ > #f', '@ < NULL'] LOOP
		t := replace(replace(replace(f, '@', d), '#n', near::text), '#f', far::text);
		t := replace(replace(t, '$nan', quote_literal('NaN')), '$inf', quote_literal('Infinity'));
		form := f;
		answer := same(d, 'WHERE ' || t) || '; '
			|| same(d, 'WHERE ' || t || ' ORDER BY ' || d || ' LIMIT 30') || '; '
			|| same('1 - ' || d, 'WHERE ' || t || ' ORDER BY 1 - ' || d || ' DESC LIMIT 30');
		RETURN NEXT;
	END LOOP;
END $$;

SET vector_ext.recall = 1;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g, yes)
	WITH (lists = 12);
ANALYZE item;
SELECT * FROM forms('<=>', :'q', 0.1, 0.5);
-- Every distance of a zero vector is NaN.
SELECT * FROM forms('<=>', :'zero', 0.1, 0.5) WHERE answer LIKE '%DIFFERS%';
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g, yes)
	WITH (lists = 12, layout = planes);
SELECT * FROM forms('<=>', :'q', 0.1, 0.5) WHERE answer LIKE '%DIFFERS%';
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v, g, yes) WITH (lists = 0);
SELECT * FROM forms('<->', :'q', 2, 3.5) WHERE answer LIKE '%DIFFERS%';
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v vector_ip_ops, g, yes)
	WITH (lists = 12);
SELECT * FROM forms('<#>', :'q', -8, -4) WHERE answer LIKE '%DIFFERS%';
DROP INDEX item_v;

-- What the plans look like.
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g, yes)
	WITH (lists = 40);
RESET vector_ext.recall;
SET enable_seqscan = off;
SET enable_sort = off;
PREPARE falling (vector) AS SELECT id FROM item ORDER BY 1 - (v <=> $1) DESC LIMIT 5;
PREPARE filtered (vector) AS SELECT id FROM item WHERE g IN (1, 2) AND yes
ORDER BY v <=> $1 LIMIT 5;
PREPARE near (vector, float8) AS SELECT id FROM item WHERE v <=> $1 < $2 AND g = 7;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE falling ('[1]');
EXPLAIN (COSTS OFF) EXECUTE filtered ('[1]');
EXPLAIN (COSTS OFF) EXECUTE near ('[1]', 1);
EXECUTE near (:'q', 0.01);
RESET plan_cache_mode;
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM item a CROSS JOIN LATERAL
	(SELECT id FROM item WHERE g = a.g ORDER BY 1 - (v <=> a.v) DESC NULLS LAST LIMIT 2) b
WHERE a.id < 10;
SELECT count(*), count(DISTINCT b.id) FROM item a CROSS JOIN LATERAL
	(SELECT id FROM item WHERE g = a.g ORDER BY 1 - (v <=> a.v) DESC NULLS LAST LIMIT 2) b
WHERE a.id < 10;
SET enable_seqscan = off;
-- No row is so near: few entries are looked at.
SELECT count(*) FROM (SELECT id FROM item WHERE v <=> :'zero' < 0.1) t;
SELECT count(*) FROM (SELECT id FROM item WHERE v <=> :'q' < -0.1) t;
SELECT entries FROM ann_last_scan();
SET enable_bitmapscan = off;
SELECT count(*) FROM (SELECT id FROM item WHERE v <=> (SELECT array_agg((j % 3) - 1)::vector
	FROM generate_series(1, 24) j) < 0.02) t;
SELECT entries < 1500 AS few, stop FROM ann_last_scan();
RESET enable_bitmapscan;
-- More rows within the distance than memory remembers.
SET vector_ext.recall = 1;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT same('v <=> ' || quote_literal(:'q'), 'WHERE v <=> ' || quote_literal(:'q') || ' < 1');
SELECT same('v <=> ' || quote_literal(:'q'), 'WHERE v <=> ' || quote_literal(:'q') || ' < 1 AND id < 0');
RESET work_mem;
RESET hash_mem_multiplier;
-- Joins by distance: a scan for each row of the other side.
CREATE TABLE probe AS SELECT id, g, v FROM item WHERE id % 50 < 2;
ANALYZE probe;
CREATE FUNCTION joined(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	wanted text;
	mine text;
	answer text := '';
BEGIN
	SET LOCAL enable_seqscan = on;
	FOR i IN 0..2 LOOP
		PERFORM set_config('enable_indexscan', (i = 1)::text, true);
		PERFORM set_config('enable_bitmapscan', (i = 2)::text, true);
		EXECUTE 'SELECT count(*) || '' '' || sum(id) FROM (' || query || ') t' INTO mine;
		wanted := coalesce(wanted, mine);
		answer := answer || CASE WHEN mine = wanted THEN ' same' ELSE ' DIFFERS' END;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			IF line LIKE '%item_v%' THEN
				answer := answer || ' index';
			END IF;
		END LOOP;
	END LOOP;
	RETURN answer;
END $$;
SELECT joined('SELECT b.id FROM probe a JOIN item b ON b.v <=> a.v < 0.1 AND b.g = a.g');
SELECT joined('SELECT b.id FROM probe a LEFT JOIN item b ON 1 - (a.v <=> b.v) > 0.9 AND b.yes');
SELECT joined('SELECT a.id FROM probe a WHERE EXISTS (SELECT FROM item b WHERE b.v <=> a.v < 0.01 AND b.id <> a.id)');
SELECT joined('SELECT a.id FROM probe a WHERE NOT EXISTS (SELECT FROM item b WHERE b.v <=> a.v < 0.1 AND b.id <> a.id)');
SELECT joined('SELECT b.id FROM probe a, LATERAL (SELECT * FROM item c WHERE c.v <=> a.v < a.g / 50.0) b');
RESET vector_ext.recall;
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT b.id FROM probe a JOIN item b ON b.v <=> a.v < 0.1 AND b.g IN (1, 2);
SET enable_seqscan = off;
-- A column that is never NULL has them neither first nor last.
CREATE TABLE whole (id int, v vector(3) NOT NULL);
INSERT INTO whole SELECT i, ARRAY[i, 1, 2]::vector FROM generate_series(1, 300) i;
CREATE INDEX ON whole USING ann (v);
EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY -(v <-> '[7,1,2]') DESC LIMIT 2;
SELECT id FROM whole ORDER BY -(v <-> '[7,1,2]') DESC LIMIT 1;
RESET enable_seqscan;
RESET enable_sort;
-- Not an order that the index has: farthest first, another metric, a square.
EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY v <-> '[7,1,2]' DESC LIMIT 2;
EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY 1 - (v <=> '[7,1,2]') DESC LIMIT 2;
EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY (v <-> '[7,1,2]') ^ 2 LIMIT 2;
-- The operators behind falling orders are not orders of their own.
EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY v <->| '[7,1,2]' LIMIT 2;
SELECT '0.1 of [1,2]'::vector_ball;
-- A sample of the table is not what an index returns.
EXPLAIN (COSTS OFF) SELECT id FROM whole TABLESAMPLE SYSTEM (50)
WHERE v <-> '[7,1,2]' < 3 ORDER BY -(v <-> '[7,1,2]') DESC LIMIT 2;
-- Bounds that no number is, once they are carried to the distance; and sums whose
-- rounding is no small matter.
SELECT count(*) FROM whole WHERE (v <-> '[7,1,2]') / 2 < 1.7e308;
SELECT count(*) FROM whole WHERE -(v <-> '[7,1,2]') / 1e300 > '-Infinity';
EXPLAIN (COSTS OFF) SELECT count(*) FROM whole WHERE (v <-> '[7,1,2]') + 1e12 < 1e12 + 2;
SELECT count(*) FROM whole WHERE (v <-> '[7,1,2]') / 1e4 + 1 <= 1.0002;
DROP SCHEMA ann_range CASCADE;
