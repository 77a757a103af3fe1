/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Copies to and from a window: memory of another host, mapped write combining. Stores go
 *  past the caches in whole lines; loads are as wide as the processor has them for such memory,
 *  because each waits for the other host. Accesses to the window are aligned to their width, as
 *  device memory wants it. The other side may use the same bytes at the same time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** To the window. Stores may still be on their way on return, until rsm_fence_stores(). */
void ntb_copy_out(void *window, const void *from, size_t length);
/** From the window. */
void ntb_copy_in(void *to, const void *window, size_t length);
