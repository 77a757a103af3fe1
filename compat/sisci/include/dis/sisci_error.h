/* SPDX-License-Identifier: BSD-3-Clause */
/** @file sisci_error.h, for programs that look for it in the directory dis. */
#include "../sisci_error.h"
