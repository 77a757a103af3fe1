/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user holds the locks of all files that he shares with rsmd and with other users' processes, and everybody
 * else goes on: no request, no call and no end of a process waits for him.
 */
#include "base/clock.h"
#include "client.h"
#include "frozen.h"
#include "hosts.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    ENEMY_UID = 65533,
    REPLY_MS = 5000, /* who waits for a lock waits for ever: the end of the test */
    BAR_MS = 100,    /* for what is answered, without the time in which a processor was wanted */
    NUMBER = 77,     /* of an interrupt */
};

static struct world *world;
static pid_t daemons[2]; /* of the nodes 1 and 2; 0: none */
static pid_t frozen[8];  /* groups of processes that hold locks */
static unsigned frozen_count;

/* ------------------------------------------------------------------ requests, in an actor */

/* What an actor is told to ask, in raw messages, and what it answers. */
struct raw {
    uint32_t node, type;
    uint32_t a, b, c, d;
    uint32_t id; /* that the reply has */
    int status;  /* RSM_ST_*, or -1: no reply came */
    unsigned fds;
    bool keep; /* them, to be held */
};

static int raw_socket = -1;
static int kept[FROZEN_MAX];
static unsigned kept_count;

static bool raw_connect(uint32_t node)
{
    char path[RSM_PROTO_PATH_MAX];
    if (raw_socket >= 0)
        return true;
    world_socket(world, node, path);
    raw_socket = rsm_packet_connect(path);
    return raw_socket >= 0 && client_hello(raw_socket, node, REPLY_MS) == RSM_ST_OK;
}

static void fill(const struct raw *raw, struct rsm_msg *msg)
{
    *msg = (struct rsm_msg){.type = raw->type};
    switch (raw->type) {
    case RSM_MSG_INTERRUPT_CREATE:
        msg->u.interrupt_create =
            (struct rsm_interrupt_create_request){.kind = RSM_INTERRUPT_PLAIN,
                                                  .number = raw->a,
                                                  .flags = RSM_INTERRUPT_SHARED,
                                                  .mode = 0666};
        break;
    case RSM_MSG_INTERRUPT_CONNECT:
        msg->u.interrupt_connect = (struct rsm_interrupt_connect_request){
            .node = raw->node, .kind = RSM_INTERRUPT_PLAIN, .number = raw->a, .counter = raw->b};
        break;
    case RSM_MSG_INTERRUPT_TRIGGER:
        msg->u.interrupt_trigger =
            (struct rsm_interrupt_trigger_request){.node = raw->node,
                                                   .kind = RSM_INTERRUPT_PLAIN,
                                                   .number = raw->a,
                                                   .interrupt = raw->b,
                                                   .posted = raw->c};
        break;
    case RSM_MSG_INTERRUPT_REMOVE:
        msg->u.interrupt_remove.interrupt = raw->a;
        break;
    case RSM_MSG_EVENT_OPEN:
        msg->u.event_open = (struct rsm_event_open_request){.end = raw->a, .id = raw->b};
        break;
    case RSM_MSG_EVENT_RECEIVERS:
        msg->u.event_receivers = (struct rsm_event_receivers_request){.end = raw->a, .id = raw->b};
        break;
    case RSM_MSG_EVENT_ARM:
        msg->u.event_arm = (struct rsm_event_arm_request){raw->a, raw->b, raw->c};
        break;
    case RSM_MSG_EVENT_DOORBELL:
        msg->u.event_doorbell = (struct rsm_event_doorbell_request){raw->a, raw->b, 0};
        break;
    case RSM_MSG_IMPORT_CONNECT:
        msg->u.import_connect = (struct rsm_import_connect_request){
            .node = raw->a, .segment_id = raw->b, .rights = raw->c};
        strcpy(msg->u.import_connect.controller, "sci0");
        break;
    case RSM_MSG_IMPORT_DISCONNECT:
        msg->u.import_disconnect.import = raw->a;
        break;
    case RSM_MSG_INSPECT:
        msg->u.inspect = (struct rsm_inspect_request){raw->a, 0};
        break;
    default:
        break;
    }
}

