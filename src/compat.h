/*
 * compat.h
 *		What differs between PostgreSQL 15, 16, 17 and 18.
 *
 * The only file that looks at PG_VERSION_NUM.  Each entry gives one name that
 * means the same on every version.
 */
#ifndef VX_COMPAT_H
#define VX_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "vector_ext needs PostgreSQL 15 or later"
#endif

#endif
