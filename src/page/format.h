/*
 * format.h
 *		Every byte that the access method `ann` keeps on disk.
 *
 * docs/format.md is the one description; this header repeats its offsets as
 * static asserts.  Native endian.  Nothing here locks, logs or allocates.
 */
#ifndef VX_PAGE_FORMAT_H
#define VX_PAGE_FORMAT_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

#include "kernel/base.h"

#define VX_FORMAT 1			  /* format version this code writes and reads */
#define VX_MAGIC 0x564E4158	  /* "XANV" */
#define VX_WRITER_VERSION 100 /* 0.1.0 */

#define VX_META_BLOCK 0

/* List ids: never reused while the index lives. */
#define VX_LIST_NONE 0
#define VX_LIST_NULL 1			  /* special: NULL vectors */
#define VX_LIST_ZERO 2			  /* special: zero vectors under cosine */
#define VX_LIST_FIRST 3			  /* first ordinary id */
#define VX_LIST_CENTRE 0xFFFFFFFF /* owner of the global centre in CENT pages */
#define VX_LIST_ID_MAX 0xFFFFFFFD

#define VX_PENDING_NONE 0xFFFFFFFF /* META pending_from: nothing prepared */

/* --- special area of every page ---------------------------------------- */

typedef enum VxPageKind
{
	VX_PAGE_META = 1,
	VX_PAGE_DIR = 2,
	VX_PAGE_CENT = 3,
	VX_PAGE_LEAD = 4,
	VX_PAGE_CODE = 5, /* layout P: codes of the entries of one lead */
	VX_PAGE_FREE = 6,
} VxPageKind;

#define VX_PAGE_ID 0xFF83

typedef struct VxPageSpecial
{
	uint16 kind;
	uint16 format;
	uint16 flags; /* must be 0 */
	uint16 page_id;
} VxPageSpecial;

/* First byte after PageHeaderData, and the first byte of the special area. */
#define VX_PAGE_BODY MAXALIGN(SizeOfPageHeaderData)
#define VX_PAGE_END (BLCKSZ - MAXALIGN(sizeof(VxPageSpecial)))

StaticAssertDecl(sizeof(VxPageSpecial) == 8, "special area");
StaticAssertDecl(VX_PAGE_BODY == 24, "page body");
StaticAssertDecl(BLCKSZ != 8192 || VX_PAGE_END == 8184, "page end");

/* --- META ---------------------------------------------------------------- */

#define VX_FILTER_COLUMNS_MAX 31

/* What a filter column holds of a value. */
typedef enum VxColumnKind
{
	VX_COLUMN_VALUE = 1,	 /* the value itself */
	VX_COLUMN_HASH = 2,		 /* 64 bits of a hash: equal values are equal */
	VX_COLUMN_SIGNATURE = 3, /* a bit for each element of an array */
} VxColumnKind;

#define VX_COLUMN_WIDTH_MAX 16

/* Of the hashes and signatures in filter columns. */
#define VX_HASH_VERSION 1

typedef enum VxLayout
{
	VX_LAYOUT_WHOLE = 1,  /* W: whole codes on the lead */
	VX_LAYOUT_PLANES = 2, /* P: sign and rest planes on code pages */
} VxLayout;

#define VX_CALIBRATION_TARGETS 6 /* 0.80 0.90 0.95 0.98 0.99 0.999 */
#define VX_CALIBRATION_KS 3		 /* 1 10 100 */
#define VX_CALIBRATION_K_MAX 100

typedef struct VxCalibration
{
	float kappa;  /* L2, cosine: parameter of the rule; IP: 0 */
	float lambda; /* for filters */
	float share;  /* of the rows scanned; 0 not known.  IP: the parameter */
} VxCalibration;

