/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: none left, closed stdio, none inherited, none below 256, or 3. */
#include "party.h"
#include "process.h"

enum { LENGTH = 2 * PARTY_PAGE, FEW = 200 };

static int held[FEW];
static int held_count;

/* Take descriptors until .value of them are left. */
static int use_descriptors_up(void *bytes)
{
    const struct order *order = bytes;
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = FEW;
    NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        held[held_count++] = fd;
    NEED(errno == EMFILE && held_count > (int)order->value);
    for (uint64_t i = 0; i < order->value; i++)
        close(held[--held_count]);
    return 0;
}

static int give_descriptors_back(void *unused)
{
    while (held_count > 0)
        close(held[--held_count]);
    return 0;
}

static void check_exhaustion(struct actor *actor, uint64_t left)
{
    struct order order = {.value = left};
    unsigned before = process_descriptors(actor->pid);
    assert_int_equal(party_ask(actor, use_descriptors_up, order).result, 0);
    TELL_GET(actor, create, RSMERR_INSUFFICIENT_RESOURCES, .slot = 1, .length = LENGTH);
    TELL_GET(actor, connect, RSMERR_INSUFFICIENT_RESOURCES, .slot = 1, .node = 1);
    TELL_GET(actor, export_pollfd, RSMERR_INSUFFICIENT_RESOURCES);
    assert_int_equal(actor_run(actor, give_descriptors_back, NULL, 0), 0);
    assert_int_equal(process_descriptors(actor->pid), before);
}

WORLD_TEST(test_none_left)
{
    struct actor *actor = actor_start(world, 1), *other = actor_start(world, 1);
    TELL_OK(other, offer, .length = LENGTH);
    TELL_OK(actor, offer, .length = LENGTH, .id = PARTY_ID + 1);
    check_exhaustion(actor, 0);
    /* What exists goes on, and there is more when there is room again. */
    TELL_GET(actor, wait_export, RSMERR_TIMEOUT);
    TELL_OK(actor, create, .slot = 1, .length = LENGTH);
    TELL_OK(actor, publish, .slot = 1, .id = PARTY_ID + 2);
    TELL_OK(actor, attach, .slot = 1, .node = 1, .length = LENGTH);
    TELL_OK(actor, export_pollfd);
}

/* The daemon is found, or not, and nothing is left half open. */
WORLD_TEST(test_none_left_at_first)
{
    struct actor *actor = actor_start(world, 1);
    assert_int_equal(actor_run(actor, give_descriptors_back, NULL, 0), 0); /* it runs now */
    for (uint64_t left = 0; left < 8; left++) {
        struct order order = {.value = left};
        unsigned before = process_descriptors(actor->pid);
        assert_int_equal(party_ask(actor, use_descriptors_up, order).result, 0);
        int opened = TELL(actor, open);
        assert_int_equal(actor_run(actor, give_descriptors_back, NULL, 0), 0);
        if (opened == RSM_SUCCESS)
            break;
        assert_int_equal(process_descriptors(actor->pid), before);
    }
    TELL_OK(actor, offer, .length = LENGTH);
}

/* At every number of descriptors that is too small: an error, and nothing leaks. */
WORLD_TEST(test_few_left)
{
    struct actor *actor = actor_start(world, 1), *other = actor_start(world, 1);
    TELL_OK(other, offer, .length = LENGTH);
    TELL_OK(actor, open);
    TELL_OK(actor, create, .length = LENGTH); /* what a process keeps, it has from now on */
    TELL_OK(actor, destroy);
    bool enough = false;
    for (uint64_t left = 0; !enough; left++) {
        struct order order = {.value = left};
        unsigned before = process_descriptors(actor->pid);
        assert_int_equal(party_ask(actor, use_descriptors_up, order).result, 0);
        int created = TELL(actor, create, .length = LENGTH);
        if (created == RSM_SUCCESS)
            TELL_OK(actor, destroy);
        else
            assert_int_equal(created, RSMERR_INSUFFICIENT_RESOURCES);
        int connected = TELL(actor, connect, .node = 1);
        if (connected == RSM_SUCCESS)
            TELL_OK(actor, disconnect);
        else
            assert_int_equal(connected, RSMERR_INSUFFICIENT_RESOURCES);
        assert_int_equal(actor_run(actor, give_descriptors_back, NULL, 0), 0);
        assert_int_equal(process_descriptors(actor->pid), before);
        enough = created == RSM_SUCCESS && connected == RSM_SUCCESS;
        assert_true(enough || left < 10);
    }
}

/* ---------------------------------------------------------------- closed stdio */

static int close_stdio(void *unused)
{
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    return 0;
}

static int stdio_is_closed(void *unused)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return 1;
    return 0;
}

static int all_close_on_exec(void *unused)
{
    for (int fd = 3; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            return 1;
    }
    return 0;
}

static void check_hidden(struct actor *actor)
{
    assert_int_equal(actor_run(actor, stdio_is_closed, NULL, 0), 0);
}

