/* SPDX-License-Identifier: BSD-3-Clause */
/* Events between nodes: counted, one per handle, by wait, poll, select and epoll. */
#include <sys/epoll.h>
#include <sys/select.h>

#include "party.h"
#include "process.h"

enum { LENGTH = PARTY_PAGE, SOON = 10000, NOT_YET = 50 };

static struct actor *exporter, *importer;

static void begin(struct world *world)
{
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
}

/* ---------------------------------------------------------------- counting */

WORLD_TEST(test_both_directions)
{
    begin(world);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, wait_export, .timeout = SOON);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = SOON);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT, .timeout = NOT_YET);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT, .timeout = NOT_YET);
}

/* The waiter is asleep, or about to be, when the event comes. */
WORLD_TEST(test_wakes_up)
{
    begin(world);
    int64_t start = now_ms();
    for (int i = 0; i < 20; i++) {
        BEGIN(exporter, wait_export, .timeout = -1);
        assert_false(i % 5 == 0 && actor_ended(exporter, NOT_YET));
        TELL_OK(importer, post_import);
        assert_int_equal(ANSWER(exporter), RSM_SUCCESS);
        BEGIN(importer, wait_import, .timeout = -1);
        TELL_OK(exporter, post_export);
        assert_int_equal(ANSWER(importer), RSM_SUCCESS);
    }
    /* Woken, that is; not found by chance in a look around now and then. */
    assert_true(now_ms() - start < 5000);
}

WORLD_TEST(test_counts)
{
    begin(world);
    for (int i = 0; i < 100; i++)
        TELL_OK(importer, post_import);
    for (int i = 0; i < 100; i++)
        TELL_OK(exporter, wait_export);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
}

WORLD_TEST(test_no_accumulate)
{
    begin(world);
    for (int i = 0; i < 5; i++) {
        TELL_OK(importer, post_import, .flags = RSM_SIGPOST_NO_ACCUMULATE);
        TELL_OK(exporter, post_export, .flags = RSM_SIGPOST_NO_ACCUMULATE);
    }
    TELL_OK(exporter, wait_export);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
    TELL_OK(importer, wait_import);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT);
    TELL_OK(importer, post_import);
    TELL_OK(importer, post_import);
    TELL_OK(importer, post_import, .flags = RSM_SIGPOST_NO_ACCUMULATE);
    TELL_OK(exporter, wait_export);
    TELL_OK(exporter, wait_export);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
}

WORLD_TEST(test_many_importers)
{
    begin(world);
    struct actor *third = actor_start(world, 3);
    TELL_OK(exporter, post_export); /* those who come later do not see it */
    TELL_OK(importer, wait_import);
    TELL_OK(third, connect, .node = 1);
    TELL_OK(third, connect, .slot = 1, .node = 1);
    TELL_OK(exporter, connect, .node = 1);
    TELL_GET(third, wait_import, RSMERR_TIMEOUT);

    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = SOON);
    TELL_OK(third, wait_import, .timeout = SOON);
    TELL_OK(third, wait_import, .slot = 1, .timeout = SOON);
    TELL_OK(exporter, wait_import, .timeout = SOON);
    TELL_GET(third, wait_import, RSMERR_TIMEOUT);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);

    TELL_OK(third, post_import);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT);
    TELL_GET(third, wait_import, RSMERR_TIMEOUT, .slot = 1);
    TELL_OK(exporter, wait_export, .timeout = SOON);

    TELL_OK(third, disconnect);
    TELL_OK(exporter, post_export);
    TELL_OK(third, wait_import, .slot = 1, .timeout = SOON);
    actor_kill(third);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = SOON);
    TELL_OK(importer, wait_import, .timeout = SOON);
}

