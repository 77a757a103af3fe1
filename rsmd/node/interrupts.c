/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/interrupts.h"

#include <stdlib.h>

#include "node/counters.h"
#include "node/hosts.h"
#include "node/saved.h"
#include "node/segment_ids.h"
#include "node/slotmap.h"

#define CREATE_FLAGS (RSM_INTERRUPT_ASSIGN_NUMBER | RSM_INTERRUPT_SHARED)

/* ------------------------------------------------------------------ finding */

/* Any of those that share the number. */
static struct rsmd_interrupt *find_any(const struct rsmd_node *node, uint32_t kind, uint32_t number)
{
    const struct rsmd_interrupt_key key = {.kind = kind, .number = number};
    struct rsmd_interrupt *interrupt;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): both members are set */
    HASH_FIND(hh_key, node->interrupts_by_number, &key, sizeof key, interrupt);
    return interrupt;
}

/* Of stores to a segment only processes of its user learn. */
static bool may_learn(const struct rsmd_node *node, uint32_t segment_id, uid_t uid)
{
    const struct rsmd_segment_name name = {.space = RSM_ID_SPACE_SISCI, .id = segment_id};
    const struct rsmd_export *segment = rsmd_segment_claimed(node, &name);
    return segment != NULL && segment->access.uid == uid;
}

/* Whether its owner has gone, or it has outlived its segment. */
static bool is_void(const struct rsmd_node *node, const struct rsmd_interrupt *interrupt)
{
    return interrupt->client->ending ||
           (interrupt->key.kind == RSM_INTERRUPT_STORES &&
            !may_learn(node, interrupt->key.number, interrupt->access.uid));
}

/* Find one that is not void. */
static struct rsmd_interrupt *find(const struct rsmd_node *node, uint32_t kind, uint32_t number)
{
    struct rsmd_interrupt *first = find_any(node, kind, number), *interrupt = first;
    while (interrupt != NULL && is_void(node, interrupt)) {
        interrupt = interrupt->next_sharer;
        if (interrupt == first)
            return NULL;
    }
    return interrupt;
}

/* Find a client's interrupt. Only the process that made it may operate on it. */
enum rsm_status rsmd_interrupt_find_created(const struct rsmd_call *call, uint32_t id,
                                            struct rsmd_interrupt **found)
{
    HASH_FIND_INT(call->node->interrupts, &id, *found);
    if (*found == NULL || (*found)->client != call->client)
        return RSM_ST_NOT_FOUND;
    bool known = call->who.pid != 0 && (*found)->creator != 0;
    return known && call->who.pid != (*found)->creator ? RSM_ST_NOT_CREATOR : RSM_ST_OK;
}

/* ------------------------------------------------------------------ beginning and end */

/* Make processes that have the counter send requests to rsmd again. */
static void end_direct(struct rsmd_interrupt *interrupt)
{
    if (interrupt->direct)
        (void)rsmd_events_set_direct(&interrupt->mailbox.events, false);
    interrupt->direct = false;
}

static void leave_number(struct rsmd_node *node, struct rsmd_interrupt *interrupt)
{
    if (interrupt->hh_key.tbl == NULL)
        return;
    HASH_DELETE(hh_key, node->interrupts_by_number, interrupt);
    interrupt->hh_key.tbl = NULL;
    interrupt->previous_sharer->next_sharer = interrupt->next_sharer;
    interrupt->next_sharer->previous_sharer = interrupt->previous_sharer;
    interrupt->next_sharer = interrupt->previous_sharer = interrupt;
}

static void free_interrupt(struct rsmd_node *node, struct rsmd_interrupt *interrupt)
{
    struct rsmd_account *account = interrupt->client->account;
    end_direct(interrupt);
    rsmd_mailbox_end(&interrupt->mailbox);
    leave_number(node, interrupt);
    HASH_DEL(node->interrupts, interrupt);
    rsmd_slotmap_set(node->interrupts_by_place, interrupt->place, NULL);
    DL_DELETE(interrupt->client->interrupts, interrupt);
    rsmd_share_give(account, RSMD_INTERRUPTS, 1);
    free(interrupt);
}

