/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts of an exporter to importers on another host, where the fabric carries them: counted and
 * coalesced as ever, to importers that sleep, poll, are stopped, or die; and by the fabric indeed,
 * for the importers' daemon may be stopped meanwhile.
 */
#include <dirent.h>
#include <sys/time.h>

#include "hosts.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = PARTY_PAGE,
    WAIT_MS = 20000,
    ASIDE_MS = 50, /* to let a process fall asleep; a test that comes too early proves less */
    THREADS = 8,
    IMPORTS = 40,
};

/* Nothing of a peer is late unless a test makes it so. */
#define CONFIGURATION(device)                                                                      \
    "[controller sci0]\ntransport = " TRANSPORT "\n" device "[limits]\npeer-timeout-ms = 60000\n"
#ifndef DEVICE_1
#define DEVICE_1
#define DEVICE_2
#endif

static pid_t daemons[2]; /* 0: ended */
static struct world *world;
static struct actor *exporter, *importer;

static void begin(void **state)
{
    const struct host hosts[] = {{1, CONFIGURATION(DEVICE_1)}, {2, CONFIGURATION(DEVICE_2)}};
    world = *state;
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}});
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
}

static int tear_down(void **state)
{
    hosts_end(daemons);
    return world_teardown(state);
}

static void post(unsigned times, uint32_t flags)
{
    while (times-- > 0)
        TELL_OK(exporter, post_export, .flags = flags);
}

static void expect(struct actor *who, unsigned times)
{
    while (times-- > 0)
        TELL_OK(who, wait_import, .timeout = WAIT_MS);
}

static void expect_nothing(struct actor *who)
{
    TELL_GET(who, wait_import, RSMERR_TIMEOUT, .timeout = ASIDE_MS);
}

/* ------------------------------------------------------------------ counting */

#define TEST(test) TEST_BETWEEN(test, world_setup, tear_down)

TEST(test_counts)
{
    begin(state);
    post(5, 0); /* nobody has waited yet */
    expect(importer, 5);
    expect_nothing(importer);
    post(1, 0);
    expect(importer, 1);
    post(3, 0);
    expect(importer, 3);
    expect_nothing(importer);
}

/* Posts, all of which have arrived unless the machine is busy; and how many events they were. */
static unsigned coalesced(unsigned before, unsigned posts, unsigned behind)
{
    unsigned events = 0;
    post(before, 0);
    while (posts-- > 0) {
        post(1, RSM_SIGPOST_NO_ACCUMULATE);
        usleep(ASIDE_MS * 1000);
    }
    post(behind, 0);
    usleep(ASIDE_MS * 1000);
    expect(importer, before + behind > 0 ? before + behind : 1);
    while (TELL(importer, wait_import, .timeout = ASIDE_MS) == RSM_SUCCESS)
        events++;
    return events + (before + behind > 0 ? before + behind : 1);
}

/* A post that is late counts rightly, so only the best of some rounds tells. */
static void expect_coalesced(unsigned before, unsigned posts, unsigned behind, unsigned wanted)
{
    enum { ROUNDS_MAX = 50 };
    unsigned events = 0;
    for (int round = 0; round < ROUNDS_MAX && events != wanted; round++) {
        events = coalesced(before, posts, behind);
        assert_in_range(events, wanted, before + posts + behind);
    }
    assert_int_equal(events, wanted);
}

TEST(test_coalescing)
{
    begin(state);
    expect_nothing(importer);
    expect_coalesced(0, 3, 0, 1);
    expect_coalesced(2, 2, 0, 2);
    expect_coalesced(0, 1, 2, 3);
}

/* What was stored before the post is there after the wait. */
TEST(test_data_come_first)
{
    begin(state);
    TELL_OK(importer, init_barrier);
    for (uint64_t value = 1; value <= 50; value++) {
        TELL_OK(exporter, store, .offset = 16, .value = value);
        post(1, 0);
        expect(importer, 1);
        assert_int_equal(ASK(importer, get64, .offset = 16).value, value);
    }
}

static int post_many(void *order)
{
    const struct order *told = order;
    for (uint64_t i = 0; i < told->value; i++)
        NEED(rsm_intr_signal_post(party_export(0)->handle, 0) == RSM_SUCCESS);
    return 0;
}

static int wait_many(void *order)
{
    const struct order *told = order;
    for (uint64_t i = 0; i < told->value; i++)
        NEED(rsm_intr_signal_wait(party_import(0)->handle, WAIT_MS) == RSM_SUCCESS);
    return 0;
}

