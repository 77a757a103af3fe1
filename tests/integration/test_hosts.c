/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments between two hosts: deaths, partitions, races and storms. */
#include "protocol/proto.h"
#include "hosts.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    NOTICED_MS = 20000, /* far more than the shorter time-out below */
    WAIT_MS = 20000,
    STORM = 20000,
    IMPORTS = 64,
};

/* On a busy machine a daemon is late now and then; only where a test wants it that counts soon. */
#define CONTROLLER(transport)     "[controller sci0]\ntransport = " transport "\n"
#define LIMITS(timeout_ms)        "[limits]\npeer-timeout-ms = " timeout_ms "\n"
#define CONFIGURATION(timeout_ms) CONTROLLER(TRANSPORT) LIMITS(timeout_ms)
#define PATIENT                   CONFIGURATION("60000")
#define IMPATIENT                 CONFIGURATION("5000")

static pid_t daemons[2]; /* 0: ended */
static struct world *world;
static struct actor *exporter, *importer;

#define ACCESS .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}

static void offer(void)
{
    TELL_OK(exporter, offer, .length = LENGTH, ACCESS);
}

/* An exporter on host 1, with a segment, and an importer on host 2. */
static void begin_with_both(void **state, const char *exporters, const char *importers)
{
    const struct host hosts[] = {{1, exporters}, {2, importers}};
    world = *state;
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    offer();
}

static void begin_with(void **state, const char *configuration)
{
    begin_with_both(state, configuration, configuration);
}

static void begin(void **state)
{
    begin_with(state, PATIENT);
}

static int tear_down(void **state)
{
    hosts_end(daemons);
    return world_teardown(state);
}

/* Connect in a slot, with a barrier, and see that data and events get through. */
static void connect_and_use(struct actor *from, struct actor *to, int slot)
{
    TELL_OK(from, connect, .node = 1, .slot = slot, .length = LENGTH);
    TELL_OK(from, init_barrier, .slot = slot);
    TELL_OK(from, open_barrier, .slot = slot);
    TELL_OK(from, put64, .slot = slot, .offset = 8, .value = 77);
    TELL_OK(from, post_import, .slot = slot);
    TELL_OK(to, wait_export, .timeout = WAIT_MS);
    assert_int_equal(ASK(to, load, .offset = 8).value, 77);
    TELL_OK(from, close_barrier, .slot = slot);
    TELL_OK(to, post_export);
    TELL_OK(from, wait_import, .slot = slot, .timeout = WAIT_MS);
}

/* The connection of slot 0 is over for good; the importer still has its wits together. */
static void expect_aborted(void)
{
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = NOTICED_MS);
    TELL_OK(importer, open_barrier);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_GET(importer, put64, RSMERR_CONN_ABORTED, .value = 5);
    TELL_OK(importer, disconnect);
}

static void start_again(unsigned node)
{
    daemons[node - 1] = host_start(world, node);
    host_await_link(world, 1, 2, true);
    host_await_link(world, 2, 1, true);
}

/* ------------------------------------------------------------------ deaths */

#define TEST(test) TEST_BETWEEN(test, world_setup, tear_down)

TEST(test_data_and_events)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect.what = RSM_INSPECT_IMPORTS};
    for (unsigned node = 1; node <= 2; node++) {
        msg = (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect.what = RSM_INSPECT_IMPORTS};
        host_ask(world, node, &msg);
        assert_int_equal(msg.u.inspect_reply.count, 1);
        assert_int_equal(msg.u.inspect_reply.items[0].exporter, 1);
        assert_int_equal(msg.u.inspect_reply.items[0].node, 2);
        assert_int_equal(msg.u.inspect_reply.items[0].pid, importer->pid);
        assert_int_equal(msg.u.inspect_reply.items[0].length, LENGTH);
    }
    TELL_OK(importer, disconnect);
    host_await_segments(world, 1, 1);
    host_await_segments(world, 2, 0);
}

TEST(test_exporter_is_killed)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    actor_kill(exporter);
    expect_aborted();
    exporter = actor_start(world, 1);
    offer();
    connect_and_use(importer, exporter, 0);
}

