/* SPDX-License-Identifier: BSD-3-Clause */
/** @file For programs that include the header of the helper library of old examples. They get the
 *  API; the helpers are not part of librsm, and their names are free for programs. */
#ifndef SISCI_DEMOLIB_H
#define SISCI_DEMOLIB_H

#include "sisci_api.h"

#endif