TEST(test_flood)
{
    begin(state);
    struct order order = {.value = FLOOD};
    for (int late = 0; late < 2; late++) {
        actor_begin(exporter, post_many, &order, sizeof order);
        if (late)
            assert_int_equal(actor_end(exporter, &order, sizeof order), 0);
        actor_begin(importer, wait_many, &order, sizeof order);
        assert_int_equal(actor_end(importer, &order, sizeof order), 0);
        if (!late)
            assert_int_equal(actor_end(exporter, &order, sizeof order), 0);
        expect_nothing(importer);
    }
}

TEST(test_many_imports)
{
    begin(state);
    for (int slot = 1; slot < IMPORTS; slot++)
        TELL_OK(importer, connect, .node = 1, .slot = slot, .length = LENGTH);
    post(2, 0);
    for (int slot = 0; slot < IMPORTS; slot++) {
        TELL_OK(importer, wait_import, .slot = slot, .timeout = WAIT_MS);
        TELL_OK(importer, wait_import, .slot = slot, .timeout = WAIT_MS);
        TELL_GET(importer, wait_import, RSMERR_TIMEOUT, .slot = slot, .timeout = 0);
    }
}

/* ------------------------------------------------------------------ waiting */

TEST(test_asleep)
{
    begin(state);
    for (int i = 0; i < 5; i++) {
        BEGIN(importer, wait_import, .timeout = WAIT_MS);
        assert_false(actor_ended(importer, ASIDE_MS));
        post(1, 0);
        assert_int_equal(ANSWER(importer), RSM_SUCCESS);
    }
    expect_nothing(importer);
}

static void *wait_once(void *ended)
{
    if (rsm_intr_signal_wait(party_import(0)->handle, WAIT_MS) == RSM_SUCCESS)
        atomic_fetch_add((atomic_uint *)ended, 1);
    return NULL;
}

/* As many as events, whether they come together or one by one. */
static int wait_in_threads(void *order)
{
    pthread_t threads[THREADS];
    atomic_uint ended = 0;
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_create(&threads[i], NULL, wait_once, &ended) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return ended == THREADS ? 0 : 1;
}

TEST(test_threads)
{
    struct order order = {.value = THREADS};
    begin(state);
    for (int together = 0; together < 2; together++) {
        actor_begin(importer, wait_in_threads, &order, sizeof order);
        assert_false(actor_ended(importer, ASIDE_MS));
        if (together)
            assert_int_equal(actor_run(exporter, post_many, &order, sizeof order), 0);
        else
            post(THREADS, 0);
        assert_int_equal(actor_end(importer, &order, sizeof order), 0);
        expect_nothing(importer);
    }
}

static void note(int number)
{
}

/* A handler ends the wait although it was installed with SA_RESTART. */
static int wait_interrupted(void *order)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct itimerval often = {.it_value.tv_usec = 50000, .it_interval.tv_usec = 50000};
    const struct itimerval never = {.it_value.tv_usec = 0};
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
    int error = rsm_intr_signal_wait(party_import(0)->handle, -1);
    NEED(setitimer(ITIMER_REAL, &never, NULL) == 0);
    return error;
}

TEST(test_interrupted)
{
    struct order order = {.value = 0};
    begin(state);
    assert_int_equal(actor_run(importer, wait_interrupted, &order, sizeof order),
                     RSMERR_INTERRUPTED);
    post(1, 0);
    expect(importer, 1);
}

/* ------------------------------------------------------------------ poll descriptors */

static bool is_readable(const struct pollfd *given)
{
    struct pollfd fd = {.fd = given->fd, .events = POLLRDNORM};
    return poll(&fd, 1, 0) == 1 && fd.revents == POLLRDNORM;
}

/* A post adds the event and then writes to the descriptor. An event that is taken between the two leaves
 * the descriptor readable until somebody finds that there is none. */
static int poll_for_event(void *handle, struct pollfd *fd)
{
    int error;
    unsigned polls = 0;
    do {
        NEED(poll(fd, 1, WAIT_MS) == 1 && fd->revents == POLLRDNORM);
        error = rsm_intr_signal_wait(handle, 0);
    } while (error == RSMERR_TIMEOUT && ++polls < 2);
    return error;
}