TEST(test_importer_is_killed)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    actor_kill(importer);
    host_await_segments(world, 1, 1);
    host_await_segments(world, 2, 0);
    TELL_OK(exporter, post_export);
    importer = actor_start(world, 2);
    connect_and_use(importer, exporter, 0);
}

TEST(test_exporters_daemon_is_killed)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    world_daemon_kill(world, 1);
    daemons[0] = 0;
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = NOTICED_MS);
    host_await_link(world, 2, 1, false);
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 1, .slot = 1);
    start_again(1);
    exporter = actor_start(world, 1);
    offer();
    connect_and_use(importer, exporter, 1);
    expect_aborted();
}

TEST(test_importers_daemon_is_killed)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    world_daemon_kill(world, 2);
    daemons[1] = 0;
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = NOTICED_MS);
    host_await_segments(world, 1, 1);
    TELL_OK(exporter, post_export);
    start_again(2);
    importer = actor_start(world, 2);
    connect_and_use(importer, exporter, 0);
}

/* ------------------------------------------------------------------ partition */

TEST(test_exporters_daemon_stops)
{
    begin_with(state, IMPATIENT);
    connect_and_use(importer, exporter, 0);
    struct actor *dying = actor_start(world, 2), *busy = actor_start(world, 2);
    process_freeze(daemons[0]);
    /* Two that wait; meanwhile their daemon serves others. */
    BEGIN(importer, connect, .node = 1, .slot = 1);
    BEGIN(dying, connect, .node = 1);
    TELL_OK(busy, create, .length = LENGTH);
    TELL_OK(busy, destroy);
    actor_kill(dying);
    assert_int_equal(ANSWER(importer), RSMERR_REMOTE_NODE_UNREACHABLE);
    expect_aborted();
    process_thaw(daemons[0]);
    host_await_link(world, 1, 2, true);
    host_await_link(world, 2, 1, true);
    host_await_segments(world, 1, 1);
    connect_and_use(importer, exporter, 0);
}

static void *connect_slot_1(void *result)
{
    struct order order = {.node = 1, .slot = 1, .length = LENGTH};
    *(int *)result = party_connect(&order);
    return NULL;
}

/* In the importer: while one thread's connect waits for a host that stands still, the calls of
 * another go through. .value is the pid to wake; .result: what the connect came to, if all that
 * other thread did succeeded before. */
static int connect_beside_other_calls(void *bytes)
{
    const struct order *order = bytes;
    struct order mine = {.slot = 2, .length = LENGTH, .id = PARTY_ID + 1, .node = 2, ACCESS};
    pthread_t thread;
    int result = -1;
    NEED(party_controller(NULL) != NULL); /* before there are two that want it */
    NEED(pthread_create(&thread, NULL, connect_slot_1, &result) == 0);
    for (int i = 0; i < 100; i++) {
        NEED(party_offer(&mine) == RSM_SUCCESS);
        NEED(party_connect(&mine) == RSM_SUCCESS);
        NEED(party_disconnect(&mine) == RSM_SUCCESS);
        NEED(party_withdraw(&mine) == RSM_SUCCESS);
    }
    process_thaw((pid_t)order->value);
    NEED(pthread_join(thread, NULL) == 0);
    return result;
}

/* Of a time-out that is far away: the connect ends well if nobody waited for it. */
TEST(test_a_waiting_connect_holds_nobody_up)
{
    begin(state);
    struct order order = {.value = (uint64_t)daemons[0]};
    process_freeze(daemons[0]);
    actor_begin(importer, connect_beside_other_calls, &order, sizeof order);
    assert_int_equal(actor_end(importer, &order, sizeof order), RSM_SUCCESS);
    TELL_OK(importer, disconnect, .slot = 1);
    host_await_segments(world, 1, 1);
}

TEST(test_importers_daemon_stops)
{
    begin_with(state, IMPATIENT);
    connect_and_use(importer, exporter, 0);
    process_freeze(daemons[1]);
    /* The exporter waits for nobody. */
    TELL_OK(exporter, post_export);
    TELL_OK(exporter, unpublish);
    uint64_t value = ASK(exporter, load, .offset = 0).value;
    TELL_GET(importer, put64, RSMERR_CONN_ABORTED, .offset = 0, .value = value + 1);
    assert_int_equal(ASK(exporter, load, .offset = 0).value, value);
    process_thaw(daemons[1]);
    expect_aborted();
    TELL_OK(exporter, publish, .id = PARTY_ID, ACCESS);
    host_await_link(world, 1, 2, true);
    host_await_link(world, 2, 1, true);
    connect_and_use(importer, exporter, 0);
}