static int ask_raw(void *bytes)
{
    struct raw *raw = bytes;
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    NEED(raw_connect(raw->node));
    fill(raw, &msg);
    raw->status = client_ask(raw_socket, &msg, &fds, REPLY_MS);
    raw->fds = fds.count;
    if (raw->status == RSM_ST_OK && raw->type == RSM_MSG_INTERRUPT_CREATE)
        raw->id = msg.u.interrupt_create_reply.interrupt;
    else if (raw->status == RSM_ST_OK && raw->type == RSM_MSG_INTERRUPT_CONNECT)
        raw->id = msg.u.interrupt_connect_reply.interrupt;
    else if (raw->status == RSM_ST_OK && raw->type == RSM_MSG_IMPORT_CONNECT)
        raw->id = msg.u.import_connect_reply.import;
    for (unsigned i = 0; raw->keep && i < fds.count && kept_count < FROZEN_MAX; i++)
        kept[kept_count++] = fcntl(fds.fds[i], F_DUPFD_CLOEXEC, 3);
    rsm_packet_fds_close(&fds);
    return 0;
}

/* Hold the locks of all that was kept. Answers the group. */
static int freeze(void *bytes)
{
    pid_t *group = bytes;
    struct stat file;
    unsigned held = 0, regular = 0;
    *group = frozen_begin(kept, kept_count);
    NEED(*group > 0);
    for (unsigned i = 0; i < kept_count; i++) {
        if (fstat(kept[i], &file) != 0 || !S_ISREG(file.st_mode) ||
            (fcntl(kept[i], F_GETFL) & O_ACCMODE) == O_RDONLY)
            continue;
        regular++;
        held += frozen_holds(*group, kept[i]);
    }
    NEED(regular > 0 && held == regular);
    return 0;
}

/* ------------------------------------------------------------------ the test's side */

static void check_daemons(void)
{
    for (unsigned i = 0; i < 2; i++) {
        if (daemons[i] == 0)
            continue;
        char state = process_state(daemons[i]);
        for (int tries = 0; state == 'D' && tries < 50; tries++) { /* a page fault may be one */
            usleep(20000);
            state = process_state(daemons[i]);
        }
        if (state == 'D' || state == '?')
            fail_msg("the daemon of node %u is in state %c", i + 1, state);
    }
}

/* Everybody's wait is judged by the clock, less what those involved have waited for a processor. So a loaded
 * machine does not matter, and what the daemon does or sleeps for counts. */
static struct {
    bool judged; /* not while the daemon is replaced */
    int64_t begun, delays;
    int64_t longest; /* of this test */
} waits;

static int64_t delays_with(const struct actor *actor)
{
    int64_t sum = process_delay_ns(getpid()) + process_delay_ns(actor->pid);
    for (unsigned i = 0; i < 2; i++)
        sum += daemons[i] > 0 ? process_delay_ns(daemons[i]) : 0;
    return sum;
}

static void wait_begin(const struct actor *actor)
{
    waits.delays = delays_with(actor);
    waits.begun = rsm_clock_ns();
}

static void wait_end(const struct actor *actor, const char *what)
{
    int64_t took = rsm_clock_ns() - waits.begun, delayed = delays_with(actor) - waits.delays;
    if (took - delayed > waits.longest)
        waits.longest = took - delayed;
    if (waits.judged && took - delayed > (int64_t)BAR_MS * 1000000)
        fail_msg("%s took %lld ms, %lld of them for want of a processor", what,
                 (long long)took / 1000000, (long long)delayed / 1000000);
}

/* What fails must leave nobody asleep. */
static void thaw(void)
{
    while (frozen_count > 0)
        frozen_end(frozen[--frozen_count]);
}

