/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Mailboxes. A mailbox has entries that a client fetches in order: records of connections
 * (records.h) or messages of an interrupt (interrupts.h). An entry stays until the client
 * acknowledges it by its next request. The counter (counters.h) gets one event for each, so that
 * the client can sleep.
 *
 * Any process that may connect or trigger can cause entries, so a mailbox has a bound, besides its
 * owner's share (RSMD_RECORDS). Records that find no room are counted, and one record in their
 * place reports their number. A message that finds no room is refused.
 */
#pragma once

#include "node/node.h"

struct rsmd_mailbox {
    struct rsmd_account *account; /* is charged for all of it */
    struct rsmd_events events;
    struct rsmd_mailbox_entry *entries; /* not yet acknowledged, oldest first */
    uint32_t count;
    uint32_t unposted;   /* entries for which the counter could not be posted yet */
    uint64_t lost;       /* records that found no room; until they are reported no entry is added */
    uint64_t reported;   /* of these, reported to the client and not acknowledged */
    uint64_t lost_order; /* of the first one */
};

void rsmd_mailbox_init(struct rsmd_mailbox *mailbox, struct rsmd_account *account);
/** Forget all entries, and close the counter. */
void rsmd_mailbox_end(struct rsmd_mailbox *mailbox);

/** Append an entry. Its record gets the next order of the node, and the counter no event.
 *  RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY. */
enum rsm_status rsmd_mailbox_append(struct rsmd_node *node, struct rsmd_mailbox *mailbox,
                                    const struct rsm_record *record, const void *data,
                                    uint32_t length);
/** Remove the newest entry, which the counter has no event for. */
void rsmd_mailbox_retract(struct rsmd_mailbox *mailbox);
/** Append a record, or count it as lost, and post. */
void rsmd_mailbox_note(struct rsmd_node *node, struct rsmd_mailbox *mailbox,
                       const struct rsm_record *record);

/** Discard the entries up to order @p after, and give the client the next ones. */
void rsmd_mailbox_take(struct rsmd_node *node, struct rsmd_mailbox *mailbox, uint64_t after,
                       struct rsm_mailbox_take_reply *reply);
