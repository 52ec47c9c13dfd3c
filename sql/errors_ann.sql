-- Every error that a user of an ann index can meet, with its SQLSTATE.  Damaged
-- and foreign pages are in test/tap.
CREATE SCHEMA errors_ann;
SET search_path = errors_ann, public;
SET client_min_messages = warning;
CREATE FUNCTION errors_ann.try(statement text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', sqlstate || ' ' || message, nullif(detail, ''),
					 nullif(hint, ''));
END
$$;
\pset format unaligned
\pset tuples_only on

CREATE TABLE item (id int, a int, v vector(3), w vector, huge vector(8055));
INSERT INTO item (id, v) VALUES (1, '[1,2,3]'), (2, NULL);

-- Options.
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (bits = 5)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (bits = 0)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (bits = four)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (lists = -2)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (lists = 65537)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (seed = -1)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (dimensions = -1)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (dimensions = 16001)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (dimensions = 4)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (fillfactor = 50)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (layout = rows)');
SELECT try('CREATE INDEX i ON item USING ann (v) WITH (layout = planes, bits = 8)');
CREATE INDEX item_v_idx ON item USING ann (v);
SELECT try('ALTER INDEX item_v_idx SET (bits = 6)');
SELECT try('ALTER INDEX item_v_idx SET (lists = 70000)');

-- Settings.
SELECT try('SET vector_ext.recall = 1.5');
SELECT try('SET vector_ext.recall = 0.1');
SELECT try('SET vector_ext.probes = -1');
SELECT try('SET vector_ext.probes = 65537');
SELECT try('SET vector_ext.simd = ''sse9''');
SELECT try('SET vector_ext.unknown = 1');

-- Building.
SELECT try('CREATE INDEX i ON item USING ann (w)');
SELECT try('CREATE INDEX i ON item USING ann (v, w)');
SELECT try('CREATE INDEX i ON item USING ann (v) INCLUDE (a)');
SELECT try('CREATE UNIQUE INDEX i ON item USING ann (v)');
SELECT try('CREATE INDEX i ON item USING ann (v ASC)');
SELECT try('CREATE INDEX i ON item USING ann (v DESC)');
SELECT try('CREATE INDEX i ON item USING ann (v NULLS FIRST)');
SELECT try('CREATE INDEX i ON item USING ann (a)');
SELECT try('CREATE INDEX i ON item USING ann (v vector_l1_ops)');
SELECT try('CREATE INDEX i ON item USING ann (huge) WITH (bits = 8)');
CREATE INDEX huge_idx ON item USING ann (huge) WITH (bits = 4);
DROP INDEX huge_idx;
-- (From version 17 on the search path is empty here, and names are qualified.)
SELECT replace(try('ALTER TABLE item ADD EXCLUDE USING ann (v WITH =)'), 'public.', '');
SELECT replace(try('ALTER TABLE item ADD EXCLUDE USING ann (v WITH <->)'), 'public.', '');
SELECT try('CLUSTER item USING item_v_idx');
-- Nothing is left of those.
SELECT indexrelid::regclass FROM pg_index
WHERE indrelid = 'item'::regclass ORDER BY 1;

-- Rows of different dimensions.
INSERT INTO item (id, w) VALUES (3, '[1,2]'), (4, '[1,2,3,4]');
SELECT try('CREATE INDEX i ON item USING ann (w)');
SELECT try('CREATE INDEX i ON item USING ann (w) WITH (dimensions = 4)');
SELECT try('CREATE INDEX i ON item USING ann (w) WITH (dimensions = 2, lists = 2)');
CREATE INDEX w4_idx ON item USING ann (w) WITH (dimensions = 4)
	WHERE vector_dims(w) = 4;
SELECT try('INSERT INTO item (w) VALUES (''[1,2,3]'')');
CREATE TABLE loose (v vector);
CREATE INDEX loose_v_idx ON loose USING ann (v) WITH (dimensions = 2);
SELECT try('INSERT INTO loose VALUES (''[1,2,3]'')');
INSERT INTO loose VALUES ('[1,2]');
SELECT try('INSERT INTO loose VALUES (''[1]'')');
SELECT try('UPDATE loose SET v = ''[1,2,3]''');
SELECT rows_checked FROM ann_check('loose_v_idx', true);
SELECT * FROM loose;

-- Scans.
SET enable_seqscan = off;
SELECT try('SELECT id FROM item ORDER BY v <-> ''[1,2]'' LIMIT 1');
SELECT try('SELECT id FROM item ORDER BY v <-> ''[1,2,3,4]'' LIMIT 1');
SELECT try('SELECT id FROM item ORDER BY v <-> (SELECT w FROM item WHERE id = 3) LIMIT 1');
SELECT try('SELECT v FROM loose ORDER BY v <-> ARRAY[1,2,3]::real[] LIMIT 1');
SELECT try('SELECT id FROM item ORDER BY v <-> ''[1,NaN,3]'' LIMIT 1');
SELECT try('SELECT id FROM item ORDER BY v <-> ARRAY[1,2,''NaN'']::real[] LIMIT 1');
-- An empty index says so, too.
CREATE TABLE empty (v vector(3));
CREATE INDEX empty_v_idx ON empty USING ann (v);
SELECT try('SELECT v FROM empty ORDER BY v <-> ''[1,2]'' LIMIT 1');
RESET enable_seqscan;

-- The internals are not for SQL.
SELECT try('SELECT ann_handler(NULL)');
SELECT try('SELECT ann_vector_l2_support(NULL)');
SELECT try('CREATE FUNCTION f(internal) RETURNS index_am_handler LANGUAGE sql AS ''SELECT 1''');

-- An operator class that does not fit.
CREATE OPERATOR CLASS no_support FOR TYPE vector USING ann AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY float_ops;
SELECT try('CREATE INDEX i ON item USING ann (v no_support)');
SET client_min_messages = info;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'no_support';
CREATE OPERATOR CLASS wrong_strategy FOR TYPE vector USING ann AS
	OPERATOR 2 <-> (vector, vector) FOR ORDER BY float_ops,
	FUNCTION 1 (vector, vector) ann_vector_l2_support(internal);
CREATE OPERATOR CLASS search_operator FOR TYPE vector USING ann AS
	OPERATOR 1 = (vector, vector),
	FUNCTION 1 (vector, vector) ann_vector_l2_support(internal);
CREATE OPERATOR CLASS wrong_function FOR TYPE vector USING ann AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY float_ops,
	FUNCTION 1 (vector, vector) l2_distance(vector, vector);
SELECT opcname, amvalidate(oid) FROM pg_opclass
WHERE opcname IN ('wrong_strategy', 'search_operator', 'wrong_function')
ORDER BY opcname;
SET client_min_messages = warning;
DROP SCHEMA errors_ann CASCADE;
