/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Freezing: for a moment no thread can store into a range; threads that try wait, and then
 *  store into what is there by then. Loads go on. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

/** From the best to the last resort. */
enum rsmcore_freeze_method {
    RSMCORE_FREEZE_UFFD,      /**< userfaultfd: system calls that store into the range wait too */
    RSMCORE_FREEZE_UFFD_USER, /**< userfaultfd, user mode only: such system calls give EFAULT */
    RSMCORE_FREEZE_MPROTECT,  /**< mprotect and a SIGSEGV handler, see segvwait.h */
};

/** The state of one swap. Memory that userfaultfd cannot protect, such as private file maps and
 *  System V segments, is frozen by mprotect whatever the method. */
struct rsmcore_freezer {
    enum rsmcore_freeze_method method;
    int uffd;         /* -1: none */
    bool has_handler; /* of segvwait.h */
    /* while frozen: */
    bool by_uffd;
    uintptr_t address;
    size_t length;
    int protection;
    sigset_t mask;
};

/** Choose the best method that this process has. */
void rsmcore_freezer_open(struct rsmcore_freezer *freezer);
void rsmcore_freezer_close(struct rsmcore_freezer *freezer);

/** Freeze a range of one mapping, which is writable with @p protection and whose pages have all
 *  been touched. Until the thaw the calling thread has all signals blocked, must not store into the
 *  range nor allocate, and should be quick. */
enum rsm_status rsmcore_freeze(struct rsmcore_freezer *freezer, uintptr_t address, size_t length,
                               int protection);

/** @param replaced  another, writable mapping has taken the place of the frozen one. */
void rsmcore_thaw(struct rsmcore_freezer *freezer, bool replaced);

/** For tests: from now on use this method or nothing better. False if the process does not have
 *  it. Not thread-safe. */
bool rsmcore_freeze_force(enum rsmcore_freeze_method method);
