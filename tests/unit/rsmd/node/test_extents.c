/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents that take long to make and to free, and clients that do not wait for them. */
#include <dirent.h>

#include "peer.h"

/* What "slow" takes for more than a page; small against the waits of a loaded machine. */
#define SLOW_MS "700"

static struct daemon daemon_1;
static int watcher;
static uint64_t page, large;

static int start(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    large = 2 * (uint64_t)RSM_EXTENT_SMALL;
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    daemon_start(&daemon_1,
                 "[controller sci0]\ntransport = slow\noptions = " SLOW_MS
                 "\n[controller wrsm0]\ntransport = shm\n",
                 NULL);
    watcher = peer_hello(&daemon_1);
    return 0;
}

static int stop(void **state)
{
    close(watcher);
    daemon_stop(&daemon_1);
    return 0;
}

static void await_bytes(uint64_t bytes)
{
    struct timespec pause = {.tv_nsec = 5000000};
    for (int waited = 0; inspect_exports(watcher).exported_bytes != bytes; waited += 5) {
        assert_in_range(waited, 0, PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

static void tell(int socket, struct rsm_msg msg, uint32_t sequence)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    msg.sequence = sequence;
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    assert_true(length > 0);
    assert_int_equal(rsm_packet_send(socket, buffer, length, NULL, 1), 0);
}

/* The next reply, whichever request it is to. */
static struct rsm_msg hear(int socket, struct rsm_packet_fds *fds)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg;
    await_readable(socket);
    ssize_t got = rsm_packet_receive(socket, buffer, sizeof buffer, fds, NULL);
    assert_true(got > 0);
    assert_int_equal(rsm_msg_decode(&msg, buffer, (size_t)got), RSM_ST_OK);
    return msg;
}

static struct rsm_msg alloc_of(uint64_t length)
{
    return (struct rsm_msg){.type = RSM_MSG_EXTENT_ALLOC,
                            .u.extent_alloc = {.controller = "sci0", .length = length}};
}

static struct rsm_msg create_of(uint64_t length)
{
    return (struct rsm_msg){
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {
            .controller = "sci0", .length = length, .mode = 0666, .want_extent = 1}};
}

/* ------------------------------------------------------------------ replies */

TEST_ALONE(others_of_its_requests_overtake)
{
    struct rsm_packet_fds fds;
    int socket = peer_hello(&daemon_1);
    tell(socket, alloc_of(large), 100);
    tell(socket, create_of(large), 101);
    tell(socket, (struct rsm_msg){.type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"}},
         102);
    tell(socket, alloc_of(page), 103);
    assert_int_equal(hear(socket, &fds).sequence, 102);
    struct rsm_msg small = hear(socket, &fds);
    assert_int_equal(small.sequence, 103);
    assert_int_equal(fds.count, 1);
    rsm_packet_fds_close(&fds);
    uint32_t ids[2] = {0, 0}, export_id = 0;
    for (int i = 0; i < 2; i++) {
        struct rsm_msg msg = hear(socket, &fds);
        assert_int_equal(msg.status, RSM_ST_OK);
        assert_int_equal(fds.count, 1);
        assert_int_equal(lseek(fds.fds[0], 0, SEEK_END), large);
        rsm_packet_fds_close(&fds);
        bool is_create = msg.sequence == 101;
        assert_true(is_create || msg.sequence == 100);
        ids[is_create] =
            is_create ? msg.u.export_create_reply.extent : msg.u.extent_alloc_reply.extent;
        if (is_create)
            export_id = msg.u.export_create_reply.export_id;
    }
    assert_int_equal(inspect_exports(watcher).exported_bytes, 2 * large + page);
    /* They are as good as any. */
    assert_int_equal(publish(socket, export_id, 0x700000, ids[0], large, NULL, 0), RSM_ST_OK);
    struct rsm_import_connect_reply import;
    assert_int_equal(connect_on(watcher, "sci0", 1, 0x700000, 6, &import), RSM_ST_OK);
    assert_int_equal(disconnect(watcher, import.import), RSM_ST_OK);
    assert_int_equal(destroy(socket, export_id, NULL), RSM_ST_OK);
    /* Freeing is answered when it is done: what comes then finds the room. */
    struct rsm_msg free_it = {.type = RSM_MSG_EXTENT_FREE, .u.extent_free.extent = ids[0]};
    tell(socket, free_it, 200);
    tell(socket, free_it, 201);
    struct rsm_msg msg = hear(socket, &fds);
    assert_int_equal(msg.sequence, 201);
    assert_int_equal(msg.status, RSM_ST_NOT_FOUND);
    assert_int_equal(inspect_exports(watcher).exported_bytes, 2 * large + page);
    msg = hear(socket, &fds);
    assert_int_equal(msg.sequence, 200);
    assert_int_equal(msg.status, RSM_ST_OK);
    assert_int_equal(inspect_exports(watcher).exported_bytes, large + page);
    close(socket);
    await_bytes(0);
}

/* With as many under way as there may be, further requests wait; none is lost. */
TEST_ALONE(many_at_once)
{
    enum { MANY = 70 };
    bool seen[MANY + 1] = {false};
    struct rsm_packet_fds fds;
    struct rsm_msg refused = alloc_of(large + 1);
    int socket = peer_hello(&daemon_1);
    for (uint32_t i = 0; i < MANY; i++)
        tell(socket, i < 4 ? alloc_of(large) : alloc_of(page), i);
    tell(socket, refused, MANY);
    for (unsigned i = 0; i <= MANY; i++) {
        struct rsm_msg msg = hear(socket, &fds);
        assert_in_range(msg.sequence, 0, MANY);
        assert_false(seen[msg.sequence]);
        seen[msg.sequence] = true;
        assert_int_equal(msg.status, msg.sequence == MANY ? RSM_ST_ALIGNMENT : RSM_ST_OK);
        rsm_packet_fds_close(&fds);
    }
    close(socket);
    await_bytes(0);
}

/* ------------------------------------------------------------------ clients that go */

/* It pays until what it asked for, which nobody will get, has been made and freed again. */
TEST_ALONE(who_does_not_wait_pays_until_it_is_gone)
{
    uint32_t segments = inspect_exports(watcher).segments;
    int socket = peer_hello(&daemon_1);
    tell(socket, alloc_of(large), 1);
    tell(socket, create_of(large), 2);
    while (inspect_exports(watcher).exported_bytes != 2 * large)
        continue;
    close(socket);
    while (inspect_exports(watcher).clients != 1)
        continue;
    assert_int_equal(inspect_exports(watcher).exported_bytes, 2 * large);
    await_bytes(0);
    assert_int_equal(inspect_exports(watcher).segments, segments);
}

TEST_ALONE(its_segments_are_gone_before_its_memory)
{
    struct rsm_packet_fds fds;
    struct rsm_import_connect_reply import;
    const struct rsm_generation_table *table = gentable_map(&daemon_1);
    int socket = peer_hello(&daemon_1), other = peer_hello(&daemon_1);
    tell(socket, create_of(large), 1);
    struct rsm_msg msg = hear(socket, &fds);
    rsm_packet_fds_close(&fds);
    const struct rsm_export_create_reply *made = &msg.u.export_create_reply;
    assert_int_equal(publish(socket, made->export_id, 0x700001, made->extent, large, NULL, 0),
                     RSM_ST_OK);
    assert_int_equal(connect_on(other, "sci0", 1, 0x700001, 6, &import), RSM_ST_OK);
    close(socket);
    await_move(table, import.slot, import.generation);
    assert_int_equal(connect_on(other, "sci0", 1, 0x700001, 6, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(inspect_exports(watcher).exported_bytes, large);
    /* The id is free at once. */
    publish_page(other, 0x700001, 0600);
    close(other);
    await_bytes(0);
    gentable_unmap(table);
}

/* ------------------------------------------------------------------ threads */

static unsigned threads_of(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* One user gets two of them, and they do not stay. */
TEST_ALONE(threads_come_and_go)
{
    enum { JOBS = 6 };
    struct timespec pause = {.tv_nsec = 20000000};
    struct rsm_packet_fds fds;
    unsigned most = 0;
    int socket = peer_hello(&daemon_1);
    for (uint32_t i = 0; i < JOBS; i++)
        tell(socket, alloc_of(large), i);
    while (inspect_exports(watcher).exported_bytes != JOBS * large)
        continue;
    for (uint32_t i = 0; i < JOBS; i++) {
        unsigned now = threads_of(daemon_1.pid);
        most = now > most ? now : most;
        assert_int_equal(hear(socket, &fds).status, RSM_ST_OK);
        rsm_packet_fds_close(&fds);
    }
    /* A sanitizer may have one of its own. */
    assert_in_range(most, 2, 4);
    close(socket);
    await_bytes(0);
    for (int waited = 0; threads_of(daemon_1.pid) > most - 2; waited += 20) {
        assert_in_range(waited, 0, PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

/* The daemon does not wait for what takes longer than it has patience for. */
TEST_ALONE(the_end_does_not_wait)
{
    struct daemon daemon;
    struct timespec before, after;
    daemon_start(&daemon, "[controller sci0]\ntransport = slow\noptions = 60000\n", NULL);
    int socket = peer_hello(&daemon);
    tell(socket, alloc_of(large), 1);
    tell(socket, alloc_of(page), 2);
    struct rsm_packet_fds fds;
    assert_int_equal(hear(socket, &fds).sequence, 2);
    rsm_packet_fds_close(&fds);
    clock_gettime(CLOCK_MONOTONIC, &before);
    daemon_stop(&daemon);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_in_range(after.tv_sec - before.tv_sec, 0, 30);
    expect_hangup(socket);
    close(socket);
}

TESTS_BETWEEN(start, stop)
