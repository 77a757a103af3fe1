/* SPDX-License-Identifier: BSD-3-Clause */
/* Exporters and importers that die, stop, take their memory away: nobody else is hurt. */
#include "party.h"
#include "process.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    AT_ONCE = 3000, /* within which a death on the same host is noticed; ms, with much room */
    IMPORTERS = 3,
};

static struct actor *exporter, *importers[IMPORTERS];

/* Importers on both nodes, each storing through its mapping in a thread. */
static void begin_storing(struct world *world)
{
    exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = LENGTH);
    for (int i = 0; i < IMPORTERS; i++) {
        importers[i] = actor_start(world, 1 + (unsigned)i % 2);
        TELL_OK(importers[i], attach, .node = 1, .length = LENGTH);
        TELL_OK(importers[i], open_barrier);
        TELL_OK(importers[i], start_storing, .offset = i * PARTY_PAGE);
        TELL_OK(importers[i], progress, .value = 1000);
    }
}

/* All importers learn of it, none was disturbed, and the id names something new at once. */
static void check_aborted_and_reusable(struct world *world)
{
    struct actor *successor = actor_start(world, 1);
    TELL_OK(successor, offer, .length = LENGTH);
    for (int i = 0; i < IMPORTERS; i++) {
        TELL_GET(importers[i], await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
        TELL_OK(importers[i], progress, .value = 1000);
        TELL_OK(importers[i], stop_storing);
        TELL_GET(importers[i], map, RSMERR_SEG_ALREADY_MAPPED);
        TELL_OK(importers[i], detach);
        TELL_OK(importers[i], attach, .node = 1, .length = LENGTH);
        assert_int_equal(ASK(importers[i], peek, .offset = i * PARTY_PAGE).value, 0);
        TELL_OK(importers[i], poke, .offset = i * PARTY_PAGE, .value = 5);
        assert_int_equal(ASK(successor, load, .offset = i * PARTY_PAGE).value, 5);
    }
}

WORLD_TEST(test_exporter_killed)
{
    begin_storing(world);
    actor_kill(exporter);
    check_aborted_and_reusable(world);
}

WORLD_TEST(test_exporter_exits)
{
    begin_storing(world);
    actor_stop(exporter);
    check_aborted_and_reusable(world);
}

/* As by a wild store. */
static int crash(void *unused)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

WORLD_TEST(test_exporter_crashes)
{
    int status;
    begin_storing(world);
    actor_begin(exporter, crash, NULL, 0);
    assert_int_equal(child_await(exporter->pid, 0, AT_ONCE, &status), exporter->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    close(exporter->socket);
    exporter->pid = 0;
    check_aborted_and_reusable(world);
}

/* ---------------------------------------------------------------- exec */

/* Become cat(1), which ends when the test lets go of the actor's socket. */
static int become_another_program(void *bytes)
{
    const struct order *order = bytes;
    NEED(dup2((int)order->value, STDIN_FILENO) == STDIN_FILENO);
    execl("/bin/cat", "cat", (char *)NULL);
    return -1;
}

WORLD_TEST(test_exporter_execs)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    begin_storing(world);
    struct order order = {.value = (uint64_t)pipes[0]};
    actor_begin(exporter, become_another_program, &order, sizeof order);
    for (int i = 0; i < IMPORTERS; i++)
        TELL_GET(importers[i], await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
    assert_true(process_descriptors(exporter->pid) >= 3);
    assert_int_equal(process_descriptors_to(exporter->pid, "/memfd:"), 0);
    assert_int_equal(process_descriptors_to(exporter->pid, "socket:"), 0);
    assert_int_equal(process_descriptors_to(exporter->pid, "anon_inode:"), 0);
    check_aborted_and_reusable(world);
    actor_kill(exporter);
    close(pipes[0]);
    close(pipes[1]);
}

/* ---------------------------------------------------------------- a child that lives on */

/* Fork; the child waits for ever. Answers its pid. */
static int leave_child_behind(void *bytes)
{
    struct order *order = bytes;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    order->value = (uint64_t)child;
    return 0;
}

WORLD_TEST(test_exporter_dies_child_lives)
{
    begin_storing(world);
    struct order child = party_ask(exporter, leave_child_behind, (struct order){0});
    assert_int_equal(child.result, 0);
    actor_kill(exporter);
    check_aborted_and_reusable(world);
    int status;
    assert_int_equal(kill((pid_t)child.value, SIGKILL), 0);
    assert_int_equal(child_await((pid_t)child.value, 0, AT_ONCE, &status), (pid_t)child.value);
}

static int end_child(void *bytes)
{
    const struct order *order = bytes;
    int status;
    NEED(kill((pid_t)order->value, SIGKILL) == 0);
    NEED(waitpid((pid_t)order->value, &status, 0) == (pid_t)order->value);
    return 0;
}

WORLD_TEST(test_exporter_destroys_child_lives)
{
    begin_storing(world);
    struct order child = party_ask(exporter, leave_child_behind, (struct order){0});
    assert_int_equal(child.result, 0);
    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, destroy);
    check_aborted_and_reusable(world);
    assert_int_equal(party_ask(exporter, end_child, child).result, 0);
}

/* ---------------------------------------------------------------- unpublish under fire */

/* Read the words that importers store to, then unpublish, and read them again. */
struct ending {
    int how; /* 0: unpublish, 1: destroy */
    uint64_t after[IMPORTERS];
};

static int end_publication(void *bytes)
{
    struct ending *ending = bytes;
    struct party_export *export_id = party_export(0);
    NEED((ending->how == 0 ? rsm_memseg_export_unpublish(export_id->handle)
                           : rsm_memseg_export_destroy(export_id->handle)) == RSM_SUCCESS);
    for (int i = 0; i < IMPORTERS; i++)
        ending->after[i] = *(volatile uint64_t *)(void *)(export_id->memory + i * PARTY_PAGE);
    return 0;
}

static void end_under_fire(struct world *world, int how)
{
    uint64_t before[IMPORTERS];
    struct ending ending = {.how = how};
    begin_storing(world);
    for (int i = 0; i < IMPORTERS; i++)
        before[i] = ASK(importers[i], progress, .value = 1).value;
    assert_int_equal(actor_run(exporter, end_publication, &ending, sizeof ending), 0);
    for (int i = 0; i < IMPORTERS; i++) {
        TELL_GET(importers[i], close_barrier, RSMERR_CONN_ABORTED);
        TELL_OK(importers[i], progress, .value = 10000);
        assert_true(ending.after[i] >= before[i]);
        /* What came up to then was kept, and nothing more has come. */
        assert_int_equal(ASK(exporter, load, .offset = i * PARTY_PAGE).value, ending.after[i]);
    }
    for (int i = 0; i < IMPORTERS; i++) {
        TELL_OK(importers[i], stop_storing);
        assert_int_equal(ASK(exporter, load, .offset = i * PARTY_PAGE).value, ending.after[i]);
    }
}

WORLD_TEST(test_unpublish_under_fire)
{
    end_under_fire(world, 0);
}

WORLD_TEST(test_destroy_under_fire)
{
    end_under_fire(world, 1);
}

/* ---------------------------------------------------------------- importers */

WORLD_TEST(test_importer_killed)
{
    begin_storing(world);
    actor_kill(importers[0]);
    int64_t start = now_ms();
    TELL_OK(exporter, post_export);
    TELL_OK(exporter, unpublish);
    assert_true(now_ms() - start < AT_ONCE);
    TELL_GET(importers[1], close_barrier, RSMERR_CONN_ABORTED);
    TELL_OK(importers[1], stop_storing);
    TELL_OK(importers[2], stop_storing);
    TELL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(importers[1], detach);
    TELL_OK(importers[1], attach, .node = 1, .length = LENGTH);
    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, destroy);
    TELL_OK(exporter, drop);
}

