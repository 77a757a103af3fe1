/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Kinds of ids. P_PID and others, and their type idtype_t, are glibc's. */
#ifndef _RSM_SOLARIS_SYS_PROCSET_H
#define _RSM_SOLARIS_SYS_PROCSET_H

#include <sys/types.h>
#include <sys/wait.h>

/** A thread of this process, by thr_self()'s id. Not an idtype_t of glibc's functions. */
#define P_LWPID 8
/** "My own" process or thread. */
#define P_MYID (-1)

#endif
