-- Building an ann index: options, tables of every kind, few rows and many.
CREATE SCHEMA ann_build;
SET search_path = ann_build, public;
SET check_function_bodies = off;
SET jit = off;
SET enable_seqscan = off;
SET enable_sort = off;

CREATE FUNCTION vec(seed int, dims int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint8extended(seed * 10000::bigint + d, 7) & 65535)
					 / 32768.0 - 1 ORDER BY d)::vector
	FROM generate_series(1, dims) d
$$;

-- What an index is, whether a scan of its table gives every row once, and
-- whether it passes its checks.
CREATE FUNCTION show(index regclass, OUT metric text, OUT dims int,
	OUT bits int, OUT option int, OUT lists int, OUT flat bool,
	OUT in_lists numeric, OUT nulls bigint, OUT zeros bigint,
	OUT checked bigint, OUT scanned bigint)
LANGUAGE plpgsql SET vector_ext.recall = 1 AS $$
DECLARE
	tab regclass;
	op text;
	col text;
BEGIN
	SELECT i.metric, i.dimensions, i.bits, i.lists_option, i.lists, i.flat,
		   i.null_rows, i.zero_rows
	INTO metric, dims, bits, option, lists, flat, nulls, zeros
	FROM ann_info(index) i;
	SELECT coalesce(sum(rows), 0) INTO in_lists FROM ann_lists(index)
	WHERE kind NOT IN ('null', 'zero');
	SELECT rows_checked INTO checked FROM ann_check(index, true);
	op := CASE metric WHEN 'l2' THEN '<->' WHEN 'cosine' THEN '<=>'
		ELSE '<#>' END;
	SELECT indrelid, pg_get_indexdef(index, 1, false) INTO tab, col
	FROM pg_index WHERE indexrelid = index;
	-- In full, so that the order by distance ends in rows without one.
	EXECUTE format('SELECT count(DISTINCT ctid) FROM '
				   '(SELECT ctid FROM %s ORDER BY (%s) %s $1) a', tab, col, op)
	INTO scanned USING vec(0, dims);
END
$$;

CREATE TABLE item (id int, grp int, v vector(8));
INSERT INTO item
SELECT id, id % 10,
	   CASE WHEN id % 50 = 0 THEN NULL
			WHEN id % 70 = 1 THEN array_fill(0::real, ARRAY[8])::vector
			ELSE vec(id, 8) END
FROM generate_series(1, 2000) id;

-- Options.
CREATE INDEX i ON item USING ann (v);
SELECT * FROM show('i');
DROP INDEX i;
CREATE INDEX i ON item USING ann (v vector_ip_ops) WITH (lists = -1, bits = 8);
SELECT * FROM show('i');
DROP INDEX i;
CREATE INDEX i ON item USING ann (v vector_cosine_ops) WITH (lists = 0);
SELECT * FROM show('i');
DROP INDEX i;
CREATE INDEX i ON item USING ann (v vector_l2_ops) WITH (lists = 1);
SELECT * FROM show('i');
DROP INDEX i;
CREATE INDEX i ON item USING ann (v vector_l2_ops) WITH (lists = 33);
SELECT * FROM show('i');
DROP INDEX i;
CREATE INDEX i ON item USING ann (v vector_ip_ops) WITH (lists = 33, bits = 8);
SELECT * FROM show('i');
DROP INDEX i;
CREATE INDEX i ON item USING ann (v vector_cosine_ops)
	WITH (lists = 33, seed = 7, dimensions = 8);
SELECT * FROM show('i');
SELECT lists_option, seed, format FROM ann_info('i');
-- Changing an option is for the next build.
ALTER INDEX i SET (lists = 5, bits = 8);
SELECT * FROM show('i');
REINDEX INDEX i;
SELECT * FROM show('i');
ALTER INDEX i RESET (lists, bits, seed);
REINDEX TABLE item;
SELECT * FROM show('i');
DROP INDEX i;

-- By itself: flat below 10,000 rows, else 2 sqrt(rows) lists.
CREATE TABLE big (id int, v vector(4));
INSERT INTO big SELECT id, vec(id, 4) FROM generate_series(1, 9000) id;
CREATE INDEX big_i ON big USING ann (v);
SELECT * FROM show('big_i');
INSERT INTO big SELECT id, vec(id, 4) FROM generate_series(9001, 12100) id;
REINDEX INDEX big_i;
SELECT lists BETWEEN 210 AND 230 AS about_220, flat, scanned
FROM show('big_i');

