/*
 * columns.h
 *		Filter columns: the key columns of an index behind its vector.
 *
 * A column keeps a fixed width of each row's value: the value itself, a hash of
 * it, or a signature of an array's elements.  Values are kept as signed integers
 * that order as the type does, so a test is a comparison of integers.
 */
#ifndef VX_ANN_COLUMNS_H
#define VX_ANN_COLUMNS_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/rel.h"

#include "page/format.h"

/* Strategies of a filter column's operators; 1 is the distance of a vector. */
typedef enum VxStrategy
{
	VX_STRATEGY_LESS = 2,
	VX_STRATEGY_LESS_EQUAL = 3,
	VX_STRATEGY_EQUAL = 4,
	VX_STRATEGY_GREATER_EQUAL = 5,
	VX_STRATEGY_GREATER = 6,
	VX_STRATEGY_OVERLAPS = 7,
	VX_STRATEGY_CONTAINS = 8,
} VxStrategy;

/* Support function of a filter class: internal -> internal, a VxColumnType. */
#define VX_ANN_COLUMN_PROC 2

/* How a value becomes what is stored; part of the format, META's classes. */
typedef enum VxColumnClass
{
	VX_CLASS_BOOL = 1,
	VX_CLASS_INT2 = 2,
	VX_CLASS_INT4 = 3,
	VX_CLASS_INT8 = 4,
	VX_CLASS_FLOAT4 = 5,
	VX_CLASS_FLOAT8 = 6,
	VX_CLASS_DATE = 7,
	VX_CLASS_TIME = 8,
	VX_CLASS_TIMESTAMP = 9,
	VX_CLASS_TIMESTAMPTZ = 10,
	VX_CLASS_OID = 11,
	VX_CLASS_ENUM = 12,
	VX_CLASS_UUID = 13,
	VX_CLASS_HASH = 14,	 /* the type's extended hash function, seed 0 */
	VX_CLASS_ARRAY = 15, /* of elements with one */
} VxColumnClass;

/* What an operator class tells; constants of columns.c. */
typedef struct VxColumnType
{
	const char *name;
	VxColumnClass class;
	VxColumnKind kind;
	uint8 width;
} VxColumnType;

/* A filter column of an open index. */
typedef struct VxColumn
{
	const VxColumnType *type;
	Oid type_id; /* of the values, below domains */
	Oid collation;
	/*
	 * Equal values may have different bytes, and what makes them equal may
	 * change with a library: nothing is stored, every row is looked at.
	 */
	bool opaque;
	FmgrInfo *hash; /* of a value, or of an element of an array */
	/* Of the elements of an array: */
	Oid element_id;
	int16 element_length;
	bool element_by_value;
	char element_align;
	int at; /* in the values of a row */
} VxColumn;

/* The values of a row, packed: a bit for each NULL, then all columns' bytes. */
#define VX_VALUES_AT ((int) sizeof(uint32))
#define VX_VALUES_BYTES_MAX                                                    \
	(VX_VALUES_AT + VX_FILTER_COLUMNS_MAX * VX_COLUMN_WIDTH_MAX)

/*
 * The filter columns of an index, in the current context; returns the array,
 * NULL when there are none, and fills shape.  ERROR when an operator class of the
 * index is not where it belongs.
 */
extern VxColumn *vx_columns_open(Relation index, VxColumns *shape);

/* Bytes of the values of a row; 0 without filter columns. */
extern int vx_values_bytes(const VxColumns *shape);

/*
 * Packs the values of a row's filter columns.  May detoast and call the hash
 * functions of the types.
 */
extern void vx_values_pack(const VxColumn *columns, int count,
						   const Datum *values, const bool *isnull,
						   uint8 *packed);

/* Writes packed values into a slot of a lead, and compares them with it. */
extern void vx_values_put(Page page, const VxLeadLayout *layout, int slot,
						  const uint8 *packed);
extern bool vx_values_equal(Page page, const VxLeadLayout *layout, int slot,
							const uint8 *packed);

/*
 * The smallest integer stored for a value that is not below the argument, which
 * is of type arg_id, for a column of at most 8 bytes; *exact: it is that of an
 * equal value.
 */
extern int64 vx_column_number(const VxColumn *column, Oid arg_id, Datum arg,
							  bool *exact);

/* The hash of a value, of a column of that kind. */
extern int64 vx_column_hash(const VxColumn *column, Datum value);

/* The signature of an array; *count is that of its elements that are not NULL. */
extern uint64 vx_column_signature(const VxColumn *column, Datum array,
								  int *count);

#endif
