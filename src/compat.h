/*
 * compat.h
 *		What differs between PostgreSQL 15, 16, 17 and 18.
 *
 * The only file that looks at PG_VERSION_NUM.  Each entry gives one name that
 * means the same on every version.
 */
#ifndef VX_COMPAT_H
#define VX_COMPAT_H

#include "postgres.h"

#include "access/relscan.h"
#include "commands/vacuum.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#if PG_VERSION_NUM < 150000
#error "vector_ext needs PostgreSQL 15 or later"
#endif

/* One new block at the end of a fork, locked exclusively. */
static inline Buffer
vx_compat_extend(Relation rel, ForkNumber fork)
{
#if PG_VERSION_NUM >= 160000
	return ExtendBufferedRel(BMR_REL(rel), fork, NULL, EB_LOCK_FIRST);
#else
	bool lock = fork == MAIN_FORKNUM && !RELATION_IS_LOCAL(rel);
	Buffer buffer;

	if (lock)
		LockRelationForExtension(rel, ExclusiveLock);
	buffer = ReadBufferExtended(rel, fork, P_NEW, RBM_NORMAL, NULL);
	/* Locked before the extension lock goes, so nobody can take it first. */
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (lock)
		UnlockRelationForExtension(rel, ExclusiveLock);
	return buffer;
#endif
}

/* VACUUM's cost-based sleep and check for interrupts. */
static inline void
vx_compat_vacuum_delay(void)
{
#if PG_VERSION_NUM >= 180000
	vacuum_delay_point(false);
#else
	vacuum_delay_point();
#endif
}

#endif