-- The same rows and seed give the same lists, another seed others.
CREATE INDEX a ON big USING ann (v) WITH (lists = 40, seed = 5);
CREATE INDEX b ON big USING ann (v) WITH (lists = 40, seed = 5);
CREATE INDEX c ON big USING ann (v) WITH (lists = 40, seed = 6);
SELECT count(*) FROM (SELECT * FROM ann_lists('a')
					  EXCEPT ALL SELECT * FROM ann_lists('b')) d;
SELECT count(*) > 0 AS differ FROM (SELECT * FROM ann_lists('a')
									EXCEPT ALL SELECT * FROM ann_lists('c')) d;
DROP INDEX a, b, c;
-- Less memory is a smaller sample, never an error.
SET maintenance_work_mem = '1MB';
CREATE INDEX a ON big USING ann (v) WITH (lists = 40);
SELECT * FROM show('a');
DROP INDEX a;
CREATE TABLE wide (id int, v vector(1000));
INSERT INTO wide SELECT id, vec(id, 1000) FROM generate_series(1, 300) id;
CREATE INDEX wide_i ON wide USING ann (v) WITH (lists = 20);
SELECT lists BETWEEN 1 AND 20 AS some, in_lists, checked, scanned
FROM show('wide_i');
RESET maintenance_work_mem;

-- Few rows.
CREATE TABLE few (v vector(4));
CREATE INDEX few_i ON few USING ann (v vector_cosine_ops) WITH (lists = 20);
SELECT * FROM show('few_i');
INSERT INTO few VALUES (NULL), (NULL);
REINDEX INDEX few_i;
SELECT * FROM show('few_i');
INSERT INTO few VALUES ('[0,0,0,0]');
REINDEX INDEX few_i;
SELECT * FROM show('few_i');
INSERT INTO few VALUES ('[1,2,3,4]');
REINDEX INDEX few_i;
SELECT * FROM show('few_i');
INSERT INTO few SELECT vec(id, 4) FROM generate_series(1, 6) id;
REINDEX INDEX few_i;
SELECT option, lists BETWEEN 1 AND 7 AS at_most_7, in_lists, nulls, zeros,
	   checked, scanned
FROM show('few_i');
-- Nothing but one vector, a thousand times.
TRUNCATE few;
INSERT INTO few SELECT '[1,2,3,4]' FROM generate_series(1, 1000);
REINDEX INDEX few_i;
SELECT option, in_lists, checked, scanned FROM show('few_i');
-- One-hot vectors, and norms over many decades.
TRUNCATE few;
INSERT INTO few SELECT ('{' || repeat('0,', id % 4) || '1e' || (id % 37 - 18)
						|| repeat(',0', 3 - id % 4) || '}')::real[]::vector
FROM generate_series(1, 500) id;
REINDEX INDEX few_i;
SELECT option, in_lists, zeros, checked, scanned FROM show('few_i');
DROP INDEX few_i;
CREATE INDEX few_i ON few USING ann (v) WITH (lists = 8);
SELECT option, in_lists, checked, scanned FROM show('few_i');

-- A column without a dimension takes it from the rows or from the option.
CREATE TABLE loose (v vector);
CREATE INDEX loose_i ON loose USING ann (v) WITH (dimensions = 3);
SELECT * FROM show('loose_i');
INSERT INTO loose VALUES (NULL), ('[1,2,3]'), ('[4,5,6]');
SELECT * FROM show('loose_i');
DROP INDEX loose_i;
CREATE INDEX loose_i ON loose USING ann (v);
SELECT * FROM show('loose_i');

-- An expression, and a partial index.
CREATE INDEX e ON item USING ann ((subvector(v, 1, 4)::vector(4))) WITH (lists = 4);
SELECT * FROM show('e');
SELECT count(*) FROM (
	SELECT id FROM item
	ORDER BY (subvector(v, 1, 4)::vector(4)) <-> '[1,2,3,4]' LIMIT 20) a;
DROP INDEX e;
CREATE INDEX p ON item USING ann (v) WITH (lists = 4) WHERE grp = 3 AND v IS NOT NULL;
SELECT in_lists, nulls FROM show('p');
SELECT rows_checked = (SELECT count(v) FROM item WHERE grp = 3) AS same
FROM ann_check('p', true);
SELECT count(*), count(DISTINCT grp) FROM (
	SELECT grp FROM item WHERE grp = 3 AND v IS NOT NULL
	ORDER BY v <-> vec(0, 8)) a;
DROP INDEX p;

-- Concurrently, and again.
CREATE INDEX CONCURRENTLY i ON item USING ann (v) WITH (lists = 12);
SELECT * FROM show('i');
REINDEX INDEX CONCURRENTLY i;
SELECT * FROM show('i');
REINDEX TABLE CONCURRENTLY item;
SELECT * FROM show('i');
DROP INDEX CONCURRENTLY i;

