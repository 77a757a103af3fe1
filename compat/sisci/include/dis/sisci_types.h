/* SPDX-License-Identifier: BSD-3-Clause */
/** @file sisci_types.h, for programs that look for it in the directory dis. */
#include "../sisci_types.h"
