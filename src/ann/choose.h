/*
 * choose.h
 *		The list of a row that is inserted, and that list's centroid.
 */
#ifndef VX_ANN_CHOOSE_H
#define VX_ANN_CHOOSE_H

#include "ann/ann.h"

/* What the inserts of one statement keep of the directory. */
typedef struct VxChooser VxChooser;

/* Lives in a context of its own below parent. */
extern VxChooser *vx_chooser_create(MemoryContext parent);

/*
 * The nearest open list, the root when there is no other; NULL when there is no
 * list.  The directory is as of ann->meta or later.  Valid until the next call,
 * in the current context.
 */
extern const VxDirList *vx_choose_list(VxChooser *chooser,
									   const VxAnnIndex *ann, const float *x);

/*
 * The list's centroid in the two forms that encoding needs, valid until the next
 * call, in the current context.  False: the list is gone.
 */
extern bool vx_choose_centroid(VxChooser *chooser, const VxAnnIndex *ann,
							   const VxDirList *list, VxListRef *ref);

/* The list chosen did not take the row: read the directory again. */
extern void vx_chooser_forget(VxChooser *chooser);

#endif
