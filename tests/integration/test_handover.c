/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon after the other, in place and by a service manager, without an end to what clients have. */
#include <rsmapi.h>

#include "manager.h"
#include "party.h"
#include "process.h"

#ifdef __SANITIZE_THREAD__ /* a replacement takes ten times as long */
enum { TIMES = 8 };
#else
enum { TIMES = 20 }; /* that the daemon is replaced under load */
#endif
enum {
    LENGTH = 4 * PARTY_PAGE,
    MOST = 30000, /* ms, for hangs */
    OTHER_ID = PARTY_ID + 1,
    GREEDY_ID = PARTY_ID + 100,
    DESCRIPTORS = 8000, /* of daemons with a greedy client; a small buffer takes some 1450 */
};

#define OWN_NODE   .acl_count = 1, .acl = {{1, 0666}}
#define BOTH_NODES .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}

/* What the test and its actors share. */
static struct shared {
    atomic_bool stop;
    atomic_uint rounds, posted, taken;
    atomic_uint greedy; /* segments of one client that took what it could get */
} * shared;

static void pause_ms(int ms)
{
    const struct timespec pause = {.tv_nsec = ms * 1000000L};
    nanosleep(&pause, NULL);
}

/* ------------------------------------------------------------------ the daemon and its log */

static int log_fd = -1;
static char log_text[1 << 20];
static const char *preloaded; /* a library for the daemon alone */

/* Sanitizers do not like other libraries before theirs. */
static void preload(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    char with[512];
    snprintf(with, sizeof with, "verify_asan_link_order=0:%s", options != NULL ? options : "");
    setenv("ASAN_OPTIONS", with, 1);
    setenv("LD_PRELOAD", preloaded, 1);
}

/* Start one by `manager`, or without any, whose log this test reads. */
static pid_t start_daemon(struct world *world, struct manager *manager)
{
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (log_fd < 0)
        log_fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(saved >= 0 && log_fd >= 0);
    assert_true(dup2(log_fd, STDERR_FILENO) >= 0);
    fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
    if (preloaded != NULL)
        preload();
    pid_t daemon =
        manager != NULL ? manager_start_daemon(manager, world, 1) : world_daemon_start(world, 1);
    unsetenv("LD_PRELOAD");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    return daemon;
}

static void end_log(void)
{
    close(log_fd);
    log_fd = -1;
}

static unsigned lines_with(const char *text)
{
    ssize_t length = pread(log_fd, log_text, sizeof log_text - 1, 0);
    unsigned found = 0;
    log_text[length > 0 ? length : 0] = '\0';
    for (const char *at = log_text; (at = strstr(at, text)) != NULL; at++)
        found++;
    return found;
}

static void await_lines(const char *text, unsigned count)
{
    int64_t until = now_ms() + MOST;
    while (lines_with(text) < count && now_ms() < until)
        pause_ms(5);
    if (lines_with(text) != count)
        print_message("%s", log_text);
    assert_int_equal(lines_with(text), count);
}

/* ------------------------------------------------------------------ load */

/* Connect, put, get, disconnect, again and again. */
static int churn(void *bytes)
{
    for (uint64_t round = 1; !atomic_load(&shared->stop); round++) {
        struct order order = {.node = 1, .id = OTHER_ID, .length = LENGTH};
        uint64_t back = 0;
        NEED(party_attach(&order) == RSM_SUCCESS);
        rsm_memseg_import_handle_t handle = party_import(0)->handle;
        NEED(rsm_memseg_import_put64(handle, 0, &round, 1) == RSM_SUCCESS);
        NEED(rsm_memseg_import_get64(handle, 0, &back, 1) == RSM_SUCCESS);
        NEED(back == round);
        NEED(party_detach(&order) == RSM_SUCCESS);
        atomic_fetch_add(&shared->rounds, 1);
    }
    return 0;
}

