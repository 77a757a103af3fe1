/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Processors, numbered as Linux numbers them. */
#ifndef _RSM_SOLARIS_SYS_PROCESSOR_H
#define _RSM_SOLARIS_SYS_PROCESSOR_H

#include <sys/procset.h>
#include <sys/types.h>

/* Results and command of p_online(). */
#define P_OFFLINE 1
#define P_ONLINE  2
#define P_STATUS  3

/* In place of a processor, for processor_bind(). */
#define PBIND_NONE  (-1) /* bind to none; as a result: not bound */
#define PBIND_QUERY (-2) /* change nothing */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Bind threads to a processor.
 *
 * @param idtype     P_PID (all threads of a process) or P_LWPID (a thread of this process).
 * @param id         whose, or P_MYID.
 * @param processor  its number, PBIND_NONE or PBIND_QUERY.
 * @param[out] previous unless NULL, the binding until now: of a process, that of its first thread.
 * A thread that may run on one processor only counts as bound.
 * @return 0, or -1 with errno EINVAL (no such kind of id, processor not there or not allowed),
 *         ESRCH (no such thread or process), EPERM.
 */
int processor_bind(int idtype, id_t id, processorid_t processor, processorid_t *previous);

/**
 * The state of a processor: P_ONLINE or P_OFFLINE. -1 with errno EINVAL where there is no such
 * processor, ENOTSUP where @p flag is not P_STATUS: Linux's administrator changes it, in sysfs.
 */
int p_online(processorid_t processor, int flag);

/** The processor that the caller runs on just now. */
processorid_t getcpuid(void);

#ifdef __cplusplus
}
#endif

#endif
