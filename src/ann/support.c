/*
 * support.c
 *		What an operator class tells about its type, and an index being opened.
 *
 * Everything that follows from META alone (layouts, quantisers) is derived
 * here, so build, insert, scan and vacuum agree on it.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/rel.h"

#include "ann/ann.h"

PG_FUNCTION_INFO_V1(ann_vector_l2_support);
PG_FUNCTION_INFO_V1(ann_vector_ip_support);
PG_FUNCTION_INFO_V1(ann_vector_cosine_support);

/* --- operator classes -------------------------------------------------------- */

static int
vector_dims(Datum value)
{
	return ((const Vector *) DatumGetPointer(value))->dim;
}

static const float *
vector_floats(Datum value)
{
	return ((const Vector *) DatumGetPointer(value))->x;
}

static const VxAnnType vector_l2 = {
	.name = "vector_l2_ops",
	.metric = VX_METRIC_L2,
	.dims = vector_dims,
	.floats = vector_floats,
	.distance = vx_l2_distance,
};

static const VxAnnType vector_ip = {
	.name = "vector_ip_ops",
	.metric = VX_METRIC_IP,
	.dims = vector_dims,
	.floats = vector_floats,
	.distance = vx_negative_inner_product,
};

static const VxAnnType vector_cosine = {
	.name = "vector_cosine_ops",
	.metric = VX_METRIC_COSINE,
	.dims = vector_dims,
	.floats = vector_floats,
	.distance = vx_cosine_distance,
};

Datum
ann_vector_l2_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&vector_l2);
}

Datum
ann_vector_ip_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&vector_ip);
}

Datum
ann_vector_cosine_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&vector_cosine);
}

void
vx_ann_classes(VxAnnIndex *ann, Relation index)
{
	FmgrInfo *support;

	/* First of all: it tells whether there is a vector. */
	ann->column = vx_columns_open(index, &ann->columns);
	ann->values_bytes = vx_values_bytes(&ann->columns);
	support = index_getprocinfo(index, 1, VX_ANN_SUPPORT_PROC);
	ann->type = (const VxAnnType *) DatumGetPointer(
		FunctionCall1(support, PointerGetDatum(NULL)));
}

VxValueKind
vx_ann_value(const VxAnnType *type, int dims, Datum value, bool isnull,
			 float *x)
{
	Datum plain;
	int got;

	if (isnull)
		return VX_VALUE_NULL;
	plain = PointerGetDatum(PG_DETOAST_DATUM(value));
	got = type->dims(plain);
	if (got != dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("expected %d dimensions, not %d", dims, got)));
	memcpy(x, type->floats(plain), sizeof(float) * dims);
	if (type->metric == VX_METRIC_COSINE && !vx_normalize(x, dims))
		return VX_VALUE_ZERO;
	return VX_VALUE_ORDINARY;
}

/* --- META -------------------------------------------------------------------- */

/*
 * The stopping rule before any calibration, by target recall and the same for
 * every k.  L2 and cosine stop by density (kappa), inner product after a share
 * of the rows.
 */
static void
default_calibration(VxMeta *meta)
{
	static const float kappa[VX_CALIBRATION_TARGETS] = {0.1f, 0.2f, 0.4f,
														0.9f, 1.9f, 6.0f};
	static const float share[VX_CALIBRATION_TARGETS] = {0.07f, 0.12f, 0.20f,
														0.35f, 0.50f, 0.85f};
	bool by_share = meta->metric == VX_METRIC_IP;

	for (int t = 0; t < VX_CALIBRATION_TARGETS; t++)
		for (int k = 0; k < VX_CALIBRATION_KS; k++)
		{
			VxCalibration *entry = &meta->table[t][k];

			entry->kappa = by_share ? 0 : kappa[t];
			entry->lambda = vx_calibration_lambda(meta->metric, t);
			entry->share = by_share ? share[t] : 0;
		}
}

/* What an entry takes beside its code, and the bitmaps of up to 64 slots. */
#define ENTRY_FIXED_BYTES                                                      \
	((int) (2 * sizeof(float) + 2 * sizeof(uint16) + sizeof(ItemPointerData)))
