/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of an offer, of the exporter's node, and of an importer: what lands, who learns of it. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "direct.h"
#include "module.h"
#include "transport/generic.h"

enum { SETTLE_MS = 60, NEW_BYTE = 0x77, MARK_BYTE = 0x33, CHUNK = 60000 };

#define NOT_CUT "the importer has the memory itself: the exporter leaves it"

static void await_phase(unsigned phase)
{
    while (atomic_load(&shared->phase) < phase)
        sched_yield();
}

/* ---------------------------------------------------------------- revoke */

/* What a program may do with a connection that has ended, without knowing. */
static void go_on(struct importing *self, unsigned times)
{
    uint8_t bytes[4096];
    uint64_t word = 0x7777777777777777;
    memset(bytes, NEW_BYTE, sizeof bytes);
    for (unsigned i = 0; i < times; i++) {
        (void)self->ops->put(self->conn, i * UINT64_C(4096), bytes, sizeof bytes);
        (void)self->ops->put_elems(self->conn, 8, &word, 8, 1);
        (void)self->ops->order(self->conn);
        (void)self->ops->put(self->conn, self->size - sizeof bytes, bytes, sizeof bytes);
        (void)self->ops->complete(self->conn);
    }
}

static void use_before_and_after(struct importing *self)
{
    uint8_t byte = MARK_BYTE;
    NEED_OK(self->ops->put(self->conn, 9, &byte, 1));
    NEED_OK(self->ops->complete(self->conn));
    atomic_store(&shared->answer, 1);
    await_phase(1);
    go_on(self, 10);
}

DIRECT(31, "After revoke() nothing lands by that offer, and nothing is read",
       "`revoke` ends the offer; if the fabric can, no access gets through afterwards.")
{
    struct stand *s = stand();
    struct ticket *ticket = offered_to(s, READ_WRITE);
    APPLIES_IF(can_be_cut(s), NOT_CUT);
    pid_t pid = honest(s, ticket, use_before_and_after, NULL);
    reaches(pid, &shared->answer, 1);
    HOLDS(*at(s, 9) == MARK_BYTE);
    revoked(s, ticket);
    fill(s, 0, s->size, SEGMENT_BYTE);
    atomic_store(&shared->phase, 1);
    succeeds(pid);
    sleep_ms(SETTLE_MS);
    HOLDS(all_are(s, 0, s->size, SEGMENT_BYTE));
    HOLDS(guards_are_whole(s));
}

enum { HAMMERS = 3, HAMMER_THREADS = 2, REVOKE_ROUNDS = 8, LAST_BYTES = 4096 };

/* Each has a part of the segment; the last bytes belong to none. */
static uint64_t part(uint64_t size)
{
    return (size - LAST_BYTES) / HAMMERS;
}

static void *hammer_thread(void *argument)
{
    struct importing *self = argument;
    static _Thread_local uint8_t bytes[CHUNK];
    uint64_t mine = part(self->size), first = mine * (self->number % HAMMERS);
    memset(bytes, NEW_BYTE, sizeof bytes);
    for (unsigned i = 0; !atomic_load(&shared->stop); i++) {
        uint64_t offset = first + i * UINT64_C(7919) % (mine - CHUNK);
        enum rsm_status status = self->ops->put(self->conn, offset, bytes, CHUNK);
        if (status != RSM_ST_OK || i % 8 == 7)
            status = self->ops->complete(self->conn);
        if (status == RSM_ST_OK)
            atomic_fetch_add(&shared->counts[self->number % HAMMERS], 1);
        else
            sched_yield();
    }
    return NULL;
}

