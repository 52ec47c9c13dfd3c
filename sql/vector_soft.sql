-- Errors of input that the caller asks to get back: from PostgreSQL 16 on they
-- are the errors that a cast raises. Version 15, which cannot ask, casts here.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;
CREATE FUNCTION input_error(input text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	state text;
BEGIN
	IF current_setting('server_version_num')::int >= 160000 THEN
		EXECUTE 'SELECT message, detail, sql_error_code FROM pg_input_error_info($1, $2)'
			INTO message, detail, state USING input, type;
	ELSE
		BEGIN
			EXECUTE format('SELECT %L::%s', input, type);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, state = RETURNED_SQLSTATE;
		END;
	END IF;
	RETURN coalesce(state || ' ' || left(message, 60) || coalesce(' / ' || nullif(detail, ''), ''), 'valid');
END
$$;
SELECT left(input, 12) AS input, type, input_error(input, type) FROM (VALUES
	(1, '[1,2]', 'vector'), (2, '[1,2', 'vector'), (3, '', 'vector'), (4, '[1,]', 'vector'), (5, '[1,b]', 'vector'),
	(6, '[1]2', 'vector'), (7, '[]', 'vector'), (8, '[1,nan]', 'vector'), (9, '[-inf]', 'vector'), (10, '[4e38]', 'vector'),
	(11, '[1' || repeat(',1', 16000) || ']', 'vector'), (12, '[1,2]', 'vector(2)'), (13, '[1,2]', 'vector(3)'),
	(14, '{"[1]","[2"}', 'vector[]')) t (n, input, type) ORDER BY n;

-- COPY that leaves bad rows out, from version 17 on; others leave them out here.
CREATE TABLE kept (id int, v vector(2));
SET client_min_messages = warning;
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 170000 THEN
		COPY (SELECT * FROM (VALUES (1, '[1,2]'), (2, '[1,2'), (3, '[1,2,3]'), (4, '[1,inf]'), (5, NULL), (6, '[5,6]')) t)
			TO PROGRAM 'cat > vector_soft.copy';
		EXECUTE $copy$COPY kept FROM PROGRAM 'cat vector_soft.copy; rm vector_soft.copy' (ON_ERROR ignore)$copy$;
	ELSE
		INSERT INTO kept VALUES (1, '[1,2]'), (5, NULL), (6, '[5,6]');
	END IF;
END
$$;
RESET client_min_messages;
SELECT * FROM kept ORDER BY id;
DROP TABLE kept;
DROP FUNCTION input_error;
