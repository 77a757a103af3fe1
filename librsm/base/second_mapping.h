/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Whether shared memory can be mapped once more without its descriptor. */
#pragma once

#include <stdbool.h>

/** Whether mremap(2) with an old length of 0 maps shared pages a second time here. Linux can;
 *  valgrind, and sandboxes with a kernel of their own, cannot. Callers that want a second mapping
 *  keep the descriptor there. The first call tries it out. Thread-safe. */
bool rsm_second_mapping_works(void);

/** For tests: from now on say that it does not work, or find out again. */
void rsm_second_mapping_refuse(bool refuse);
