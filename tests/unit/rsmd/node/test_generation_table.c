/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "base/packet.h"
#include "node/generation_table.h"
#include "node/memfd.h"

static struct rsmd_generation_table *table;

static int make_table(void **state)
{
    return rsmd_generation_table_create(&table, false) == RSM_ST_OK ? 0 : -1;
}

static int free_table(void **state)
{
    rsmd_generation_table_free(table);
    return 0;
}

#define TEST(test) TEST_BETWEEN(test, make_table, free_table)

TEST(slots_move)
{
    uint32_t slot = rsmd_generation_table_take(table);
    assert_int_not_equal(slot, 0);
    uint32_t taken = rsmd_generation_table_value(table, slot);
    rsmd_generation_table_advance(table, slot);
    uint32_t moved = rsmd_generation_table_value(table, slot);
    assert_int_not_equal(moved, taken);
    rsmd_generation_table_release(table, slot);
    assert_int_not_equal(rsmd_generation_table_value(table, slot), moved);
    assert_int_not_equal(rsmd_generation_table_value(table, slot), taken);
}

TEST(slots_run_out_and_come_back)
{
    static bool seen[RSM_GENERATION_TABLE_SLOTS];
    static uint32_t values[RSM_GENERATION_TABLE_SLOTS];
    memset(seen, 0, sizeof seen);
    for (int i = 1; i < RSM_GENERATION_TABLE_SLOTS; i++) {
        uint32_t slot = rsmd_generation_table_take(table);
        assert_in_range(slot, 1, RSM_GENERATION_TABLE_SLOTS - 1);
        assert_false(seen[slot]);
        seen[slot] = true;
        values[slot] = rsmd_generation_table_value(table, slot);
    }
    assert_int_equal(rsmd_generation_table_take(table), 0);
    /* Released ones rest: the one released first comes back first, and is another than before. */
    rsmd_generation_table_release(table, 77);
    rsmd_generation_table_release(table, 5);
    assert_int_equal(rsmd_generation_table_take(table), 77);
    assert_int_not_equal(rsmd_generation_table_value(table, 77), values[77]);
    assert_int_equal(rsmd_generation_table_take(table), 5);
    assert_int_equal(rsmd_generation_table_take(table), 0);
}