static struct raw request(struct actor *actor, struct raw raw)
{
    raw.node = actor->node;
    raw.status = -2;
    wait_begin(actor);
    assert_int_equal(actor_run(actor, ask_raw, &raw, sizeof raw), 0);
    if (raw.status == -1)
        fail_msg("a request of type %u was not answered", (unsigned)raw.type);
    wait_end(actor, "a request");
    check_daemons();
    return raw;
}
#define REQUEST(actor, what, ...)                                                                  \
    request((actor), (struct raw){.type = RSM_MSG_##what, __VA_ARGS__})
#define EXPECT(wanted, actor, what, ...)                                                           \
    assert_int_equal(REQUEST(actor, what, __VA_ARGS__).status, (wanted))

static void freeze_all(struct actor *actor)
{
    pid_t group = 0;
    assert_int_equal(actor_run(actor, freeze, &group, sizeof group), 0);
    frozen[frozen_count++] = group;
}

/* A call of another user's library ends. */
static int outcome(struct actor *actor)
{
    if (!actor_ended(actor, 4 * REPLY_MS)) {
        fprintf(stderr, "a call does not end: state %c\n", process_state(actor->pid));
        thaw();
        fail_msg("a call of another user does not end");
    }
    wait_end(actor, "a call of another user");
    check_daemons();
    return ANSWER(actor);
}
#define CALL_GET(actor, verb, wanted, ...)                                                         \
    do {                                                                                           \
        wait_begin(actor);                                                                         \
        BEGIN(actor, verb, __VA_ARGS__);                                                           \
        assert_int_equal(outcome(actor), (wanted));                                                \
    } while (0)
#define CALL_OK(actor, verb, ...) CALL_GET(actor, verb, RSM_SUCCESS, __VA_ARGS__)

static int tear_down(void **state)
{
    thaw();
    print_message("the longest wait: %.1f ms\n", (double)waits.longest / 1e6);
    for (unsigned i = 0; i < world->actor_count; i++)
        if (world->actors[i].pid != 0 && !world->actors[i].busy)
            actor_stop(&world->actors[i]);
    hosts_end(daemons);
    return world_teardown(state);
}

static void begin(struct world *given)
{
    world = given;
    daemons[0] = world_daemon_start(world, 1);
    daemons[1] = 0;
    waits.judged = true;
    waits.longest = 0;
}

/* ------------------------------------------------------------------ interrupts */

/* An interrupt with a poll descriptor, all locks held. Answers its id. */
static uint32_t frozen_interrupt(struct actor *enemy)
{
    uint32_t id = REQUEST(enemy, INTERRUPT_CREATE, .a = NUMBER).id;
    EXPECT(RSM_ST_OK, enemy, EVENT_OPEN, .a = RSM_EVENT_INTERRUPT, .b = id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_INTERRUPT, .b = id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_INTERRUPT, .b = id, .c = 1, .keep = true);
    freeze_all(enemy);
    return id;
}

#define LOCK_TEST(test) TEST_WITH(struct world *given, test, world_setup, tear_down)

LOCK_TEST(test_interrupts)
{
    begin(given);
    struct actor *enemy = actor_start_as(world, 1, ENEMY_UID);
    struct actor *accomplice = actor_start_as(world, 1, ENEMY_UID);
    struct actor *other = actor_start_as(world, 1, UNPRIVILEGED_UID);
    struct actor *root = actor_start(world, 1);
    uint32_t id = frozen_interrupt(enemy);
    /* `direct` is set, */
    struct raw found = REQUEST(accomplice, INTERRUPT_CONNECT, .a = NUMBER, .b = 1);
    assert_int_equal(found.status, RSM_ST_OK);
    assert_int_equal(found.fds, 1);
    /* posts come, and the poll descriptor is rung, */
    EXPECT(RSM_ST_OK, other, INTERRUPT_TRIGGER, .a = NUMBER, .b = found.id);
    EXPECT(RSM_ST_OK, root, INTERRUPT_TRIGGER, .a = NUMBER, .b = found.id);
    for (unsigned i = 0; i < 20; i++) /* more than it holds */
        EXPECT(RSM_ST_OK, accomplice, INTERRUPT_TRIGGER, .a = NUMBER, .b = found.id, .c = 1);
    /* it is looked at, */
    EXPECT(RSM_ST_OK, root, INTERRUPTS);
    EXPECT(RSM_ST_OK, root, INSPECT, .a = RSM_INSPECT_EXPORTS);
    /* `direct` is cleared, because somebody joins or because it ends, the poll descriptor is replaced, */
    struct raw joined = REQUEST(accomplice, INTERRUPT_CREATE, .a = NUMBER);
    assert_int_equal(joined.status, RSM_ST_OK);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_INTERRUPT, .b = id);
    EXPECT(RSM_ST_OK, other, INTERRUPT_TRIGGER, .a = NUMBER, .b = found.id);
    EXPECT(RSM_ST_OK, accomplice, INTERRUPT_REMOVE, .a = joined.id);
    EXPECT(RSM_ST_OK, accomplice, INTERRUPT_CONNECT, .a = NUMBER, .b = 1);
    EXPECT(RSM_ST_OK, enemy, INTERRUPT_REMOVE, .a = id);
    /* and another one of a process that dies. */
    EXPECT(RSM_ST_OK, root, INSPECT, .a = RSM_INSPECT_EXPORTS);
    (void)frozen_interrupt(accomplice);
    EXPECT(RSM_ST_OK, enemy, INTERRUPT_CONNECT, .a = NUMBER, .b = 1);
    actor_kill(accomplice);
    EXPECT(RSM_ST_OK, other, INSPECT, .a = RSM_INSPECT_EXPORTS);
    EXPECT(RSM_ST_OK, root, INTERRUPTS);
    thaw();
}

/* The daemon is replaced while somebody holds everything that it hands over. */
LOCK_TEST(test_handover)
{
    begin(given);
    struct actor *enemy = actor_start_as(world, 1, ENEMY_UID);
    struct actor *accomplice = actor_start_as(world, 1, ENEMY_UID);
    struct actor *other = actor_start_as(world, 1, UNPRIVILEGED_UID);
    waits.judged = false;
    (void)frozen_interrupt(enemy);
    uint32_t id = REQUEST(accomplice, INTERRUPT_CONNECT, .a = NUMBER, .b = 1).id;
    EXPECT(RSM_ST_OK, other, INTERRUPT_TRIGGER, .a = NUMBER, .b = id);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(kill(daemons[0], SIGUSR2), 0);
        usleep(100000);
        EXPECT(RSM_ST_OK, other, INTERRUPT_TRIGGER, .a = NUMBER, .b = id);
        EXPECT(RSM_ST_OK, accomplice, INTERRUPT_CONNECT, .a = NUMBER, .b = 1);
    }
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_INTERRUPT, .b = id);
    EXPECT(RSM_ST_OK, enemy, INTERRUPT_REMOVE, .a = id);
    EXPECT(RSM_ST_OK, other, INSPECT, .a = RSM_INSPECT_EXPORTS);
    thaw();
}

