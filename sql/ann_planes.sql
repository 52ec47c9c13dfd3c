-- Codes in two planes: the same answers as whole codes, through all that happens
-- to an index.
CREATE SCHEMA ann_planes;
SET search_path = ann_planes, public;
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_sort = off;
SET jit = off;

-- Reproducible values from -1 to 1, in clusters.
CREATE FUNCTION vec(seed int, dims int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(((hashint8extended(seed * 10000::bigint + d, 7) & 65535)
					  + 2 * (hashint8extended(seed % 20 * 10000::bigint + d, 9)
							 & 65535)) / 65536.0 - 1.5 ORDER BY d)::vector
	FROM generate_series(1, dims) d
$$;

-- The same vectors in two columns, one for each layout.
CREATE TABLE item (id int, w vector(100), p vector(100));
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO item SELECT id, v, v FROM generate_series(first, last) id,
		LATERAL (SELECT CASE WHEN id % 97 = 0 THEN NULL
							 WHEN id % 89 = 0 THEN array_fill(0::real, ARRAY[100])::vector
							 WHEN id % 10 = 0 THEN vec(id - 1, 100)
							 ELSE vec(id, 100) END AS v OFFSET 0) a
$$;

-- Queries whose answers differ: wanted rows, at a recall or with probes.
CREATE FUNCTION differ(op text, wanted int, setting text, value text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	one text := 'ARRAY(SELECT a.d FROM (SELECT %1$I %2$s q.v AS d FROM item '
		'ORDER BY %1$I %2$s q.v LIMIT %3$s) a)';
	n bigint;
BEGIN
	PERFORM set_config('vector_ext.recall', '0.95', true);
	PERFORM set_config('vector_ext.probes', '0', true);
	PERFORM set_config(setting, value, true);
	EXECUTE 'SELECT count(*) FROM (SELECT ann_planes.vec(i, 100) AS v '
		'FROM generate_series(5000, 5049) i OFFSET 0) q WHERE '
		|| format(one, 'w', op, wanted) || ' <> ' || format(one, 'p', op, wanted)
		INTO n;
	RETURN n;
END
$$;

CREATE FUNCTION compare(OUT op text, OUT all_rows bigint, OUT ten bigint,
						OUT one bigint, OUT hundred bigint)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOREACH op IN ARRAY ARRAY['<->', '<#>', '<=>'] LOOP
		all_rows := differ(op, 100000, 'vector_ext.recall', '1');
		ten := differ(op, 10, 'vector_ext.recall', '1');
		one := differ(op, 1, 'vector_ext.recall', '1');
		hundred := differ(op, 100, 'vector_ext.recall', '1');
		RETURN NEXT;
	END LOOP;
END
$$;
CREATE VIEW checked AS
SELECT i.relname, c.rows_checked, c.leaked_pages
FROM pg_class i, ann_check(i.oid, true) c
WHERE relname LIKE 'item\_%' ORDER BY relname;

SELECT fill(1, 2500);
CREATE INDEX item_w_l2 ON item USING ann (w) WITH (lists = 0, layout = whole);
CREATE INDEX item_p_l2 ON item USING ann (p) WITH (lists = 0, layout = planes);
CREATE INDEX item_w_ip ON item USING ann (w vector_ip_ops) WITH (lists = 9, layout = whole);
CREATE INDEX item_p_ip ON item USING ann (p vector_ip_ops) WITH (lists = 9, layout = planes);
CREATE INDEX item_w_cosine ON item USING ann (w vector_cosine_ops) WITH (lists = 30, layout = whole);
CREATE INDEX item_p_cosine ON item USING ann (p vector_cosine_ops) WITH (lists = 30, layout = planes);
SELECT * FROM compare();
SELECT * FROM checked;

-- Rows that come later fill the leads of the build, and new ones.
SELECT fill(2501, 4000);
SELECT * FROM compare();
SELECT * FROM checked;

-- Slots are used again; leads that are empty go, and their code pages.
DELETE FROM item WHERE id % 3 = 0;
VACUUM item;
SELECT fill(4001, 4900);
SELECT * FROM compare();
DELETE FROM item WHERE id > 300;
VACUUM item;
SELECT * FROM compare();
SELECT * FROM checked;
SELECT fill(301, 3000);
SELECT * FROM compare();
SELECT * FROM checked;

-- From an empty table on.
TRUNCATE item;
SELECT * FROM checked;
SELECT fill(1, 900);
SELECT * FROM compare();
SELECT * FROM checked;

-- What the first plane saves: entries that are looked at twice.
SELECT count(*) FROM (SELECT id FROM item ORDER BY p <=> vec(1, 100) LIMIT 10) a;
SELECT entries > 800 AS all_scanned, refined BETWEEN 10 AND 400 AS few_refined
FROM ann_last_scan();

-- A full lead has a sign page and two of the rest plane.
SELECT i, pages, code_pages FROM unnest(ARRAY['item_w_l2', 'item_p_l2']) i,
	LATERAL ann_lists(i::regclass) WHERE kind = 'flat';

-- The option is read when the index is built.
ALTER INDEX item_p_l2 SET (layout = whole);
SELECT slots_per_page FROM ann_info('item_p_l2');
REINDEX INDEX item_p_l2;
SELECT slots_per_page FROM ann_info('item_p_l2');
ALTER INDEX item_p_l2 RESET (layout);
REINDEX INDEX item_p_l2;
SELECT slots_per_page FROM ann_info('item_p_l2');
-- By itself: planes for many dimensions and 4 bits.
CREATE TABLE wide (a vector(383), b vector(384));
CREATE INDEX wide_a ON wide USING ann (a);
CREATE INDEX wide_b ON wide USING ann (b);
CREATE INDEX wide_c ON wide USING ann (b) WITH (bits = 8);
SELECT i, layout, slots_per_page FROM unnest(ARRAY['wide_a', 'wide_b', 'wide_c']) i,
	LATERAL ann_info(i);

DROP SCHEMA ann_planes CASCADE;