TEST(clients_see_but_cannot_write)
{
    int fd = rsmd_generation_table_fd(table);
    struct stat what;
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(fstat(fd, &what), 0);
    assert_int_equal(what.st_mode & 07777, 0400);
    assert_int_equal(what.st_size, sizeof(struct rsm_generation_table));
    struct rsm_generation_table *seen = mmap(NULL, sizeof *seen, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    assert_int_equal(seen->magic, RSM_GENERATION_TABLE_MAGIC);
    assert_int_equal(seen->version, RSM_GENERATION_TABLE_VERSION);
    assert_int_equal(seen->slots, RSM_GENERATION_TABLE_SLOTS);
    uint32_t slot = rsmd_generation_table_take(table);
    assert_int_equal(atomic_load(&seen->slot[slot]), rsmd_generation_table_value(table, slot));
    assert_int_equal(mprotect(seen, sizeof *seen, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(munmap(seen, sizeof *seen), 0);
    /* Not even a process of the owner (this one may be root) can open it anew for writing. */
    int writable = rsmd_fd_reopen(fd, O_RDWR);
    if (writable >= 0) {
        assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0),
                         MAP_FAILED);
        assert_int_equal(write(writable, "x", 1), -1);
        assert_int_equal(ftruncate(writable, 0), -1);
        close(writable);
    }
}

/* A process that holds a table, hands its descriptor over and waits. */
static void hold_for_ever(int socket)
{
    struct rsmd_generation_table *own;
    struct rsm_packet_fds fds = {.count = 1};
    if (rsmd_generation_table_create(&own, false) != RSM_ST_OK ||
        rsmd_generation_table_own(own) != RSM_ST_OK)
        _exit(1);
    fds.fds[0] = rsmd_generation_table_fd(own);
    if (rsm_packet_send(socket, "x", 1, &fds, 0) != 0)
        _exit(2);
    for (;;)
        pause();
}

TEST_ALONE(death_of_the_holder)
{
    int ends[2], status;
    char byte;
    struct rsm_packet_fds fds;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_for_ever(ends[1]);
    ssize_t got;
    do
        got = rsm_packet_receive(ends[0], &byte, 1, &fds, NULL);
    while (got == -EAGAIN);
    assert_int_equal(got, 1);
    assert_int_equal(fds.count, 1);
    struct rsm_generation_table *seen =
        mmap(NULL, sizeof *seen, PROT_READ, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    assert_int_equal(atomic_load(&seen->alive), child);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_not_equal(atomic_load(&seen->alive) & RSM_GENERATION_TABLE_OWNER_DIED, 0);
    munmap(seen, sizeof *seen);
    rsm_packet_fds_close(&fds);
    close(ends[0]);
    close(ends[1]);
}

TEST_ALONE(orderly_end_of_the_holder)
{
    struct rsmd_generation_table *own;
    assert_int_equal(rsmd_generation_table_create(&own, false), RSM_ST_OK);
    struct rsm_generation_table *seen =
        mmap(NULL, sizeof *seen, PROT_READ, MAP_SHARED, rsmd_generation_table_fd(own), 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    assert_int_equal(rsmd_generation_table_own(own), RSM_ST_OK);
    assert_int_equal(atomic_load(&seen->alive), gettid());
    rsmd_generation_table_free(own);
    assert_int_not_equal(atomic_load(&seen->alive) & RSM_GENERATION_TABLE_OWNER_DIED, 0);
    munmap(seen, sizeof *seen);
}

/* ------------------------------------------------------------------ handed over */

static struct rsm_generation_table *map_lasting(const struct rsmd_generation_table *lasting)
{
    struct rsm_generation_table *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED,
                                             rsmd_generation_table_lasting_fd(lasting), 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    return seen;
}

static uint32_t second(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec;
}

TEST_ALONE(left_and_taken_over)
{
    struct rsmd_generation_table *first, *next;
    assert_int_equal(rsmd_generation_table_create(&first, true), RSM_ST_OK);
    struct rsm_generation_table *seen = map_lasting(first);
    assert_int_equal(rsmd_generation_table_own(first), RSM_ST_OK);
    /* Not while somebody has it. */
    assert_int_equal(
        rsmd_generation_table_take_over(dup(rsmd_generation_table_lasting_fd(first)), &next),
        RSM_ST_OK);
    assert_int_equal(rsmd_generation_table_own(next), RSM_ST_STALE);
    assert_int_equal(atomic_load(&seen->alive), gettid());
    rsmd_generation_table_leave(first);
    assert_true(rsm_generation_table_is_owned(seen));
    assert_int_equal(rsmd_generation_table_own(next), RSM_ST_OK);
    assert_int_equal(atomic_load(&seen->alive), gettid());
    rsmd_generation_table_free(first); /* which is not the owner any more */
    assert_true(rsm_generation_table_is_owned(seen));
    rsmd_generation_table_free(next);
    assert_false(rsm_generation_table_is_owned(seen));
    munmap(seen, sizeof *seen);
}

/* Clients have given it up by then. */
TEST_ALONE(no_successor_comes_in_time)
{
    struct rsmd_generation_table *first;
    assert_int_equal(rsmd_generation_table_create(&first, true), RSM_ST_OK);
    struct rsm_generation_table *seen = map_lasting(first);
    atomic_store(&seen->alive, RSM_GENERATION_TABLE_LEFT | (second() + 60));
    assert_true(rsm_generation_table_is_owned(seen));
    atomic_store(&seen->alive, RSM_GENERATION_TABLE_LEFT | second());
    assert_false(rsm_generation_table_is_owned(seen));
    assert_int_equal(rsmd_generation_table_own(first), RSM_ST_STALE);
    assert_false(rsm_generation_table_is_owned(seen));
    rsmd_generation_table_free(first);
    munmap(seen, sizeof *seen);
}