#define BITMAP_BYTES (2 * sizeof(uint64))

/* A lead must hold at least one entry. */
static void
check_entry_fits(int dims, int bits, VxLayout form, const VxColumns *columns)
{
	VxLeadLayout layout;
	int column_bytes = 0;

	if (vx_lead_layout(form, dims, bits, columns, &layout))
		return;
	for (int i = 0; i < columns->count; i++)
		column_bytes += columns->width[i] + sizeof(uint64);
	ereport(
		ERROR,
		(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		 errmsg("an index entry of %d dimensions at %d bits does not fit a "
				"page",
				dims, bits),
		 errdetail("It takes %d bytes, a page has %d bytes for entries.",
				   vx_code_bytes(dims, bits) + ENTRY_FIXED_BYTES + column_bytes,
				   (int) (VX_PAGE_END - VX_LEAD_PLANES_AT - BITMAP_BYTES)),
		 bits > 4 ? errhint("Use bits = 4.") : 0));
}

VxLayout
vx_ann_layout(int dims, const VxAnnOptions *options)
{
	if (options->layout != 0)
		return (VxLayout) options->layout;
	return options->bits == 4 && dims >= VX_PLANES_DIMS_MIN ? VX_LAYOUT_PLANES
															: VX_LAYOUT_WHOLE;
}

static void
set_columns(VxMeta *meta, const VxAnnIndex *ann)
{
	meta->columns = ann->columns.count;
	for (int i = 0; i < ann->columns.count; i++)
	{
		meta->widths[i] = ann->column[i].type->width;
		meta->kinds[i] = ann->column[i].type->kind;
		meta->classes[i] = ann->column[i].type->class;
	}
	meta->hash_version = ann->columns.count > 0 ? VX_HASH_VERSION : 0;
}

void
vx_meta_init(VxMeta *meta, int dims, const VxAnnIndex *ann,
			 const VxAnnOptions *options)
{
	VxLeadLayout lead;
	VxLeadLayout special;
	float *scratch;

	Assert(dims >= 1 && dims <= VX_DIM_MAX);
	check_entry_fits(dims, options->bits, vx_ann_layout(dims, options),
					 &ann->columns);
	memset(meta, 0, sizeof(VxMeta));
	meta->magic = VX_MAGIC;
	meta->format = VX_FORMAT;
	meta->dims = dims;
	meta->layout = vx_ann_layout(dims, options);
	meta->bits = options->bits;
	meta->metric = ann->type->metric;
	set_columns(meta, ann);
	(void) vx_lead_layout(meta->layout, dims, options->bits, &ann->columns,
						  &lead);
	meta->slots = lead.slots;
	meta->sign_pages = lead.sign_pages;
	meta->rest_pages = lead.rest_pages;
	vx_special_layout(&ann->columns, &special);
	meta->special_slots = special.slots;
	meta->seed = options->seed;
	meta->shape_seq = 1;
	meta->dir_epoch = 1;
	meta->next_list_id = VX_LIST_FIRST;
	meta->pending_from = VX_PENDING_NONE;
	meta->dir_head = InvalidBlockNumber;
	meta->dir_tail = InvalidBlockNumber;
	meta->null_head = InvalidBlockNumber;
	meta->zero_head = InvalidBlockNumber;
	meta->centre_block = InvalidBlockNumber;
	meta->cent_open = InvalidBlockNumber;
	meta->writer_version = VX_WRITER_VERSION;
	meta->lists_option = options->lists;

	scratch = palloc(sizeof(float) * dims);
	meta->t0 = vx_quantizer_t0(dims, options->bits, scratch);
	pfree(scratch);
	default_calibration(meta);
}

/* --- opening ------------------------------------------------------------------ */

/* Sets up a quantiser of the index; signs are those of its rotation. */
static void
init_quantizer(VxQuantizer *quantizer, const VxMeta *meta, int bits, float t0)
{
	quantizer->metric = meta->metric;
	quantizer->dim = meta->dims;
	quantizer->bits = bits;
	quantizer->t0 = t0;
}

