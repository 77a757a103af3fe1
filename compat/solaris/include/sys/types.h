/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * `<sys/types.h>` and the types that Solaris's had besides. As in `<rsm/base_types.h>`, which has
 * those that RSMAPI itself needs, each is guarded by `__<name>_defined`: code that has a type
 * already defines that macro and keeps its own.
 */
#ifndef _RSM_SOLARIS_SYS_TYPES_H
#define _RSM_SOLARIS_SYS_TYPES_H
#pragma GCC system_header

#include_next <sys/types.h>
#include <sys/isa_defs.h>
#include <rsm/base_types.h>

/* That header may be the one that included this one, and not be through yet: nothing below uses its
 * types. */

#ifndef __boolean_t_defined
#define __boolean_t_defined
typedef enum { B_FALSE, B_TRUE } boolean_t;
#endif

#ifndef __longlong_t_defined
#define __longlong_t_defined
typedef long long longlong_t;
#endif
#ifndef __u_longlong_t_defined
#define __u_longlong_t_defined
typedef unsigned long long u_longlong_t;
#endif
#ifndef __u_offset_t_defined
#define __u_offset_t_defined
typedef unsigned long long u_offset_t;
#endif
#ifndef __diskaddr_t_defined
#define __diskaddr_t_defined
typedef unsigned long long diskaddr_t;
#endif
#ifndef __len_t_defined
#define __len_t_defined
typedef unsigned long long len_t;
#endif
#ifndef __unchar_defined
#define __unchar_defined
typedef unsigned char unchar;
#endif

/* Time. struct timespec itself is in <time.h>. */
#ifndef __hrtime_t_defined
#define __hrtime_t_defined
typedef long long hrtime_t;
#endif
#ifndef __timespec_t_defined
#define __timespec_t_defined
typedef struct timespec timespec_t;
#endif
#ifndef __timestruc_t_defined
#define __timestruc_t_defined
typedef struct timespec timestruc_t;
#endif

/* Identifiers. */
#ifndef __major_t_defined
#define __major_t_defined
typedef unsigned int major_t;
#endif
#ifndef __minor_t_defined
#define __minor_t_defined
typedef unsigned int minor_t;
#endif
#ifndef __processorid_t_defined
#define __processorid_t_defined
typedef int processorid_t;
#endif
#ifndef __psetid_t_defined
#define __psetid_t_defined
typedef int psetid_t;
#endif
#ifndef __chipid_t_defined
#define __chipid_t_defined
typedef int chipid_t;
#endif
#ifndef __lwpid_t_defined
#define __lwpid_t_defined
typedef int lwpid_t; /* as glibc's <sys/procfs.h>, which <signal.h> of some processors includes */
#endif
#ifndef __projid_t_defined
#define __projid_t_defined
typedef int projid_t;
#endif
#ifndef __zoneid_t_defined
#define __zoneid_t_defined
typedef int zoneid_t;
#endif
#ifndef __taskid_t_defined
#define __taskid_t_defined
typedef int taskid_t;
#endif
#ifndef __sysid_t_defined
#define __sysid_t_defined
typedef short sysid_t;
#endif

/* Counts, indices and memory. */
#ifndef __cnt_t_defined
#define __cnt_t_defined
typedef short cnt_t;
#endif
#ifndef __index_t_defined
#define __index_t_defined
typedef short index_t;
#endif
#ifndef __pgcnt_t_defined
#define __pgcnt_t_defined
typedef unsigned long pgcnt_t;
#endif
#ifndef __spgcnt_t_defined
#define __spgcnt_t_defined
typedef long spgcnt_t;
#endif
#ifndef __pfn_t_defined
#define __pfn_t_defined
typedef unsigned long pfn_t;
#endif
#ifndef __paddr_t_defined
#define __paddr_t_defined
typedef unsigned long paddr_t;
#endif
#ifndef __use_t_defined
#define __use_t_defined
typedef unsigned char use_t;
#endif

#endif