void rsmd_interrupt_free_first(struct rsmd_node *node, struct rsmd_client *client)
{
    free_interrupt(node, client->interrupts);
}

/* Void interrupts are ignored: they lose their number here, and are freed with the rest of what
 * their owners had. */
static bool number_in_use(struct rsmd_node *node, uint32_t kind, uint32_t number)
{
    struct rsmd_interrupt *left;
    if (find(node, kind, number) != NULL)
        return true;
    while ((left = find_any(node, kind, number)) != NULL)
        leave_number(node, left);
    return false;
}

/* Count the members of a ring, including those of owners that have gone. */
static unsigned count_sharers(const struct rsmd_interrupt *holder)
{
    unsigned count = 1;
    for (const struct rsmd_interrupt *each = holder->next_sharer; each != holder;
         each = each->next_sharer)
        count++;
    return count;
}

/* Find an interrupt that a new one can share a number with. The new one gets the triggers of all,
 * so the user must be the same. */
static struct rsmd_interrupt *find_to_share(struct rsmd_call *call)
{
    const struct rsm_interrupt_create_request *asked = &call->request->u.interrupt_create;
    struct rsmd_interrupt *holder = find(call->node, asked->kind, asked->number);
    bool may = (asked->flags & RSM_INTERRUPT_SHARED) != 0 && holder->shared &&
               holder->access.uid == call->who.uid;
    return may ? holder : NULL;
}

/* Assign a free number. There are more numbers than interrupts. */
static uint32_t assign_number(struct rsmd_node *node, uint32_t kind)
{
    do
        node->last_interrupt++;
    while (number_in_use(node, kind, node->last_interrupt));
    return node->last_interrupt;
}

/* Enter it into all tables. False: no memory, and it is in none. */
static bool enter(struct rsmd_node *node, struct rsmd_interrupt *interrupt)
{
    interrupt->place = rsmd_slotmap_free(node->interrupts_by_place);
    if (interrupt->place == 0)
        return false;
    HASH_ADD_INT(node->interrupts, id, interrupt);
    if (interrupt->hh.tbl == NULL)
        return false;
    HASH_ADD(hh_key, node->interrupts_by_number, key, sizeof interrupt->key, interrupt);
    if (interrupt->hh_key.tbl != NULL) {
        rsmd_slotmap_set(node->interrupts_by_place, interrupt->place, interrupt);
        return true;
    }
    HASH_DEL(node->interrupts, interrupt);
    return false;
}

/* Put it into the ring of those that share a number, as the last. */
static void share(struct rsmd_interrupt *interrupt, struct rsmd_interrupt *holder)
{
    interrupt->next_sharer = holder;
    interrupt->previous_sharer = holder->previous_sharer;
    holder->previous_sharer->next_sharer = interrupt;
    holder->previous_sharer = interrupt;
}

static void join(struct rsmd_interrupt *interrupt, struct rsmd_interrupt *holder)
{
    interrupt->next_sharer = interrupt->previous_sharer = interrupt;
    interrupt->group = interrupt->id;
    if (holder == NULL)
        return;
    end_direct(holder); /* a post there would reach one of two */
    interrupt->group = holder->group;
    share(interrupt, holder);
}