void
vx_ann_derive(VxAnnIndex *ann)
{
	const VxMeta *meta = &ann->meta;
	int dims = meta->dims;
	uint8 *signs = palloc(vx_rotation_bytes(dims));
	/*
	 * The best 4-bit scale of a Gaussian direction is close to 3 sqrt(dims);
	 * where the search starts only has to be near and always the same.
	 */
	float coarse_t0 = meta->bits == 4 ? meta->t0 : 3.0f * sqrtf(dims);

	ann->dims = dims;
	init_quantizer(&ann->quantizer, meta, meta->bits, meta->t0);
	init_quantizer(&ann->coarse, meta, 4, coarse_t0);
	vx_rotation_init(&ann->quantizer.rotation, dims, meta->seed, signs);
	ann->coarse.rotation = ann->quantizer.rotation;
	vx_special_layout(&ann->columns, &ann->special);
	if (!vx_lead_layout(meta->layout, dims, meta->bits, &ann->columns,
						&ann->lead) ||
		meta->slots != ann->lead.slots ||
		meta->sign_pages != ann->lead.sign_pages ||
		meta->rest_pages != ann->lead.rest_pages ||
		meta->special_slots != ann->special.slots)
		vx_corrupt(ann->index, VX_META_BLOCK,
				   "metapage says %d slots, %d and %d code pages, %d special "
				   "slots",
				   meta->slots, meta->sign_pages, meta->rest_pages,
				   meta->special_slots);
	ann->dir_entry_bytes = vx_dir_entry_bytes(dims);
	ann->centre = palloc0(sizeof(float) * dims);
	ann->born = BlockNumberIsValid(meta->dir_head);
}

/* The centre never changes once it exists. */
static void
read_centre(VxAnnIndex *ann)
{
	VxCentPlace place = {.block = ann->meta.centre_block,
						 .slot = ann->meta.centre_slot,
						 .owner = VX_LIST_CENTRE};

	if (!vx_cent_read(ann->index, &ann->meta, &place, ann->centre))
		vx_corrupt(ann->index, ann->meta.centre_block, "no centre at slot %d",
				   ann->meta.centre_slot);
}

/* What is stored of the filter columns is what their classes say. */
static void
check_columns(const VxAnnIndex *ann)
{
	const VxMeta *meta = &ann->meta;
	bool same = meta->columns == ann->columns.count;

	for (int i = 0; same && i < ann->columns.count; i++)
		same = meta->widths[i] == ann->column[i].type->width &&
			   meta->kinds[i] == ann->column[i].type->kind &&
			   meta->classes[i] == ann->column[i].type->class;
	if (!same)
		vx_corrupt(
			ann->index, VX_META_BLOCK,
			"metapage says %d filter columns, which do not fit the %d of "
			"the index",
			meta->columns, ann->columns.count);
	if (meta->columns > 0 && meta->hash_version != VX_HASH_VERSION)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("index \"%s\" has hashes of version %d, this version of "
					"vector_ext reads version %d",
					RelationGetRelationName(ann->index), meta->hash_version,
					VX_HASH_VERSION),
			 errhint("Update vector_ext, or REINDEX the index.")));
}

void
vx_ann_open(VxAnnIndex *ann, Relation index)
{
	ann->index = index;
	vx_ann_classes(ann, index);
	vx_meta_read(index, &ann->meta);
	check_columns(ann);
	if (ann->meta.metric != ann->type->metric)
		vx_corrupt(index, VX_META_BLOCK,
				   "metric %d does not fit operator class %s", ann->meta.metric,
				   ann->type->name);
	vx_ann_derive(ann);
	if (ann->born)
		read_centre(ann);
}

void
vx_ann_refresh(VxAnnIndex *ann)
{
	vx_meta_read(ann->index, &ann->meta);
	if (ann->born || !BlockNumberIsValid(ann->meta.dir_head))
		return;
	read_centre(ann);
	ann->born = true;
}