/* No event is left, and the descriptor says so. */
static bool is_quiet(void *handle, const struct pollfd *fd)
{
    return rsm_intr_signal_wait(handle, 0) == RSMERR_TIMEOUT &&
           (!is_readable(fd) ||
            (rsm_intr_signal_wait(handle, 0) == RSMERR_TIMEOUT && !is_readable(fd)));
}

/* As often as told: sleep in poll, then take the one event; what is readable is said by both. */
static int poll_and_wait(void *order)
{
    const struct order *told = order;
    void *handle = party_import(0)->handle;
    struct pollfd fd = {.fd = -1};
    int count;
    NEED(rsm_memseg_get_pollfd(handle, &fd) == RSM_SUCCESS);
    for (uint64_t i = 0; i < told->value; i++) {
        fd.events = POLLRDNORM;
        if (i % 2 == 0) {
            NEED(poll_for_event(handle, &fd) == RSM_SUCCESS);
        } else {
            NEED(rsm_intr_signal_wait_pollfd(&fd, 1, WAIT_MS, &count) == RSM_SUCCESS);
            NEED(count == 1 && fd.revents == POLLRDNORM);
        }
    }
    NEED(is_quiet(handle, &fd));
    return rsm_memseg_release_pollfd(handle);
}

TEST(test_pollfd)
{
    struct order order = {.value = 5};
    begin(state);
    for (int round = 0; round < 3; round++) {
        actor_begin(importer, poll_and_wait, &order, sizeof order);
        for (uint64_t i = 0; i < order.value; i++) {
            if (round == 1)
                assert_false(actor_ended(importer, ASIDE_MS));
            post(1, 0);
        }
        assert_int_equal(actor_end(importer, &order, sizeof order), 0);
    }
    post(3, 0); /* before the descriptor is asked for, and by the other way to wait */
    expect(importer, 1);
    order.value = 2;
    assert_int_equal(actor_run(importer, poll_and_wait, &order, sizeof order), 0);
}

/* Readable exactly as long as there are events: three are taken one by one. */
static int take_three(void *order)
{
    void *handle = party_import(0)->handle;
    struct pollfd fd = {.fd = -1};
    NEED(rsm_memseg_get_pollfd(handle, &fd) == RSM_SUCCESS);
    NEED(poll(&fd, 1, WAIT_MS) == 1);
    for (int i = 0; i < 3; i++) {
        NEED(is_readable(&fd));
        NEED(rsm_intr_signal_wait(handle, WAIT_MS) == RSM_SUCCESS);
    }
    NEED(is_quiet(handle, &fd));
    return rsm_memseg_release_pollfd(handle);
}

TEST(test_pollfd_counts)
{
    struct order order = {.value = 3};
    begin(state);
    assert_int_equal(actor_run(exporter, post_many, &order, sizeof order), 0);
    expect(importer, 0);
    assert_int_equal(actor_run(importer, take_three, &order, sizeof order), 0);
}

static unsigned threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* Waiting takes no thread; descriptors take one, however many there are, until the last has gone.
 */
static int count_threads(void *order)
{
    struct pollfd fds[IMPORTS];
    unsigned before = threads();
    for (int slot = 0; slot < IMPORTS; slot += 2)
        NEED(rsm_intr_signal_wait(party_import(slot)->handle, 1) == RSMERR_TIMEOUT);
    /* A sanitizer may have begun one of its own. */
    unsigned listening = threads();
    NEED(listening > before && listening <= before + 2);
    for (int slot = 0; slot < IMPORTS; slot++)
        NEED(rsm_memseg_get_pollfd(party_import(slot)->handle, &fds[slot]) == RSM_SUCCESS);
    NEED(threads() == listening);
    for (int slot = 0; slot < IMPORTS; slot++) {
        NEED(!is_readable(&fds[slot]));
        NEED(rsm_memseg_release_pollfd(party_import(slot)->handle) == RSM_SUCCESS);
        NEED(rsm_memseg_import_disconnect(party_import(slot)->handle) == RSM_SUCCESS);
        party_import(slot)->handle = NULL;
    }
    return threads() == listening - 1 ? 0 : 1;
}

TEST(test_one_thread)
{
    struct order order = {.value = 0};
    begin(state);
    for (int slot = 1; slot < IMPORTS; slot++)
        TELL_OK(importer, connect, .node = 1, .slot = slot, .length = LENGTH);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(actor_run(importer, count_threads, &order, sizeof order), 0);
        for (int slot = 0; slot < IMPORTS; slot++)
            TELL_OK(importer, connect, .node = 1, .slot = slot, .length = LENGTH);
    }
}

