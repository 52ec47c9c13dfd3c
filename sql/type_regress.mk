# pg_regress tests of the types, in the order they run.
TYPE_REGRESS = vector_type vector_distance vector_cast vector_array \
	vector_aggregate vector_btree vector_copy errors_vector
