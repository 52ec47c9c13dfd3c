/*
 * train.h
 *		What the files of the training share: train.c (the order of things),
 *		cluster.c (k-means), balance.c (splits), crew.c (processes).
 */
#ifndef VX_ANN_TRAIN_H
#define VX_ANN_TRAIN_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "ann/build.h"

/* Rows that belong together: order[first .. first + rows). */
typedef struct VxTrainPart
{
	int32 first;
	int32 rows;
	int32 place; /* of its first centroid */
	int32 lists; /* wanted, then made */
} VxTrainPart;

typedef enum VxTrainKind
{
	VX_TRAIN_KMEANS, /* a step of a k-means over all rows */
	VX_TRAIN_GROUPS, /* item: a part, to be divided into lists */
	VX_TRAIN_SPLITS	 /* item: a list, to be cut in two */
} VxTrainKind;

/* Items for all; the same whoever does them. */
typedef struct VxTrainJob
{
	VxTrainKind kind;
	int items;
	int first_place; /* of splits: where their second halves go */
	VxKmeansStep step;
	VxKmeans task; /* of the step; its pointers are the leader's */
} VxTrainJob;

/* In the memory that all processes see, at its begin. */
typedef struct VxTrainShared
{
	/* Fixed before there are workers: */
	int dims;
	int lists_max;
	int64 rows_max;
	Size work_bytes; /* for blocks of rows, of each process */
	uint64 seed;
	/* The work: */
	pg_atomic_uint64 done; /* rows assigned, for the report of progress */
	pg_atomic_uint32 next; /* item of the job that nobody has taken */
	VxTrainJob job;		   /* does not change while workers have it */
	/* Leader and workers, see crew.c: */
	ConditionVariable changed;
	slock_t mutex; /* protects what follows */
	uint64 number; /* of the job */
	bool open;	   /* workers may join it */
	bool quit;	   /* there will be no more */
	int working;   /* workers that have joined and not ended */
} VxTrainShared;

typedef struct VxCrew VxCrew;

/* A training as one process sees it. */
typedef struct VxTraining
{
	VxTrainShared *shared;
	float *x;			/* the sample */
	float *centroids;	/* lists_max */
	int32 *list_of;		/* by row */
	int32 *order;		/* rows by part */
	int32 *spare;		/* by row */
	int32 *start;		/* lists_max + 1 */
	int32 *split;		/* the list that an item splits */
	VxTrainPart *parts; /* groups, or lists; the halves of splits behind */
	char *state;		/* of the k-means over all rows */
	/* Of this process: */
	void *work;
	Size work_size;
	/* Of the leader: */
	int64 rows;					 /* of the sample */
	int64 total;				 /* rows to assign in all, for progress */
	int workers;				 /* wanted */
	struct dsm_segment *segment; /* holds the above; NULL: private memory */
	VxCrew *crew;				 /* NULL: alone */
} VxTraining;

/* --- train.c ------------------------------------------------------------------ */

/* Lays a training out in memory; NULL: only returns the bytes. */
extern Size vx_train_lay_out(VxTraining *training, char *memory, int dims,
							 int lists_max, int64 rows_max);

/* Rows of a block, so that it stays within the share of a process. */
extern int vx_train_block_rows(const VxTraining *training, int lists);

/* The process's memory for such a task; the task before it has lost it. */
extern void *vx_train_work(VxTraining *training, const VxKmeans *task);

/* progress of every VxKmeans; arg: the training. */
extern void vx_train_progress(void *arg, int rows);

/* --- crew.c ------------------------------------------------------------------- */

/*
 * Memory for a training in shared memory, when workers are wanted and it is to
 * be had; else private.
 */
extern VxTraining *vx_crew_memory(VxBuild *build, int lists_max, int64 rows_max,
								  Size work_bytes);
/* Launches the workers, after the sample is there. */
extern void vx_crew_begin(VxTraining *training);
/* Runs all items of shared->job. */
extern void vx_crew_run(VxTraining *training);
extern void vx_crew_end(VxTraining *training);
/* Frees the memory. */
extern void vx_crew_free(VxTraining *training);

/* --- cluster.c ---------------------------------------------------------------- */

/*
 * k-means: fills centroids with up to lists of them, and list_of.  Returns how
 * many there are.
 */
extern int vx_train_cluster(VxTraining *training, int lists);
extern void vx_train_item(VxTraining *training, int item);

/* --- balance.c ---------------------------------------------------------------- */

/*
 * Splits the largest of made lists until there are so many, or none can be
 * split.  Returns how many there are.
 */
extern int vx_train_balance(VxTraining *training, int made, int lists);
extern void vx_train_split(VxTraining *training, int item);

#endif
