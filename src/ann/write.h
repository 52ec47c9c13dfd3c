/*
 * write.h
 *		What the files that write a new index share.
 */
#ifndef VX_ANN_WRITE_H
#define VX_ANN_WRITE_H

#include "ann/build.h"

typedef struct VxWriter
{
	VxBuild *build;
	VxBuilder pages;
	char *image;	 /* the page being made */
	VxSortedRow row; /* read last */
	int dir_pages;
	BlockNumber cent_block; /* first CENT page */
	int cent_vectors;		/* the centre, then the lists unless flat */
	int cent_pages;
	int64 rows_written;
	char *signs;   /* sign pages of the lead being made, for layout P */
	char *rest;	   /* its page of the rest plane */
	uint8 *levels; /* of a row */
} VxWriter;

/* A list while its leads are written. */
typedef struct VxSpan
{
	int32 key; /* in the sort */
	uint32 list_id;
	const VxLeadLayout *layout;
	uint16 lead_flags;
	uint16 head_flags;
	BlockNumber head;
	BlockNumber rest; /* block of the second lead */
	uint32 pages;	  /* leads */
	int64 rows;		  /* not written yet */
	float r2;
	int cent; /* its vector, -1 for a special list */
} VxSpan;

/* Begins lead i of the list in w->image, without rows; returns its block. */
extern BlockNumber vx_write_start_lead(VxWriter *w, const VxSpan *span,
									   uint32 i);

/* The list's next row; valid until the next call. */
extern const VxSortedRow *vx_write_next(VxWriter *w, const VxSpan *span);

/* The lead in w->image has so many rows, and they are written. */
extern void vx_write_done(VxWriter *w, VxSpan *span, int count);

/* --- write_planes.c ----------------------------------------------------------- */

/* The leads of a list of layout P and their code pages. */
extern void vx_write_planes(VxWriter *w, VxSpan *span);

#endif
