-- Rows that come, change and go under an ann index.
CREATE SCHEMA ann_insert;
SET search_path = ann_insert, public;
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

-- The ids by the index, in its order, against those of the table.
CREATE FUNCTION compare(query vector, OUT rows bigint, OUT differ bigint)
LANGUAGE sql SET vector_ext.recall = 1 AS $$
	WITH got AS MATERIALIZED (
		SELECT row_number() OVER () AS at, s.*
		FROM (SELECT id, v <=> query AS distance FROM item
			  ORDER BY v <=> query) s),
	want AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY v <=> query, ctid) AS at, id,
			   v <=> query AS distance
		FROM (SELECT ctid, * FROM item OFFSET 0) i)
	SELECT count(got.at),
		   count(*) FILTER (WHERE got.id IS DISTINCT FROM want.id)
	FROM got FULL JOIN want USING (at)
$$;

-- An empty index is born with its first vector; NULL and zero vectors are kept
-- apart from the lists.
CREATE TABLE item (id int, tag int, v vector(6));
CREATE INDEX item_v_idx ON item USING ann (v vector_cosine_ops);
SELECT lists, flat, rows FROM ann_info('item_v_idx');
SELECT * FROM compare(vec(0, 6));
INSERT INTO item VALUES (1, 1, NULL), (2, 1, '[0,0,0,0,0,0]');
SELECT lists, flat, null_rows, zero_rows FROM ann_info('item_v_idx');
SELECT * FROM compare(vec(0, 6));
INSERT INTO item VALUES (3, 1, vec(3, 6));
SELECT lists, flat FROM ann_info('item_v_idx');
SELECT kind, sum(rows) AS rows FROM ann_lists('item_v_idx')
GROUP BY kind ORDER BY kind;
INSERT INTO item SELECT id, 1,
	CASE WHEN id % 31 = 0 THEN NULL
		 WHEN id % 29 = 0 THEN '[0,0,0,0,0,0]' ELSE vec(id, 6) END
FROM generate_series(4, 3000) id;
SELECT * FROM compare(vec(0, 6));
SELECT kind, sum(rows) AS rows FROM ann_lists('item_v_idx')
GROUP BY kind ORDER BY kind;
SELECT count(*) FROM ann_check('item_v_idx', true);

-- Into the lists of a build, special ones included; many more than it had.
DROP INDEX item_v_idx;
DELETE FROM item WHERE id > 500;
CREATE INDEX item_v_idx ON item USING ann (v vector_cosine_ops)
	WITH (lists = 10);
INSERT INTO item SELECT id, 1,
	CASE WHEN id % 31 = 0 THEN NULL
		 WHEN id % 29 = 0 THEN '[0,0,0,0,0,0]' ELSE vec(id, 6) END
FROM generate_series(501, 6000) id;
SELECT * FROM compare(vec(0, 6));
SELECT kind, count(*) AS lists, sum(rows) AS rows, min(rows) > 0 AS filled
FROM ann_lists('item_v_idx') GROUP BY kind ORDER BY kind;
SELECT count(*) FROM ann_check('item_v_idx', true);

-- One's own writes are seen at once, in the same transaction and statement by
-- statement.
BEGIN;
INSERT INTO item VALUES (7000, 1, vec(7000, 6));
SELECT id FROM item ORDER BY v <=> vec(7000, 6) LIMIT 1;
UPDATE item SET v = vec(7001, 6) WHERE id = 7000;
SELECT id FROM item ORDER BY v <=> vec(7001, 6) LIMIT 1;
SELECT id = 7000 AS old_place FROM item ORDER BY v <=> vec(7000, 6) LIMIT 1;
DELETE FROM item WHERE id = 7000;
SELECT id = 7000 AS still_there FROM item ORDER BY v <=> vec(7001, 6) LIMIT 1;
ROLLBACK;
SELECT * FROM compare(vec(0, 6));