typedef struct VxMeta
{
	uint32 magic;
	uint32 format;
	uint32 required_flags; /* a bit this code does not know: refuse */
	uint32 dims;
	uint16 layout;
	uint16 bits;
	uint16 metric;
	uint16 columns;		  /* filter columns */
	uint8 widths[32];	  /* bytes of each filter column */
	uint16 slots;		  /* of a LEAD */
	uint16 sign_pages;	  /* layout P, per lead */
	uint16 rest_pages;	  /* layout P, per lead */
	uint16 special_slots; /* of a SPECIAL lead */
	uint64 seed;
	uint64 config_seq;
	uint64 shape_seq;
	uint64 dir_epoch;
	uint32 next_list_id;
	uint32 pending_from;
	BlockNumber dir_head; /* invalid: no list yet */
	BlockNumber dir_tail;
	uint32 dir_run;	   /* consecutive DIR pages from dir_head */
	uint32 list_count; /* entries of the directory, without pending ones */
	BlockNumber null_head;
	BlockNumber zero_head;
	BlockNumber centre_block; /* invalid before birth */
	uint16 centre_slot;
	uint16 pad;
	BlockNumber cent_open; /* hint: CENT page with a free slot */
	float t0;
	float r2; /* mean squared residual, at build or calibration */
	float rows_calibrated;
	VxCalibration table[VX_CALIBRATION_TARGETS][VX_CALIBRATION_KS];
	uint8 kinds[32];   /* of each filter column: value, hash, signature */
	uint8 classes[32]; /* type class of each filter column */
	uint16 hash_version;
	uint16 advice; /* bit 0: REINDEX would help */
	uint32 optional_flags;
	uint32 writer_version;
	int32 lists_option; /* reloption lists when the index was built */
	uint64 rows;		/* as of the build or the last VACUUM */
	uint64 dead_rows;
} VxMeta;

#define VX_META_AT VX_PAGE_BODY
#define VX_META_OFFSET(field) (VX_META_AT + offsetof(VxMeta, field))
StaticAssertDecl(VX_META_OFFSET(dims) == 36, "META dims");
StaticAssertDecl(VX_META_OFFSET(widths) == 48, "META widths");
StaticAssertDecl(VX_META_OFFSET(slots) == 80, "META slots");
StaticAssertDecl(VX_META_OFFSET(seed) == 88, "META seed");
StaticAssertDecl(VX_META_OFFSET(shape_seq) == 104, "META shape_seq");
StaticAssertDecl(VX_META_OFFSET(dir_epoch) == 112, "META dir_epoch");
StaticAssertDecl(VX_META_OFFSET(dir_head) == 128, "META dir_head");
StaticAssertDecl(VX_META_OFFSET(null_head) == 144, "META null_head");
StaticAssertDecl(VX_META_OFFSET(centre_slot) == 156, "META centre_slot");
StaticAssertDecl(VX_META_OFFSET(t0) == 164, "META t0");
StaticAssertDecl(VX_META_OFFSET(table) == 176, "META table");
StaticAssertDecl(VX_META_OFFSET(kinds) == 392, "META kinds");
StaticAssertDecl(VX_META_OFFSET(classes) == 424, "META classes");
StaticAssertDecl(VX_META_OFFSET(hash_version) == 456, "META hash_version");
StaticAssertDecl(VX_META_OFFSET(lists_option) == 468, "META lists_option");
StaticAssertDecl(VX_META_OFFSET(rows) == 472, "META rows");
StaticAssertDecl(sizeof(VxMeta) == 464, "META size");

/* --- DIR ----------------------------------------------------------------- */

#define VX_DIR_CLOSING 1 /* takes no new rows */
#define VX_DIR_ROOT 2	 /* the flat list: read by every scan */
#define VX_DIR_NO_SPLIT 4

typedef struct VxDirHeader
{
	BlockNumber next;
	uint16 used; /* entries, free ones included */
	uint16 pad;
	uint64 reserved;
} VxDirHeader;

typedef struct VxDirEntry
{
	uint32 list_id; /* 0 = free slot */
	BlockNumber head;
	BlockNumber cent_block;
	uint16 cent_slot;
	uint16 flags;
	uint32 rows;	/* as of the build or the last VACUUM */
	float r2;		/* mean squared residual */
	float norm2;	/* |c|^2 */
	float inv_norm; /* 1 / |c|, 0 for c = 0 */
	float f;		/* factors of the coded centroid against the centre */
	float n;
	uint16 sn;
	uint16 en;
	uint8 code[FLEXIBLE_ARRAY_MEMBER]; /* 4 bits per dimension */
} VxDirEntry;

#define VX_DIR_ENTRIES_AT (VX_PAGE_BODY + sizeof(VxDirHeader))
StaticAssertDecl(sizeof(VxDirHeader) == 16, "DIR header");
StaticAssertDecl(VX_DIR_ENTRIES_AT == 40, "DIR entries");
StaticAssertDecl(offsetof(VxDirEntry, rows) == 16, "DIR rows");
StaticAssertDecl(offsetof(VxDirEntry, f) == 32, "DIR f");
StaticAssertDecl(offsetof(VxDirEntry, code) == 44, "DIR code");

