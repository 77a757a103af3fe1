/* SPDX-License-Identifier: BSD-3-Clause */
/* A thousand lives of segments leave nothing behind, in no process. */
#include "party.h"
#include "process.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    CYCLES = 1000,
    WARM_UP = 50,
    WAIT_MS = 20000,  /* for an event that is there; the daemon may be late */
    SLACK_KIB = 1024, /* of resident memory: far less than a page a cycle */
    SLACK_MAPPINGS = 8,
};

/* Sanitizers keep freed memory back for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_IS_COUNTED = 0 };
#else
enum { MEMORY_IS_COUNTED = 1 };
#endif

struct footprint {
    unsigned descriptors, mappings;
    unsigned long resident;
};

static struct footprint footprint_of(pid_t pid)
{
    return (struct footprint){.descriptors = process_descriptors(pid),
                              .mappings = process_mappings(pid),
                              .resident = process_resident_kib(pid)};
}

static void check_same(pid_t pid, struct footprint before)
{
    struct footprint after = footprint_of(pid);
    assert_true(before.descriptors > 0 && before.mappings > 0 && before.resident > 0);
    /* Fewer: a busy daemon had not yet ended our own visits when it was looked at first. */
    assert_in_range(after.descriptors, 1, before.descriptors);
    if (!MEMORY_IS_COUNTED)
        return;
    assert_in_range(after.mappings, 1, before.mappings + SLACK_MAPPINGS);
    assert_in_range(after.resident, 1, before.resident + SLACK_KIB);
}

/* One life, the halves of which are told to two actors. */
static void live(struct actor *exporter, struct actor *importer, uint64_t round)
{
    TELL_OK(exporter, offer, .length = LENGTH, .kind = round % 2 ? MEMORY_SHARED : MEMORY_PRIVATE);
    TELL_OK(importer, attach, .node = exporter->node, .length = LENGTH);
    TELL_OK(importer, put64, .value = round);
    TELL_OK(importer, post_import);
    if (round % 4 == 0)
        TELL_OK(exporter, export_pollfd);
    TELL_OK(exporter, wait_export, .timeout = WAIT_MS);
    if (round % 4 == 0)
        TELL_OK(exporter, release_export_pollfd);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = WAIT_MS);
    if (round % 3 == 0) { /* some importers are cut off */
        TELL_OK(exporter, withdraw);
        TELL_OK(importer, detach);
    } else {
        TELL_OK(importer, detach);
        TELL_OK(exporter, withdraw);
    }
}

static void live_often(struct actor *exporter, struct actor *importer, struct world *world,
                       uint64_t cycles)
{
    for (uint64_t round = 0; round < WARM_UP; round++)
        live(exporter, importer, round);
    pid_t daemons[] = {world_daemon(world, exporter->node), world_daemon(world, importer->node)};
    pid_t pids[] = {exporter->pid, importer->pid, daemons[0], daemons[1]};
    struct footprint before[4];
    for (int i = 0; i < 4; i++)
        before[i] = footprint_of(pids[i]);
    for (uint64_t round = 0; round < cycles; round++)
        live(exporter, importer, round);
    for (int i = 0; i < 4; i++)
        check_same(pids[i], before[i]);
}

WORLD_TEST(test_between_nodes)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    live_often(exporter, importer, world, CYCLES);
}

WORLD_TEST(test_in_one_process)
{
    struct actor *alone = actor_start(world, 1);
    live_often(alone, alone, world, CYCLES / 4);
}

/* Clients that come and die with segments in their hands leave nothing in the daemon. */
static void come_and_die(struct world *world, struct actor *resident)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(importer, attach, .slot = 1, .node = 1, .length = LENGTH, .id = PARTY_ID + 1);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, export_pollfd);
    actor_kill(exporter);
    actor_kill(importer);
    TELL_OK(resident, connect, .slot = 1, .node = 1, .id = PARTY_ID + 1);
    TELL_OK(resident, disconnect, .slot = 1);
}

WORLD_TEST(test_daemon_after_deaths)
{
    struct actor *resident = actor_start(world, 1), *second = actor_start(world, 2);
    TELL_OK(resident, offer, .length = LENGTH, .id = PARTY_ID + 1);
    TELL_OK(second, attach, .node = 1, .length = LENGTH, .id = PARTY_ID + 1);
    pid_t daemon = world_daemon(world, 1);
    for (int i = 0; i < 10; i++)
        come_and_die(world, resident);
    struct footprint before = footprint_of(daemon);
    for (int i = 0; i < 100; i++)
        come_and_die(world, resident);
    check_same(daemon, before);
}
