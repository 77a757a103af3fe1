/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The system call clone() as fork() uses it, without what libc does around it. */
#pragma once

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Like fork(), with @p flags, whose lowest byte is the signal that the parent gets at the end. The
 *  order of the system call's first two arguments, flags and stack, is the processor's.
 *  @return as fork(). */
static inline long rsm_clone_process(unsigned long flags)
{
#if defined(__s390__) || defined(__CRIS__)
    return syscall(SYS_clone, NULL, flags, NULL, NULL, NULL);
#else
    return syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
#endif
}
