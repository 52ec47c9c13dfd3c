-- Distances: known values, the edges of float4, and a double-precision oracle.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS vector_ext;
RESET client_min_messages;

SELECT '[0,0]'::vector <-> '[3,4]' AS l2, '[1,2]'::vector <#> '[3,4]' AS negative_ip,
	'[1,0]'::vector <=> '[0,2]' AS cosine, '[1,2]'::vector <+> '[-3,4]' AS l1;
SELECT l2_distance('[0,0]'::vector, '[3,4]'), inner_product('[1,2]'::vector, '[3,4]'),
	cosine_distance('[1,2]'::vector, '[-2,-4]'), l1_distance('[0,0]'::vector, '[3,4]'),
	vector_l2_squared_distance('[0,0]', '[3,4]'), vector_negative_inner_product('[1,2]', '[3,4]');
SELECT vector_spherical_distance('[1,0]', '[0,1]') AS quarter, vector_spherical_distance('[1,0]', '[1,0]') AS same,
	vector_spherical_distance('[1,0]', '[-1,0]') AS opposite, vector_spherical_distance('[2,0]', '[2,0]') AS clamped;

-- Cosine: clamped, NaN for a zero vector, right for every norm.
SELECT '[1,1,1]'::vector <=> '[1,1,1]' AS same, '[1,1,1]'::vector <=> '[-3,-3,-3]' AS opposite,
	'[0,0]'::vector <=> '[1,1]' AS zero_left, '[1,1]'::vector <=> '[0,0]' AS zero_right;
SELECT '[3e38,3e38]'::vector <=> '[3e38,3e38]' AS huge, '[3e38,0]'::vector <=> '[0,3e38]' AS huge_right_angle,
	'[1e-45,1e-45]'::vector <=> '[1e-45,1e-45]' AS tiny, '[1e-45]'::vector <=> '[3e38]' AS tiny_huge;

-- Beyond float4 the answer is infinity, just below it is a number.
SELECT '[3e38]'::vector <-> '[-3e38]' AS l2, '[3e38]'::vector <#> '[3e38]' AS ip,
	'[3e38]'::vector <#> '[-3e38]' AS ip_other_sign, '[3e38]'::vector <+> '[-3e38]' AS l1,
	vector_l2_squared_distance('[3e38]', '[0]') AS squared, inner_product('[3e38]'::vector, '[-3e38]') AS product;
SELECT '[1.8e19]'::vector <-> '[0]' AS below, '[1.9e19]'::vector <-> '[0]' AS above,
	'[1.7e38]'::vector <+> '[-1.7e38]' AS below_l1;
SELECT '[1e-45]'::vector <-> '[0]' AS smallest, '[1e-30]'::vector <#> '[1e-30]' AS product;

-- Symmetric, and zero to itself.
SELECT a <-> b = b <-> a AS l2, a <#> b = b <#> a AS ip, a <=> b = b <=> a AS cosine, a <+> b = b <+> a AS l1,
	a <-> a AS self_l2, a <+> a AS self_l1
	FROM (SELECT '[0.1,0.2,0.3]'::vector a, '[7,-8,9]'::vector b) s;

-- The oracle: the same sums over the elements as double precision.
CREATE FUNCTION oracle(a vector, b vector,
	OUT l2 float8, OUT squared float8, OUT ip float8, OUT cosine float8, OUT l1 float8, OUT norm float8)
LANGUAGE sql AS $$
	SELECT sqrt(sum((x - y) * (x - y))), sum((x - y) * (x - y)), sum(x * y),
		1 - sum(x * y) / sqrt(sum(x * x)) / sqrt(sum(y * y)), sum(abs(x - y)), sqrt(sum(x * x))
	FROM unnest(a::real[]::float8[], b::real[]::float8[]) AS u (x, y)
$$;
CREATE FUNCTION close_to(got float8, wanted float8) RETURNS boolean
LANGUAGE sql AS $$ SELECT abs(got - wanted) <= 1e-6 * abs(wanted) $$;
CREATE FUNCTION random_vector(dim int, seed int) RETURNS vector
LANGUAGE sql AS $$
	SELECT array_agg(sin(seed * 12.9898 + i * 78.233 + sin(i * seed)) * 10 ^ (seed % 5 - 2))::vector
	FROM generate_series(1, dim) i
$$;
CREATE TABLE pairs AS
	SELECT dim, random_vector(dim, seed) AS a, random_vector(dim, seed + 100) AS b
	FROM unnest('{1,2,3,4,5,7,8,9,15,16,17,31,33,100,1000,16000}'::int[]) dim,
		generate_series(1, 5) seed;
SELECT dim, count(*) AS pairs, bool_and(close_to(a <-> b, l2)) AS l2,
	bool_and(close_to(vector_l2_squared_distance(a, b), squared)) AS squared,
	bool_and(close_to(inner_product(a, b), ip)) AS ip, bool_and(close_to(a <#> b, -ip)) AS negative_ip,
	bool_and(close_to(a <=> b, cosine) OR abs((a <=> b) - cosine) < 1e-15) AS cosine,
	bool_and(close_to(a <+> b, l1)) AS l1, bool_and(close_to(vector_norm(a), norm)) AS norm,
	bool_and(close_to(vector_norm(l2_normalize(a)), 1)) AS unit
	FROM pairs, oracle(a, b) GROUP BY dim ORDER BY dim;
DROP TABLE pairs;
DROP FUNCTION oracle, close_to, random_vector;