WORLD_TEST(test_importer_stopped)
{
    begin_storing(world);
    process_freeze(importers[0]->pid);
    process_freeze(importers[1]->pid);
    int64_t start = now_ms();
    TELL_OK(exporter, post_export);
    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, destroy);
    assert_true(now_ms() - start < AT_ONCE);
    process_thaw(importers[0]->pid);
    process_thaw(importers[1]->pid);
    for (int i = 0; i < IMPORTERS; i++) {
        TELL_GET(importers[i], close_barrier, RSMERR_CONN_ABORTED);
        TELL_OK(importers[i], progress, .value = 1000);
        TELL_OK(importers[i], stop_storing);
        TELL_OK(importers[i], detach);
    }
}

WORLD_TEST(test_exporter_stopped)
{
    begin_storing(world);
    process_freeze(exporter->pid);
    int64_t start = now_ms();
    TELL_OK(importers[0], close_barrier);
    TELL_OK(importers[0], post_import);
    TELL_OK(importers[1], connect, .slot = 1, .node = 1);
    TELL_OK(importers[1], disconnect, .slot = 1);
    for (int i = 0; i < IMPORTERS; i++) {
        TELL_OK(importers[i], stop_storing);
        TELL_OK(importers[i], detach);
    }
    assert_true(now_ms() - start < AT_ONCE);
    process_thaw(exporter->pid);
    TELL_OK(exporter, wait_export);
    TELL_OK(exporter, withdraw);
}

