-- Parallel ordered scans give what the serial scan gives.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET enable_seqscan = off;
SET enable_sort = off;

CREATE FUNCTION par_half(seed int) RETURNS vector LANGUAGE sql IMMUTABLE
	PARALLEL SAFE AS $$
	SELECT array_agg((hashint8extended(seed * 1000::bigint + d, 7) & 65535)
					 / 32768.0 - 1 ORDER BY d)::vector
	FROM generate_series(1, 32) d $$;
CREATE TABLE par_halves AS
	SELECT id, par_half(id) AS v FROM generate_series(1, 100) id;
CREATE TABLE par (id int, kind int, v vector(64));
INSERT INTO par SELECT a.id * 100 + b.id, b.id % 10, a.v || b.v
	FROM par_halves a, par_halves b WHERE a.id <= 80;
INSERT INTO par SELECT -id, 1, NULL FROM generate_series(1, 30) id;
INSERT INTO par SELECT -100 - id, 1, array_fill(0::real, ARRAY[64])::vector
	FROM generate_series(1, 30) id;
CREATE TABLE par_query AS
	SELECT 1 AS id, (par_half(500) || par_half(501))::vector(64) AS v;
INSERT INTO par_query VALUES (2, NULL), (3, array_fill(0::real, ARRAY[64])::vector);
ALTER TABLE par_query ADD PRIMARY KEY (id);
ANALYZE par, par_halves, par_query;
SELECT v AS q FROM par_query WHERE id = 1 \gset

