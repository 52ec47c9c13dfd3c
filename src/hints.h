/*
 * hints.h
 *		A better hint for an error that is not ours.
 */
#ifndef VX_HINTS_H
#define VX_HINTS_H

/* Hooks into the way of messages; called once from _PG_init. */
extern void vx_hints_install(void);

#endif
