-- Filter columns in the shapes that queries have: kinds of conditions at the
-- default recall, one question in many forms, pages, tenants.
SET client_min_messages = warning;
CREATE SCHEMA ann_filter_shapes;
SET search_path = ann_filter_shapes, public;
CREATE FUNCTION point(seed int) RETURNS vector LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint8extended(seed * 1000::bigint + d, 7) & 65535) / 32768.0 - 1
		ORDER BY d)::vector FROM generate_series(1, 16) d $$;
-- Points around 200 centres, so that lists mean something.
CREATE TABLE item AS
SELECT i AS id, i % 40 AS g, 'lang' || i % 12 AS lang,
	timestamptz '2026-01-01 00:00+00' + i * interval '1 hour' AS at,
	ARRAY[i % 10, i % 13, 100 + i % 17] AS tags, i % 2000 AS tenant,
	(c.v + point(100000 + i) * array_fill(0.4, ARRAY[16])::vector)::vector(16) AS v
FROM generate_series(1, 20000) i
JOIN (SELECT j, point(j) AS v FROM generate_series(0, 199) j) c ON c.j = i % 200;
ALTER TABLE item ADD PRIMARY KEY (id);
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g, lang, at, tags, tenant);
VACUUM ANALYZE item;
CREATE TABLE question AS SELECT n, (point(n) + point(500000 + n)
	* array_fill(0.4, ARRAY[16])::vector)::vector(16) AS q FROM generate_series(0, 19) n;

-- For each question the ten nearest, exactly and by the index: are there as many
-- rows, which share of the ids is the same, and is the condition in the index?
CREATE FUNCTION kind(condition text, op text DEFAULT '<=>') RETURNS TABLE (as_many bool, enough bool, in_index bool)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(id) FROM (SELECT id FROM item WHERE %s
		ORDER BY v %s $1 LIMIT 10) t', condition, op);
	line text;
	question vector;
	wanted int[];
	mine int[];
	same int := 0;
	total int := 0;
BEGIN
	as_many := true;
	FOR question IN SELECT q FROM question LOOP
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_bitmapscan = off;
		SET LOCAL enable_seqscan = on;
		EXECUTE query INTO wanted USING question;
		SET LOCAL enable_indexscan = on;
		SET LOCAL enable_seqscan = off;
		EXECUTE query INTO mine USING question;
		as_many := as_many AND coalesce(array_length(wanted, 1), 0)
			= coalesce(array_length(mine, 1), 0);
		total := total + coalesce(array_length(wanted, 1), 0);
		same := same + (SELECT count(*) FROM unnest(wanted) w WHERE w = ANY (mine));
	END LOOP;
	enough := same >= 0.95 * total;
	in_index := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '$1', quote_literal(question)) LOOP
		in_index := in_index OR line ~ 'Index Cond';
	END LOOP;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_seqscan = on;
	RETURN NEXT;
END $$;
CREATE TABLE condition (n serial, c text);
INSERT INTO condition (c) VALUES ('g = 7'), ('g IN (3, 5, 8)'), ('lang = ''lang4'''),
	('at BETWEEN ''2026-03-01 00:00+00'' AND ''2026-04-01 00:00+00'''),
	('g < 20 AND lang = ''lang5'''), ('tags && ARRAY[3, 104]'), ('tags @> ARRAY[3, 7]'),
	('g = 7 AND length(lang) > 5'), ('g = 77'), ('tenant = 7');
SELECT c, k.* FROM condition, kind(c) k ORDER BY n;
-- The other metrics, which have rules of their own.
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v vector_ip_ops, g, lang, at, tags, tenant);
SELECT c, k.* FROM condition, kind(c, '<#>') k WHERE NOT (as_many AND enough AND in_index);
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v, g, lang, at, tags, tenant) WITH (layout = planes);
SELECT c, k.* FROM condition, kind(c, '<->') k WHERE NOT (as_many AND enough AND in_index);
DROP INDEX item_v;
CREATE INDEX item_v ON item USING ann (v vector_cosine_ops, g, lang, at, tags, tenant);

-- One question in many forms gives the same rows.
SELECT q FROM question WHERE n = 3 \gset
SET vector_ext.recall = 1;
SET enable_seqscan = off;
CREATE TABLE answer (form text, ids int[]);
INSERT INTO answer SELECT 'plain', array_agg(id) FROM (SELECT id FROM item WHERE g = 3
	ORDER BY v <=> :'q' LIMIT 10) t;
INSERT INTO answer SELECT 'join', array_agg(id) FROM (SELECT i.id FROM item i
	JOIN (VALUES (3)) w (g) ON i.g = w.g ORDER BY i.v <=> :'q' LIMIT 10) t;