/* ------------------------------------------------------------------ races */

/* Put 1, 2, 3 ... until a put is refused; .value: the last that was not. */
static int put_until_refused(void *bytes)
{
    struct order *order = bytes;
    rsm_memseg_import_handle_t handle = party_import(0)->handle;
    uint64_t value = 1;
    int error;
    while ((error = rsm_memseg_import_put64(handle, 0, &value, 1)) == RSM_SUCCESS)
        value++;
    order->value = value - 1;
    return error;
}

TEST(test_no_put_lands_after_unpublish)
{
    begin(state);
    for (int round = 0; round < 20; round++) {
        struct order order = {.result = 0};
        TELL_OK(exporter, store, .offset = 0, .value = 0);
        TELL_OK(importer, connect, .node = 1, .length = LENGTH);
        TELL_OK(importer, init_barrier);
        actor_begin(importer, put_until_refused, &order, sizeof order);
        while (ASK(exporter, load, .offset = 0).value < 10)
            continue;
        TELL_OK(exporter, unpublish);
        uint64_t landed = ASK(exporter, load, .offset = 0).value;
        assert_int_equal(actor_end(importer, &order, sizeof order), RSMERR_CONN_ABORTED);
        assert_int_equal(ASK(exporter, load, .offset = 0).value, landed);
        /* One may have landed whose success could not be told any more. */
        assert_true(landed == order.value || landed == order.value + 1);
        TELL_OK(importer, disconnect);
        TELL_OK(exporter, publish, .id = PARTY_ID, ACCESS);
    }
}

/* ------------------------------------------------------------------ storms */

static int post_and_wait(void *segment, const struct order *order)
{
    for (uint64_t i = 0; i < order->value; i++)
        NEED(rsm_intr_signal_post(segment, order->flags) == RSM_SUCCESS);
    uint64_t expected = order->flags == 0 ? order->value : 1;
    for (uint64_t i = 0; i < expected; i++)
        NEED(rsm_intr_signal_wait(segment, WAIT_MS) == RSM_SUCCESS);
    return 0;
}

static int storm_exporter(void *order)
{
    return post_and_wait(party_export(0)->handle, order);
}

static int storm_importer(void *order)
{
    return post_and_wait(party_import(0)->handle, order);
}

/* Both ends post as fast as they can, and then find what the other has posted. */
static void storm(uint32_t flags)
{
    struct order order = {.value = STORM, .flags = flags};
    actor_begin(exporter, storm_exporter, &order, sizeof order);
    actor_begin(importer, storm_importer, &order, sizeof order);
    assert_int_equal(actor_end(exporter, &order, sizeof order), 0);
    assert_int_equal(actor_end(importer, &order, sizeof order), 0);
}

TEST(test_storms_lose_nothing)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    storm(0);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = 0);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT, .timeout = 0);
    storm(RSM_SIGPOST_NO_ACCUMULATE);
    TELL_OK(importer, disconnect);
}

/* Of one process; a post of the exporter reaches each once, and each reaches the exporter. */
TEST(test_many_imports)
{
    begin(state);
    for (int slot = 0; slot < IMPORTS; slot++)
        TELL_OK(importer, connect, .node = 1, .slot = slot, .length = LENGTH);
    TELL_OK(exporter, post_export);
    for (int slot = 0; slot < IMPORTS; slot++) {
        TELL_OK(importer, wait_import, .slot = slot, .timeout = WAIT_MS);
        TELL_GET(importer, wait_import, RSMERR_TIMEOUT, .slot = slot, .timeout = 0);
        TELL_OK(importer, post_import, .slot = slot);
    }
    for (int slot = 0; slot < IMPORTS; slot++)
        TELL_OK(exporter, wait_export, .timeout = WAIT_MS);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = 0);
    host_await_segments(world, 1, 1 + IMPORTS);
    TELL_OK(exporter, destroy);
    for (int slot = 0; slot < IMPORTS; slot++) {
        TELL_OK(importer, init_barrier, .slot = slot);
        TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .slot = slot, .timeout = NOTICED_MS);
        TELL_OK(importer, disconnect, .slot = slot);
    }
    host_await_segments(world, 1, 0);
    host_await_segments(world, 2, 0);
}

