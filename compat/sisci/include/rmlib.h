/* SPDX-License-Identifier: BSD-3-Clause */
/** @file For programs that include the header of the reflective memory helpers. They get the API;
 *  the helpers are not part of librsm, and their names are free for programs. */
#ifndef RMLIB_H
#define RMLIB_H

#include "sisci_api.h"

#endif