static int post_many(void *bytes)
{
    while (!atomic_load(&shared->stop)) {
        NEED(rsm_intr_signal_post(party_import(0)->handle, 0) == RSM_SUCCESS);
        atomic_fetch_add(&shared->posted, 1);
        pause_ms(1);
    }
    return 0;
}

static int take_many(void *bytes)
{
    for (;;) {
        bool last = atomic_load(&shared->stop);
        int result = rsm_intr_signal_wait(party_export(0)->handle, last ? 2000 : 50);
        if (result == RSM_SUCCESS)
            atomic_fetch_add(&shared->taken, 1);
        else if (result != RSMERR_TIMEOUT)
            NEED(result == RSM_SUCCESS);
        else if (last)
            return 0;
    }
}

/* Export, publish and destroy, again and again, under other ids. */
static int publish_many(void *bytes)
{
    rsmapi_controller_handle_t controller = party_controller(NULL);
    void *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(memory != MAP_FAILED);
    while (!atomic_load(&shared->stop)) {
        rsm_memseg_export_handle_t handle;
        rsm_memseg_id_t id = OTHER_ID + 1;
        NEED(rsm_memseg_export_create(controller, &handle, memory, LENGTH, 0) == RSM_SUCCESS);
        NEED(rsm_memseg_export_publish(handle, &id, NULL, 0) == RSM_SUCCESS);
        NEED(rsm_memseg_export_destroy(handle) == RSM_SUCCESS);
        atomic_fetch_add(&shared->rounds, 1);
    }
    return 0;
}

static void await_rounds(unsigned more)
{
    unsigned first = atomic_load(&shared->rounds);
    int64_t until = now_ms() + MOST;
    while (atomic_load(&shared->rounds) - first < more && now_ms() < until)
        pause_ms(1);
    assert_true(atomic_load(&shared->rounds) - first >= more);
}

static void await_end(pid_t daemon)
{
    int status;
    assert_int_equal(child_await(daemon, 0, MOST, &status), daemon);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Whoever started it or not, it leaves nothing for a next one. */
static void end_plainly(pid_t daemon)
{
    assert_int_equal(kill(daemon, SIGINT), 0);
    await_end(daemon);
}

/* Replace the daemon once, with or without a service manager. */
static void replace(struct world *world, struct manager *manager, pid_t *daemon)
{
    assert_int_equal(kill(*daemon, manager != NULL ? SIGTERM : SIGUSR2), 0);
    if (manager == NULL)
        return;
    await_end(*daemon);
    assert_true(manager_has_kept(manager));
    *daemon = start_daemon(world, manager);
}

static void load(struct world *world, struct manager *manager)
{
    memset(shared, 0, sizeof *shared);
    pid_t daemon = start_daemon(world, manager);
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 1);
    struct actor *waiter = actor_start(world, 1), *poster = actor_start(world, 2);
    struct actor *churner = actor_start(world, 2), *publisher = actor_start(world, 1);
    TELL_OK(churner, open); /* node 2 is there */
    TELL_OK(exporter, offer, .length = LENGTH, BOTH_NODES);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(waiter, offer, .length = LENGTH, .id = OTHER_ID, BOTH_NODES);
    TELL_OK(poster, connect, .node = 1, .length = LENGTH, .id = OTHER_ID);
    TELL_OK(publisher, open);
    TELL_OK(importer, start_storing);
    actor_begin(waiter, take_many, "", 1);
    actor_begin(poster, post_many, "", 1);
    actor_begin(churner, churn, "", 1);
    actor_begin(publisher, publish_many, "", 1);
    for (unsigned i = 1; i <= TIMES; i++) {
        await_rounds(10);
        replace(world, manager, &daemon);
        await_lines("are served on", i);
        TELL_OK(importer, progress, .value = 1);
    }
    await_rounds(10);
    atomic_store(&shared->stop, true);
    struct actor *const busy[] = {poster, churner, publisher, waiter};
    char none = 0;
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++)
        assert_int_equal(actor_end(busy[i], &none, 1), 0);
    assert_int_equal(atomic_load(&shared->posted), atomic_load(&shared->taken));
    TELL_OK(importer, stop_storing);
    /* A new one finds what was published long ago, and gets what the others see. */
    struct actor *late = actor_start(world, 2);
    TELL_OK(late, attach, .node = 1, .length = LENGTH);
    TELL_OK(late, put64, .offset = 8, .value = 77);
    assert_int_equal(ASK(importer, get64, .offset = 8).value, 77);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 77);
    TELL_OK(late, detach);
    /* An end is still seen. */
    TELL_OK(exporter, withdraw);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = MOST);
    TELL_OK(importer, detach);
    TELL_OK(poster, disconnect);
    TELL_OK(waiter, withdraw);
    assert_int_equal(lines_with("defect"), 0);
    end_plainly(daemon);
    assert_int_equal(lines_with("do not add up"), 0);
    end_log();
}

