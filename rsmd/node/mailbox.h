/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Mailboxes: what a client is to fetch, in order: records of connections (records.h) or messages of
 * an interrupt (interrupts.h). An entry stays until the client acknowledges it by its next request.
 * The counter (counters.h) gets one event for each, so that the client can sleep.
 *
 * Whoever may connect or trigger makes entries, so a mailbox has a bound, and its owner's share
 * (RSMD_RECORDS) is one beyond that. A record that finds no room is counted, and the client is told
 * of all of these by one record in their place. A message is refused.
 */
#ifndef RSMD_MAILBOX_H
#define RSMD_MAILBOX_H

#include "node/node.h"

struct rsmd_mailbox {
    struct rsmd_account *account; /* pays for all of it */
    struct rsmd_events events;
    struct rsmd_mailbox_entry *entries; /* not yet acknowledged, oldest first */
    uint32_t count;
    uint32_t unposted;   /* entries that the counter could not be posted for yet */
    uint64_t lost;       /* records that found no room; while there are any no entry is added */
    uint64_t reported;   /* of these, what the client was told of and has not acknowledged */
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

/** Discard what came up to order @p after, and give the client what comes next. */
void rsmd_mailbox_take(struct rsmd_node *node, struct rsmd_mailbox *mailbox, uint64_t after,
                       struct rsm_mailbox_take_reply *reply);

#endif