-- Rollback, savepoint.
BEGIN;
INSERT INTO item SELECT id, 2, vec(id, 6) FROM generate_series(8001, 8100) id;
ROLLBACK;
SELECT * FROM compare(vec(0, 6));
BEGIN;
INSERT INTO item VALUES (8001, 2, vec(8001, 6));
SAVEPOINT s;
INSERT INTO item VALUES (8002, 2, vec(8002, 6));
ROLLBACK TO s;
INSERT INTO item VALUES (8003, 2, vec(8003, 6));
COMMIT;
SELECT array_agg(id ORDER BY id) FROM (
	SELECT id, tag FROM item ORDER BY v <=> vec(0, 6)) i WHERE tag = 2;
SELECT * FROM compare(vec(0, 6));

-- An update of another column is HOT: the index gets no new entry.
CREATE TABLE note (id int, tag int, v vector(6)) WITH (fillfactor = 50);
INSERT INTO note SELECT id, 0, vec(id, 6) FROM generate_series(1, 100) id;
CREATE INDEX note_v_idx ON note USING ann (v) WITH (lists = 0);
SELECT sum(rows) FROM ann_lists('note_v_idx');
UPDATE note SET tag = tag + 1 WHERE id <= 50;
SELECT sum(rows) FROM ann_lists('note_v_idx');
SELECT tag, count(*) FROM (SELECT tag FROM note ORDER BY v <-> vec(0, 6)) a
GROUP BY tag ORDER BY tag;
UPDATE note SET tag = tag + 1 WHERE id <= 50;
SELECT sum(rows) FROM ann_lists('note_v_idx');
-- A HOT chain is found by its root, and is one row.
SELECT tag, count(*) FROM (SELECT tag FROM note ORDER BY v <-> vec(0, 6)) a
GROUP BY tag ORDER BY tag;
-- An update of the vector is not.
UPDATE note SET v = vec(id + 1000, 6) WHERE id <= 50;
SELECT sum(rows) FROM ann_lists('note_v_idx');
VACUUM note;
SELECT sum(rows) FROM ann_lists('note_v_idx');
SELECT rows_checked FROM ann_check('note_v_idx', true);

-- To and from the special lists.
UPDATE item SET v = NULL WHERE id BETWEEN 101 AND 110;
UPDATE item SET v = '[0,0,0,0,0,0]' WHERE id BETWEEN 111 AND 115;
UPDATE item SET v = vec(id, 6) WHERE v IS NULL AND id < 100;
SELECT * FROM compare(vec(0, 6));
VACUUM item;
SELECT * FROM compare(vec(0, 6));
SELECT kind, sum(rows) AS rows FROM ann_lists('item_v_idx')
GROUP BY kind ORDER BY kind;
SELECT count(*) FILTER (WHERE v IS NULL) AS null,
	   count(*) FILTER (WHERE vector_norm(v) = 0) AS zero,
	   count(*) FILTER (WHERE vector_norm(v) > 0) AS ordinary FROM item;

-- COPY, INSERT ... ON CONFLICT, MERGE, triggers' rows go the same way.
CREATE UNIQUE INDEX ON item (id);
INSERT INTO item VALUES (1, 9, vec(9001, 6)), (9002, 9, vec(9002, 6))
ON CONFLICT (id) DO UPDATE SET v = excluded.v, tag = excluded.tag;
MERGE INTO item USING (VALUES (9002), (9003)) s (id) ON item.id = s.id
WHEN MATCHED THEN UPDATE SET v = vec(9004, 6)
WHEN NOT MATCHED THEN INSERT VALUES (s.id, 9, vec(9003, 6));
COPY item FROM stdin;
9005	9	[1,2,3,4,5,6]
9006	9	\N
\.
SELECT * FROM compare(vec(0, 6));
SELECT id FROM item ORDER BY v <=> vec(9004, 6) LIMIT 1;

