/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How much of a message in memory counts. */
#ifndef RSMCORE_PROTO_SIZE_H
#define RSMCORE_PROTO_SIZE_H

#include <stddef.h>
#include <stdint.h>

/** Bytes from the beginning of the union that a message of the type may use; all of it, if the type
 *  is not known. */
size_t rsm_msg_body_size(uint32_t type);

#endif
