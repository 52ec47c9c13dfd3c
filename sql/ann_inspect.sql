-- What ann_info, ann_lists and ann_check say, and VACUUM as they see it.
-- Vectors are made by a formula, so counts are the same everywhere.
CREATE FUNCTION made(seed int, dims int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(sin(seed * 12.9898 + i * 78.233))::real[]::vector
	FROM generate_series(1, dims) i
$$;

CREATE TABLE inspected (id int, v vector(16))
	WITH (autovacuum_enabled = false);
INSERT INTO inspected
SELECT i, CASE WHEN i % 100 = 0 THEN NULL
	WHEN i % 100 = 1 THEN array_fill(0::real, ARRAY[16])::vector
	ELSE made(i, 16) END
FROM generate_series(1, 3000) i;

-- an index of lists, a flat one, one of an expression over a part of the table
CREATE INDEX inspected_lists ON inspected USING ann (v vector_cosine_ops)
	WITH (lists = 10, seed = 7);
CREATE INDEX inspected_flat ON inspected USING ann (v vector_l2_ops)
	WITH (lists = 0, bits = 8);
CREATE INDEX inspected_part ON inspected USING ann ((v + v) vector_ip_ops)
	WITH (dimensions = 16) WHERE id % 3 = 0;

SELECT metric, dimensions, bits, lists_option, lists, flat, rows, dead_rows,
	null_rows, zero_rows, index_bytes = pages * 8192 AS whole_pages,
	bytes_per_row = index_bytes / rows::float8 AS per_row, slots_per_page, seed,
	format, mean_residual BETWEEN 0.1 AND 1 AS near, average_list_rows
FROM ann_info('inspected_lists') \gx
SELECT metric, bits, lists_option, lists, flat, rows, null_rows, zero_rows,
	slots_per_page, seed, largest_list_rows
FROM ann_info('inspected_flat') \gx
SELECT metric, lists, flat, rows, null_rows, zero_rows
FROM ann_info('inspected_part');

SELECT kind, count(*), sum(rows) AS rows, bool_and(pages = run) AS consecutive,
	count(mean_residual) AS residuals, count(centroid_norm) AS norms
FROM ann_lists('inspected_lists') GROUP BY kind ORDER BY kind;
SELECT list_id, rows, pages, run, kind FROM ann_lists('inspected_flat');
SELECT sum(rows) = (ann_info('inspected_lists')).rows AS all_rows
FROM ann_lists('inspected_lists');

SELECT rows_checked, leaked_pages FROM ann_check('inspected_lists');
SELECT rows_checked, leaked_pages FROM ann_check('inspected_lists', true);
SELECT rows_checked, leaked_pages FROM ann_check('inspected_flat', true);
SELECT rows_checked, leaked_pages FROM ann_check('inspected_part', true);

-- deleted rows go in VACUUM, and their room is used again
CREATE TABLE size_before AS
SELECT (ann_info('inspected_lists')).pages AS lists,
	(ann_info('inspected_flat')).pages AS flat;
DELETE FROM inspected WHERE id % 2 = 0;
SELECT rows_checked FROM ann_check('inspected_lists', true);
VACUUM inspected;
SELECT rows, dead_rows, null_rows, zero_rows FROM ann_info('inspected_lists');
SELECT rows_checked, leaked_pages FROM ann_check('inspected_lists', true);
SELECT rows_checked, leaked_pages FROM ann_check('inspected_flat', true);
SELECT rows_checked, leaked_pages FROM ann_check('inspected_part', true);
INSERT INTO inspected SELECT i, made(i, 16) FROM generate_series(2, 3000, 2) i;
SELECT (ann_info('inspected_lists')).pages <= 1.1 * lists AS lists,
	(ann_info('inspected_flat')).pages <= 1.1 * flat AS flat
FROM size_before;
SELECT rows_checked, leaked_pages FROM ann_check('inspected_lists', true);
SELECT rows_checked, leaked_pages FROM ann_check('inspected_flat', true);

-- empty pages leave their chain and are given to whoever needs one
DELETE FROM inspected;
VACUUM inspected;
SELECT rows, flat, lists FROM ann_info('inspected_flat');
SELECT kind, rows, pages FROM ann_lists('inspected_flat');
SELECT rows_checked, leaked_pages FROM ann_check('inspected_flat', true);
INSERT INTO inspected SELECT i, made(i, 16) FROM generate_series(1, 3000) i;
SELECT (ann_info('inspected_flat')).pages <= flat AS flat FROM size_before;
VACUUM inspected;
SELECT rows_checked, leaked_pages FROM ann_check('inspected_flat', true);
SELECT rows_checked, leaked_pages FROM ann_check('inspected_lists', true);

-- an index that is born after its build, and one of vectors too long for a page
CREATE TABLE born (v vector(2100)) WITH (autovacuum_enabled = false);
CREATE INDEX born_i ON born USING ann (v vector_l2_ops);
SELECT lists, flat, rows, pages, bytes_per_row, average_list_rows
FROM ann_info('born_i');
SELECT * FROM ann_check('born_i', true);
VACUUM born;
INSERT INTO born SELECT made(i, 2100) FROM generate_series(1, 20) i;
INSERT INTO born VALUES (NULL);
SELECT list_id, rows, pages, kind FROM ann_lists('born_i');
SELECT * FROM ann_check('born_i', true);
DELETE FROM born;
VACUUM born;
SELECT * FROM ann_check('born_i', true);
SELECT list_id, rows, pages, kind FROM ann_lists('born_i');

-- rolled back rows stay until VACUUM, and are no fault
BEGIN;
INSERT INTO born SELECT made(i, 2100) FROM generate_series(1, 5) i;
ROLLBACK;
SELECT rows_checked FROM ann_check('born_i', true);
VACUUM born;
SELECT rows_checked FROM ann_check('born_i', true);

-- what is not an index of ours
CREATE INDEX born_btree ON born ((1));
SELECT ann_info('born'::regclass);
SELECT ann_info('born_btree');
SELECT * FROM ann_lists('born_btree');
SELECT ann_check('born');
SELECT ann_check('born_btree');
SELECT ann_check(0);
SELECT ann_info(NULL) IS NULL AS strict;
CREATE TABLE parts (v vector(3)) PARTITION BY RANGE (v);
CREATE INDEX parts_i ON parts USING ann (v);
SELECT ann_info('parts_i');

-- everybody may look at counts; the check takes locks, so it is the owner's
CREATE ROLE regress_ann_other;
SET ROLE regress_ann_other;
SELECT rows FROM ann_info('inspected_flat');
SELECT ann_check('inspected_flat');
RESET ROLE;
DROP ROLE regress_ann_other;

DROP TABLE inspected, size_before, born, parts;
DROP FUNCTION made(int, int);