/* What the importer knows by that name is a controller of another transport than the segment's. */
TEST(test_a_controller_of_another_transport)
{
    begin_with_both(state, PATIENT, CONTROLLER(OTHER_TRANSPORT) LIMITS("60000"));
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 1, .length = LENGTH);
    host_await_segments(world, 1, 1); /* no connection is left, here nor there */
    host_await_segments(world, 2, 0);
}

/* ------------------------------------------------------------------ shares */

/* The exporter's daemon may have so few descriptors that one for each connection of the importers
 * below is more than there are. */
enum { FEW_DESCRIPTORS = 200, GREEDY = 3, EACH = 64, LOCAL_UID = 65531 };

/* Importers of another host that connect as often as they can leave the users of this host their
 * room, although the transport has a socket for each connection. */
TEST(test_importers_leave_descriptors)
{
    const struct host hosts[] = {{1, PATIENT}, {2, PATIENT}};
    struct actor *greedy[GREEDY];
    unsigned connected = 0;
    uid_t uid = geteuid() == 0 ? LOCAL_UID : geteuid();
    world = *state;
    hosts_split(world, hosts);
    daemons[1] = host_start(world, 2);
    world->daemon_descriptors = FEW_DESCRIPTORS;
    daemons[0] = host_start(world, 1);
    host_await_link(world, 1, 2, true);
    host_await_link(world, 2, 1, true);
    exporter = actor_start(world, 1);
    offer();
    for (unsigned i = 0; i < GREEDY; i++) {
        greedy[i] = actor_start(world, 2);
        for (int slot = 0; slot < EACH; slot++)
            if (TELL(greedy[i], connect, .node = 1, .slot = slot, .length = LENGTH) == RSM_SUCCESS)
                connected++;
            else
                break;
    }
    print_message("%u of %d connections\n", connected, GREEDY * EACH);
    assert_in_range(connected, 10, FEW_DESCRIPTORS / 2);
    /* Users of this host get in, and connect. */
    struct actor *local = actor_start_as(world, 1, uid);
    TELL_OK(local, offer, .slot = 1, .length = LENGTH, .id = PARTY_ID + 1, ACCESS);
    struct actor *other = actor_start_as(world, 1, uid);
    TELL_OK(other, connect, .node = 1, .id = PARTY_ID + 1, .length = LENGTH);
    /* What the importers give back is there for the next. */
    TELL_OK(greedy[0], disconnect, .slot = 0);
    host_await_segments(world, 1, 3 + connected - 1); /* the exporter's host has heard of it */
    TELL_OK(greedy[0], connect, .node = 1, .slot = 0, .length = LENGTH);
    for (unsigned i = 0; i < GREEDY; i++)
        actor_kill(greedy[i]);
    host_await_segments(world, 1, 3);
    importer = actor_start(world, 2);
    connect_and_use(importer, exporter, 0);
}

/* ------------------------------------------------------------------ forked children */

static int try_parents(void)
{
    struct party_import *import = party_import(0);
    uint64_t word = 99;
    NEED(rsm_memseg_import_put(import->handle, 8, &word, sizeof word) == RSMERR_CONN_ABORTED);
    NEED(rsm_memseg_import_get(import->handle, 8, &word, sizeof word) == RSMERR_CONN_ABORTED);
    NEED(word == 99);
    NEED(rsm_memseg_import_close_barrier(&import->barrier) == RSMERR_CONN_ABORTED);
    NEED(rsm_intr_signal_post(import->handle, 0) == RSMERR_CONN_ABORTED);
    NEED(rsm_memseg_import_disconnect(import->handle) == RSM_SUCCESS);
    return 0;
}

static int in_child(int (*function)(void))
{
    int status;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0)
        _exit(function() == 0 ? 0 : 1);
    NEED(waitpid(child, &status, 0) == child);
    return status == 0 ? 0 : 1;
}

static int try_in_child(void *unused)
{
    return in_child(try_parents);
}

