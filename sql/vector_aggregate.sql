-- avg(vector) and sum(vector).
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

SELECT avg(v), sum(v) FROM unnest(ARRAY['[1,2,3]'::vector, '[3,5,7]']) v;
SELECT avg(v), sum(v) FROM unnest(ARRAY['[1,2,3]'::vector, NULL, '[3,5,7]']) v;
SELECT avg(v), sum(v) FROM unnest(ARRAY[NULL, NULL]::vector[]) v;
SELECT avg(v), sum(v) FROM unnest(ARRAY[]::vector[]) v;
SELECT avg(v), sum(v) FROM unnest(ARRAY['[3e38]'::vector, '[3e38]', '[-3e38]']) v;
SELECT avg(v) FROM unnest(ARRAY['[3.4028235e38]'::vector, '[3.4028235e38]']) v;
SELECT avg(v) FROM unnest(ARRAY['[1,2]'::vector, '[3]']) v;
SELECT sum(v) FROM unnest(ARRAY['[1,2]'::vector, '[3]']) v;
SELECT sum(v) FROM unnest(ARRAY['[3e38]'::vector, '[3e38]']) v;

-- Double precision: small values are not lost beside a large one.
SELECT sum(v), avg(v) FROM (SELECT '[16777216]'::vector UNION ALL SELECT '[1]' FROM generate_series(1, 1000)) t (v);

-- Groups, windows, and the largest vector.
CREATE TABLE vg AS SELECT i, i % 4 AS grp, ARRAY[i, -i, 1]::vector AS v FROM generate_series(1, 10000) i;
SELECT grp, avg(v), sum(v) FROM vg GROUP BY grp ORDER BY grp;
SELECT i, sum(v) OVER w, avg(v) OVER w FROM vg WHERE i <= 4 WINDOW w AS (ORDER BY i);
SELECT i, sum(v) OVER w FROM vg WHERE i <= 4 WINDOW w AS (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);
SELECT vector_dims(avg(v)), avg(v) = array_fill(1.5, '{16000}')::vector AS right
	FROM (SELECT array_fill(i, '{16000}')::vector FROM generate_series(1, 2) i) t (v);

-- Parallel: partial states meet, some of them empty.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS off) SELECT avg(v), sum(v) FROM vg;
SELECT avg(v), sum(v) FROM vg;
SELECT avg(v), sum(v) FROM vg WHERE i = 1;
SELECT avg(v), sum(v) FROM vg WHERE i = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
DROP TABLE vg;

-- The functions below the aggregates, called by hand.
SELECT vector_accum('{0}', '[1,2]'), vector_accum('{1,1,2}', '[1,2]'), vector_accum('{0,9,9}', '[1]');
SELECT vector_combine('{0}', '{1,2,3}'), vector_combine('{1,2,3}', '{0}'), vector_combine('{1,2,3}', '{2,3,4}');
SELECT vector_avg('{2,4,6}'), vector_avg('{0}'), vector_sum('{2,4,6}'), vector_sum('{0}');
-- Outside an aggregate they leave their argument alone.
SELECT s, vector_accum(s, '[1]'), vector_combine(s, s), s FROM (VALUES ('{1,2}'::float8[])) t (s);