/* ------------------------------------------------------------------ one client that has too much */

/* Export and publish as many segments as the daemon lets one program have. */
static int take_all(void *bytes)
{
    rsmapi_controller_handle_t controller = party_controller(NULL);
    rsmapi_access_entry_t acl[] = {{1, 0666}};
    int result = RSM_SUCCESS;
    while (result == RSM_SUCCESS) {
        rsm_memseg_export_handle_t handle;
        rsm_memseg_id_t id = GREEDY_ID + atomic_load(&shared->greedy);
        void *memory =
            mmap(NULL, PARTY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        NEED(memory != MAP_FAILED);
        result = rsm_memseg_export_create(controller, &handle, memory, PARTY_PAGE, 0);
        if (result == RSM_SUCCESS)
            result = rsm_memseg_export_publish(handle, &id, acl, 1);
        if (result == RSM_SUCCESS)
            atomic_fetch_add(&shared->greedy, 1);
    }
    return result;
}

/* Clients of whom each looks at the others, under load until end_load(). */
struct load {
    struct actor *exporter, *importer, *waiter, *poster, *churner;
};

static struct load begin_load(struct world *world)
{
    struct load load = {actor_start(world, 1), actor_start(world, 1), actor_start(world, 1),
                        actor_start(world, 1), actor_start(world, 1)};
    memset(shared, 0, sizeof *shared);
    TELL_OK(load.churner, open);
    TELL_OK(load.exporter, offer, .length = LENGTH, OWN_NODE);
    TELL_OK(load.importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(load.waiter, offer, .length = LENGTH, .id = OTHER_ID, OWN_NODE);
    TELL_OK(load.poster, connect, .node = 1, .length = LENGTH, .id = OTHER_ID);
    TELL_OK(load.importer, start_storing);
    actor_begin(load.waiter, take_many, "", 1);
    actor_begin(load.poster, post_many, "", 1);
    actor_begin(load.churner, churn, "", 1);
    return load;
}

static void end_load(const struct load *load)
{
    struct actor *const busy[] = {load->poster, load->churner, load->waiter};
    char none = 0;
    await_rounds(10);
    TELL_OK(load->importer, progress, .value = 1);
    atomic_store(&shared->stop, true);
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++)
        assert_int_equal(actor_end(busy[i], &none, 1), 0);
    assert_true(atomic_load(&shared->posted) > 0);
    assert_int_equal(atomic_load(&shared->posted), atomic_load(&shared->taken));
    TELL_OK(load->importer, stop_storing);
    TELL_OK(load->importer, detach);
    TELL_OK(load->exporter, withdraw);
    TELL_OK(load->poster, disconnect);
    TELL_OK(load->waiter, withdraw);
}

/* As many descriptors as one program can get are handed over; and if the next daemon may not have so many, the
 * program that has them ends alone, and who is connected with it sees that. */
static void hand_over_what_a_greedy_client_has(struct world *world)
{
    struct manager *manager = manager_start(true);
    char none = 0;
    world->daemon_descriptors = DESCRIPTORS;
    pid_t daemon = start_daemon(world, manager);
    struct load load = begin_load(world);
    struct actor *greedy = actor_start(world, 1), *connected = actor_start(world, 1);
    assert_int_equal(actor_run(greedy, take_all, &none, 1), RSMERR_INSUFFICIENT_RESOURCES);
    unsigned segments = atomic_load(&shared->greedy), most = process_descriptors(daemon);
    assert_true(segments > 100 && most > segments);
    TELL_OK(connected, attach, .node = 1, .length = PARTY_PAGE, .id = GREEDY_ID);
    await_rounds(10);
    replace(world, manager, &daemon);
    await_lines("are served on", 1);
    assert_true(process_descriptors(daemon) > segments);
    TELL_OK(connected, put64, .offset = 8, .value = 5);
    await_rounds(10);
    world->daemon_descriptors = most / 2;
    replace(world, manager, &daemon);
    await_lines("7 clients of the previous rsmd are served on", 1);
    await_lines("6 clients of the previous rsmd are served on", 1);
    await_lines("cannot be served on", 1);
    assert_true(process_descriptors(daemon) < segments / 2);
    TELL_GET(connected, await_abort, RSMERR_CONN_ABORTED, .timeout = MOST);
    TELL_OK(connected, detach);
    actor_kill(greedy); /* it has more handles than it could end */
    end_load(&load);
    assert_int_equal(lines_with("defect"), 0);
    end_plainly(daemon);
    assert_int_equal(lines_with("do not add up"), 0);
    manager_end(manager);
}

/* One that failed says nothing of the next one. */
static int tear_down(void **state)
{
    if (log_fd >= 0)
        end_log();
    preloaded = NULL;
    return world_teardown(state);
}

#define HANDOVER_TEST(test) TEST_WITH(struct world *world, test, world_setup, tear_down)

HANDOVER_TEST(test_greedy)
{
    hand_over_what_a_greedy_client_has(world);
    end_log();
}

/* The same where the kernel's bound for send buffers is low: each handover takes several sockets, one that keeps
 * room and one that has them all. */
HANDOVER_TEST(test_several_sockets)
{
    preloaded = SMALL_BUFFERS;
    hand_over_what_a_greedy_client_has(world);
    unsigned sockets = lines_with("a send buffer is small");
    print_message("two handovers took %u sockets\n", sockets);
    assert_true(sockets >= 2 * (1 + 2 + 1));
    end_log();
}

HANDOVER_TEST(test_load)
{
    load(world, NULL);
}

HANDOVER_TEST(test_load_restarted)
{
    struct manager *manager = manager_start(true);
    load(world, manager);
    manager_end(manager);
}

/* ------------------------------------------------------------------ deaths */

/* A client dies while nobody looks; what it had goes, and its importers learn of it. */
HANDOVER_TEST(test_death_in_between)
{
    pid_t daemon = start_daemon(world, NULL);
    struct actor *other = actor_start(world, 1);
    TELL_OK(other, offer, .length = LENGTH, .id = OTHER_ID, .acl_count = 1, .acl = {{1, 0666}});
    assert_int_equal(kill(daemon, SIGUSR2), 0); /* what it opens but once is open from now on */
    await_lines("are served on", 1);
    await_lines("listens at", 2);
    unsigned before = process_descriptors(daemon);
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 1, .acl = {{1, 0666}});
    TELL_OK(other, attach, .node = 1, .length = LENGTH);
    process_freeze(daemon);
    assert_int_equal(kill(daemon, SIGUSR2), 0);
    actor_kill(exporter);
    process_thaw(daemon);
    await_lines("are served on", 2);
    TELL_GET(other, await_abort, RSMERR_CONN_ABORTED, .timeout = MOST);
    TELL_OK(other, detach);
    int64_t until = now_ms() + MOST;
    while (process_descriptors(daemon) != before && now_ms() < until)
        pause_ms(5);
    assert_int_equal(process_descriptors(daemon), before);
    /* Nothing of it holds the id. */
    TELL_OK(other, offer, .length = LENGTH, .slot = 1, .acl_count = 1, .acl = {{1, 0666}});
    TELL_OK(other, withdraw, .slot = 1);
    TELL_OK(other, withdraw);
    world_daemon_end(daemon);
    assert_int_equal(lines_with("do not add up"), 0);
    end_log();
}

