/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Where the library's own long-lived mappings go: away from where the kernel puts mappings
 *  by itself. A program that maps a segment, unmaps it and later asks for the same address again
 *  believes that address to be free. If the library had put memory of its own there meanwhile, a
 *  mapping with RSM_MAP_FIXED would replace it. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/exports.h"

RSMCORE_EXPORTS_BEGIN

/**
 * mmap() at an address that is distant from those that the kernel chooses. Where that is not
 * possible the kernel chooses. MAP_FAILED with errno on failure. Thread-safe.
 *
 * @param length  bytes, not 0.
 * @param flags   MAP_*, none of the kind of MAP_FIXED.
 */
void *rsmcore_mmap_apart(size_t length, int protection, int flags, int fd, off_t offset);

RSMCORE_EXPORTS_END