/* --- CENT ---------------------------------------------------------------- */

typedef struct VxCentHeader
{
	BlockNumber next; /* continuation of one long vector, else invalid */
	uint16 count;	  /* used slots */
	uint16 capacity;
	uint64 reserved;
} VxCentHeader;

typedef struct VxCentSlot
{
	uint32 list_id; /* 0 = free */
	uint32 pad;
	float x[FLEXIBLE_ARRAY_MEMBER];
} VxCentSlot;

#define VX_CENT_SLOTS_AT (VX_PAGE_BODY + sizeof(VxCentHeader))
#define VX_CENT_PAGE_FLOATS                                                    \
	((VX_PAGE_END - VX_CENT_SLOTS_AT - offsetof(VxCentSlot, x)) / sizeof(float))
StaticAssertDecl(sizeof(VxCentHeader) == 16, "CENT header");
StaticAssertDecl(VX_CENT_SLOTS_AT == 40, "CENT slots");
StaticAssertDecl(offsetof(VxCentSlot, x) == 8, "CENT slot");

/* --- LEAD ---------------------------------------------------------------- */

#define VX_LEAD_HEAD 1
#define VX_LEAD_SEALED 2
#define VX_LEAD_SPECIAL 4
#define VX_LEAD_FLAGS_ALL 7

typedef struct VxLead
{
	uint32 list_id;
	BlockNumber next;
	uint16 slots;
	uint16 live;
	uint16 flags;
	uint16 codes; /* code pages attached, layout P */
	uint64 reserved;
	/* Head block: zero unless VX_LEAD_HEAD. */
	uint64 stamp;
	BlockNumber insert_block; /* where inserts start looking */
	BlockNumber tail_block;
	uint32 lead_pages;
	uint32 lead_run; /* consecutive leads from the head */
	BlockNumber run_next;
	BlockNumber run_end;
	BlockNumber cent_block;
	uint16 cent_slot;
	uint16 head_flags; /* as the directory entry's flags */
	float r2;
	uint32 head_reserved;
	/* Code table (layout P) and planes follow, see capacity.c. */
} VxLead;

#define VX_LEAD_AT VX_PAGE_BODY
#define VX_LEAD_PLANES_AT (VX_LEAD_AT + sizeof(VxLead))
#define VX_LEAD_OFFSET(field) (VX_LEAD_AT + offsetof(VxLead, field))
StaticAssertDecl(VX_LEAD_OFFSET(slots) == 32, "LEAD slots");
StaticAssertDecl(VX_LEAD_OFFSET(stamp) == 48, "LEAD stamp");
StaticAssertDecl(VX_LEAD_OFFSET(insert_block) == 56, "LEAD insert_block");
StaticAssertDecl(VX_LEAD_OFFSET(cent_slot) == 84, "LEAD cent_slot");
StaticAssertDecl(VX_LEAD_OFFSET(r2) == 88, "LEAD r2");
StaticAssertDecl(VX_LEAD_PLANES_AT == 96, "LEAD planes");
StaticAssertDecl(sizeof(ItemPointerData) == 6, "heap pointer");

/* What a lead holds of its entries beside their heap pointers. */
typedef enum VxLeadForm
{
	VX_FORM_TIDS,	/* nothing: a special lead */
	VX_FORM_WHOLE,	/* factors and codes: layout W */
	VX_FORM_PLANES, /* factors; the codes are on code pages: layout P */
} VxLeadForm;

/* The filter columns of an index: bytes of a value of each. */
typedef struct VxColumns
{
	int count;
	uint8 width[VX_FILTER_COLUMNS_MAX]; /* 1, 2, 4, 8 or 16 */
} VxColumns;

/* A plane of values of a filter column. */
typedef struct VxColumnPlane
{
	uint16 at;
	uint16 width;
} VxColumnPlane;

/*
 * Where the planes of a lead lie, as byte offsets in the page.  By falling
 * alignment: code table, bitmaps, filter columns of 16 and 8 bytes, factors of
 * float4, columns of 4 bytes, factors of float2, columns of 2 bytes, heap
 * pointers, columns of 1 byte, codes.
 */
