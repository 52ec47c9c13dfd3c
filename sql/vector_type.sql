-- The type vector: text form, type modifier, arithmetic, comparison, functions.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

-- Layout as promised to clients: varlena, int alignment, external storage.
SELECT typlen, typalign, typstorage, typbyval FROM pg_type WHERE typname = 'vector';
SELECT vector_send('[1,-2,0.5]');
SELECT pg_column_size('[1,2,3]'::vector);

-- Text form.
SELECT '[1,2,3]'::vector;
SELECT '[-1,+2,.5,3.]'::vector;
SELECT '[1.23456789,1e10,1e-10,100000,1000000,0.1]'::vector;
SELECT E' \t\n\r\x0b\f[ 1 ,\t2\n, 3 ] \n'::vector;
SELECT '[-0,0]'::vector;
SELECT '[0x10]'::vector AS hexadecimal;
SELECT '[3.4028235e38,-3.4028235e38]'::vector AS largest;
SELECT '[1.17549435e-38,1e-45,-1e-45]'::vector AS smallest;
SELECT '[1e-60,-1e-60]'::vector AS underflow;
-- Shortest text that gives the same float4 back, whatever extra_float_digits.
SET extra_float_digits = -3;
SELECT '[0.33333334,16777217]'::vector;
RESET extra_float_digits;
SELECT array_agg(i::real / 7)::vector::text::vector = array_agg(i::real / 7)::vector AS same
	FROM generate_series(-5000, 5000) i;

-- Dimensions and type modifier.
SELECT '[1,2,3]'::vector(3);
SELECT '[1]'::vector(1);
SELECT vector_dims(('[' || repeat('0,', 15999) || '0]')::vector(16000));
SELECT '[1,2,3]'::vector::vector(3);
SELECT format_type('vector'::regtype, 3), format_type('vector'::regtype, -1);
CREATE TABLE vt (id int PRIMARY KEY, v vector(3), w vector);
INSERT INTO vt VALUES (1, '[1,2,3]', '[1]'), (2, '[4,5,6]', '[1,2,3,4]'), (3, NULL, NULL);
SELECT * FROM vt ORDER BY id;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
	WHERE attrelid = 'vt'::regclass AND attnum > 1 ORDER BY attnum;
SELECT '{"[1,2]","[3]"}'::vector[];
DROP TABLE vt;

-- Arithmetic.
SELECT '[1,2,3]'::vector + '[4,5,6]';
SELECT '[1,2,3]'::vector - '[4,5,6]';
SELECT '[1,2,3]'::vector * '[4,-5,0]';
SELECT '[1,2,3]'::vector || '[4,5]';
SELECT '[3e38]'::vector - '[3e38]' AS cancels, '[1e-20]'::vector * '[0]' AS zero;
SELECT vector_dims(a || b) FROM (SELECT array_fill(1::real, '{8000}')::vector a,
	array_fill(1::real, '{8000}')::vector b) s;

-- Comparison: element by element, then the shorter first.
SELECT a, b, vector_cmp(a, b), a < b AS lt, a <= b AS le, a = b AS eq, a <> b AS ne, a >= b AS ge, a > b AS gt
	FROM (VALUES ('[1,2,3]'::vector, '[1,2,3]'::vector), ('[1,2,3]', '[1,2,4]'), ('[1,2,3]', '[1,2]'),
		('[1,2]', '[1,2,0]'), ('[2]', '[1,9]'), ('[-1]', '[1]'), ('[0]', '[-0]')) t (a, b);

-- Functions.
SELECT vector_dims('[1,2,3]'::vector), vector_norm('[3,4]'), vector_norm('[0]'), vector_norm('[3e38,3e38]');
SELECT l2_normalize('[3,4]'), l2_normalize('[0,0]'), l2_normalize('[3e38,0]'), l2_normalize('[1e-45,0]');
SELECT binary_quantize('[1,0,-1,0.5]'::vector);
SELECT binary_quantize('[1,1,1,1,1,1,1,1,-1,1]'::vector), binary_quantize('[-0,1e-45,-1e-45]'::vector);
SELECT length(binary_quantize(array_fill(1::real, '{16000}')::vector)),
	binary_quantize(array_fill(1::real, '{16000}')::vector)::text = repeat('1', 16000) AS all_set;
SELECT s, n, subvector('[1,2,3,4,5]'::vector, s, n)
	FROM (VALUES (1, 3), (5, 1), (3, 99), (-1, 3), (3, 2147483647), (-5, 2147483647)) t (s, n);

-- NULL in, NULL out.
SELECT '[1]'::vector + NULL, '[1]'::vector <-> NULL::vector, vector_dims(NULL::vector);

-- Every function on vectors is immutable, strict and parallel safe.
SELECT p.oid::regprocedure FROM pg_proc p
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'vector_ext'
	WHERE 'vector'::regtype = ANY (p.proargtypes || p.prorettype) AND p.prokind = 'f' AND p.proname !~ '^ann'
		AND (p.provolatile <> 'i' OR NOT p.proisstrict OR p.proparallel <> 's');