/* Counters belong to handles, not to publications. */
WORLD_TEST(test_over_the_life)
{
    begin(world);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, unpublish);
    TELL_OK(importer, post_import); /* lost, and no error */
    TELL_OK(exporter, post_export);
    TELL_OK(exporter, publish, .id = PARTY_ID);
    TELL_OK(exporter, wait_export);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
    TELL_GET(importer, wait_import, RSMERR_TIMEOUT, .timeout = NOT_YET);
    TELL_OK(importer, disconnect);
    TELL_OK(importer, connect, .node = 1);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = SOON);
}

/* ---------------------------------------------------------------- signals */

static void ignore(int number)
{
}

static int install_restarting_handler(void *unused)
{
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    NEED(sigaction(SIGUSR1, &action, NULL) == 0);
    return 0;
}

/* A signal may come before the wait has begun, so send until it ends. */
static void interrupt(struct actor *actor)
{
    int64_t deadline = now_ms() + CALL_TIMEOUT_MS;
    do
        kill(actor->pid, SIGUSR1);
    while (!actor_ended(actor, 20) && now_ms() < deadline);
    assert_int_equal(ANSWER(actor), RSMERR_INTERRUPTED);
}

static int wait_pollfd(void *bytes)
{
    struct order *order = bytes;
    struct pollfd entry;
    int count = 77;
    NEED(rsm_memseg_get_pollfd(party_export(0)->handle, &entry) == RSM_SUCCESS);
    int error = rsm_intr_signal_wait_pollfd(&entry, 1, order->timeout, &count);
    NEED(count == (error == RSM_SUCCESS));
    NEED(error != RSM_SUCCESS || entry.revents == POLLRDNORM);
    NEED(rsm_memseg_release_pollfd(party_export(0)->handle) == RSM_SUCCESS);
    return error;
}

WORLD_TEST(test_interrupted)
{
    begin(world);
    assert_int_equal(actor_run(exporter, install_restarting_handler, NULL, 0), 0);
    BEGIN(exporter, wait_export, .timeout = -1);
    interrupt(exporter);
    BEGIN(exporter, wait_export, .timeout = 60000);
    interrupt(exporter);
    struct order order = {.timeout = -1};
    actor_begin(exporter, wait_pollfd, &order, sizeof order);
    interrupt(exporter);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, wait_export);
}

/* ---------------------------------------------------------------- poll descriptors */

/* What poll, select and epoll say of the descriptor .value: bit 0, 1, 2 of the result. */
static int readiness(void *bytes)
{
    const struct order *order = bytes;
    int fd = (int)order->value;
    struct pollfd entry = {.fd = fd, .events = POLLRDNORM};
    NEED(poll(&entry, 1, order->timeout) >= 0);
    NEED(entry.revents == 0 || entry.revents == POLLRDNORM);
    struct timeval none = {0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    NEED(select(fd + 1, &set, NULL, NULL, &none) >= 0);
    int queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLRDNORM}, found = {0};
    NEED(queue >= 0 && epoll_ctl(queue, EPOLL_CTL_ADD, fd, &wanted) == 0);
    int count = epoll_wait(queue, &found, 1, 0);
    close(queue);
    return (entry.revents != 0) | FD_ISSET(fd, &set) << 1 |
           (count == 1 && (found.events & EPOLLRDNORM) != 0) << 2;
}

static void check_readiness(struct actor *actor, uint64_t fd, int timeout, int wanted)
{
    struct order order = {.value = fd, .timeout = timeout};
    assert_int_equal(party_ask(actor, readiness, order).result, wanted);
}

