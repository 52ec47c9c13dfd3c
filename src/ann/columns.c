/*
 * columns.c
 *		What is stored of the values of filter columns.
 *
 * docs/format.md, "Filter columns", has the bytes.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "ann/ann.h"
#include "ann/columns.h"

/* Object identifiers have no sign; stored numbers have. */
#define OID_SHIFT INT64CONST(0x80000000)

/* Bits of the one NaN that is stored: above infinity, as PostgreSQL orders it. */
#define NAN_NUMBER_4 0x7FC00000
#define NAN_NUMBER_8 INT64CONST(0x7FF8000000000000)

/* --- operator classes --------------------------------------------------------- */

#define COLUMN_TYPE(label, class_id, kind_id, bytes)                           \
	static const VxColumnType label##_type = {                                 \
		.name = #label "_ops",                                                 \
		.class = class_id,                                                     \
		.kind = kind_id,                                                       \
		.width = bytes,                                                        \
	};                                                                         \
	PG_FUNCTION_INFO_V1(ann_##label##_support);                                \
	Datum ann_##label##_support(PG_FUNCTION_ARGS)                              \
	{                                                                          \
		PG_RETURN_POINTER(&label##_type);                                      \
	}

COLUMN_TYPE(bool, VX_CLASS_BOOL, VX_COLUMN_VALUE, 1)
COLUMN_TYPE(int2, VX_CLASS_INT2, VX_COLUMN_VALUE, 2)
COLUMN_TYPE(int4, VX_CLASS_INT4, VX_COLUMN_VALUE, 4)
COLUMN_TYPE(int8, VX_CLASS_INT8, VX_COLUMN_VALUE, 8)
COLUMN_TYPE(float4, VX_CLASS_FLOAT4, VX_COLUMN_VALUE, 4)
COLUMN_TYPE(float8, VX_CLASS_FLOAT8, VX_COLUMN_VALUE, 8)
COLUMN_TYPE(date, VX_CLASS_DATE, VX_COLUMN_VALUE, 4)
COLUMN_TYPE(time, VX_CLASS_TIME, VX_COLUMN_VALUE, 8)
COLUMN_TYPE(timestamp, VX_CLASS_TIMESTAMP, VX_COLUMN_VALUE, 8)
COLUMN_TYPE(timestamptz, VX_CLASS_TIMESTAMPTZ, VX_COLUMN_VALUE, 8)
COLUMN_TYPE(oid, VX_CLASS_OID, VX_COLUMN_VALUE, 4)
COLUMN_TYPE(enum, VX_CLASS_ENUM, VX_COLUMN_VALUE, 4)
COLUMN_TYPE(uuid, VX_CLASS_UUID, VX_COLUMN_VALUE, 16)
COLUMN_TYPE(hash, VX_CLASS_HASH, VX_COLUMN_HASH, 8)
COLUMN_TYPE(array, VX_CLASS_ARRAY, VX_COLUMN_SIGNATURE, 8)

/* --- opening ------------------------------------------------------------------- */

static void
find_hash(VxColumn *column, Oid type_id)
{
	TypeCacheEntry *entry =
		lookup_type_cache(type_id, TYPECACHE_HASH_EXTENDED_PROC_FINFO);

	if (!OidIsValid(entry->hash_extended_proc_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an extended hash function for "
						"type %s",
						format_type_be(type_id))));
	column->hash = &entry->hash_extended_proc_finfo;
}

static void
open_column(VxColumn *column, Relation index, AttrNumber attno)
{
	Form_pg_attribute attribute =
		TupleDescAttr(RelationGetDescr(index), attno - 1);
	FmgrInfo *support = index_getprocinfo(index, attno, VX_ANN_COLUMN_PROC);

	column->type = (const VxColumnType *) DatumGetPointer(
		FunctionCall1(support, PointerGetDatum(NULL)));
	column->type_id = getBaseType(attribute->atttypid);
	column->collation = index->rd_indcollation[attno - 1];
	column->opaque = OidIsValid(column->collation) &&
					 !get_collation_isdeterministic(column->collation);
	if (column->type->kind == VX_COLUMN_HASH)
		find_hash(column, column->type_id);
	else if (column->type->kind == VX_COLUMN_SIGNATURE)
	{
		column->element_id = get_base_element_type(column->type_id);
		get_typlenbyvalalign(column->element_id, &column->element_length,
							 &column->element_by_value, &column->element_align);
		find_hash(column, column->element_id);
	}
}

/* An operator class is for the first column, or for those behind it. */
static void
check_classes(Relation index)
{
	int keys = IndexRelationGetNumberOfKeyAttributes(index);

	if (!OidIsValid(index_getprocid(index, 1, VX_ANN_SUPPORT_PROC)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the first column of an ann index must be a vector"),
				 errhint("Name the vector first, then the columns to filter "
						 "by.")));
	for (AttrNumber attno = 2; attno <= keys; attno++)
		if (!OidIsValid(index_getprocid(index, attno, VX_ANN_COLUMN_PROC)))
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("an ann index has one vector"),
							errhint("Make an index for each vector column.")));
}

