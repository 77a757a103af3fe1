/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rmlib.h, for programs that look for it in the directory dis. */
#include "../rmlib.h"
