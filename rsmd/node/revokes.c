/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/revokes.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/clients.h"
#include "node/extents.h"
#include "node/grants.h"
#include "node/records.h"
#include "node/refusals.h"
#include "node/slice.h"
#include "node/unfinished.h"

/* A request that waits. Its client lasts as long. */
struct request {
    struct rsmd_client *client;
    struct rsmd_unfinished what;
    struct request *next;
};

/* A segment with offers that are ending. It may have been destroyed. */
struct segment {
    uint32_t export_id;
    unsigned ending; /* offers */
    struct request *requests;
    UT_hash_handle hh;
};

/* An offer that is ending, or ends now. */
struct ending {
    struct rsmd_controller *by;
    struct rsm_node_offer *made;
    struct rsmd_account *account; /* of the importer, held */
    struct rsmd_offer_price price;
    struct rsmd_pieces *pieces;
    struct rsm_record record;
    uint32_t export_id;
    struct segment *segment;    /* NULL: it ends now */
    int64_t until_ms;           /* then revoke() ends it */
    struct ending *prev, *next; /* the oldest first */
    UT_hash_handle hh;          /* by made */
};

struct rsmd_revokes {
    struct event *late;       /* timer: of the oldest */
    struct ending *endings;   /* all, the oldest first */
    struct ending *by_offer;  /* the same, by made */
    struct segment *segments; /* by export_id */
};

/* ------------------------------------------------------------------ requests that wait */

static struct segment *find_segment(const struct rsmd_node *node, uint32_t export_id)
{
    struct segment *segment = NULL;
    if (node->revokes != NULL)
        HASH_FIND_INT(node->revokes->segments, &export_id, segment);
    return segment;
}

bool rsmd_revokes_are(const struct rsmd_node *node, uint32_t export_id)
{
    return find_segment(node, export_id) != NULL;
}

bool rsmd_revokes_await(struct rsmd_node *node, struct rsmd_client *client,
                        const struct rsmd_unfinished *request)
{
    struct segment *segment = find_segment(node, request->export_id);
    struct request *waiting = segment != NULL ? calloc(1, sizeof *waiting) : NULL;
    if (segment == NULL)
        return false;
    if (waiting == NULL) { /* no memory to wait */
        rsmd_revokes_finish(node);
        return false;
    }
    *waiting = (struct request){.client = client, .what = *request};
    LL_PREPEND(segment->requests, waiting);
    client->forward_count++;
    client->jobs++;
    return true;
}

static void answer(struct request *request)
{
    struct rsmd_client *client = request->client;
    client->forward_count--;
    if (!client->ending)
        rsmd_unfinished_answer(client, &request->what);
    rsmd_client_job_over(client);
    free(request);
}

/* NULL: no memory. */
static struct segment *need_segment(const struct rsmd_node *node, uint32_t export_id)
{
    struct segment *segment = find_segment(node, export_id);
    if (segment != NULL)
        return segment;
    segment = calloc(1, sizeof *segment);
    if (segment == NULL)
        return NULL;
    segment->export_id = export_id;
    HASH_ADD_INT(node->revokes->segments, export_id, segment);
    if (segment->hh.tbl != NULL)
        return segment;
    free(segment);
    return NULL;
}

/* Answer the requests that wait for a segment of which no offer is ending any more. */
static void free_if_over(struct rsmd_revokes *revokes, struct segment *segment)
{
    if (segment->ending > 0)
        return;
    HASH_DEL(revokes->segments, segment);
    while (segment->requests != NULL) {
        struct request *request = segment->requests;
        LL_DELETE(segment->requests, request);
        answer(request);
    }
    free(segment);
}

/* ------------------------------------------------------------------ the end of an offer */

/* No access by it can arrive any more. */
static void settle(struct rsmd_node *node, const struct ending *ending)
{
    struct rsmd_export *exported;
    HASH_FIND_INT(node->exports, &ending->export_id, exported);
    if (exported != NULL)
        rsmd_record_to_exporter(node, exported, &ending->record);
    rsmd_offer_refund(ending->account, &ending->price);
    rsmd_pieces_drop(ending->pieces);
}

static void end(struct rsmd_node *node, struct ending *ending)
{
    struct segment *segment = ending->segment;
    DL_DELETE(node->revokes->endings, ending);
    HASH_DELETE(hh, node->revokes->by_offer, ending);
    settle(node, ending);
    rsmd_share_give(ending->account, RSMD_SEGMENTS, 1);
    rsmd_account_drop(ending->account);
    free(ending);
    segment->ending--;
    free_if_over(node->revokes, segment);
}