/* The successor owns the table: its death is seen like that of any daemon. */
HANDOVER_TEST(test_killed_afterwards)
{
    int status;
    pid_t daemon = start_daemon(world, NULL);
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(importer, open);
    TELL_OK(exporter, offer, .length = LENGTH, BOTH_NODES);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    assert_int_equal(kill(daemon, SIGUSR2), 0);
    await_lines("are served on", 1);
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(child_await(daemon, 0, MOST, &status), daemon);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = MOST);
    daemon = world_daemon_start(world, 1);
    TELL_OK(importer, detach);
    TELL_OK(exporter, destroy);
    world_daemon_end(daemon);
    end_log();
}

/* ------------------------------------------------------------------ a service manager */

/* Killed when the manager has all of it, before the daemon knows that. */
HANDOVER_TEST(test_killed_while_leaving)
{
    struct manager *manager = manager_start(true);
    int status;
    pid_t daemon = start_daemon(world, manager);
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = LENGTH, OWN_NODE);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    manager_be_slow(manager);
    assert_int_equal(kill(daemon, SIGTERM), 0);
    manager_await_kept(manager);
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(child_await(daemon, 0, MOST, &status), daemon);
    daemon = start_daemon(world, manager);
    await_lines("are served on", 1);
    TELL_OK(importer, put64, .offset = 8, .value = 5);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 5);
    TELL_OK(exporter, withdraw);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = MOST);
    TELL_OK(importer, detach);
    assert_false(manager_has_kept(manager)); /* it is never used twice */
    end_plainly(daemon);
    manager_end(manager);
    end_log();
}