/* ---------------------------------------------------------------- the memory goes away */

static int unmap_exported(void *unused)
{
    struct party_export *export_id = party_export(0);
    NEED(munmap(export_id->memory, LENGTH) == 0);
    export_id->memory = NULL;
    return 0;
}

/* Unmap it, and put something else there. */
static int replace_exported(void *unused)
{
    struct party_export *export_id = party_export(0);
    NEED(mmap(export_id->memory, LENGTH, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == export_id->memory);
    memset(export_id->memory, 0x77, LENGTH);
    return 0;
}

static void end_without_memory(void)
{
    int unpublished = TELL(exporter, unpublish);
    assert_true(unpublished == RSM_SUCCESS || unpublished == RSMERR_SEG_NOT_PUBLISHED);
    TELL_OK(exporter, destroy);
    for (int i = 0; i < IMPORTERS; i++) {
        TELL_GET(importers[i], await_abort, RSMERR_CONN_ABORTED, .timeout = AT_ONCE);
        TELL_OK(importers[i], progress, .value = 1000);
        TELL_OK(importers[i], stop_storing);
        TELL_OK(importers[i], detach);
    }
}

WORLD_TEST(test_exporter_unmaps)
{
    begin_storing(world);
    assert_int_equal(actor_run(exporter, unmap_exported, NULL, 0), 0);
    for (int i = 0; i < IMPORTERS; i++)
        TELL_OK(importers[i], progress, .value = 1000);
    end_without_memory();
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(exporter, withdraw);
}

WORLD_TEST(test_exporter_maps_over)
{
    begin_storing(world);
    assert_int_equal(actor_run(exporter, replace_exported, NULL, 0), 0);
    end_without_memory();
    for (off_t at = 0; at < LENGTH; at += PARTY_PAGE)
        assert_int_equal(ASK(exporter, load, .offset = at).value, 0x7777777777777777);
    TELL_OK(exporter, drop);
}

static int unmap_middle(void *unused)
{
    NEED(munmap(party_export(0)->memory + PARTY_PAGE, PARTY_PAGE) == 0);
    return 0;
}

WORLD_TEST(test_exporter_unmaps_a_page)
{
    begin_storing(world);
    TELL_OK(importers[2], stop_storing);
    TELL_OK(importers[2], start_storing, .offset = 3 * PARTY_PAGE);
    TELL_OK(exporter, store, .offset = 3 * PARTY_PAGE + 8, .value = 8);
    assert_int_equal(actor_run(exporter, unmap_middle, NULL, 0), 0);
    end_without_memory();
    assert_int_equal(ASK(exporter, load, .offset = 3 * PARTY_PAGE + 8).value, 8);
}