static void end_at_once(struct rsmd_node *node, struct ending *ending)
{
    ending->by->ops->revoke(ending->by->port, ending->made);
    end(node, ending);
}

static uint32_t time_limit_ms(const struct rsmd_node *node)
{
    return node->conf.peer_timeout_ms / 2;
}

static bool await_late(const struct rsmd_revokes *revokes, int64_t ms)
{
    const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    return evtimer_pending(revokes->late, NULL) || evtimer_add(revokes->late, &time) == 0;
}

/* Enter one that is about to be ending. The importer's user has it as a segment, so that there are
 * not more of them than of segments. NULL: no memory. */
static struct ending *enter(struct rsmd_node *node, const struct ending *about)
{
    struct rsmd_revokes *revokes = node->revokes;
    struct ending *ending = malloc(sizeof *ending);
    struct segment *segment = ending != NULL ? need_segment(node, about->export_id) : NULL;
    if (segment == NULL)
        goto free_ending;
    *ending = *about;
    HASH_ADD(hh, revokes->by_offer, made, sizeof(void *), ending);
    if (ending->hh.tbl == NULL)
        goto free_segment;
    if (!await_late(revokes, time_limit_ms(node))) {
        HASH_DELETE(hh, revokes->by_offer, ending);
        goto free_segment;
    }
    DL_APPEND(revokes->endings, ending);
    ending->until_ms = rsm_clock_ms() + time_limit_ms(node);
    ending->segment = segment;
    segment->ending++;
    rsmd_account_hold(ending->account);
    rsmd_share_charge(ending->account, RSMD_SEGMENTS, 1);
    return ending;
free_segment:
    free_if_over(revokes, segment);
free_ending:
    free(ending);
    return NULL;
}

static bool may_end_later(const struct rsmd_node *node, const struct rsmd_controller *by)
{
    return node->revokes != NULL && by->ops->revoke_begin != NULL && by->event_fd >= 0;
}

void rsmd_revoke(struct rsmd_node *node, const struct rsmd_grant *grant,
                 struct rsmd_account *account, const struct rsm_record *record)
{
    const struct rsmd_controller *by = grant->by;
    const struct ending now = {.by = grant->by,
                               .made = grant->made,
                               .account = account,
                               .price = grant->price,
                               .pieces = grant->pieces,
                               .record = *record,
                               .export_id = grant->exported->id};
    struct ending *ending = may_end_later(node, by) ? enter(node, &now) : NULL;
    if (ending == NULL) {
        by->ops->revoke(by->port, grant->made);
        settle(node, &now);
    } else if (by->ops->revoke_begin(by->port, grant->made)) {
        end(node, ending);
    }
}

void rsmd_revoked(struct rsmd_node *node, const struct rsm_node_offer *made)
{
    struct ending *ending = NULL;
    if (node->revokes != NULL)
        HASH_FIND(hh, node->revokes->by_offer, &made, sizeof(void *), ending);
    if (ending != NULL)
        end(node, ending);
}

/* ------------------------------------------------------------------ those that do not end */

static void on_late(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_node *node = argument;
    struct ending *first;
    int64_t until = rsmd_slice_end(node), now = rsm_clock_ms();
    while ((first = node->revokes->endings) != NULL && first->until_ms <= now &&
           !rsmd_slice_is_over(until)) {
        rsmd_log_of_node(node, node->id,
                         "controller %s: an offer has not ended in %u ms: ending it at once",
                         first->by->name, (unsigned)time_limit_ms(node));
        end_at_once(node, first);
    }
    if (first != NULL)
        await_late(node->revokes, first->until_ms > now ? first->until_ms - now : 0);
}

void rsmd_revokes_finish(struct rsmd_node *node)
{
    while (node->revokes != NULL && node->revokes->endings != NULL)
        end_at_once(node, node->revokes->endings);
}

bool rsmd_revokes_init(struct rsmd_node *node, struct event_base *base)
{
    struct rsmd_revokes *revokes = calloc(1, sizeof *revokes);
    if (revokes == NULL)
        return false;
    revokes->late = evtimer_new(base, on_late, node);
    if (revokes->late == NULL) {
        free(revokes);
        return false;
    }
    node->revokes = revokes;
    return true;
}

void rsmd_revokes_stop(struct rsmd_node *node)
{
    if (node->revokes == NULL)
        return;
    rsmd_revokes_finish(node);
    event_free(node->revokes->late);
    free(node->revokes);
    node->revokes = NULL;
}