VxColumn *
vx_columns_open(Relation index, VxColumns *shape)
{
	VxColumn *columns;
	int at = VX_VALUES_AT;

	check_classes(index);
	shape->count = IndexRelationGetNumberOfKeyAttributes(index) - 1;
	if (shape->count == 0)
		return NULL;
	columns = palloc0(sizeof(VxColumn) * shape->count);
	for (int i = 0; i < shape->count; i++)
	{
		open_column(&columns[i], index, i + 2);
		columns[i].at = at;
		at += columns[i].type->width;
		shape->width[i] = columns[i].type->width;
	}
	return columns;
}

int
vx_values_bytes(const VxColumns *shape)
{
	int bytes = shape->count > 0 ? VX_VALUES_AT : 0;

	for (int i = 0; i < shape->count; i++)
		bytes += shape->width[i];
	return bytes;
}

/* --- values as integers ---------------------------------------------------------- */

/* Bits of a float as an integer of the same order; -0 and 0 are one. */
static int32
float4_number(float x)
{
	int32 bits;

	if (isnan(x))
		return NAN_NUMBER_4;
	x += 0.0f;
	memcpy(&bits, &x, sizeof(bits));
	return bits ^ ((bits >> 31) & PG_INT32_MAX);
}

static int64
float8_number(double x)
{
	int64 bits;

	if (isnan(x))
		return NAN_NUMBER_8;
	x += 0.0;
	memcpy(&bits, &x, sizeof(bits));
	return bits ^ ((bits >> 63) & PG_INT64_MAX);
}

/* The smallest float4 that is not below x. */
static int64
float4_number_of_float8(double x, bool *exact)
{
	float near = (float) x;

	*exact = isnan(x) || (double) near == x;
	if (!isnan(x) && (double) near < x)
		return (int64) float4_number(near) + 1;
	return float4_number(near);
}

int64
vx_column_number(const VxColumn *column, Oid arg_id, Datum arg, bool *exact)
{
	*exact = true;
	switch (column->type->class)
	{
		case VX_CLASS_BOOL:
			return DatumGetBool(arg);
		case VX_CLASS_INT2:
		case VX_CLASS_INT4:
		case VX_CLASS_INT8:
			if (arg_id == INT2OID)
				return DatumGetInt16(arg);
			return arg_id == INT8OID ? DatumGetInt64(arg) : DatumGetInt32(arg);
		case VX_CLASS_FLOAT4:
			if (arg_id == FLOAT8OID)
				return float4_number_of_float8(DatumGetFloat8(arg), exact);
			return float4_number(DatumGetFloat4(arg));
		case VX_CLASS_FLOAT8:
			return float8_number(arg_id == FLOAT4OID
									 ? (double) DatumGetFloat4(arg)
									 : DatumGetFloat8(arg));
		case VX_CLASS_DATE:
			return DatumGetDateADT(arg);
		case VX_CLASS_TIME:
			return DatumGetTimeADT(arg);
		case VX_CLASS_TIMESTAMP:
			return DatumGetTimestamp(arg);
		case VX_CLASS_TIMESTAMPTZ:
			return DatumGetTimestampTz(arg);
		case VX_CLASS_OID:
		case VX_CLASS_ENUM:
			return (int64) DatumGetObjectId(arg) - OID_SHIFT;
		case VX_CLASS_HASH:
			return vx_column_hash(column, arg);
		case VX_CLASS_UUID:
		case VX_CLASS_ARRAY:
			break;
	}
	elog(ERROR, "column class %d has no number", column->type->class);
}