INSERT INTO answer SELECT 'in', array_agg(id) FROM (SELECT id FROM item WHERE g IN (SELECT 3)
	ORDER BY v <=> :'q' LIMIT 10) t;
INSERT INTO answer SELECT 'exists', array_agg(id) FROM (SELECT id FROM item i WHERE EXISTS
	(SELECT FROM (VALUES (3)) w (g) WHERE w.g = i.g) ORDER BY v <=> :'q' LIMIT 10) t;
INSERT INTO answer SELECT 'lateral', array_agg(t.id) FROM (VALUES (3)) w (g),
	LATERAL (SELECT id FROM item WHERE g = w.g ORDER BY v <=> :'q' LIMIT 10) t;
INSERT INTO answer WITH near AS MATERIALIZED (SELECT id FROM item WHERE g = 3
	ORDER BY v <=> :'q' LIMIT 10) SELECT 'cte', array_agg(id) FROM near;
PREPARE ask (int, vector) AS SELECT array_agg(id) FROM (SELECT id FROM item WHERE g = $1
	ORDER BY v <=> $2 LIMIT 10) t;
CREATE FUNCTION nearest(which int, query vector) RETURNS int[] LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT array_agg(id) FROM (SELECT id FROM item WHERE g = which
		ORDER BY v <=> query LIMIT 10) t);
END $$;
INSERT INTO answer SELECT 'function', nearest(3, :'q');
SET plan_cache_mode = force_generic_plan;
INSERT INTO answer SELECT 'function, generic', nearest(3, :'q');
EXPLAIN (COSTS OFF) EXECUTE ask (3, :'q');
EXECUTE ask (3, :'q') \gset generic_
SET plan_cache_mode = force_custom_plan;
EXECUTE ask (3, :'q') \gset custom_
RESET plan_cache_mode;
INSERT INTO answer VALUES ('prepared, generic', :'generic_array_agg'),
	('prepared, custom', :'custom_array_agg');
CREATE TABLE part (LIKE item) PARTITION BY HASH (id);
CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO part SELECT * FROM item;
CREATE INDEX ON part USING ann (v vector_cosine_ops, g);
ANALYZE part;
INSERT INTO answer SELECT 'partitions', array_agg(id) FROM (SELECT id FROM part WHERE g = 3
	ORDER BY v <=> :'q' LIMIT 10) t;
-- A policy on a filter column is tested in the index.
CREATE ROLE ann_filter_reader;
GRANT USAGE ON SCHEMA ann_filter_shapes TO ann_filter_reader;
GRANT SELECT ON item TO ann_filter_reader;
GRANT INSERT ON answer TO ann_filter_reader;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_reader ON item USING (g = 3);
SET ROLE ann_filter_reader;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <=> '[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]' LIMIT 10;
INSERT INTO answer SELECT 'policy', array_agg(id) FROM (SELECT id FROM item
	ORDER BY v <=> :'q' LIMIT 10) t;
RESET ROLE;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
SELECT form, array_length(ids, 1) AS rows,
	ids = (SELECT ids FROM answer WHERE form = 'plain') AS same FROM answer;

-- Pages: none twice, no gap; at the default at most one row in twenty is off.
CREATE FUNCTION pages(query vector, OUT rows bigint, OUT twice bigint, OUT off bigint)
LANGUAGE plpgsql AS $$
DECLARE
	all_ids int[];
	ids int[] := '{}';
BEGIN
	SET LOCAL enable_indexscan = off;
	SELECT array_agg(id) FROM (SELECT id FROM item WHERE g IN (3, 4)
		ORDER BY v <=> query LIMIT 200) t INTO all_ids;
	SET LOCAL enable_indexscan = on;
	FOR page IN 0..19 LOOP
		ids := ids || ARRAY(SELECT id FROM item WHERE g IN (3, 4)
			ORDER BY v <=> query LIMIT 10 OFFSET page * 10);
	END LOOP;
	rows := array_length(ids, 1);
	twice := rows - (SELECT count(DISTINCT i) FROM unnest(ids) i);
	off := (SELECT count(*) FROM unnest(all_ids) i WHERE i <> ALL (ids));
END $$;
SELECT * FROM pages(:'q');
RESET vector_ext.recall;
SELECT rows, off <= 10 AND twice <= 10 AS good FROM pages(:'q');
RESET enable_seqscan;

-- Many outer rows; and a question of each of many tenants.
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT t.id) = count(*) AS once FROM (SELECT DISTINCT tenant, g FROM item) w,
	LATERAL (SELECT id FROM item WHERE tenant = w.tenant AND g = w.g
		ORDER BY v <=> :'q' LIMIT 3) t WHERE w.tenant < 100;
RESET enable_seqscan;
DROP OWNED BY ann_filter_reader;
DROP ROLE ann_filter_reader;
DROP SCHEMA ann_filter_shapes CASCADE;
