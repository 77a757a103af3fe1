/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts in a snapshot. */
#include <stdlib.h>

#include "node/counters.h"
#include "node/interrupt_state.h"
#include "node/saved.h"

void rsmd_save_interrupts(struct rsmd_snapshot *snapshot, const struct rsmd_client *client)
{
    const struct rsmd_interrupt *interrupt;
    DL_FOREACH(client->interrupts, interrupt)
    {
        struct rsmd_saved_interrupt saved = {.id = interrupt->id,
                                             .kind = interrupt->key.kind,
                                             .number = interrupt->key.number,
                                             .creator = (uint32_t)interrupt->creator,
                                             .uid = interrupt->access.uid,
                                             .gid = interrupt->access.gid,
                                             .mode = interrupt->access.mode,
                                             .shared = interrupt->shared,
                                             .direct = interrupt->direct,
                                             .group = interrupt->group};
        rsmd_saved_put(snapshot, RSMD_SAVED_INTERRUPT, &saved);
        rsmd_save_mailbox(snapshot, &interrupt->mailbox);
    }
}

/* Find one that has the number already. */
static struct rsmd_interrupt *find_sharer(const struct rsmd_node *node,
                                          const struct rsmd_interrupt_key *key)
{
    struct rsmd_interrupt *interrupt;
    HASH_FIND(hh_key, node->interrupts_by_number, key, sizeof *key, interrupt);
    return interrupt;
}

static struct rsmd_interrupt *make_interrupt(struct rsmd_node *node, struct rsmd_client *client,
                                             const struct rsmd_saved_interrupt *saved)
{
    struct rsmd_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL)
        return NULL;
    *interrupt = (struct rsmd_interrupt){
        .id = saved->id,
        .key = {.kind = saved->kind, .number = saved->number},
        .client = client,
        .creator = (pid_t)saved->creator,
        .access = {.uid = saved->uid, .gid = saved->gid, .mode = saved->mode},
        .shared = saved->shared != 0,
        .group = saved->group};
    rsmd_mailbox_init(&interrupt->mailbox, client->account);
    struct rsmd_interrupt *holder = find_sharer(node, &interrupt->key);
    if (!rsmd_interrupt_enter(node, interrupt)) {
        free(interrupt);
        return NULL;
    }
    interrupt->next_sharer = interrupt->previous_sharer = interrupt;
    if (holder != NULL)
        rsmd_interrupt_share(interrupt, holder);
    rsmd_share_charge(client->account, RSMD_INTERRUPTS, 1);
    DL_APPEND(client->interrupts, interrupt);
    return interrupt;
}

/* Other processes have its counter. If rsmd could not stop their posts later, it stops them at
 * once. */
static bool take_direct(struct rsmd_interrupt *interrupt)
{
    if (interrupt->mailbox.events.counter < 0)
        return false;
    interrupt->direct = rsmd_events_set_direct(&interrupt->mailbox.events, true);
    return interrupt->direct || rsmd_events_set_direct(&interrupt->mailbox.events, false);
}

bool rsmd_restore_interrupt(struct rsmd_snapshot_reader *reader, struct rsmd_node *node,
                            struct rsmd_client *client)
{
    struct rsmd_saved_interrupt saved;
    if (!rsmd_saved_get(reader, RSMD_SAVED_INTERRUPT, &saved) || rsmd_id_in_use(node, saved.id))
        return false;
    struct rsmd_interrupt *interrupt = make_interrupt(node, client, &saved);
    return interrupt != NULL && rsmd_restore_mailbox(reader, &interrupt->mailbox) &&
           (saved.direct == 0 || take_direct(interrupt));
}