int64
vx_column_hash(const VxColumn *column, Datum value)
{
	if (column->opaque)
		return 0;
	return DatumGetInt64(FunctionCall2Coll(column->hash, column->collation,
										   value, Int64GetDatum(0)));
}

uint64
vx_column_signature(const VxColumn *column, Datum array, int *count)
{
	ArrayType *elements = DatumGetArrayTypeP(array);
	uint64 signature = 0;
	Datum *values;
	bool *nulls;
	int total;

	*count = 0;
	deconstruct_array(elements, column->element_id, column->element_length,
					  column->element_by_value, column->element_align, &values,
					  &nulls, &total);
	for (int i = 0; i < total; i++)
	{
		if (nulls[i])
			continue;
		(*count)++;
		signature |= UINT64CONST(1) << (vx_column_hash(column, values[i]) & 63);
	}
	pfree(values);
	pfree(nulls);
	return signature;
}

/* --- packed values ----------------------------------------------------------------- */

/* The low bytes of a number, of a width that holds it. */
static void
store_number(uint8 *out, int width, int64 number)
{
	int8 one = (int8) number;
	int16 two = (int16) number;
	int32 four = (int32) number;

	switch (width)
	{
		case 1:
			memcpy(out, &one, 1);
			break;
		case 2:
			memcpy(out, &two, 2);
			break;
		case 4:
			memcpy(out, &four, 4);
			break;
		default:
			memcpy(out, &number, 8);
			break;
	}
}

static void
pack_value(const VxColumn *column, Datum value, uint8 *out)
{
	bool exact;
	int count;

	if (column->type->class == VX_CLASS_UUID)
		memcpy(out, DatumGetUUIDP(value)->data, UUID_LEN);
	else if (column->type->kind == VX_COLUMN_SIGNATURE)
		store_number(out, column->type->width,
					 (int64) vx_column_signature(column, value, &count));
	else
		store_number(out, column->type->width,
					 vx_column_number(column, column->type_id, value, &exact));
}

void
vx_values_pack(const VxColumn *columns, int count, const Datum *values,
			   const bool *isnull, uint8 *packed)
{
	uint32 nulls = 0;

	for (int i = 0; i < count; i++)
	{
		if (isnull[i])
		{
			nulls |= UINT32_C(1) << i;
			memset(packed + columns[i].at, 0, columns[i].type->width);
		}
		else
			pack_value(&columns[i], values[i], packed + columns[i].at);
	}
	memcpy(packed, &nulls, sizeof(nulls));
}

/* The null bitmap of a column. */
static inline uint64 *
null_bitmap(Page page, const VxLeadLayout *layout, int column)
{
	return vx_plane(page, layout->nulls, uint64) +
		   column * ((layout->slots + 63) / 64);
}

void
vx_values_put(Page page, const VxLeadLayout *layout, int slot,
			  const uint8 *packed)
{
	const uint8 *from = packed + VX_VALUES_AT;
	uint32 nulls;

	if (layout->columns == 0)
		return;
	memcpy(&nulls, packed, sizeof(nulls));
	for (int i = 0; i < layout->columns; i++)
	{
		int width = layout->column[i].width;
		uint64 *bitmap = null_bitmap(page, layout, i);

		if (nulls >> i & 1)
			vx_bit_set(bitmap, slot);
		else
			vx_bit_clear(bitmap, slot);
		memcpy(vx_plane(page, layout->column[i].at, uint8) + slot * width, from,
			   width);
		from += width;
	}
}

bool
vx_values_equal(Page page, const VxLeadLayout *layout, int slot,
				const uint8 *packed)
{
	const uint8 *from = packed + VX_VALUES_AT;
	uint32 nulls = 0;

	if (layout->columns == 0)
		return true;
	memcpy(&nulls, packed, sizeof(nulls));
	for (int i = 0; i < layout->columns; i++)
	{
		int width = layout->column[i].width;

		if (vx_bit(null_bitmap(page, layout, i), slot) != (nulls >> i & 1) ||
			memcmp(vx_plane(page, layout->column[i].at, uint8) + slot * width,
				   from, width) != 0)
			return false;
		from += width;
	}
	return true;
}
