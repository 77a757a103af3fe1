/* SPDX-License-Identifier: BSD-3-Clause */
/** @file sisci_demolib.h, for programs that look for it in the directory dis. */
#include "../sisci_demolib.h"
