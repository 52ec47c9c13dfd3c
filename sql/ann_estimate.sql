-- ann_build_estimate against what a build makes
SET maintenance_work_mem = '64MB';
CREATE TABLE guessed (v vector(40));
INSERT INTO guessed
SELECT (SELECT array_agg(sin(i * j * 0.37 + j) + (i % 50) * cos(i % 50 * j))
	FROM generate_series(1, 40) j)::real[]::vector
FROM generate_series(1, 12000) i;
CREATE INDEX guessed_v ON guessed USING ann (v);
SELECT e.lists = a.lists AS same_lists,
	e.index_bytes / a.index_bytes::float8 BETWEEN 0.9 AND 1.1 AS near_bytes,
	e.memory_bytes BETWEEN 12000 * 40 * 4 AND 64 * 1024 * 1024 AS bounded,
	abs(seconds - sampling - clustering - assigning - writing - calibrating) < 1e-9
		AS sum_of_phases
FROM ann_build_estimate(12000, 40) e, ann_info('guessed_v') a;

-- flat: few rows
DELETE FROM guessed WHERE ctid >= '(50,0)';
VACUUM guessed;
REINDEX INDEX guessed_v;
SELECT a.flat, e.lists, clustering = 0 AND calibrating = 0 AS flat_phases,
	e.index_bytes = a.index_bytes AS same_bytes
FROM ann_info('guessed_v') a, ann_build_estimate(a.rows, 40) e;
TRUNCATE guessed;
SELECT e.lists, e.index_bytes = a.index_bytes AS same_bytes, e.memory_bytes, e.seconds < 0.001 AS quick
FROM ann_info('guessed_v') a, ann_build_estimate(0, 40) e;

-- less memory: fewer lists; more rows: more of all
SET maintenance_work_mem = '1MB';
SELECT lists < 2000, memory_bytes <= 1024 * 1024 FROM ann_build_estimate(1000000, 768);
SET maintenance_work_mem = '1GB';
SELECT lists, index_bytes, memory_bytes <= 1024 * 1024 * 1024::bigint AS bounded FROM ann_build_estimate(1000000, 768);
SELECT count(*), bool_and(e.index_bytes > 0 AND e.lists <= n AND e.memory_bytes > 0 AND e.seconds > 0)
FROM unnest('{1,2,100,10000,1000000,1000000000000}'::bigint[]) n,
	unnest('{1,2,1000,2030,2100,16000}'::int[]) d, ann_build_estimate(n, d) e
WHERE d <= 1000 OR n = 1;

SELECT ann_build_estimate(NULL, 3) IS NULL AS nothing;
SELECT ann_build_estimate(-1, 3);
SELECT ann_build_estimate(1000000000001, 3);
SELECT ann_build_estimate(1, 0);
SELECT ann_build_estimate(1, 16001);
SELECT lists, index_bytes, memory_bytes FROM ann_build_estimate(1, 16000);
RESET maintenance_work_mem;
DROP TABLE guessed;