/* ------------------------------------------------------------------ segments */

/* Take part as an importer and hold all that comes: memory, the exporter's counter and the own one, the own
 * doorbell, and, where rsmd gives it away, that of the exporter. */
static uint32_t frozen_import(struct actor *enemy)
{
    struct raw made = REQUEST(enemy, IMPORT_CONNECT, .a = 1, .b = PARTY_ID,
                              .c = RSM_RIGHT_READ | RSM_RIGHT_WRITE, .keep = true);
    assert_int_equal(made.status, RSM_ST_OK);
    EXPECT(RSM_ST_OK, enemy, EVENT_OPEN, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_RECEIVERS, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_IMPORT, .b = made.id, .c = 1, .keep = true);
    (void)REQUEST(enemy, EVENT_DOORBELL, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    freeze_all(enemy);
    return made.id;
}

/* The exporter, of another user or root, and one more importer go through all that they can do. */
static void live_beside(struct actor *exporter, struct actor *importer, struct actor *root)
{
    CALL_OK(exporter, post_export);
    CALL_OK(importer, wait_import, .timeout = REPLY_MS);
    CALL_OK(importer, post_import);
    CALL_OK(exporter, wait_export, .timeout = REPLY_MS);
    CALL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = 10);
    CALL_OK(importer, poke, .value = 5);
    CALL_OK(importer, put64, .offset = 8, .value = 6);
    CALL_OK(exporter, rebind);
    CALL_OK(exporter, store, .offset = 16, .value = 8);
    EXPECT(RSM_ST_OK, root, INSPECT, .a = RSM_INSPECT_EXPORTS);
    EXPECT(RSM_ST_OK, root, INSPECT, .a = RSM_INSPECT_IMPORTS);
    CALL_OK(importer, detach);
    CALL_OK(exporter, release_export_pollfd);
    CALL_OK(exporter, unpublish);
    CALL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 1, .acl = {{1, 0666}});
    CALL_OK(importer, attach, .node = 1, .length = LENGTH);
    CALL_OK(importer, detach);
    CALL_OK(exporter, withdraw);
}

static void segments(struct world *given, uid_t uid)
{
    begin(given);
    struct actor *enemy = actor_start_as(world, 1, ENEMY_UID);
    struct actor *exporter = actor_start_as(world, 1, uid),
                 *importer = actor_start_as(world, 1, uid);
    struct actor *root = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = LENGTH, .flags = RSM_ALLOW_REBIND, .acl_count = 1,
            .acl = {{1, 0666}});
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    assert_int_equal(ASK(exporter, export_pollfd).result, RSM_SUCCESS);
    uint32_t import = frozen_import(enemy);
    live_beside(exporter, importer, root);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_IMPORT, .b = import);
    EXPECT(RSM_ST_OK, enemy, IMPORT_DISCONNECT, .a = import);
    /* Once more, and it dies. */
    TELL_OK(exporter, offer, .length = LENGTH, .flags = RSM_ALLOW_REBIND, .acl_count = 1,
            .acl = {{1, 0666}});
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    assert_int_equal(ASK(exporter, export_pollfd).result, RSM_SUCCESS);
    struct actor *mortal = actor_start_as(world, 1, ENEMY_UID);
    (void)frozen_import(mortal);
    actor_kill(mortal);
    live_beside(exporter, importer, root);
    thaw();
}