typedef struct VxLeadLayout
{
	VxLeadForm form;
	uint16 slots;
	uint16 code_bytes; /* of one entry, 0 in a special lead */
	/* Layout P: */
	uint16
		sign_pages; /* code pages of the sign plane, the first in the table */
	uint16 rest_pages; /* and of the rest plane */
	uint16 sign_units; /* of a block of slots */
	uint16 rest_bytes; /* of one entry */
	uint16 rest_rows;  /* entries of a page of the rest plane */
	uint16 table;	   /* block numbers of code pages, 0 = not attached */
	/* Offsets: */
	uint16 live;   /* bitmap of 64-bit words */
	uint16 killed; /* bitmap of 64-bit words */
	uint16 nulls;  /* a bitmap for each filter column */
	uint16 fixed;  /* what is before: as many bytes, however many rows */
	uint16 f;
	uint16 n;
	uint16 sign_f; /* layout P, as sign_sn and sign_en */
	uint16 sn;
	uint16 en;
	uint16 sign_sn;
	uint16 sign_en;
	uint16 tids;
	uint16 codes; /* layout W */
	uint16 end;
	int columns;
	VxColumnPlane column[VX_FILTER_COLUMNS_MAX];
} VxLeadLayout;

/* Code pages of a lead at most. */
#define VX_CODE_PAGES_MAX 64

/* Words of a bitmap of the slots of any lead. */
#define VX_SLOT_WORDS_MAX                                                      \
	((int) ((VX_PAGE_END - VX_LEAD_PLANES_AT) / sizeof(ItemPointerData) / 64 + \
			1))

/*
 * The layout of ordinary leads.  False when not even one entry fits, or codes of
 * 8 bits are to be split in planes, which is not defined.
 */
extern bool vx_lead_layout(VxLayout form, int dims, int bits,
						   const VxColumns *columns, VxLeadLayout *layout);

/* The layout of special leads. */
extern void vx_special_layout(const VxColumns *columns, VxLeadLayout *layout);

/*
 * pd_lower of a lead whose slots before end have held rows.  Where whole codes
 * are the last plane, a page that fills has little to compare and to log.
 */
static inline Size
vx_lead_used(const VxLeadLayout *layout, int end)
{
	if (layout->form == VX_FORM_WHOLE)
		return layout->codes + (Size) layout->code_bytes * end;
	/* Behind the heap pointers there may be columns of one byte. */
	if (layout->tids + sizeof(ItemPointerData) * layout->slots < layout->end)
		return layout->end;
	return layout->tids + sizeof(ItemPointerData) * end;
}

/* --- CODE ---------------------------------------------------------------- */

typedef enum VxPlane
{
	VX_PLANE_SIGNS = 1,
	VX_PLANE_REST = 2,
} VxPlane;

typedef struct VxCode
{
	uint32 list_id;
	BlockNumber lead; /* whose code table names this page */
	uint16 ordinal;	  /* at this place */
	uint16 plane;
	uint32 reserved[7];
} VxCode;

/* The data begins at a cache line. */
#define VX_CODE_DATA_AT (VX_PAGE_BODY + sizeof(VxCode))
StaticAssertDecl(sizeof(VxCode) == 40, "CODE header");
StaticAssertDecl(VX_CODE_DATA_AT == 64, "CODE data");

/* Units of the sign plane on a page. */
#define VX_CODE_UNITS                                                          \
	((int) ((VX_PAGE_END - VX_CODE_DATA_AT) / VX_SIGN_UNIT_BYTES))

/* The sign plane of a lead is one stream of units over its pages. */
static inline int
vx_sign_pages(const VxLeadLayout *layout, int slots)
{
	int blocks = (slots + VX_PLANE_SLOTS - 1) / VX_PLANE_SLOTS;

	return (blocks * layout->sign_units + VX_CODE_UNITS - 1) / VX_CODE_UNITS;
}

/* Where a slot's signs begin in the stream. */
static inline int
vx_sign_start(const VxLeadLayout *layout, int slot)
{
	return slot / VX_PLANE_SLOTS * layout->sign_units;
}

static inline int
vx_rest_pages(const VxLeadLayout *layout, int slots)
{
	return (slots + layout->rest_rows - 1) / layout->rest_rows;
}