-- Everything goes, and the index starts again.
DELETE FROM item;
SELECT * FROM compare(vec(0, 6));
VACUUM item;
SELECT sum(rows) FROM ann_lists('item_v_idx');
INSERT INTO item SELECT id, 1, vec(id, 6) FROM generate_series(1, 400) id;
SELECT * FROM compare(vec(0, 6));
TRUNCATE item;
SELECT lists, rows FROM ann_info('item_v_idx');
SELECT * FROM compare(vec(0, 6));
INSERT INTO item SELECT id, 1, vec(id, 6) FROM generate_series(1, 400) id;
SELECT * FROM compare(vec(0, 6));
BEGIN;
TRUNCATE item;
INSERT INTO item SELECT id, 1, vec(id, 6) FROM generate_series(1, 10) id;
SELECT * FROM compare(vec(0, 6));
ROLLBACK;
SELECT * FROM compare(vec(0, 6));
SELECT rows_checked FROM ann_check('item_v_idx', true);

-- A trigger that inserts while a scan of the same index runs.
CREATE FUNCTION echo() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.tag = 1 THEN
		INSERT INTO item VALUES (new.id + 10000, 2, new.v);
	END IF;
	RETURN new;
END
$$;
CREATE TRIGGER echo AFTER UPDATE ON item FOR EACH ROW EXECUTE FUNCTION echo();
UPDATE item SET v = i.v + array_fill(0.5::real, ARRAY[6])::vector
FROM (SELECT id, v FROM item ORDER BY v <=> vec(0, 6) LIMIT 100) i
WHERE item.id = i.id;
SELECT * FROM compare(vec(0, 6));
SELECT rows_checked FROM ann_check('item_v_idx', true);

-- Thousands of equal vectors in one list.
CREATE TABLE same (id int, v vector(6));
CREATE INDEX same_v_idx ON same USING ann (v);
INSERT INTO same SELECT id, '[1,2,3,4,5,6]' FROM generate_series(1, 3000) id;
SELECT count(DISTINCT id) FROM (
	SELECT id FROM same ORDER BY v <-> '[1,2,3,4,5,6]') a;
-- Ties come by their place in the table.
SELECT count(*) FILTER (WHERE id <> at) AS out_of_place FROM (
	SELECT id, row_number() OVER () AS at FROM (
		SELECT id FROM same ORDER BY v <-> '[1,1,1,1,1,1]' LIMIT 2000) a) a;

-- The list of a row does not depend on what its statement keeps: row by row a
-- statement, all in one, with memory for some centroids only, or for none.
CREATE TABLE source AS SELECT id, vec(id, 600)::vector(600) AS v
FROM generate_series(1, 700) id;
CREATE FUNCTION chosen(class text, lists int) RETURNS TABLE(way text, same bool)
LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOREACH way IN ARRAY ARRAY['single', 'one statement', '64kB'] LOOP
		CREATE TABLE target AS SELECT * FROM source WHERE id <= 300;
		EXECUTE format('CREATE INDEX target_v ON target USING ann (v %s)
			WITH (lists = %s, seed = 3)', class, lists);
		IF way = 'single' THEN
			FOR r IN SELECT * FROM source WHERE id > 300 ORDER BY id LOOP
				EXECUTE 'INSERT INTO target VALUES ($1, $2)' USING r.id, r.v;
			END LOOP;
			CREATE TEMP TABLE expected_lists AS
			SELECT list_id, l.rows FROM ann_lists('target_v') l;
		ELSE
			IF way = '64kB' THEN SET LOCAL work_mem = '64kB'; END IF;
			INSERT INTO target SELECT * FROM source WHERE id > 300 ORDER BY id;
			RESET work_mem;
		END IF;
		PERFORM ann_check('target_v', true);
		SELECT count(*) >= lists AND sum(l.rows) = 700
			AND bool_and(l.rows = e.rows) INTO same
		FROM ann_lists('target_v') l FULL JOIN expected_lists e USING (list_id);
		RETURN NEXT;
		DROP TABLE target;
	END LOOP;
	DROP TABLE expected_lists;
END
$$;
SELECT * FROM chosen('vector_l2_ops', 30);
SELECT * FROM chosen('vector_ip_ops', 30);
SELECT * FROM chosen('vector_cosine_ops', 200);

SET client_min_messages = warning;
DROP SCHEMA ann_insert CASCADE;
