/*
 * limit.h
 *		Telling an ann scan how many rows the plan will ask for.
 */
#ifndef VX_PLAN_LIMIT_H
#define VX_PLAN_LIMIT_H

/* Hooks into the executor's start; called once from _PG_init. */
extern void vx_limit_hook_install(void);

#endif