static enum rsm_status make_interrupt(struct rsmd_call *call, struct rsmd_interrupt_key key,
                                      struct rsmd_interrupt *holder, struct rsmd_interrupt **made)
{
    struct rsmd_account *account = call->client->account;
    if (!rsmd_share_take(account, RSMD_INTERRUPTS, 1))
        return RSM_ST_NO_RESOURCES;
    struct rsmd_interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt != NULL) {
        interrupt->id = rsmd_new_id(call->node);
        interrupt->key = key;
        rsmd_mailbox_init(&interrupt->mailbox, account);
    }
    if (interrupt == NULL || !enter(call->node, interrupt)) {
        rsmd_share_give(account, RSMD_INTERRUPTS, 1);
        free(interrupt);
        return RSM_ST_NO_MEMORY;
    }
    interrupt->client = call->client;
    interrupt->creator = call->who.pid;
    interrupt->access.uid = call->who.uid;
    interrupt->access.gid = call->who.gid;
    interrupt->access.mode = call->request->u.interrupt_create.mode;
    interrupt->shared = (call->request->u.interrupt_create.flags & RSM_INTERRUPT_SHARED) != 0;
    join(interrupt, holder);
    DL_APPEND(call->client->interrupts, interrupt);
    *made = interrupt;
    return RSM_ST_OK;
}

static bool is_kind(uint32_t kind)
{
    return kind >= RSM_INTERRUPT_PLAIN && kind <= RSM_INTERRUPT_STORES;
}

static enum rsm_status check_create(const struct rsmd_call *call)
{
    const struct rsm_interrupt_create_request *asked = &call->request->u.interrupt_create;
    if (!is_kind(asked->kind) || (asked->flags & ~CREATE_FLAGS) != 0 || asked->mode > 0777)
        return RSM_ST_INVALID;
    if (asked->kind != RSM_INTERRUPT_STORES)
        return RSM_ST_OK;
    if ((asked->flags & RSM_INTERRUPT_ASSIGN_NUMBER) != 0)
        return RSM_ST_INVALID;
    return may_learn(call->node, asked->number, call->who.uid) ? RSM_ST_OK : RSM_ST_DENIED;
}

enum rsm_status rsmd_answer_interrupt_create(struct rsmd_call *call)
{
    const struct rsm_interrupt_create_request *asked = &call->request->u.interrupt_create;
    enum rsm_status status = check_create(call);
    if (status != RSM_ST_OK)
        return status;
    struct rsmd_interrupt_key key = {.kind = asked->kind, .number = asked->number};
    struct rsmd_interrupt *holder = NULL, *interrupt;
    if ((asked->flags & RSM_INTERRUPT_ASSIGN_NUMBER) != 0) {
        key.number = assign_number(call->node, asked->kind);
    } else if (number_in_use(call->node, asked->kind, asked->number)) {
        holder = find_to_share(call);
        if (holder == NULL)
            return RSM_ST_ID_IN_USE;
        if (count_sharers(holder) >= RSMD_SHARERS_MAX)
            return RSM_ST_NO_RESOURCES;
    }
    status = make_interrupt(call, key, holder, &interrupt);
    if (status == RSM_ST_OK)
        call->reply->u.interrupt_create_reply =
            (struct rsm_interrupt_create_reply){.interrupt = interrupt->id, .number = key.number};
    return status;
}

enum rsm_status rsmd_answer_interrupt_remove(struct rsmd_call *call)
{
    struct rsmd_interrupt *interrupt;
    enum rsm_status status =
        rsmd_interrupt_find_created(call, call->request->u.interrupt_remove.interrupt, &interrupt);
    if (status == RSM_ST_OK)
        free_interrupt(call->node, interrupt);
    return status;
}

/* ------------------------------------------------------------------ triggering */

static bool takes(const struct rsmd_interrupt *interrupt, const struct rsmd_trigger *trigger)
{
    return !interrupt->client->ending &&
           rsmd_access_decide(&interrupt->access, trigger->node, trigger->who, RSM_RIGHT_WRITE) ==
               RSM_ST_OK;
}