-- Unlogged and temporary tables.
CREATE UNLOGGED TABLE fast AS SELECT * FROM item;
CREATE INDEX fast_i ON fast USING ann (v) WITH (lists = 6);
SELECT * FROM show('fast_i');
INSERT INTO fast SELECT * FROM item;
SELECT * FROM show('fast_i');
ALTER TABLE fast SET LOGGED;
SELECT * FROM show('fast_i');
ALTER TABLE fast SET UNLOGGED;
SELECT * FROM show('fast_i');
CREATE TEMP TABLE mine AS SELECT * FROM item;
CREATE INDEX mine_i ON mine USING ann (v vector_cosine_ops) WITH (lists = 6);
SELECT * FROM show('mine_i');
INSERT INTO mine SELECT * FROM item;
DELETE FROM mine WHERE id < 1000;
VACUUM mine;
SELECT * FROM show('mine_i');
CREATE TEMP TABLE shortlived (v vector(2)) ON COMMIT DELETE ROWS;
CREATE INDEX shortlived_i ON shortlived USING ann (v);
BEGIN;
INSERT INTO shortlived VALUES ('[1,2]'), ('[2,3]');
SELECT * FROM shortlived ORDER BY v <-> '[2,2]';
COMMIT;
SELECT * FROM shortlived ORDER BY v <-> '[2,2]';

-- A partitioned parent gives its index to every partition.
CREATE TABLE parent (id int, v vector(8)) PARTITION BY HASH (id);
CREATE TABLE parent0 PARTITION OF parent FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE INDEX parent_i ON parent USING ann (v) WITH (lists = 3);
CREATE TABLE parent1 PARTITION OF parent FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parent SELECT id, v FROM item;
SELECT sum(checked) FROM (VALUES ('parent0_v_idx'), ('parent1_v_idx')) n (name),
	show(name::regclass);
REINDEX INDEX parent_i;
SELECT sum(in_lists + nulls) FROM (VALUES ('parent0_v_idx'), ('parent1_v_idx')) n (name),
	show(name::regclass);
ALTER TABLE parent DETACH PARTITION parent1;
SELECT count(*) FROM (SELECT id FROM parent ORDER BY v <-> vec(0, 8)) a;

-- Another tablespace.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE ann_build_space LOCATION '';
CREATE INDEX t ON item USING ann (v) WITH (lists = 6) TABLESPACE ann_build_space;
SELECT * FROM show('t');
ALTER INDEX t SET TABLESPACE pg_default;
SELECT * FROM show('t');
REINDEX (TABLESPACE ann_build_space) INDEX t;
SELECT * FROM show('t');
DROP INDEX t;
DROP TABLESPACE ann_build_space;

-- Changes of the table that rebuild the index.
CREATE INDEX i ON item USING ann (v) WITH (lists = 6);
ALTER TABLE item ALTER id TYPE bigint;
SELECT * FROM show('i');
CREATE INDEX item_id ON item (id);
CLUSTER item USING item_id;
SELECT * FROM show('i');
VACUUM FULL item;
SELECT * FROM show('i');
-- A column that is added does not.
ALTER TABLE item ADD note text DEFAULT 'x';
SELECT * FROM show('i');
-- In a transaction that is rolled back.
BEGIN;
CREATE INDEX j ON item USING ann (v vector_ip_ops) WITH (lists = 2);
INSERT INTO item (id, v) SELECT id, vec(id, 8) FROM generate_series(3000, 3100) id;
SELECT * FROM show('j');
ROLLBACK;
SELECT * FROM show('i');
-- A table that was filled and indexed in the same transaction.
BEGIN;
CREATE TABLE fresh AS SELECT id, v FROM item;
CREATE INDEX fresh_i ON fresh USING ann (v vector_ip_ops) WITH (lists = 2);
UPDATE fresh SET v = vec(id::int + 1, 8) WHERE id < 100;
COMMIT;
SELECT * FROM show('fresh_i');

-- The classes are valid.
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c
JOIN pg_am a ON a.oid = c.opcmethod AND amname = 'ann' ORDER BY opcname;
SELECT name, pg_indexam_has_property(a.oid, name)
FROM pg_am a, unnest(ARRAY['can_order', 'can_unique', 'can_multi_col',
						   'can_exclude', 'can_include']) name
WHERE amname = 'ann';
SELECT name, pg_index_column_has_property('i', 1, name)
FROM unnest(ARRAY['asc', 'orderable', 'distance_orderable', 'returnable',
				  'search_array', 'search_nulls']) name;

SET client_min_messages = warning;
DROP SCHEMA ann_build CASCADE;
