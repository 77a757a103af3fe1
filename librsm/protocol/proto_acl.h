/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The control protocol (protocol/proto.h): an entry of a segment's access list. */
#ifndef RSMCORE_PROTO_ACL_H
#define RSMCORE_PROTO_ACL_H

#include <stdint.h>

struct rsm_acl_entry {
    uint32_t node;
    uint32_t permission; /* owner, group, other digits; at most 0666 */
};

#endif
