/*
 * options.c
 *		The storage parameters of an `ann` index.
 *
 * Read when the index is built; what a built index really is stands in META.
 */
#include "postgres.h"

#include <limits.h>

#include "access/reloptions.h"
#include "utils/rel.h"

#include "ann/ann.h"

static relopt_kind options_kind;

static const VxAnnOptions defaults = {
	.lists = VX_LISTS_DEFAULT,
	.bits = VX_BITS_DEFAULT,
	.seed = VX_SEED_DEFAULT,
	.dimensions = 0,
	.layout = 0,
};

static relopt_enum_elt_def layouts[] = {
	{"auto", 0},
	{"whole", VX_LAYOUT_WHOLE},
	{"planes", VX_LAYOUT_PLANES},
	{NULL, 0},
};

void
vx_ann_options_register(void)
{
	LOCKMODE lock = AccessExclusiveLock;

	options_kind = add_reloption_kind();
	add_int_reloption(options_kind, "lists",
					  "Number of lists: -1 chooses by itself, 0 is flat",
					  defaults.lists, -1, VX_LISTS_MAX, lock);
	/* Two values rather than a range: annoptions checks them. */
	add_int_reloption(options_kind, "bits",
					  "Bits per dimension of a stored code: 4 or 8",
					  defaults.bits, INT_MIN, INT_MAX, lock);
	add_int_reloption(options_kind, "seed",
					  "Seed of the rotation, the sample and the clustering",
					  defaults.seed, 0, INT_MAX, lock);
	add_int_reloption(options_kind, "dimensions",
					  "Dimensions of the vectors: 0 takes them from the "
					  "column or the rows",
					  defaults.dimensions, 0, VX_DIM_MAX, lock);
	add_enum_reloption(options_kind, "layout",
					   "Codes whole on one page, or in two planes: auto, "
					   "whole, planes",
					   layouts, defaults.layout,
					   "Valid values are \"auto\", \"whole\" and \"planes\".",
					   lock);
}

bytea *
annoptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {
		{"lists", RELOPT_TYPE_INT, offsetof(VxAnnOptions, lists)},
		{"bits", RELOPT_TYPE_INT, offsetof(VxAnnOptions, bits)},
		{"seed", RELOPT_TYPE_INT, offsetof(VxAnnOptions, seed)},
		{"dimensions", RELOPT_TYPE_INT, offsetof(VxAnnOptions, dimensions)},
		{"layout", RELOPT_TYPE_ENUM, offsetof(VxAnnOptions, layout)},
	};
	VxAnnOptions *options = (VxAnnOptions *) build_reloptions(
		reloptions, validate, options_kind, sizeof(VxAnnOptions), table,
		lengthof(table));

	if (validate && options && options->bits != 4 && options->bits != 8)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("bits must be 4 or 8"),
						errdetail("The value given is %d.", options->bits)));
	if (validate && options && options->bits == 8 &&
		options->layout == VX_LAYOUT_PLANES)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("layout planes needs bits = 4")));
	return (bytea *) options;
}

const VxAnnOptions *
vx_ann_options(Relation index)
{
	if (index->rd_options == NULL)
		return &defaults;
	return (const VxAnnOptions *) index->rd_options;
}