/* Whoever has lost its daemon is told, and can begin anew with the next one. */
static void expect_nothing_kept(struct world *world, struct manager *manager, bool drops)
{
    pid_t daemon = start_daemon(world, manager);
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = LENGTH, OWN_NODE);
    assert_int_equal(kill(daemon, SIGTERM), 0);
    await_end(daemon);
    if (drops)
        manager_drop(manager);
    assert_false(manager_has_kept(manager));
    daemon = start_daemon(world, manager);
    TELL_OK(exporter, destroy);
    struct actor *other = actor_start(world, 1);
    TELL_OK(other, offer, .length = LENGTH, OWN_NODE);
    TELL_OK(other, withdraw);
    assert_int_equal(lines_with("are served on"), 0);
    end_plainly(daemon);
    end_log();
}

HANDOVER_TEST(test_stopped)
{
    struct manager *manager = manager_start(true);
    expect_nothing_kept(world, manager, true);
    manager_end(manager);
}

HANDOVER_TEST(test_manager_keeps_nothing)
{
    struct manager *manager = manager_start(false);
    expect_nothing_kept(world, manager, false);
    manager_end(manager);
}

/* Nobody listens to what it says: it ends as it does without a manager. */
HANDOVER_TEST(test_no_manager)
{
    struct manager *manager = manager_start(true);
    manager_stall(manager, true);
    pid_t daemon = start_daemon(world, manager);
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = LENGTH, OWN_NODE);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    assert_int_equal(kill(daemon, SIGTERM), 0);
    await_end(daemon);
    assert_int_equal(lines_with("cannot hand over"), 1);
    TELL_GET(importer, await_abort, RSMERR_CONN_ABORTED, .timeout = MOST);
    TELL_OK(importer, detach);
    /* What it had left is not there for a later one. */
    manager_stall(manager, false);
    daemon = start_daemon(world, manager);
    assert_int_equal(lines_with("are served on"), 0);
    TELL_OK(exporter, destroy);
    end_plainly(daemon);
    manager_end(manager);
    end_log();
}

static int share_memory(void **state)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

TESTS_BETWEEN(share_memory, NULL)
