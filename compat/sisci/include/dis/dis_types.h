/* SPDX-License-Identifier: BSD-3-Clause */
/** @file dis_types.h, for programs that look for it in the directory dis. */
#include "../dis_types.h"
