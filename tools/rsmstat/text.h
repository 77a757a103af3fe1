/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Values as people read them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/proto.h"

enum { TEXT_BYTES = 64 }; /* enough for each of these */

/** Bytes: all digits, or (@p human) with one of K, M, G, T, P, E for powers of 1024. */
void text_size(char text[TEXT_BYTES], uint64_t bytes, bool human);

/** A day, in UTC, of a time in seconds since 1970: "2027-11-25"; "-" for 0. */
void text_date(char text[TEXT_BYTES], uint64_t seconds);

/** How long: "41s", "12m", "3h 5m", "9d 4h"; "-" for 0. */
void text_age(char text[TEXT_BYTES], uint64_t ms);

/** Whether it has an id: an import's is there while it is connected. */
bool text_has_segment_id(const struct rsm_inspect_item *item);
/** "new", "created", "prepared", "available"; of RSMAPI "published". */
const char *text_export_state(const struct rsm_inspect_item *item);
/** "plain" or "data". */
const char *text_interrupt_kind(uint32_t kind);

/** The name space of a segment's id, as programs know it. */
const char *text_id_space(uint32_t space);
/** The id of a segment, with its name space unless that is RSMAPI's; "-" if it has none. */
void text_segment_id(char text[TEXT_BYTES], const struct rsm_inspect_item *item);

/** "rw", "r", "w" or "-". */
void text_rights(char text[TEXT_BYTES], uint32_t rights);

/** What a client has asked for: "create", "publish" or "connect". */
const char *text_request(uint32_t type);

/** Selected states of a remote controller. */
enum { PEER_DOWN = 1, PEER_ACTIVE = 3 };
const char *text_remote_state(uint32_t state);

/** The state of a link to another host's daemon. */
const char *text_link_state(uint32_t state);

/** How daemons show each other who they are. */
const char *text_link_auth(uint32_t auth);

/** What is shared out, enum rsm_shares_resource, as a member of JSON. */
const char *text_resource(unsigned resource);

/** A user's name, or the number if there is none. Good until the next call. */
const char *text_user(uint32_t uid);

/** Whether a user has a name; then *name is good until the next call. */
bool text_user_name(uint32_t uid, const char **name);
