/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Copies between a segment and memory of the process: memcpy(), except where this processor
 *  has a better way for the length.
 *
 *  Some C libraries (glibc before 2.40) copy from about 2 KiB on by `rep movsb` on every processor
 *  that calls it fast. On AMD's it takes a fifth longer than a loop of vector instructions, begins
 *  only after all that precedes it, and takes 13 to 30 times as long if the target is not aligned
 *  like the source. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Lengths for which shm_copy_by_vectors() replaces memcpy(), in bytes, both included: below,
 *  memcpy() does the same; above, the memory limits both. */
enum { SHM_VECTORS_MIN = 2048, SHM_VECTORS_MAX = 512 * 1024 };

/** Whether shm_copy_by_vectors() can be called on this processor. */
bool shm_vectors_work(void);
/** ... and whether it is to be preferred. */
bool shm_vectors_pay(void);

/** Copy at least 256 bytes, which do not overlap, by 32 bytes at a time and in ascending order.
 *  A naturally aligned word is copied whole if it is aligned at both ends, as by memcpy(). The
 *  first and the last 128 bytes may be stored twice. */
void shm_copy_by_vectors(void *to, const void *from, size_t length);
