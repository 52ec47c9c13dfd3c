-- Every dimension: builds, finds its own vectors first, inserts, vacuums.
CREATE SCHEMA ann_dims;
SET search_path = ann_dims, public;
SET check_function_bodies = off;
SET jit = off;
SET enable_seqscan = off;
SET enable_sort = off;

-- Reproducible values from -1 to 1.
CREATE FUNCTION vec(seed int, dims int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint8extended(seed * 100000::bigint + d, 7) & 65535)
					 / 32768.0 - 1 ORDER BY d)::vector
	FROM generate_series(1, dims) d
$$;

CREATE FUNCTION fill(dims int, first int, last int) RETURNS void
LANGUAGE sql AS $$
	INSERT INTO item SELECT id, vec(id, dims)
	FROM generate_series(first, last) id
$$;

-- Rows whose own vector is not found at distance 0, and rows scanned.  A flat
-- index has to find it by default, one of lists when all of them are visited.
CREATE FUNCTION judge(OUT lost bigint, OUT rows bigint, OUT checked bigint)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('vector_ext.recall',
					   CASE WHEN flat THEN '0.95' ELSE '1' END, true)
	FROM ann_info('item_v_idx');
	SELECT count(*) INTO lost FROM item q,
		LATERAL (SELECT v FROM item i ORDER BY i.v <-> q.v LIMIT 1) n
	WHERE n.v <> q.v;
	SELECT count(*) INTO rows
	FROM (SELECT id FROM item ORDER BY v <-> (SELECT v FROM item LIMIT 1)) a;
	SELECT rows_checked INTO checked FROM ann_check('item_v_idx', true);
END
$$;

-- Half of the rows are there before the build, half come later, a third goes.
-- VACUUM cannot run in a function, so the steps are written out for \gexec.
CREATE TABLE result (dims int, lists int, bits int, layout text, step text,
					 lost bigint, rows bigint, checked bigint);
CREATE FUNCTION steps(dims int, lists int, bits int, layout text, n int)
RETURNS SETOF text LANGUAGE sql AS $$
	VALUES ('DROP TABLE IF EXISTS item'),
	(format('CREATE TABLE item (id int, v vector(%s))', dims)),
	(format('SELECT fill(%s, 1, %s)', dims, n)),
	(format('CREATE INDEX item_v_idx ON item USING ann (v) '
			'WITH (lists = %s, bits = %s, layout = %s)', lists, bits, layout)),
	(format('INSERT INTO result SELECT %s, %s, %s, %L, %L, * FROM judge()',
			dims, lists, bits, layout, '1 build')),
	(format('SELECT fill(%s, %s, %s)', dims, n + 1, 2 * n)),
	(format('INSERT INTO result SELECT %s, %s, %s, %L, %L, * FROM judge()',
			dims, lists, bits, layout, '2 insert')),
	('DELETE FROM item WHERE id % 3 = 0'),
	('VACUUM item'),
	(format('INSERT INTO result SELECT %s, %s, %s, %L, %L, * FROM judge()',
			dims, lists, bits, layout, '3 vacuum'))
$$;

\set QUIET on
\pset tuples_only on
\o /dev/null
SELECT s FROM unnest(ARRAY[1, 2, 3, 4, 7, 8, 31, 32, 33, 63, 64, 65, 100, 127])
	WITH ORDINALITY d (dims, at), unnest(ARRAY[0, 3]) l,
	unnest(ARRAY['whole', 'planes']) layout,
	LATERAL steps(dims, l, 4, layout, 60) s
\gexec
SELECT s FROM unnest(ARRAY[1, 3, 33, 127]) dims, steps(dims, 3, 8, 'whole', 60) s
\gexec
SELECT s FROM unnest(ARRAY[384, 768, 1023, 1536, 2000]) dims,
	unnest(ARRAY['whole', 'planes']) layout,
	LATERAL steps(dims, 2, 4, layout, 12) s
\gexec
SELECT s FROM unnest(ARRAY[768, 1023]) dims, steps(dims, 2, 8, 'auto', 12) s
\gexec
SELECT s FROM unnest(ARRAY[3072, 16000]) dims,
	unnest(ARRAY['whole', 'planes']) layout,
	LATERAL steps(dims, 2, 4, layout, 6) s
\gexec
-- Where the signs of a slot begin to need two pages, and several records.
SELECT s FROM unnest(ARRAY[2028, 2029, 4060]) dims,
	steps(dims, 2, 4, 'planes', 6) s
\gexec
SELECT s FROM steps(8054, 0, 8, 'auto', 6) s
\gexec
\o
\pset tuples_only off
\set QUIET off

SELECT dims, bits, array_agg(DISTINCT lists) AS lists,
	   array_agg(DISTINCT layout) AS layouts, step, sum(lost) AS lost,
	   min(rows) AS rows, max(rows) - min(rows) AS more, min(checked) AS checked
FROM result GROUP BY dims, bits, step ORDER BY dims, bits, step;

SET client_min_messages = warning;
DROP SCHEMA ann_dims CASCADE;
