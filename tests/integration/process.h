/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What /proc says of processes, time, and waiting for children. */
#ifndef TESTS_INTEGRATION_PROCESS_H
#define TESTS_INTEGRATION_PROCESS_H

#include "system.h"

/** Milliseconds of a clock that never jumps. */
int64_t now_ms(void);

/** Whether other users can get at the programs of this build; not so below a private home. */
bool build_is_reachable(void);

/** Whether this process may look into those of other users: CAP_SYS_PTRACE, which root of a container lacks. */
bool process_sees_others(void);

/** How long a process's first thread has been ready and had no processor, in nanoseconds; 0 where the kernel does
 *  not count that (CONFIG_SCHED_INFO). */
int64_t process_delay_ns(pid_t pid);

/** Open descriptors of a process. */
unsigned process_descriptors(pid_t pid);

/** Those of them whose link in /proc begins with @p target, as in "socket:" or "/memfd:". */
unsigned process_descriptors_to(pid_t pid, const char *target);

/** Its threads; 0 if it has ended. */
unsigned process_threads(pid_t pid);

/** A child of another process; 0: it has none. */
pid_t process_child_of(pid_t parent);

/** Lines of its memory map. */
unsigned process_mappings(pid_t pid);

/** Its resident memory, KiB. */
unsigned long process_resident_kib(pid_t pid);

/** Block SIGCHLD, which child_await() waits for, and adopt orphans. Once per test process. */
void children_watch(void);

/** Undo the former in a forked child. */
void children_unwatch(void);

/**
 * Wait for a child to change state.
 * @param pid      the child, or -1 for any.
 * @param options  of waitpid(), e.g. WUNTRACED.
 * @return its pid; 0 when the time was over; -1 when there is no such child.
 */
pid_t child_await(pid_t pid, int options, int timeout_ms, int *status);

/** Call @p visit for each child of this process, until it returns false. */
void children_visit(bool (*visit)(pid_t pid, void *context), void *context);

/** Call @p visit for each process whose command line contains @p text, until it returns false. */
void processes_with(const char *text, bool (*visit)(pid_t pid, void *context), void *context);

#endif