/* ------------------------------------------------------------------ by the fabric */

/* The importer's daemon is stopped, so the link between the daemons carries nothing to it. */
TEST(test_importers_daemon_stopped)
{
    begin(state);
    expect_nothing(importer); /* its counter and its wish to be woken are known */
    process_freeze(daemons[1]);
    post(2, 0);
    expect(importer, 2);
    BEGIN(importer, wait_import, .timeout = WAIT_MS);
    assert_false(actor_ended(importer, ASIDE_MS));
    post(1, RSM_SIGPOST_NO_ACCUMULATE);
    assert_int_equal(ANSWER(importer), RSM_SUCCESS);
    expect_nothing(importer);
    process_thaw(daemons[1]);
    expect_nothing(importer);
}

/* ------------------------------------------------------------------ others */

TEST(test_stopped_importer)
{
    struct order order = {.value = 1000};
    begin(state);
    struct actor *other = actor_start(world, 2);
    TELL_OK(other, connect, .node = 1, .length = LENGTH);
    expect_nothing(importer);
    pid_t pid = importer->pid;
    process_freeze(pid);
    for (int i = 0; i < 10; i++) {
        post(1, 0);
        expect(other, 1);
    }
    assert_int_equal(actor_run(exporter, post_many, &order, sizeof order), 0);
    for (uint64_t i = 0; i < order.value; i++)
        TELL_OK(other, wait_import, .timeout = WAIT_MS);
    expect_nothing(other);
    process_thaw(pid);
    order.value += 10;
    assert_int_equal(actor_run(importer, wait_many, &order, sizeof order), 0);
    expect_nothing(importer);
}

TEST(test_killed_importer)
{
    begin(state);
    struct actor *other = actor_start(world, 2);
    TELL_OK(other, connect, .node = 1, .length = LENGTH);
    post(3, 0);
    actor_kill(importer);
    post(1, 0);
    expect(other, 4);
    expect_nothing(other);
    host_await_segments(world, 1, 2); /* the export, and one import */
    post(1, 0);
    expect(other, 1);
}

/* The last word of an exporter, who withdraws the segment at once. */
TEST(test_post_and_leave)
{
    begin(state);
    for (int i = 0; i < 10; i++) {
        bool asleep = i % 2 == 0;
        if (asleep)
            BEGIN(importer, wait_import, .timeout = WAIT_MS);
        post(1, 0);
        TELL_OK(exporter, unpublish);
        if (asleep)
            assert_int_equal(ANSWER(importer), RSM_SUCCESS);
        else
            expect(importer, 1);
        TELL_OK(importer, disconnect);
        TELL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}});
        TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    }
}

/* A child that gives its copy up takes nothing from its parent. */
static int fork_and_wait(void *order)
{
    void *handle = party_import(0)->handle;
    int status;
    pid_t child = fork();
    if (child == 0) {
        rsm_memseg_import_disconnect(handle);
        _exit(0);
    }
    NEED(waitpid(child, &status, 0) == child && status == 0);
    return rsm_intr_signal_wait(handle, WAIT_MS);
}

static int fork_then_poll(void *order)
{
    void *handle = party_import(0)->handle;
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct pollfd fd;
        int error = rsm_memseg_get_pollfd(handle, &fd);
        rsm_memseg_import_disconnect(handle);
        _exit(error == RSM_SUCCESS && is_readable(&fd));
    }
    NEED(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

TEST(test_fork)
{
    struct order order = {.value = 0};
    begin(state);
    expect_nothing(importer);
    post(1, 0);
    assert_int_equal(actor_run(importer, fork_and_wait, &order, sizeof order), RSM_SUCCESS);
    expect_nothing(importer);
    /* And with a descriptor: the thread behind it goes on. */
    order.value = 1;
    actor_begin(importer, poll_and_wait, &order, sizeof order);
    post(1, 0);
    assert_int_equal(actor_end(importer, &order, sizeof order), 0);
    assert_int_equal(actor_run(importer, fork_then_poll, &order, sizeof order), 0);
    actor_begin(importer, poll_and_wait, &order, sizeof order);
    assert_false(actor_ended(importer, ASIDE_MS));
    post(1, 0);
    assert_int_equal(actor_end(importer, &order, sizeof order), 0);
}
