-- Filter columns: every type and operator, in both layouts, against the answers
-- of a scan of the table.
SET client_min_messages = warning;
CREATE SCHEMA ann_filter;
SET search_path = ann_filter, public;
CREATE TYPE mood AS ENUM ('sad', 'happy');
ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy';
CREATE DOMAIN small AS int2 CHECK (VALUE < 100);

-- Values at the ends of their ranges, NULLs, NaN and both zeros are among them.
CREATE TABLE item AS
SELECT i AS id, i % 2 = 0 AS yes,
	CASE WHEN i % 50 = 0 THEN 32767 WHEN i % 50 = 1 THEN -32768
		ELSE i % 7 END::int2 AS a,
	CASE WHEN i % 50 = 0 THEN 2147483647 WHEN i % 50 = 1 THEN -2147483648
		ELSE i % 100 END::int4 AS b,
	CASE WHEN i % 50 = 0 THEN 9223372036854775807
		WHEN i % 50 = 1 THEN -9223372036854775808 ELSE i END::int8 AS c,
	CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity'
		WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0' WHEN 4 THEN '0'
		ELSE (i / 10.0)::text END::float4 AS d,
	CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity'
		WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0' WHEN 4 THEN '0'
		ELSE (i / 10.0)::text END::float8 AS e,
	CASE i % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
		ELSE '2020-01-01'::date + i % 90 END::date AS f,
	time '00:00' + i * interval '1 min' AS g,
	timestamp '2020-01-01' + i * interval '1 min' AS h,
	timestamptz '2020-01-01 00:00+00' + i * interval '1 min' AS k,
	(CASE WHEN i % 50 = 0 THEN 4294967295 ELSE i % 5 END)::oid AS o,
	CASE i % 50 WHEN 0 THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'
		WHEN 1 THEN '00000000-0000-0000-0000-000000000000'
		ELSE md5(i::text) END::uuid AS u,
	(ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood AS m,
	(i % 60)::small AS s,
	'tag ' || i % 40 AS t,
	('v' || i % 40)::varchar(10) AS v,
	('c' || i % 40)::char(6) AS w,
	('n' || i % 40)::name COLLATE "C" AS n,
	(i % 40)::numeric / 4 AS q,
	('10.0.0.' || i % 40)::inet AS r,
	ARRAY[i % 10, i % 13, 100 + i % 17] AS x,
	ARRAY['e' || i % 10, NULL, 'f' || i % 13] AS y,
	CASE WHEN i % 11 = 0 THEN NULL ELSE i % 4 END AS z,
	CASE WHEN i % 97 = 0 THEN NULL ELSE
		ARRAY[sin(i), cos(i * 0.7), sin(i * 0.3), cos(i * 1.9), sin(i * 2.7)]
	END::vector(5) AS p
FROM generate_series(1, 3000) i;
ALTER TABLE item ADD PRIMARY KEY (id);

-- Runs a query with the index and without; says how many rows came, whether they
-- are the same ones in the same order, and whether the plan is an index scan
-- with the condition in it.
CREATE FUNCTION same(condition text, ordered bool DEFAULT true)
RETURNS TABLE (rows bigint, equal bool, in_index bool) LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT array_agg(id) FROM (SELECT id FROM item WHERE '
		|| condition || CASE WHEN ordered THEN
			$q$ ORDER BY p <-> '[0.1,0.2,0.3,0.4,0.5]', id LIMIT 25$q$
			ELSE ' ORDER BY id' END || ') found';
	plan_query text := 'SELECT id FROM item WHERE ' || condition
		|| CASE WHEN ordered THEN $q$ ORDER BY p <-> '[0.1,0.2,0.3,0.4,0.5]' LIMIT 25$q$
			ELSE '' END;
	line text;
	mine int[];
	wanted int[];
BEGIN
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO wanted;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	IF ordered THEN
		SET LOCAL enable_bitmapscan = off;
		SET LOCAL enable_sort = off;
	END IF;
	in_index := true;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || plan_query LOOP
		IF line ~ '(Filter|Seq Scan|Sort)' THEN
			in_index := false;
		END IF;
	END LOOP;
	EXECUTE 'SELECT array_agg(id) FROM (' || plan_query || ') found' INTO mine;
	SET LOCAL enable_sort = on;
	SET LOCAL enable_seqscan = on;
	rows := coalesce(array_length(wanted, 1), 0);
	IF ordered THEN
		equal := mine IS NOT DISTINCT FROM wanted;
	ELSE
		equal := (SELECT array_agg(i ORDER BY i) FROM unnest(mine) i)
			IS NOT DISTINCT FROM wanted;
	END IF;
	RETURN NEXT;
END $$;

CREATE TABLE condition (n serial, c text);
INSERT INTO condition (c) VALUES
	('yes'), ('NOT yes'), ('yes IS NULL'),
	('a = 3'), ('a < 3'), ('a <= 3'), ('a > 3'), ('a >= 3'),
	('a = 3::int8'), ('a < 70000'), ('a > 70000'), ('a >= -32768'),
	('a < -32768'), ('a > 32767'), ('a <= -32768'),
	('b = 7'), ('b BETWEEN 7 AND 9'), ('b > 2147483647'), ('b >= 2147483647'),
	('b < 3000000000'), ('b < -2147483648'), ('b = 7::int2'),
	('c = 77'), ('c BETWEEN 100 AND 120'), ('c > 9223372036854775807'),
	('c >= 9223372036854775807'), ('c <= -9223372036854775808'),
	('c < -9223372036854775808'), ('c = 40::int2'),
	('d = 0'), ('d = ''NaN'''), ('d > ''Infinity'''), ('d >= ''Infinity'''),
	('d < ''-Infinity'''), ('d <= ''-Infinity'''), ('d < 12.3::float8'),
	('d = 12.5::float8'), ('d = 12.3::float8'), ('d > 12.3::float8'),
	('d >= 1e300::float8'), ('d < -1e300::float8'), ('d < ''NaN'''),
	('d <= ''NaN'''), ('d = 12.3::float4'),
	('e = 0'), ('e = -0.0'), ('e = ''NaN'''), ('e > ''Infinity'''),
	('e < 12.3'), ('e = 12.3'), ('e = 12.5::float4'), ('e <= ''NaN'''),
	('f = ''2020-02-01'''), ('f < ''2020-01-03'''), ('f = ''infinity'''),
	('f > ''-infinity'''), ('f <= ''-infinity'''),
	('g < ''00:30'''), ('g = ''01:00'''),
	('h < ''2020-01-01 01:00'''), ('h BETWEEN ''2020-01-01 02:00'' AND ''2020-01-01 03:00'''),
	('k < ''2020-01-01 01:00+00'''), ('k >= ''2020-01-03 01:30+00'''),
	('o = 3'), ('o > 4'), ('o = 4294967295'), ('o < 1'),
	('u = md5(''9'')::uuid'), ('u < ''10000000-0000-0000-0000-000000000000'''),
	('u > ''ffffffff-ffff-ffff-ffff-ffffffffffff'''),
	('u >= ''ffffffff-ffff-ffff-ffff-ffffffffffff'''),
	('u < ''00000000-0000-0000-0000-000000000000'''),
	('u <= ''00000000-0000-0000-0000-000000000000'''),
	('u > ''7fffffff-ffff-ffff-ffff-ffffffffffff'''),
	('m = ''ok'''), ('m < ''happy'''), ('m > ''sad'''), ('m >= ''happy'''),
	('m < ''sad'''),
	('s = 5'), ('s > 50'),
	('t = ''tag 7'''), ('t = ''none'''), ('v = ''v7'''), ('w = ''c7'''),
	('n = ''n7'''), ('q = 2.50'), ('q = 0'), ('r = ''10.0.0.7'''),
	('x && ARRAY[3, 4]'), ('x @> ARRAY[3]'), ('x @> ARRAY[3, 110]'),
	('x @> ''{}'''), ('x && ''{}'''), ('x @> ARRAY[NULL, 3]'),
	('x && ARRAY[NULL, 3]'), ('y @> ARRAY[''e3'']'), ('y && ARRAY[''f3'', ''x'']'),
	('z IS NULL'), ('z IS NOT NULL'), ('z = 3'), ('z < 2'), ('z = NULL'),
	('p IS NULL'), ('p IS NOT NULL'), ('p IS NULL AND z = 2'),
	('a = 3 AND b < 50 AND yes'), ('z IS NULL AND t = ''tag 4'''),
	('a > 1 AND a < 4 AND a <> 3'), ('b > 10 AND b < 5');

CREATE INDEX item_idx ON item USING ann (p, yes, a, b, c, d, e, f, g, h, k, o,
	u, m, s, t, v, w, n, q, r, x, y, z) WITH (lists = 12, layout = whole);
SELECT rows_checked, leaked_pages FROM ann_check('item_idx', true);
VACUUM ANALYZE item;
SET vector_ext.recall = 1;
SELECT c, s.* FROM condition, same(c) s WHERE c !~ 'yes' ORDER BY n;
SELECT c, s.* FROM condition, same(c, false) s WHERE NOT (equal AND (in_index OR c ~ '(yes|<>|NULL$)'))
ORDER BY n;

-- The same in layout planes.
DROP INDEX item_idx;
CREATE INDEX item_idx ON item USING ann (p, yes, a, b, c, d, e, f, g, h, k, o,
	u, m, s, t, v, w, n, q, r, x, y, z) WITH (lists = 12, layout = planes);
SELECT rows_checked, leaked_pages FROM ann_check('item_idx', true);
SELECT c, s.* FROM condition, same(c) s WHERE NOT (equal AND (in_index OR c ~ '(yes|<>|NULL$)'))
ORDER BY n;
SELECT c, s.* FROM condition, same(c, false) s WHERE NOT (equal AND (in_index OR c ~ '(yes|<>|NULL$)'))
ORDER BY n;

-- And flat, with rows that came by INSERT and went, and in special lists.
DROP INDEX item_idx;
CREATE TABLE kept AS SELECT * FROM item;
TRUNCATE item;
CREATE INDEX item_idx ON item USING ann (p, yes, a, b, c, d, e, f, g, h, k, o,
	u, m, s, t, v, w, n, q, r, x, y, z);
INSERT INTO item SELECT * FROM kept WHERE id % 2 = 0;
DELETE FROM item WHERE id % 6 = 0;
VACUUM item;
INSERT INTO item SELECT * FROM kept WHERE id % 2 = 1;
UPDATE item SET z = 3, yes = NULL WHERE id % 5 = 0;
SELECT rows_checked, leaked_pages FROM ann_check('item_idx', true);
ANALYZE item;
-- Rows without a distance come in heap order, which is not that of id here.
SELECT c, s.* FROM condition, same(c) s WHERE c !~ '^p IS NULL' AND NOT (equal AND (in_index OR c ~ '(yes|<>|NULL$)'))
ORDER BY n;
SELECT c, s.* FROM condition, same(c, false) s WHERE NOT (equal AND (in_index OR c ~ '(yes|<>|NULL$)'))
ORDER BY n;
RESET vector_ext.recall;

-- What the plan shows, and what the scan says of itself.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE a = 3 AND t = 'tag 3' AND z IS NULL
ORDER BY p <-> '[1,2,3,4,5]' LIMIT 5;
SELECT count(*) FROM (SELECT id FROM item WHERE b = 7 AND m = 'ok'
ORDER BY p <-> '[1,2,3,4,5]' LIMIT 5) found;
SELECT lists, probed, entries, filtered, entries - filtered >= candidates AS less,
	returned, stop FROM ann_last_scan();
-- Nothing can pass: no page is read.
SELECT count(*) FROM (SELECT id FROM item WHERE b > 10 AND b < NULL
ORDER BY p <-> '[1,2,3,4,5]' LIMIT 5) found;
PREPARE impossible (int) AS SELECT id FROM item WHERE b = $1
ORDER BY p <-> '[1,2,3,4,5]' LIMIT 5;
SET plan_cache_mode = force_generic_plan;
EXECUTE impossible (NULL);
SELECT probed, entries, returned FROM ann_last_scan();
RESET plan_cache_mode;
RESET enable_bitmapscan;

-- Expressions and predicates.
DROP INDEX item_idx;
CREATE INDEX item_idx ON item USING ann (p, (b % 10), lower(t)) WHERE z IS NOT NULL;
SELECT rows_checked FROM ann_check('item_idx', true);
SELECT * FROM same('b % 10 = 3 AND z IS NOT NULL');
SELECT * FROM same('lower(t) = ''tag 9'' AND z IS NOT NULL');
DROP INDEX item_idx;

-- A collation whose equal strings have different bytes: every row is looked at.
DO $$ BEGIN
	CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2',
		deterministic = false);
EXCEPTION WHEN feature_not_supported THEN
	CREATE COLLATION blind FROM "C";
END $$;
ALTER TABLE item ALTER t TYPE text COLLATE blind;
CREATE INDEX item_idx ON item USING ann (p, t);
SELECT * FROM same('t = ''TAG 9''');
SELECT rows_checked FROM ann_check('item_idx', true);
RESET enable_seqscan;

-- Errors.
\set VERBOSITY terse
CREATE TABLE wrong (p vector(3), q vector(3), pt point, i int, pa point[]);
INSERT INTO wrong VALUES ('[1,2,3]', '[1,2,3]', '(1,2)', 1, '{}');
CREATE INDEX ON wrong USING ann (i, p);
CREATE INDEX ON wrong USING ann (p, q);
\set VERBOSITY default
CREATE INDEX ON wrong USING ann (p, pt);
\set VERBOSITY terse
CREATE INDEX ON wrong USING ann (p, pa);
CREATE INDEX ON wrong USING ann (p, i) INCLUDE (pt);
DROP SCHEMA ann_filter CASCADE;
