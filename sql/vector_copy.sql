-- Binary form: round trips through COPY, and what vector_recv refuses.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

-- int16 dim, int16 zero, float4 values, all big-endian.
SELECT vector_send('[1,-2,0.5]');
SELECT length(vector_send(array_fill(1::real, '{16000}')::vector)), substr(vector_send(array_fill(1::real, '{16000}')::vector), 1, 4);

CREATE TYPE vpair AS (a vector, b int);
CREATE TABLE copied (id int, v vector(3), w vector, list vector[], pair vpair);
INSERT INTO copied VALUES (1, '[1,2,3]', '[0.1]', '{"[1,2]","[3]",NULL}', ('[4,5]', 6)), (2, NULL, NULL, NULL, NULL),
	(3, '[-0,3.4028235e38,1e-45]', array_fill(0.7::real, '{16000}')::vector, '{}', (NULL, NULL));
CREATE TABLE copied_back (LIKE copied);
\copy copied TO PROGRAM 'cat > "$PG_ABS_BUILDDIR/results/vector_copy.bin"' (FORMAT binary)
\copy copied_back FROM PROGRAM 'cat "$PG_ABS_BUILDDIR/results/vector_copy.bin"' (FORMAT binary)
SELECT count(*), bool_and(a::text IS NOT DISTINCT FROM b::text) AS same FROM copied a JOIN copied_back b USING (id);
TRUNCATE copied_back;
\copy copied TO PROGRAM 'cat > "$PG_ABS_BUILDDIR/results/vector_copy.txt"'
\copy copied_back FROM PROGRAM 'cat "$PG_ABS_BUILDDIR/results/vector_copy.txt"'
SELECT count(*), bool_and(a::text IS NOT DISTINCT FROM b::text) AS same FROM copied a JOIN copied_back b USING (id);
DROP TABLE copied, copied_back;
DROP TYPE vpair;

-- A bytea travels as its bare bytes, so a bytea copied to a file and from there
-- into a column of vectors hands vector_recv any bytes we like.
CREATE TABLE received (v vector(2));
CREATE FUNCTION receive(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	file text := current_setting('data_directory') || '/vector_ext_regress.bin';
	message text;
	detail text;
BEGIN
	EXECUTE format('COPY (SELECT %L::bytea) TO %L (FORMAT binary)', bytes, file);
	TRUNCATE received;
	EXECUTE format('COPY received FROM %L (FORMAT binary)', file);
	RETURN (SELECT v FROM received);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat(SQLSTATE, ' ', message, ' / ' || nullif(detail, ''));
END
$$;
SELECT label, receive(bytes) FROM (VALUES
	(1, 'a vector', '\x000200003f80000040000000'::bytea),
	(2, 'nothing', '\x'),
	(3, 'header cut short', '\x000200'),
	(4, 'header alone', '\x00020000'),
	(5, 'values cut short', '\x000200003f800000400000'),
	(6, 'a value missing', '\x000200003f800000'),
	(7, 'a byte too many', '\x000200003f80000040000000ff'),
	(8, 'a value too many', '\x000200003f8000004000000040400000'),
	(9, 'unused field in use', '\x000200013f80000040000000'),
	(10, 'no dimensions', '\x00000000'),
	(11, 'negative dimensions', '\xffff00003f800000'),
	(12, 'too many dimensions', '\x3e8100003f800000'),
	(13, 'most dimensions a header can say', '\x7fff00003f800000'),
	(14, 'not the dimensions of the column', '\x000100003f800000'),
	(15, 'NaN', '\x000200003f8000007fc00000'),
	(16, 'infinity', '\x000200003f8000007f800000'),
	(17, 'minus infinity', '\x00020000ff8000003f800000'),
	(18, 'the text form', '[1,2]'::bytea)) t (n, label, bytes) ORDER BY n;
-- No proper part of a message is a message.
SELECT count(*) AS refused FROM generate_series(0, 11) n,
	receive(substr('\x000200003f80000040000000'::bytea, 1, n)) r WHERE r ~ '^22P03';
-- Any 12 bytes are a vector or an error, and a vector goes out as it came in.
SELECT count(*) AS tried, count(*) FILTER (WHERE result !~ '^(2[0-9A-Z]{4}|54000) ' AND vector_send(result::vector) <> bytes) AS wrong
	FROM (SELECT bytes, receive(bytes) AS result
		FROM (SELECT '\x00020000'::bytea || substr(decode(md5(i::text), 'hex'), 1, 8) AS bytes FROM generate_series(1, 300) i
			UNION ALL SELECT substr(decode(md5(i::text), 'hex'), 1, 12) FROM generate_series(1, 100) i) s) t;
COPY (SELECT WHERE false) TO PROGRAM 'rm vector_ext_regress.bin';
DROP FUNCTION receive;
DROP TABLE received;