static enum rsm_status prepare(struct rsmd_node *node, struct rsmd_interrupt *interrupt,
                               const struct rsmd_trigger *trigger)
{
    struct rsmd_mailbox *mailbox = &interrupt->mailbox;
    const struct rsm_record sender = {.node = trigger->node};
    enum rsm_status status = rsmd_events_need_counter(mailbox->account, &mailbox->events);
    if (status == RSM_ST_OK && trigger->kind != RSM_INTERRUPT_PLAIN)
        status = rsmd_mailbox_append(node, mailbox, &sender, trigger->data, trigger->length);
    return status;
}

/* Prepare all receivers of a trigger, from `first` on. If one fails, the others are as they
 * were. */
static enum rsm_status prepare_all(struct rsmd_node *node, struct rsmd_interrupt *first,
                                   const struct rsmd_trigger *trigger)
{
    struct rsmd_interrupt *next = first;
    do {
        enum rsm_status status = takes(next, trigger) ? prepare(node, next, trigger) : RSM_ST_OK;
        if (status != RSM_ST_OK) {
            for (struct rsmd_interrupt *done = first; done != next; done = done->next_sharer)
                if (takes(done, trigger) && trigger->kind != RSM_INTERRUPT_PLAIN)
                    rsmd_mailbox_retract(&done->mailbox);
            return status;
        }
        next = next->next_sharer;
    } while (next != first);
    return RSM_ST_OK;
}