LOCK_TEST(test_segments)
{
    segments(given, UNPRIVILEGED_UID);
}

LOCK_TEST(test_segments_of_root)
{
    segments(given, 0);
}

/* The exporter is the one who holds: his importers post, and he has a poll descriptor. */
LOCK_TEST(test_exporter)
{
    begin(given);
    struct actor *enemy = actor_start_as(world, 1, ENEMY_UID);
    struct actor *importer = actor_start_as(world, 1, UNPRIVILEGED_UID);
    struct actor *root = actor_start(world, 1);
    /* With the library, so that there is a segment; and what raw requests could hold is its export 1. */
    TELL_OK(root, offer, .length = LENGTH, .acl_count = 1, .acl = {{1, 0666}});
    uint32_t import = frozen_import(enemy);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    /* The exporter posts to all, the enemy with his frozen doorbell among them. */
    for (unsigned i = 0; i < 20; i++) {
        CALL_OK(root, post_export);
        CALL_OK(importer, wait_import, .timeout = REPLY_MS);
    }
    CALL_OK(root, post_export, .flags = RSM_SIGPOST_NO_ACCUMULATE);
    EXPECT(RSM_ST_OK, enemy, IMPORT_DISCONNECT, .a = import);
    CALL_OK(root, post_export);
    CALL_OK(importer, detach);
    CALL_OK(root, withdraw);
    thaw();
}

/* ------------------------------------------------------------------ other hosts */

LOCK_TEST(test_relay)
{
    static const char configuration[] = "[controller sci0]\ntransport = peek\n";
    const struct host hosts[] = {{1, configuration}, {2, configuration}};
    world = given;
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    waits.judged = true;
    waits.longest = 0;
    struct actor *enemy = actor_start_as(world, 2, ENEMY_UID);
    struct actor *exporter = actor_start_as(world, 1, UNPRIVILEGED_UID);
    struct actor *importer = actor_start_as(world, 2, UNPRIVILEGED_UID);
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}});
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    /* The counter that stands for the exporter here, which the daemon reads. */
    struct raw made = REQUEST(enemy, IMPORT_CONNECT, .a = 1, .b = PARTY_ID,
                              .c = RSM_RIGHT_READ | RSM_RIGHT_WRITE);
    assert_int_equal(made.status, RSM_ST_OK);
    EXPECT(RSM_ST_OK, enemy, EVENT_OPEN, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_RECEIVERS, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_IMPORT, .b = made.id, .c = 1, .keep = true);
    EXPECT(RSM_ST_OK, enemy, EVENT_DOORBELL, .a = RSM_EVENT_IMPORT, .b = made.id, .keep = true);
    freeze_all(enemy);
    for (unsigned i = 0; i < 20; i++)
        EXPECT(RSM_ST_OK, enemy, EVENT_DOORBELL, .a = RSM_EVENT_IMPORT, .b = made.id);
    /* What comes from the other host is posted to what the enemy holds. */
    for (unsigned i = 0; i < 3; i++) {
        CALL_OK(exporter, post_export);
        CALL_OK(importer, wait_import, .timeout = REPLY_MS);
        CALL_OK(importer, post_import);
        CALL_OK(exporter, wait_export, .timeout = REPLY_MS);
    }
    EXPECT(RSM_ST_OK, enemy, EVENT_ARM, .a = RSM_EVENT_IMPORT, .b = made.id);
    actor_kill(enemy);
    CALL_OK(importer, post_import);
    CALL_OK(exporter, wait_export, .timeout = REPLY_MS);
    CALL_OK(importer, disconnect);
    CALL_OK(exporter, withdraw);
    thaw();
}

int main(void)
{
    const char *missing = geteuid() != 0 ? "it takes root, for several users" : frozen_prepare();
    if (missing != NULL) {
        print_message("skipped: %s\n", missing);
        return 77;
    }
    return cases_run();
}