/* Places in the code table: the sign pages, then those of the rest plane. */
static inline int
vx_code_pages(const VxLeadLayout *layout)
{
	return layout->sign_pages + layout->rest_pages;
}

/* What the code page at a place of a lead's table says of itself. */
static inline VxCode
vx_code_owner(const VxLeadLayout *layout, uint32 list_id, BlockNumber lead,
			  int ordinal)
{
	VxCode owner = {.list_id = list_id,
					.lead = lead,
					.ordinal = ordinal,
					.plane = ordinal < layout->sign_pages ? VX_PLANE_SIGNS
														  : VX_PLANE_REST};

	return owner;
}

/* Bytes of data of that code page when the slots before end have held rows. */
static inline Size
vx_code_used(const VxLeadLayout *layout, int ordinal, int end)
{
	int number = ordinal - layout->sign_pages;
	int things;

	if (end == 0)
		return 0;
	if (number < 0)
	{
		things = vx_sign_start(layout, end - 1) + layout->sign_units -
				 ordinal * VX_CODE_UNITS;
		return (Size) Min(Max(things, 0), VX_CODE_UNITS) * VX_SIGN_UNIT_BYTES;
	}
	things = end - number * layout->rest_rows;
	return (Size) Min(Max(things, 0), layout->rest_rows) * layout->rest_bytes;
}

/* Directory entry bytes for dims, and how many fit a page. */
extern Size vx_dir_entry_bytes(int dims);
extern int vx_dir_entries_per_page(int dims);

/* Centroid vectors per CENT page (0: one vector takes several pages). */
extern int vx_cent_per_page(int dims);
/* Pages of the chain of one vector; 1 when vx_cent_per_page is not 0. */
extern int vx_cent_chain_pages(int dims);

/* --- access within a page (no locks) -------------------------------------- */

static inline VxPageSpecial *
vx_page_special(Page page)
{
	return (VxPageSpecial *) ((char *) page + VX_PAGE_END);
}

static inline VxMeta *
vx_page_meta(Page page)
{
	return (VxMeta *) ((char *) page + VX_META_AT);
}

static inline VxDirHeader *
vx_page_dir(Page page)
{
	return (VxDirHeader *) ((char *) page + VX_PAGE_BODY);
}

static inline VxDirEntry *
vx_dir_entry(Page page, Size entry_bytes, int slot)
{
	return (VxDirEntry *) ((char *) page + VX_DIR_ENTRIES_AT +
						   entry_bytes * slot);
}

static inline VxCentHeader *
vx_page_cent(Page page)
{
	return (VxCentHeader *) ((char *) page + VX_PAGE_BODY);
}

static inline VxCentSlot *
vx_cent_slot(Page page, int dims, int slot)
{
	return (VxCentSlot *) ((char *) page + VX_CENT_SLOTS_AT +
						   (offsetof(VxCentSlot, x) + sizeof(float) * dims) *
							   slot);
}

static inline VxLead *
vx_page_lead(Page page)
{
	return (VxLead *) ((char *) page + VX_LEAD_AT);
}

static inline VxCode *
vx_page_code(Page page)
{
	return (VxCode *) ((char *) page + VX_PAGE_BODY);
}

static inline uint8 *
vx_code_data(Page page)
{
	return (uint8 *) page + VX_CODE_DATA_AT;
}

/* Plane accessors: offset is a field of VxLeadLayout. */
#define vx_plane(page, offset, type) ((type *) ((char *) (page) + (offset)))

static inline bool
vx_bit(const uint64 *words, int slot)
{
	return (words[slot / 64] >> (slot % 64)) & 1;
}

/* The first bit set from slot on; slots or more when there is none. */
static inline int
vx_bit_next(const uint64 *words, int slots, int slot)
{
	while (slot < slots)
	{
		uint64 left = words[slot / 64] >> (slot % 64);

		if (left != 0)
			return slot + __builtin_ctzll(left);
		slot = (slot / 64 + 1) * 64;
	}
	return slots;
}

static inline void
vx_bit_set(uint64 *words, int slot)
{
	words[slot / 64] |= UINT64CONST(1) << (slot % 64);
}

static inline void
vx_bit_clear(uint64 *words, int slot)
{
	words[slot / 64] &= ~(UINT64CONST(1) << (slot % 64));
}

/* First clear bit below slots, or -1. */
extern int vx_bit_first_clear(const uint64 *words, int slots);

#endif