WORLD_TEST(test_poll_descriptors)
{
    begin(world);
    TELL_OK(importer, post_import); /* before there is a descriptor */
    struct order first = ASK(exporter, export_pollfd), again = ASK(exporter, export_pollfd);
    assert_int_equal(first.result | again.result, RSM_SUCCESS);
    assert_int_equal(first.value, again.value);
    check_readiness(exporter, first.value, 0, 7);
    check_readiness(exporter, first.value, 0, 7); /* poll consumes nothing */
    TELL_OK(exporter, wait_export);
    check_readiness(exporter, first.value, 0, 0);
    for (int i = 0; i < 3; i++)
        TELL_OK(importer, post_import);
    for (int i = 0; i < 3; i++) {
        check_readiness(exporter, first.value, SOON, 7);
        TELL_OK(exporter, wait_export);
    }
    check_readiness(exporter, first.value, 0, 0);
    TELL_GET(exporter, destroy, RSMERR_POLLFD_IN_USE);
    TELL_OK(exporter, release_export_pollfd);
    TELL_OK(exporter, release_export_pollfd);
    TELL_OK(exporter, release_export_pollfd);

    struct order other = ASK(importer, import_pollfd);
    assert_int_equal(other.result, RSM_SUCCESS);
    check_readiness(importer, other.value, 0, 0);
    TELL_OK(exporter, post_export);
    check_readiness(importer, other.value, SOON, 7);
    TELL_GET(importer, disconnect, RSMERR_POLLFD_IN_USE);
    TELL_OK(importer, release_import_pollfd);
    TELL_OK(importer, disconnect);
}

/* A poll that has begun already is woken. */
WORLD_TEST(test_poll_wakes_up)
{
    begin(world);
    struct order fd = ASK(exporter, export_pollfd);
    assert_int_equal(fd.result, RSM_SUCCESS);
    for (int i = 0; i < 20; i++) {
        struct order order = {.value = fd.value, .timeout = SOON};
        actor_begin(exporter, readiness, &order, sizeof order);
        TELL_OK(importer, post_import);
        assert_int_equal(ANSWER(exporter), 7);
        TELL_OK(exporter, wait_export);
    }
    TELL_OK(exporter, release_export_pollfd);
}

/* Two segments, a pipe, a closed and a negative descriptor in one call. */
static int wait_for_mixture(void *bytes)
{
    struct order *order = bytes;
    struct pollfd entries[5] = {{0}};
    int pipes[2], count = 77;
    NEED(rsm_memseg_get_pollfd(party_export(0)->handle, &entries[0]) == RSM_SUCCESS);
    NEED(rsm_memseg_get_pollfd(party_import(1)->handle, &entries[1]) == RSM_SUCCESS);
    NEED(pipe(pipes) == 0 && write(pipes[1], "x", 1) == 1);
    entries[2] = (struct pollfd){.fd = pipes[0], .events = POLLIN};
    entries[3] = (struct pollfd){.fd = -1, .events = POLLIN};
    entries[4] = (struct pollfd){.fd = 1000, .events = POLLIN};
    int error = rsm_intr_signal_wait_pollfd(entries, 5, order->timeout, &count);
    NEED(error == RSM_SUCCESS && count == (int)order->value);
    NEED(entries[0].revents == POLLRDNORM && entries[2].revents == POLLIN);
    NEED(entries[1].revents == 0 && entries[3].revents == 0 && entries[4].revents == POLLNVAL);
    char byte;
    NEED(read(pipes[0], &byte, 1) == 1 && byte == 'x');
    close(pipes[0]);
    close(pipes[1]);
    NEED(rsm_memseg_release_pollfd(party_export(0)->handle) == RSM_SUCCESS);
    NEED(rsm_memseg_release_pollfd(party_import(1)->handle) == RSM_SUCCESS);
    return 0;
}

WORLD_TEST(test_wait_pollfd)
{
    begin(world);
    TELL_OK(importer, offer, .length = LENGTH);
    TELL_OK(exporter, connect, .slot = 1, .node = 2);
    struct order order = {.timeout = SOON, .value = 3};
    TELL_OK(importer, post_import);
    TELL_OK(importer, post_import);
    assert_int_equal(party_ask(exporter, wait_for_mixture, order).result, 0);
    /* One event was taken, one is left. */
    TELL_OK(exporter, wait_export);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
    order.timeout = 0;
    assert_int_equal(party_ask(exporter, wait_pollfd, order).result, RSMERR_TIMEOUT);
    order.timeout = SOON;
    actor_begin(exporter, wait_pollfd, &order, sizeof order);
    TELL_OK(importer, post_import);
    assert_int_equal(ANSWER(exporter), RSM_SUCCESS);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
}