/* The actor's very first call, by which the daemon is started, too. */
WORLD_TEST(test_stdio_closed)
{
    struct actor *actor = actor_start(world, 1);
    assert_int_equal(actor_run(actor, close_stdio, NULL, 0), 0);
    TELL_OK(actor, open);
    check_hidden(actor);
    TELL_OK(actor, offer, .length = LENGTH);
    check_hidden(actor);
    TELL_OK(actor, attach, .node = 1, .length = LENGTH);
    check_hidden(actor);
    TELL_OK(actor, export_pollfd);
    TELL_OK(actor, import_pollfd);
    TELL_OK(actor, post_import);
    TELL_OK(actor, post_export);
    TELL_OK(actor, wait_export, .timeout = 1000);
    TELL_OK(actor, wait_import, .timeout = 1000);
    check_hidden(actor);
    struct actor *remote = actor_start(world, 2);
    assert_int_equal(actor_run(remote, close_stdio, NULL, 0), 0);
    TELL_OK(remote, attach, .node = 1, .length = LENGTH);
    TELL_OK(remote, post_import);
    check_hidden(remote);
    TELL_OK(actor, release_export_pollfd);
    TELL_OK(actor, release_import_pollfd);
    TELL_OK(actor, detach);
    TELL_OK(actor, withdraw);
    check_hidden(actor);
}

WORLD_TEST(test_close_on_exec)
{
    struct actor *actor = actor_start(world, 1), *remote = actor_start(world, 2);
    struct actor *actors[] = {actor, remote};
    int inherited[2];
    for (int i = 0; i < 2; i++)
        inherited[i] = actor_run(actors[i], all_close_on_exec, NULL, 0);
    TELL_OK(actor, offer, .length = LENGTH);
    TELL_OK(remote, attach, .node = 1, .length = LENGTH);
    TELL_OK(actor, export_pollfd);
    TELL_OK(remote, import_pollfd);
    TELL_OK(remote, post_import);
    TELL_OK(actor, post_export);
    for (int i = 0; i < 2; i++)
        assert_int_equal(actor_run(actors[i], all_close_on_exec, NULL, 0), inherited[i]);
    TELL_OK(actor, release_export_pollfd);
    TELL_OK(remote, release_import_pollfd);
}

/* ---------------------------------------------------------------- numbers */

enum { LIBRARY_FIRST = 256 };

/* A limit on descriptors, and which of those below 256 the program had before the first call. */
static bool own[LIBRARY_FIRST];

static int limit_descriptors(void *bytes)
{
    const struct order *order = bytes;
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = order->value;
    NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int fd = 0; fd < LIBRARY_FIRST; fd++)
        own[fd] = fcntl(fd, F_GETFD) >= 0;
    return 0;
}

/* The first number below .value that has come since, or -1. */
static int find_new_below(void *bytes)
{
    const struct order *order = bytes;
    for (int fd = 0; fd < (int)order->value; fd++)
        if (!own[fd] && fcntl(fd, F_GETFD) >= 0)
            return fd;
    return -1;
}

static int new_below(struct actor *actor, int limit)
{
    return party_ask(actor, find_new_below, (struct order){.value = (uint64_t)limit}).result;
}

/* Everything for which the library opens or receives descriptors that stay: none comes below
 * @p first. */
static void check_numbers(struct world *world, rlim_t limit, int first)
{
    struct actor *actor = actor_start(world, 1), *remote = actor_start(world, 2);
    struct actor *actors[] = {actor, remote};
    for (int i = 0; i < 2; i++) {
        /* Low numbers are there to be taken. */
        assert_int_equal(actor_run(actors[i], close_stdio, NULL, 0), 0);
        party_ask(actors[i], limit_descriptors, (struct order){.value = limit});
        TELL_OK(actors[i], open);
        assert_int_equal(new_below(actors[i], first), -1);
    }
    TELL_OK(actor, create, .length = LENGTH);
    assert_int_equal(new_below(actor, first), -1);
    TELL_OK(actor, publish, .id = PARTY_ID);
    assert_int_equal(new_below(actor, first), -1);
    TELL_OK(remote, connect, .node = 1);
    TELL_OK(remote, map, .length = LENGTH);
    assert_int_equal(new_below(remote, first), -1);
    TELL_OK(actor, export_pollfd);
    TELL_OK(remote, import_pollfd);
    TELL_OK(remote, post_import);
    TELL_OK(actor, post_export);
    TELL_OK(actor, wait_export, .timeout = 1000);
    TELL_OK(remote, wait_import, .timeout = 1000);
    TELL_OK(actor, attach, .slot = 1, .node = 1, .length = LENGTH);
    for (int i = 0; i < 2; i++)
        assert_int_equal(new_below(actors[i], first), -1);
    TELL_OK(actor, release_export_pollfd);
    TELL_OK(remote, release_import_pollfd);
}

WORLD_TEST(test_numbers_from_256)
{
    check_numbers(world, 1024, LIBRARY_FIRST);
}

WORLD_TEST(test_numbers_with_a_low_limit)
{
    check_numbers(world, FEW, STDERR_FILENO + 1);
}
