/* SPDX-License-Identifier: BSD-3-Clause */
/* A program under resource limits exports all the same, and the daemon that it starts has no part
 * in them. */
#include "party.h"

enum { SMALL = 2 * PARTY_PAGE, LARGE = 1 << 20 };

/* In the actor: let files have .value bytes; with .flags for good. */
static int limit_file_size(void *bytes)
{
    const struct order *order = bytes;
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = (rlim_t)order->value;
    if (order->flags != 0)
        limit.rlim_max = limit.rlim_cur;
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    return 0;
}

/* Export memory of that length and reach it from another node. */
static void exchange(struct actor *exporter, struct actor *importer, size_t length)
{
    TELL_OK(exporter, offer, .length = length);
    TELL_OK(exporter, fill, .value = 7);
    TELL_OK(importer, attach, .node = 1, .length = length);
    TELL_OK(importer, poke, .offset = (off_t)length - 8, .value = length);
    assert_int_equal(ASK(exporter, load, .offset = (off_t)length - 8).value, length);
    TELL_OK(importer, detach);
    TELL_OK(exporter, withdraw);
}

/* The daemon is started by the exporter, under the exporter's limit. */
WORLD_TEST(test_soft_limit_of_file_size)
{
    static const uint64_t limits[] = {0, PARTY_PAGE, SMALL};
#ifdef __SANITIZE_THREAD__
    print_message("not run: the thread sanitizer writes a file before main()\n");
    skip();
#endif
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct order order = {.value = limits[i]};
        assert_int_equal(party_ask(exporter, limit_file_size, order).result, 0);
        exchange(exporter, importer, SMALL);
        exchange(exporter, importer, LARGE);
    }
}

/* What a daemon may not have is an error of the one who asks; the others go on. */
WORLD_TEST(test_hard_limit_of_file_size)
{
    /* The daemon's own tables are smaller than this. */
    struct order order = {.value = LARGE, .flags = 1};
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    assert_int_equal(party_ask(exporter, limit_file_size, order).result, 0);
    TELL_OK(exporter, offer, .length = SMALL);
    TELL_OK(importer, attach, .node = 1, .length = SMALL);
    pid_t daemon = world_daemon(world, 1);
    TELL_GET(exporter, create, RSMERR_INSUFFICIENT_MEM, .slot = 1, .length = LARGE + PARTY_PAGE);
    assert_int_equal(world_daemon(world, 1), daemon);
    TELL_OK(importer, poke, .value = 9);
    assert_int_equal(ASK(exporter, load).value, 9);
    TELL_OK(importer, detach);
    TELL_OK(exporter, withdraw);
    exchange(exporter, importer, LARGE);
}