/* ---------------------------------------------------------------- many at once */

enum { POSTERS = 8, WAITERS = 8, POSTS = 500 };

static void *wait_for_share(void *argument)
{
    uintptr_t taken = 0;
    while (taken < POSTERS * POSTS / WAITERS &&
           rsm_intr_signal_wait(party_export(0)->handle, SOON) == RSM_SUCCESS)
        taken++;
    return (void *)taken;
}

static int wait_in_threads(void *bytes)
{
    struct order *order = bytes;
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        NEED(pthread_create(&threads[i], NULL, wait_for_share, NULL) == 0);
    for (int i = 0; i < WAITERS; i++) {
        void *taken;
        NEED(pthread_join(threads[i], &taken) == 0);
        order->value += (uintptr_t)taken;
    }
    return rsm_intr_signal_wait(party_export(0)->handle, 0);
}

static int post_many(void *bytes)
{
    const struct order *order = bytes;
    for (int i = 0; i < POSTS; i++)
        NEED(rsm_intr_signal_post(party_import(order->slot)->handle, 0) == RSM_SUCCESS);
    return 0;
}

static void post_from_everywhere(struct world *world, bool with_descriptor)
{
    struct actor *posters[POSTERS];
    begin(world);
    if (with_descriptor)
        TELL_OK(exporter, export_pollfd);
    for (unsigned i = 0; i < POSTERS; i++) {
        posters[i] = actor_start(world, 1 + i % 3);
        TELL_OK(posters[i], connect, .node = 1);
    }
    struct order order = {0};
    actor_begin(exporter, wait_in_threads, &order, sizeof order);
    for (int i = 0; i < POSTERS; i++)
        actor_begin(posters[i], post_many, &order, sizeof order);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(ANSWER(posters[i]), 0);
    order = party_answer(exporter);
    assert_int_equal(order.value, POSTERS * POSTS);
    assert_int_equal(order.result, RSMERR_TIMEOUT);
    if (with_descriptor)
        TELL_OK(exporter, release_export_pollfd);
}

WORLD_TEST(test_no_event_is_lost)
{
    post_from_everywhere(world, false);
}

WORLD_TEST(test_no_event_is_lost_with_descriptor)
{
    post_from_everywhere(world, true);
}

/* A consumer that relies on the poll descriptor alone. With several posters the descriptor may be
 * ready once too often, as descriptors may, but never once too seldom. */
static int consume_by_poll(void *bytes)
{
    struct order *order = bytes;
    struct pollfd entry;
    NEED(rsm_memseg_get_pollfd(party_export(0)->handle, &entry) == RSM_SUCCESS);
    for (uint64_t taken = 0; taken < order->value;) {
        NEED(poll(&entry, 1, SOON) == 1 && entry.revents == POLLRDNORM);
        int error = rsm_intr_signal_wait(party_export(0)->handle, 0);
        NEED(error == RSM_SUCCESS || error == RSMERR_TIMEOUT);
        taken += error == RSM_SUCCESS;
    }
    NEED(rsm_intr_signal_wait(party_export(0)->handle, NOT_YET) == RSMERR_TIMEOUT);
    NEED(poll(&entry, 1, 0) == 0);
    NEED(rsm_memseg_release_pollfd(party_export(0)->handle) == RSM_SUCCESS);
    return 0;
}

WORLD_TEST(test_poll_loses_nothing)
{
    begin(world);
    struct actor *other = actor_start(world, 1);
    TELL_OK(other, connect, .node = 1);
    struct order order = {.value = 2 * (uint64_t)POSTS};
    actor_begin(exporter, consume_by_poll, &order, sizeof order);
    order = (struct order){0};
    actor_begin(importer, post_many, &order, sizeof order);
    actor_begin(other, post_many, &order, sizeof order);
    assert_int_equal(ANSWER(importer), 0);
    assert_int_equal(ANSWER(other), 0);
    assert_int_equal(ANSWER(exporter), 0);
}