static void hammer(struct importing *self)
{
    pthread_t threads[HAMMER_THREADS];
    for (unsigned i = 0; i < HAMMER_THREADS; i++)
        NEED(pthread_create(&threads[i], NULL, hammer_thread, self) == 0);
    for (unsigned i = 0; i < HAMMER_THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Ends an offer. */
typedef void revoking(struct stand *s, struct ticket *ticket);

/* The judge marks the memory at once when the offer has ended; the marks have to stay. */
static void revoke_amid_writes(struct stand *s, revoking *revoke)
{
    struct ticket *tickets[HAMMERS];
    pid_t pids[HAMMERS];
    uint64_t length = part(s->size);
    atomic_store(&shared->stop, false);
    for (unsigned i = 0; i < HAMMERS; i++) {
        atomic_store(&shared->counts[i], 0);
        tickets[i] = offered_to(s, READ_WRITE);
        pids[i] = honest(s, tickets[i], hammer, NULL);
    }
    for (unsigned i = 0; i < HAMMERS; i++)
        reaches(pids[i], &shared->counts[i], 10);
    for (unsigned i = 0; i < HAMMERS; i++) {
        revoke(s, tickets[i]);
        fill(s, length * i, length, MARK_BYTE);
        sleep_ms(SETTLE_MS);
        HOLDS(all_are(s, length * i, length, MARK_BYTE));
    }
    atomic_store(&shared->stop, true);
    for (unsigned i = 0; i < HAMMERS; i++)
        succeeds(pids[i]);
}

DIRECT(32, "When revoke() returns amid writes of many, nothing lands any more",
       "After `revoke` has returned nothing arrives.")
{
    struct stand *s = stand();
    APPLIES_IF(can_be_cut(s), NOT_CUT);
    for (unsigned i = 0; i < REVOKE_ROUNDS; i++)
        revoke_amid_writes(s, revoked);
    HOLDS(guards_are_whole(s));
}

/* ---------------------------------------------------------------- revoke_begin */

#define ENDS_AT_ONCE "there is no revoke_begin"

static void revoked_later(struct stand *s, struct ticket *ticket)
{
    uint32_t before = node_count(s->node).ended;
    uint64_t deadline = direct_now_ms() + PATIENCE_MS;
    node_revoke_begin(s->node, ticket->id);
    while (node_count(s->node).ended == before && direct_now_ms() < deadline)
        sched_yield();
    HOLDS(node_count(s->node).ended == before + 1);
}

DIRECT(51, "When revoked() has come amid writes of many, nothing lands any more",
       "The offer, for which revoke_begin() has returned false, has ended")
{
    struct stand *s = stand();
    APPLIES_IF(s->facts->ends_later, ENDS_AT_ONCE);
    for (unsigned i = 0; i < REVOKE_ROUNDS; i++)
        revoke_amid_writes(s, revoked_later);
    HOLDS(guards_are_whole(s));
}

static void revoked_twice(struct stand *s, struct ticket *ticket)
{
    node_revoke_twice(s->node, ticket->id);
}

DIRECT(52, "revoke() ends at once an offer that is ending, and no revoked() follows",
       "the offer at once, by whatever means, and no revoked() follows.")
{
    struct stand *s = stand();
    APPLIES_IF(s->facts->ends_later, ENDS_AT_ONCE);
    uint32_t before = node_count(s->node).ended;
    for (unsigned i = 0; i < REVOKE_ROUNDS; i++)
        revoke_amid_writes(s, revoked_twice);
    HOLDS(node_count(s->node).ended == before);
}

/* ---------------------------------------------------------------- others go on */

static void write_on(struct importing *self)
{
    uint8_t out[300], in[300];
    uint64_t offset = self->size - LAST_BYTES;
    for (unsigned i = 1; !atomic_load(&shared->stop); i++) {
        memset(out, (int)i, sizeof out);
        NEED_OK(self->ops->put(self->conn, offset, out, sizeof out));
        NEED_OK(self->ops->complete(self->conn));
        NEED_OK(self->ops->get(self->conn, offset, in, sizeof in));
        NEED(memcmp(in, out, sizeof in) == 0);
        atomic_store(&shared->counts[15], i);
    }
    NEED(rsm_conn_failures(self->conn) == 0);
}

static void goes_on(pid_t pid)
{
    reaches(pid, &shared->counts[15], atomic_load(&shared->counts[15]) + 3);
}

DIRECT(33, "revoke() ends one offer and leaves the others of the same memory alone",
       "End the offer. After this returns, the fabric carries no further access by it")
{
    struct stand *s = stand();
    struct ticket *other = offered_to(s, READ_WRITE);
    pid_t pid = honest(s, other, write_on, NULL);
    for (unsigned i = 0; i < 5; i++) {
        struct ticket *ticket = offered_to(s, i % 2 == 0 ? READ_WRITE : RSM_RIGHT_READ);
        ticket_sent(ticket);
        revoked(s, ticket);
        goes_on(pid);
    }
    atomic_store(&shared->stop, true);
    succeeds(pid);
}

static void write_late(struct importing *self)
{
    go_on(self, 2);
}

DIRECT(34, "Nobody connects by an offer that has been revoked",
       "the offer has been revoked or used")
{
    struct stand *s = stand();
    APPLIES_IF(can_be_cut(s), NOT_CUT);
    struct ticket *ticket = offered_to(s, READ_WRITE);
    revoked(s, ticket);
    HOLDS(ending_of(honest(s, ticket, write_late, NULL), PATIENCE_MS) == ENDED_NO_CONNECTION);
    HOLDS(all_are(s, 0, s->size, SEGMENT_BYTE));
}

/* ---------------------------------------------------------------- failures */

static bool is_failure(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_TRANSFER:
    case RSM_ST_TIMEOUT:
    case RSM_ST_ABORTED:
    case RSM_ST_UNREACHABLE:
        return true;
    default:
        return false;
    }
}

enum { FAILING_ROUNDS = 6 };

/* One write, of which the program must learn that it failed. */
static void fail_once(struct importing *self)
{
    uint8_t bytes[4096] = {0};
    uint32_t before = rsm_conn_failures(self->conn);
    enum rsm_status put = self->ops->put(self->conn, 4096, bytes, sizeof bytes);
    uint32_t counted = rsm_conn_failures(self->conn) - before;
    enum rsm_status complete = self->ops->complete(self->conn);
    bool told =
        put != RSM_ST_OK || complete != RSM_ST_OK || rsm_conn_failures(self->conn) != before;
    NEED(told);
    NEED(put == RSM_ST_OK || is_failure(put));
    NEED(complete == RSM_ST_OK || is_failure(complete));
    bool both = (self->conn->caps & RSM_CAP_ASYNC) == 0 && put != RSM_ST_OK && counted != 0;
    NEED(!both);
    enum rsm_status get = self->ops->get(self->conn, 4096, bytes, sizeof bytes);
    NEED(is_failure(get));
}

static void fail_often(struct importing *self)
{
    uint8_t byte = MARK_BYTE;
    NEED_OK(self->ops->put(self->conn, 9, &byte, 1));
    NEED_OK(self->ops->complete(self->conn));
    atomic_store(&shared->answer, 1);
    await_phase(1);
    for (unsigned i = 0; i < FAILING_ROUNDS; i++)
        fail_once(self);
    if (rsmcore_import_reports_health(self->port->ops)) {
        enum rsm_status health = self->ops->health(self->conn);
        NEED(is_failure(health));
    }
}

DIRECT(35, "A write or read that failed is told: by its call, or by the count before complete()",
       "A failure is either returned by the call or counted, never both; one that is neither is "
       "corrupted data that nobody notices.")
{
    struct stand *s = stand();
    APPLIES_IF(can_be_cut(s), NOT_CUT);
    struct ticket *ticket = offered_to(s, READ_WRITE);
    pid_t pid = honest(s, ticket, fail_often, NULL);
    reaches(pid, &shared->answer, 1);
    revoked(s, ticket);
    atomic_store(&shared->phase, 1);
    succeeds(pid);
}

static atomic_bool watched_enough;

/* The greatest that another thread has seen. */
static void *watch_failures(void *argument)
{
    const struct importing *self = argument;
    uint32_t last = 0;
    while (!atomic_load(&watched_enough)) {
        uint32_t now = rsm_conn_failures(self->conn);
        NEED(now >= last);
        last = now;
    }
    atomic_store(&shared->words[0], rsm_conn_failures(self->conn));
    return NULL;
}

static void count_failures(struct importing *self)
{
    uint8_t bytes[64] = {0};
    uint32_t last = 0;
    pthread_t watcher;
    NEED(pthread_create(&watcher, NULL, watch_failures, self) == 0);
    atomic_store(&shared->answer, 1);
    await_phase(1);
    for (unsigned i = 0; i < 50; i++) {
        (void)self->ops->put(self->conn, 64, bytes, sizeof bytes);
        uint32_t put = rsm_conn_failures(self->conn);
        (void)self->ops->complete(self->conn);
        uint32_t now = rsm_conn_failures(self->conn);
        NEED(put >= last && now >= put);
        last = now;
    }
    atomic_store(&watched_enough, true);
    pthread_join(watcher, NULL);
    NEED(atomic_load(&shared->words[0]) == last);
    atomic_store(&shared->words[1], last);
}

DIRECT(36, "The count of failures never falls, and every thread sees it",
       "Any thread may call `complete`, and a transport's failures are sticky and counted")
{
    struct stand *s = stand();
    APPLIES_IF(can_be_cut(s), NOT_CUT);
    struct ticket *ticket = offered_to(s, READ_WRITE);
    pid_t pid = honest(s, ticket, count_failures, NULL);
    reaches(pid, &shared->answer, 1);
    revoked(s, ticket);
    atomic_store(&shared->phase, 1);
    succeeds(pid);
    APPLIES_IF(atomic_load(&shared->words[1]) != 0, "each failure is returned by its call");
}

/* ---------------------------------------------------------------- deaths */

enum { DEATH_SLACK_MS = 3000, GO_ON_MS = 2000 };

static unsigned patience(void)
{
    return 2 * module_controller()->peer_timeout_ms + DEATH_SLACK_MS;
}

/* Accesses, until one fails or it is long enough. True: one failed. */
static bool access_until_failure(struct importing *self)
{
    uint8_t bytes[20000];
    memset(bytes, NEW_BYTE, sizeof bytes);
    uint64_t end = direct_now_ms() + GO_ON_MS;
    while (direct_now_ms() < end) {
        uint64_t began = direct_now_ms();
        uint32_t failures = rsm_conn_failures(self->conn);
        bool failed = self->ops->put(self->conn, 0, bytes, sizeof bytes) != RSM_ST_OK;
        failed |= self->ops->complete(self->conn) != RSM_ST_OK;
        failed |= self->ops->get(self->conn, 30000, bytes, sizeof bytes) != RSM_ST_OK;
        failed |= self->ops->order(self->conn) != RSM_ST_OK;
        failed |= rsm_conn_failures(self->conn) != failures;
        NEED(direct_now_ms() - began <= patience());
        atomic_fetch_add(&shared->counts[0], 1);
        if (failed)
            return true;
        if (atomic_load(&shared->phase) != 0)
            sleep_ms(1);
    }
    return false;
}

static void outlive_the_node(struct importing *self)
{
    bool failed = access_until_failure(self);
    uint64_t began = direct_now_ms();
    atomic_store(&shared->answer, failed ? 2 : 1);
    (void)self->ops->complete(self->conn);
    (void)self->ops->health(self->conn);
    self->ops->disconnect(self->conn);
    self->port->ops->close(self->port);
    NEED(direct_now_ms() - began <= patience());
}

DIRECT(37, "When the exporter's node is killed, all calls return in time and raise no signal",
       "Neither call may wait longer for a peer that has died than the fabric's own time-out.")
{
    struct stand *s = stand();
    pid_t pid = honest(s, offered_to(s, READ_WRITE), outlive_the_node, NULL);
    reaches(pid, &shared->counts[0], 5);
    node_kill(s->node);
    atomic_store(&shared->phase, 1);
    succeeds(pid);
    HOLDS(atomic_load(&shared->answer) == 2 || !can_be_cut(s));
}

DIRECT(38, "An importer that is killed amid its writes harms neither the node nor other importers",
       "this importer is gone for good")
{
    struct stand *s = stand();
    pid_t other = honest(s, offered_to(s, READ_WRITE), write_on, NULL);
    for (unsigned i = 0; i < 6; i++) {
        struct ticket *ticket = offered_to(s, READ_WRITE);
        unsigned number = (i + 1) % HAMMERS;
        atomic_store(&shared->counts[number], 0);
        pid_t victim = honest(s, ticket, hammer, NULL);
        reaches(victim, &shared->counts[number], 5);
        killed(victim);
        ticket_sent(ticket);
        if (i % 2 == 0)
            sleep_ms(5); /* the node may hear of it before, or not */
        revoked(s, ticket);
        goes_on(other);
    }
    atomic_store(&shared->stop, true);
    succeeds(other);
    HOLDS(guards_are_whole(s));
}

enum { PROMPT_MS = 5000 };

DIRECT(39, "A stopped importer does not hold up the node",
       "rsmd serves its clients from one thread, so no operation may wait for a peer.")
{
    struct stand *s = stand();
    struct ticket *ticket = offered_to(s, READ_WRITE);
    pid_t stopped = honest(s, ticket, hammer, NULL);
    reaches(stopped, &shared->counts[0], 5);
    kill(stopped, SIGSTOP);
    sleep_ms(5);
    uint64_t began = direct_now_ms();
    pid_t other = honest(s, offered_to(s, READ_WRITE), write_on, NULL);
    goes_on(other);
    (void)node_count(s->node);
    revoked(s, ticket);
    HOLDS(direct_now_ms() - began < PROMPT_MS);
    goes_on(other);
    atomic_store(&shared->stop, true);
    succeeds(other);
    killed(stopped);
}
