/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Encoding and decoding of the families of messages that have files of their own; one function
 *  for both directions. */
#ifndef RSMCORE_PROTO_WALK_H
#define RSMCORE_PROTO_WALK_H

#include "base/codec.h"
#include "protocol/proto.h"

/** Requests and replies of protocol/proto_event.h. */
void rsm_walk_event_request(struct rsm_codec *c, struct rsm_msg *msg);
void rsm_walk_event_reply(struct rsm_codec *c, struct rsm_msg *msg);

/** How the mapping engine traps, which several messages tell. */
void rsm_walk_choice(struct rsm_codec *c, struct mapping_choice *m);

/** Entries of an access list, @p most at most, behind their number. */
void rsm_walk_acl(struct rsm_codec *c, uint32_t *count, uint32_t most, struct rsm_acl_entry *acl);

/** Those of protocol/proto_interrupt.h. */
void rsm_walk_interrupt_request(struct rsm_codec *c, struct rsm_msg *msg);
void rsm_walk_interrupt_reply(struct rsm_codec *c, struct rsm_msg *msg);

/** Those of protocol/proto_inspect.h. */
void rsm_walk_inspect_request(struct rsm_codec *c, struct rsm_msg *msg);
void rsm_walk_inspect_reply(struct rsm_codec *c, struct rsm_msg *msg);

#endif