/* Fails if no receiver got the trigger. */
static enum rsm_status deliver(struct rsmd_node *node, struct rsmd_interrupt *first,
                               const struct rsmd_trigger *trigger)
{
    struct rsmd_interrupt *next = first;
    bool delivered = false;
    enum rsm_status status = prepare_all(node, first, trigger);
    if (status != RSM_ST_OK)
        return status;
    do {
        if (takes(next, trigger)) {
            bool posted = rsmd_events_post(&next->mailbox.events, 1, false);
            if (!posted && trigger->kind != RSM_INTERRUPT_PLAIN)
                rsmd_mailbox_retract(&next->mailbox);
            delivered |= posted;
        }
        next = next->next_sharer;
    } while (next != first);
    return delivered ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

enum rsm_status rsmd_interrupt_trigger(struct rsmd_node *node, const struct rsmd_trigger *trigger,
                                       uint32_t *id)
{
    struct rsmd_interrupt *interrupt = find(node, trigger->kind, trigger->number);
    if (interrupt == NULL || (trigger->interrupt != 0 && trigger->interrupt != interrupt->group))
        return RSM_ST_NOT_FOUND;
    enum rsm_status status =
        rsmd_access_decide(&interrupt->access, trigger->node, trigger->who, RSM_RIGHT_WRITE);
    if (status != RSM_ST_OK)
        return status;
    *id = interrupt->group;
    if (trigger->interrupt == 0)
        return RSM_ST_OK;
    if (trigger->length > 0 && trigger->kind == RSM_INTERRUPT_PLAIN)
        return RSM_ST_INVALID;
    if (trigger->posted) {
        (void)rsmd_events_ring(&interrupt->mailbox.events);
        return RSM_ST_OK;
    }
    return deliver(node, interrupt, trigger);
}

/* Trigger an interrupt of this node, or of a node of another host. The process itself asks nodes of
 * this host. */
static enum rsm_status trigger_for(struct rsmd_call *call, uint32_t at,
                                   const struct rsmd_trigger *trigger, uint32_t *id)
{
    if (at == call->node->id)
        return rsmd_interrupt_trigger(call->node, trigger, id);
    if (call->client->node != call->node->id)
        return RSM_ST_DENIED;
    if (trigger->posted) /* a counter of another host is not mapped here */
        return RSM_ST_INVALID;
    return call->node->hosts_ops->trigger(call, at, trigger);
}

/* Whether to give the interrupt's counter to a process. A holder can take triggers of others away.
 * A process can do that to processes of its user anyway, and root to all. */
static bool may_post_itself(const struct rsmd_interrupt *interrupt, const struct rsmd_identity *who)
{
    return who->uid == interrupt->access.uid || who->uid == 0;
}

/* Attach the counter of a plain interrupt that was just found, unless its number is shared. Without
 * it each trigger is a request. */
static void give_counter(struct rsmd_call *call)
{
    const struct rsm_interrupt_connect_request *asked = &call->request->u.interrupt_connect;
    if (asked->counter == 0 || asked->node != call->node->id || asked->kind != RSM_INTERRUPT_PLAIN)
        return;
    struct rsmd_interrupt *interrupt = find(call->node, asked->kind, asked->number);
    if (interrupt == NULL || interrupt->next_sharer != interrupt ||
        !may_post_itself(interrupt, &call->who) ||
        rsmd_events_need_counter(interrupt->mailbox.account, &interrupt->mailbox.events) !=
            RSM_ST_OK)
        return;
    interrupt->direct =
        interrupt->direct || rsmd_events_set_direct(&interrupt->mailbox.events, true);
    if (interrupt->direct)
        call->attached.fds[call->attached.count++] = interrupt->mailbox.events.counter;
}

enum rsm_status rsmd_answer_interrupt_connect(struct rsmd_call *call)
{
    const struct rsm_interrupt_connect_request *asked = &call->request->u.interrupt_connect;
    const struct rsmd_trigger trigger = {.node = call->client->node,
                                         .who = &call->who,
                                         .kind = asked->kind,
                                         .number = asked->number};
    enum rsm_status status =
        trigger_for(call, asked->node, &trigger, &call->reply->u.interrupt_connect_reply.interrupt);
    if (status == RSM_ST_OK)
        give_counter(call);
    return status;
}

enum rsm_status rsmd_answer_interrupt_trigger(struct rsmd_call *call)
{
    const struct rsm_interrupt_trigger_request *asked = &call->request->u.interrupt_trigger;
    const struct rsmd_trigger trigger = {.node = call->client->node,
                                         .who = &call->who,
                                         .kind = asked->kind,
                                         .number = asked->number,
                                         .interrupt = asked->interrupt,
                                         .posted = asked->posted != 0,
                                         .length = asked->length,
                                         .data = asked->data};
    uint32_t id;
    if (asked->interrupt == 0)
        return RSM_ST_NOT_FOUND;
    if (asked->posted > 1 || (asked->posted == 1 && asked->kind != RSM_INTERRUPT_PLAIN))
        return RSM_ST_INVALID;
    return trigger_for(call, asked->node, &trigger, &id);
}

/* ------------------------------------------------------------------ looking */

struct rsm_interrupts_item rsmd_interrupt_seen(const struct rsmd_interrupt *interrupt)
{
    const struct rsmd_events_seen seen = rsmd_events_see(&interrupt->mailbox.events);
    return (struct rsm_interrupts_item){.kind = interrupt->key.kind,
                                        .number = interrupt->key.number,
                                        .pid = (uint32_t)interrupt->creator,
                                        .uid = interrupt->access.uid,
                                        .gid = interrupt->access.gid,
                                        .mode = interrupt->access.mode,
                                        .shared = interrupt->shared,
                                        .pending = seen.pending,
                                        .waiting = seen.waiters};
}

/* ------------------------------------------------------------------ handover */

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

static struct rsmd_interrupt *restore_interrupt(struct rsmd_node *node, struct rsmd_client *client,
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
    struct rsmd_interrupt *holder = find_any(node, saved->kind, saved->number);
    if (!enter(node, interrupt)) {
        free(interrupt);
        return NULL;
    }
    interrupt->next_sharer = interrupt->previous_sharer = interrupt;
    if (holder != NULL)
        share(interrupt, holder);
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
    struct rsmd_interrupt *interrupt = restore_interrupt(node, client, &saved);
    return interrupt != NULL && rsmd_restore_mailbox(reader, &interrupt->mailbox) &&
           (saved.direct == 0 || take_direct(interrupt));
}
