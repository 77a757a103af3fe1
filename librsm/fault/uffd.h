/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Write protection by userfaultfd. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

/** Make a userfaultfd with these features (UFFD_FEATURE_*). -1: the kernel refuses.
 *  @param user_only  as below. */
int rsmcore_uffd_new(bool user_only, uint64_t features);

/** Take over a descriptor of /dev/userfaultfd that the daemon has lent to this process, for later
 *  calls in a process that may not open the device. It is closed if there is one already, or if it
 *  is not such a device. Thread-safe. */
void rsmcore_uffd_lend(int device);

/** A userfaultfd that can write-protect, or -1. @param user_only  one whose protection fails system
 *  calls with EFAULT instead of making them wait; others need a privilege. */
int rsmcore_uffd_open(bool user_only);

/** Whether a descriptor is one of those, still. */
bool rsmcore_uffd_is_one(int fd);

/** Make threads that store into the range wait. False if this memory or kernel cannot. All pages
 *  of private memory have been touched. */
bool rsmcore_uffd_protect(int uffd, uintptr_t address, size_t length);

/** Take the right to store away from pages that are there, or give it back, which wakes. */
bool rsmcore_uffd_set_writable(int uffd, uintptr_t address, size_t length, bool writable);

/** Give up the protection and wake the waiting threads. */
void rsmcore_uffd_release(int uffd, uintptr_t address, size_t length);

/** Wake the waiting threads after the protected mapping was replaced. */
void rsmcore_uffd_wake(int uffd, uintptr_t address, size_t length);

RSMCORE_EXPORTS_END