/* The transport does not work in children: each gets one answer, and the parent's stream is whole. */
TEST(test_a_child_keeps_off_its_parents_connection)
{
    begin(state);
    connect_and_use(importer, exporter, 0);
    TELL_OK(importer, open_barrier);
    assert_int_equal(actor_run(importer, try_in_child, NULL, 0), 0);
    TELL_OK(importer, put64, .offset = 8, .value = 78);
    TELL_OK(importer, close_barrier);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 78);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, wait_export, .timeout = WAIT_MS);
}

/* ---------------------------------------------------------------- fork */

enum { THREADS = 2, FORKS = 20, CHILD_S = 60 };

static atomic_bool go_on;

static int import_once(int slot)
{
    struct order order = {.slot = slot, .node = 1, .length = LENGTH, .offset = 64};
    NEED(party_connect(&order) == RSM_SUCCESS);
    NEED(party_init_barrier(&order) == RSM_SUCCESS);
    NEED(party_open_barrier(&order) == RSM_SUCCESS);
    NEED(party_put64(&order) == RSM_SUCCESS);
    NEED(party_close_barrier(&order) == RSM_SUCCESS);
    NEED(party_disconnect(&order) == RSM_SUCCESS);
    return 0;
}

/* Connections come and go, and with them the thread that listens to the transport's events. */
static void *import_often(void *slot)
{
    struct order order = {
        .slot = *(int *)slot + THREADS, .node = 1, .length = LENGTH, .timeout = 1};
    while (atomic_load(&go_on))
        if (import_once(*(int *)slot) != 0 || party_connect(&order) != RSM_SUCCESS ||
            party_wait_import(&order) != RSMERR_TIMEOUT || party_disconnect(&order) != RSM_SUCCESS)
            return slot;
    return NULL;
}

static int be_a_child(void)
{
    alarm(CHILD_S); /* for hangs */
    return import_once(2 * THREADS) == 0 ? 0 : 1;
}

#ifdef PEEK
static bool armed;      /* the next opening of a port is the moment */
static int opened = -1; /* what the child of that moment ended with */

__attribute__((visibility("default"))) void peek_opening(void);

/* The transport calls it, in a process that has a controller already. */
void peek_opening(void)
{
    if (!armed)
        return;
    armed = false;
    pid_t child = fork();
    if (child == 0)
        _exit(be_a_child());
    if (child < 0 || waitpid(child, &opened, 0) != child)
        opened = -1;
}

/* A child must not use its parent's port, and opens one of its own. */
static int open_a_port(void)
{
    armed = true;
    NEED(import_once(THREADS) == 0);
    return opened;
}

static int fork_amid_opening(void *unused)
{
    NEED(import_once(0) == 0);
    return in_child(open_a_port);
}

TEST(test_fork_amid_opening)
{
    begin(state);
    assert_int_equal(actor_run(importer, fork_amid_opening, NULL, 0), 0);
}
#endif

/* The address sanitizer of GCC 12 takes no lock of its allocator over fork(2): where another thread
 * holds one, a child that allocates memory waits for ever. There a child ends at once. */
#if defined(__SANITIZE_ADDRESS__)
static const bool children_may_allocate = false;
#else
static const bool children_may_allocate = true;
#endif

static int fork_amid_imports(void *bytes)
{
    pthread_t threads[THREADS];
    int slots[THREADS];
    int failures = 0;
    void *result;
    (void)party_controller(NULL); /* or two threads would open it */
    atomic_store(&go_on, true);
    for (int i = 0; i < THREADS; i++) {
        slots[i] = i;
        NEED(pthread_create(&threads[i], NULL, import_often, &slots[i]) == 0);
    }
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(children_may_allocate ? be_a_child() : 0);
        NEED(child > 0 && waitpid(child, &status, 0) == child);
        failures += status != 0;
    }
    atomic_store(&go_on, false);
    for (int i = 0; i < THREADS; i++) {
        NEED(pthread_join(threads[i], &result) == 0);
        failures += result != NULL;
    }
    return failures;
}

TEST(test_fork_amid_imports)
{
    if (!children_may_allocate)
        print_message("    not checked: what children import, because of the address sanitizer\n");
    begin(state);
    assert_int_equal(actor_run(importer, fork_amid_imports, NULL, 0), 0);
    connect_and_use(importer, exporter, 0);
}
