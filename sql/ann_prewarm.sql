-- ann_prewarm reads what it says, for whom it should.
CREATE TABLE warmed (id int, v vector(8)) WITH (autovacuum_enabled = false);
INSERT INTO warmed SELECT i, ARRAY[i, i % 7, i % 11, 1, 2, 3, 4, 5]::real[]::vector
FROM generate_series(1, 2000) i;
CREATE INDEX warmed_v ON warmed USING ann (v) WITH (lists = 20);
SELECT ann_prewarm('warmed_v') = pages AS every_page FROM ann_info('warmed_v');
SELECT ann_prewarm('warmed_v', 'all') = pages AS every_page FROM ann_info('warmed_v');
SELECT ann_prewarm('warmed_v', 'directory') AS meta_directory_centroids;
SELECT ann_prewarm('warmed_v', 'lists');
SELECT ann_prewarm('warmed_v', NULL) IS NULL AS nothing;
SELECT ann_prewarm('warmed');

-- before the first list, a temporary table, centroids longer than a page
CREATE TABLE unborn (v vector(8));
CREATE INDEX unborn_v ON unborn USING ann (v);
SELECT ann_prewarm('unborn_v', 'directory'), ann_prewarm('unborn_v');
CREATE TEMP TABLE passing (v vector(5000));
INSERT INTO passing SELECT array_fill(i, ARRAY[5000])::vector FROM generate_series(1, 9) i;
CREATE INDEX passing_v ON passing USING ann (v) WITH (lists = 3);
SELECT ann_prewarm('passing_v', 'directory') AS meta_directory_centroids,
	ann_prewarm('passing_v') = pages AS every_page FROM ann_info('passing_v');

-- who may not read the table may not
CREATE ROLE regress_ann_reader;
SET ROLE regress_ann_reader;
SELECT ann_prewarm('warmed_v');
RESET ROLE;
GRANT SELECT ON warmed TO regress_ann_reader;
SET ROLE regress_ann_reader;
SELECT ann_prewarm('warmed_v') > 0 AS allowed;
RESET ROLE;
REVOKE SELECT ON warmed FROM regress_ann_reader;
DROP TABLE warmed, unborn, passing;
DROP ROLE regress_ann_reader;