-- Does a plan contain this?
CREATE FUNCTION par_plan(query text, what text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%' || what || '%' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

-- The rows of a query without and with workers: is the plan as it should be, how
-- many rows there are, and whether distances in order and the set of rows agree.
-- The query gives (id, distance).
CREATE FUNCTION par_same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	merged bool := false;
	serial_ids int[];
	serial_distances float8[];
	ids int[];
	distances float8[];
	agg text := 'SELECT (SELECT array_agg(i ORDER BY i) FROM unnest(a) i), b FROM
		(SELECT array_agg(id) AS a, array_agg(distance) AS b FROM (%s) s) t';
BEGIN
	SET LOCAL max_parallel_workers_per_gather = 0;
	EXECUTE format(agg, query) INTO serial_ids, serial_distances;
	SET LOCAL max_parallel_workers_per_gather = 2;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(agg, query) LOOP
		merged := merged OR line LIKE '%Gather Merge%';
		IF line LIKE '%Parallel Index Scan using par_v%' AND merged THEN
			line := '';
			EXECUTE format(agg, query) INTO ids, distances;
			RETURN format('%s rows, order %s, rows %s',
				cardinality(ids),
				CASE WHEN distances::text = serial_distances::text
					 THEN 'equal' ELSE 'differs' END,
				CASE WHEN ids = serial_ids THEN 'equal' ELSE 'differ' END);
		END IF;
	END LOOP;
	RETURN 'no parallel plan';
END $$;

-- All shapes of a query by one index.
CREATE FUNCTION par_shapes(op text, q text)
	RETURNS TABLE (shape text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	base text := format('SELECT id, v %s %L::vector(64) AS distance FROM par', op, q);
	ordered text := format(' ORDER BY v %s %L::vector(64)', op, q);
BEGIN
	FOR shape, answer IN VALUES
		('limit 10', base || ordered || ' LIMIT 10'),
		('limit 100', base || ordered || ' LIMIT 100'),
		('offset', base || ordered || ' LIMIT 20 OFFSET 500'),
		('most', base || ordered || ' LIMIT 5000'),
		('all', base || ordered),
		('filter', base || ' WHERE kind = 3' || ordered || ' LIMIT 50'),
		('one row', base || ' WHERE id = 4243' || ordered || ' LIMIT 50'),
		('initplan', format('SELECT id, v %s (SELECT v FROM par_query WHERE id = 1) AS distance
			FROM par ORDER BY v %1$s (SELECT v FROM par_query WHERE id = 1) LIMIT 25', op)),
		('join', format('SELECT p.id, v %s %L::vector(64) AS distance
			FROM par p JOIN (VALUES (3), (4)) k (kind) USING (kind)
			ORDER BY v %1$s %2$L::vector(64) LIMIT 30', op, q))
	LOOP
		answer := par_same(answer);
		RETURN NEXT;
	END LOOP;
END $$;

-- Flat, each metric.
CREATE INDEX par_v ON par USING ann (v) WITH (lists = 0);
SELECT * FROM par_shapes('<->', :'q');

-- Workers are taken when they save more than nine times what core says it costs
-- to start them: of a cost of about 30, two workers and the leader save 17.
SET parallel_setup_cost = 1.5;
SELECT par_plan(format('SELECT id FROM par ORDER BY v <-> %L LIMIT 10', :'q'), 'Gather Merge');
SET parallel_setup_cost = 4.5;
SELECT par_plan(format('SELECT id FROM par ORDER BY v <-> %L LIMIT 10', :'q'), 'Gather Merge');
DROP INDEX par_v;
CREATE INDEX par_v ON par USING ann (v) WITH (lists = 60);
SET parallel_setup_cost = 1.5;
SET vector_ext.probes = 2;
SELECT par_plan(format('SELECT id FROM par ORDER BY v <-> %L LIMIT 10', :'q'), 'Gather Merge');
RESET vector_ext.probes;
SET parallel_setup_cost = 0;
DROP INDEX par_v;
CREATE INDEX par_v ON par USING ann (v vector_ip_ops) WITH (lists = 0);
SELECT * FROM par_shapes('<#>', :'q');
DROP INDEX par_v;
CREATE INDEX par_v ON par USING ann (v vector_cosine_ops) WITH (lists = 0);
SELECT * FROM par_shapes('<=>', :'q');
DROP INDEX par_v;

-- Lists, all of them visited.
SET vector_ext.recall = 1;
CREATE INDEX par_v ON par USING ann (v) WITH (lists = 60);
SELECT * FROM par_shapes('<->', :'q');
DROP INDEX par_v;
CREATE INDEX par_v ON par USING ann (v vector_ip_ops) WITH (lists = 60);
SELECT * FROM par_shapes('<#>', :'q');
DROP INDEX par_v;
CREATE INDEX par_v ON par USING ann (v vector_cosine_ops) WITH (lists = 60);
SELECT * FROM par_shapes('<=>', :'q');
RESET vector_ext.recall;

-- With fewer lists visited, every row comes once; memory for little.
SELECT count(*), count(DISTINCT id)
	FROM (SELECT id FROM par ORDER BY v <=> :'q'::vector(64)) s;
SET work_mem = '64kB';
SELECT count(*), count(DISTINCT id)
	FROM (SELECT id FROM par ORDER BY v <=> :'q'::vector(64)) s;
RESET work_mem;
SELECT count(*) >= 9 FROM
	(SELECT id FROM par ORDER BY v <=> :'q'::vector(64) LIMIT 10) a
	JOIN (SELECT id FROM par ORDER BY (v <=> :'q'::vector(64)) + 0 LIMIT 10) b
	USING (id);
SET vector_ext.probes = 1;
SELECT count(*) FROM (SELECT id FROM par ORDER BY v <=> :'q'::vector(64) LIMIT 500) s;
RESET vector_ext.probes;

SET vector_ext.recall = 1;

-- A query without distances, and one whose distances are no numbers.
SELECT par_same('SELECT id, v <=> (SELECT v FROM par_query WHERE id = 2) AS distance
	FROM par ORDER BY v <=> (SELECT v FROM par_query WHERE id = 2)');
SELECT par_same('SELECT id, v <=> (SELECT v FROM par_query WHERE id = 3) AS distance
	FROM par ORDER BY v <=> (SELECT v FROM par_query WHERE id = 3)');

-- Participants that do not come.
SET parallel_leader_participation = off;
SELECT * FROM par_shapes('<=>', :'q') WHERE shape IN ('limit 10', 'all', 'initplan');
SET max_parallel_workers = 0;
SELECT * FROM par_shapes('<=>', :'q') WHERE shape IN ('limit 10', 'all', 'initplan');
RESET parallel_leader_participation;
SELECT * FROM par_shapes('<=>', :'q') WHERE shape IN ('limit 10', 'all', 'initplan');
RESET max_parallel_workers;

-- Workers do not know a row of an outer query, so these are not shared.
SELECT par_plan('SELECT s.id FROM par_halves h, LATERAL
	(SELECT id FROM par ORDER BY v <=> (h.v || h.v)::vector(64) LIMIT 10) s',
	' Index Scan using par_v');
SELECT par_plan('SELECT s.id FROM par_halves h, LATERAL
	(SELECT id FROM par ORDER BY v <=> (h.v || h.v)::vector(64) LIMIT 10) s',
	'Parallel Index Scan');
CREATE FUNCTION par_laterals() RETURNS TABLE (n bigint, sum bigint) LANGUAGE sql AS $$
	SELECT count(*), sum(s.id) FROM (SELECT * FROM par_halves ORDER BY id LIMIT 5) h,
		LATERAL (SELECT id FROM par ORDER BY v <=> (h.v || h.v)::vector(64) LIMIT 10) s $$;
SELECT * FROM par_laterals() \gset parallel_
SET max_parallel_workers_per_gather = 0;
SELECT * FROM par_laterals() \gset serial_
RESET max_parallel_workers_per_gather;
SELECT :parallel_n AS n, :parallel_sum = :serial_sum AS same;

RESET vector_ext.recall;

-- Scanned again for each row of an outer query that it does not depend on.
SET enable_material = off;
SELECT par_plan('SELECT count(*) FROM par_halves h,
	(SELECT id FROM par ORDER BY v <=> (SELECT v FROM par_query WHERE id = 1) LIMIT 10) s
	WHERE h.id <= 5', 'Parallel Index Scan using par_v');
SELECT count(*), count(DISTINCT s.id) FROM par_halves h,
	(SELECT id FROM par ORDER BY v <=> (SELECT v FROM par_query WHERE id = 1) LIMIT 10) s
	WHERE h.id <= 5;
RESET enable_material;

-- Without an order, no worker takes part of the rows from such an index.
SELECT par_plan('SELECT count(*) FROM par', 'Parallel Index');
SELECT par_plan('SELECT id FROM par', 'Parallel Index');
DROP INDEX par_v;

-- An index that grew by inserts, and is not vacuumed: one list of many pages.
CREATE TABLE par_grown (LIKE par);
CREATE INDEX par_v ON par_grown USING ann (v) WITH (lists = 0);
INSERT INTO par_grown SELECT * FROM par ORDER BY id;
ALTER TABLE par RENAME TO par_source;
ALTER TABLE par_grown RENAME TO par;
SELECT * FROM par_shapes('<->', :'q');
DELETE FROM par WHERE id % 3 = 0;
VACUUM par;
SELECT * FROM par_shapes('<->', :'q');

DROP TABLE par, par_source, par_halves, par_query CASCADE;
DROP FUNCTION par_half, par_plan, par_same, par_shapes;
