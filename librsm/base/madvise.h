/* SPDX-License-Identifier: BSD-3-Clause */
/** @file `<sys/mman.h>`, and advice to madvise(2) that C libraries before 2.35 do not name. A
 *  kernel that lacks it (before Linux 5.14) answers EINVAL. */
#pragma once

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED /* Linux 5.18 */
#define MADV_DONTNEED_LOCKED 24
#endif
