/* SPDX-License-Identifier: BSD-3-Clause */
/* Event cells and pipes: who gets which. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peer.h"

static struct daemon daemon_1;
static const struct rsm_generation_table *table;
static int exporter, importer;
static struct rsm_export_create_reply export_id;
static struct rsm_import_connect_reply first, second;

/* A segment of one process and two connections of another. */
static int set_up(void **state)
{
    (void)state;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    daemon_start(&daemon_1, NULL, NULL);
    table = gentable_map(&daemon_1);
    exporter = peer_hello(&daemon_1);
    importer = peer_hello_as(&daemon_1, 2);
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE, .u.export_create = {"sci0", page, 0600}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    export_id = msg.u.export_create_reply;
    uint32_t extent = make_extent(exporter, page);
    assert_int_equal(publish(exporter, export_id.export_id, 50, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 50, 6, &first), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 50, 6, &second), RSM_ST_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gentable_unmap(table);
    close(exporter);
    close(importer);
    daemon_stop(&daemon_1);
    return 0;
}

static enum rsm_status ask_end(int socket, uint32_t type, uint32_t end, uint32_t id,
                               uint32_t argument, struct rsm_msg *msg, struct rsm_packet_fds *fds)
{
    *msg = (struct rsm_msg){.type = type};
    if (type == RSM_MSG_EVENT_OPEN)
        msg->u.event_open = (struct rsm_event_open_request){end, id};
    else if (type == RSM_MSG_EVENT_RECEIVERS)
        msg->u.event_peers = (struct rsm_event_receivers_request){end, id, argument};
    else
        msg->u.event_doorbell = (struct rsm_event_doorbell_request){end, id, argument};
    return ask_with(socket, msg, NULL, fds);
}

/* The identity of the one descriptor, which is closed. */
static ino_t inode_of(struct rsm_packet_fds *fds)
{
    struct stat what;
    assert_int_equal(fds->count, 1);
    assert_int_equal(fstat(fds->fds[0], &what), 0);
    rsm_packet_fds_close(fds);
    return what.st_ino;
}

static void a_cell_is_sealed_and_writable(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    assert_int_equal(
        ask_end(exporter, RSM_MSG_EVENT_OPEN, RSM_EVENT_EXPORT, export_id.export_id, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    struct rsm_event_counter *cell =
        mmap(NULL, sizeof *cell, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(cell, MAP_FAILED);
    assert_int_equal(atomic_fetch_add(&cell->pending, 1), 0);
    munmap(cell, sizeof *cell);
    assert_int_equal(ftruncate(fds.fds[0], 0), -1);
    assert_int_equal(ftruncate(fds.fds[0], 1 << 20), -1);
    assert_int_equal(fcntl(fds.fds[0], F_ADD_SEALS, F_SEAL_WRITE), -1);
    rsm_packet_fds_close(&fds);
}

static void both_ends_get_the_same_cell(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    /* A post before the owner looks must not be lost: the counter lives from then on. */
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(msg.u.event_peers_reply.total, 1);
    assert_int_equal(msg.u.event_peers_reply.count, 1);
    assert_int_equal(msg.u.event_peers_reply.peers[0], 0);
    assert_int_equal(msg.u.event_peers_reply.epoch, first.generation);
    ino_t seen = inode_of(&fds);
    assert_int_equal(
        ask_end(exporter, RSM_MSG_EVENT_OPEN, RSM_EVENT_EXPORT, export_id.export_id, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(inode_of(&fds), seen);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_IMPORT, first.import, 1, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(msg.u.event_peers_reply.total, 1);
    assert_int_equal(msg.u.event_peers_reply.count, 0);
    assert_int_equal(fds.count, 0);
}

static void the_exporter_reaches_all_connections(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    struct rsm_event_receivers_reply *reply = &msg.u.event_peers_reply;
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->total, 2);
    assert_int_equal(reply->count, 2);
    assert_int_equal(fds.count, 2);
    assert_int_equal(reply->peers[0], first.import);
    assert_int_equal(reply->peers[1], second.import);
    assert_int_equal(reply->epoch, slot_value(table, export_id.epoch_slot));
    uint32_t epoch = reply->epoch;
    rsm_packet_fds_close(&fds);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 1, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->count, 1);
    assert_int_equal(reply->peers[0], second.import);
    ino_t cell = inode_of(&fds);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_OPEN, RSM_EVENT_IMPORT, second.import, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(inode_of(&fds), cell);
    assert_int_equal(disconnect(importer, first.import), RSM_ST_OK);
    assert_int_not_equal(slot_value(table, export_id.epoch_slot), epoch);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->total, 1);
    assert_int_equal(reply->peers[0], second.import);
    rsm_packet_fds_close(&fds);
}

static void many_connections_are_paged(void **state)
{
    (void)state;
    enum { MORE = 100 };
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    struct rsm_import_connect_reply import;
    uint32_t names[MORE + 2], seen = 0;
    for (int i = 0; i < MORE; i++)
        assert_int_equal(connect_on(importer, "sci0", 1, 50, 0, &import), RSM_ST_OK);
    while (seen < MORE + 2) {
        assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                                 export_id.export_id, seen, &msg, &fds),
                         RSM_ST_OK);
        const struct rsm_event_receivers_reply *reply = &msg.u.event_peers_reply;
        assert_int_equal(reply->total, MORE + 2);
        assert_in_range(reply->count, 1, RSM_PROTO_COUNTERS_MAX);
        assert_int_equal(fds.count, reply->count);
        for (uint32_t i = 0; i < reply->count; i++)
            names[seen++] = reply->peers[i];
        rsm_packet_fds_close(&fds);
    }
    for (uint32_t i = 1; i < seen; i++)
        assert_true(names[i] > names[i - 1]);
}

static void peers_after_the_end(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    assert_int_equal(unpublish(exporter, export_id.export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(msg.u.event_peers_reply.total, 0);
    assert_int_equal(fds.count, 0);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_OPEN, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_NOT_FOUND);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(msg.u.event_peers_reply.total, 0);
}

static void handles_of_others(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    int stranger = peer_hello(&daemon_1);
    static const uint32_t types[] = {RSM_MSG_EVENT_OPEN, RSM_MSG_EVENT_RECEIVERS,
                                     RSM_MSG_EVENT_DOORBELL};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t t = types[i];
        assert_int_equal(ask_end(stranger, t, RSM_EVENT_EXPORT, export_id.export_id, 0, &msg, &fds),
                         RSM_ST_NOT_FOUND);
        assert_int_equal(ask_end(stranger, t, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
                         RSM_ST_NOT_FOUND);
        assert_int_equal(ask_end(exporter, t, RSM_EVENT_IMPORT, export_id.export_id, 0, &msg, &fds),
                         RSM_ST_NOT_FOUND);
        assert_int_equal(ask_end(exporter, t, 6, export_id.export_id, 0, &msg, &fds),
                         RSM_ST_INVALID);
        /* A client of another node has no exports here. */
        assert_int_equal(ask_end(importer, t, RSM_EVENT_EXPORT, export_id.export_id, 0, &msg, &fds),
                         RSM_ST_DENIED);
    }
    close(stranger);
}

/* The read end and the owner's write end. */
static enum rsm_status arm(int socket, uint32_t end, uint32_t id, struct rsm_packet_fds *ends)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_ARM, .u.event_arm = {end, id}};
    return ask_with(socket, &msg, NULL, ends);
}

static void expect_pipe(const struct rsm_packet_fds *ends)
{
    struct stat one, other;
    assert_int_equal(ends->count, 2);
    assert_int_equal(fcntl(ends->fds[0], F_GETFL) & (O_ACCMODE | O_NONBLOCK),
                     O_RDONLY | O_NONBLOCK);
    assert_int_equal(fcntl(ends->fds[1], F_GETFL) & (O_ACCMODE | O_NONBLOCK),
                     O_WRONLY | O_NONBLOCK);
    assert_int_equal(fstat(ends->fds[0], &one), 0);
    assert_int_equal(fstat(ends->fds[1], &other), 0);
    assert_true(S_ISFIFO(one.st_mode));
    assert_int_equal(one.st_ino, other.st_ino);
}

/* Wait for a byte in a pipe that was kicked. */
static void expect_byte(int read_end)
{
    char byte = 0;
    assert_int_equal(read(read_end, &byte, 1), 1);
    assert_int_equal(byte, 'k');
}

static void pipes_are_passed_on(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds, ends;
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_NOT_FOUND);
    assert_int_equal(arm(exporter, RSM_EVENT_EXPORT, export_id.export_id, &ends), RSM_ST_OK);
    expect_pipe(&ends);
    /* The owner writes, too, and what it does to its own end is felt by nobody. */
    assert_int_equal(write(ends.fds[1], "k", 1), 1);
    expect_byte(ends.fds[0]);
    assert_int_equal(fcntl(ends.fds[1], F_SETFL, 0), 0);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_IMPORT, first.import, 1, &msg, &fds),
        RSM_ST_NOT_FOUND);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    /* A description of its own, so that its flags are not the owner's. */
    assert_int_equal(fcntl(fds.fds[0], F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY | O_NONBLOCK);
    assert_int_equal(write(fds.fds[0], "k", 1), 1);
    rsm_packet_fds_close(&fds);
    expect_byte(ends.fds[0]);
    /* A pipe that nobody can read any more is none. */
    rsm_packet_fds_close(&ends);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_NOT_FOUND);
}

static void pipes_of_imports(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds, ends;
    char byte;
    assert_int_equal(arm(importer, RSM_EVENT_IMPORT, second.import, &ends), RSM_ST_OK);
    int replaced = ends.fds[0];
    close(ends.fds[1]);
    assert_int_equal(arm(importer, RSM_EVENT_IMPORT, second.import, &ends), RSM_ST_OK);
    expect_pipe(&ends);
    assert_int_equal(read(replaced, &byte, 1), 0);
    close(replaced);
    close(ends.fds[1]);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_EXPORT,
                             export_id.export_id, first.import, &msg, &fds),
                     RSM_ST_NOT_FOUND);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_EXPORT,
                             export_id.export_id, second.import, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(write(fds.fds[0], "k", 1), 1);
    rsm_packet_fds_close(&fds);
    expect_byte(ends.fds[0]);
    /* With the handle the daemon's end goes. */
    assert_int_equal(disconnect(importer, second.import), RSM_ST_OK);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_EXPORT,
                             export_id.export_id, second.import, &msg, &fds),
                     RSM_ST_NOT_FOUND);
    assert_int_equal(read(ends.fds[0], &byte, 1), 0);
    close(ends.fds[0]);
}

/* Descriptors of the daemon, but for so many. */
static void leave_descriptors(const struct rlimit *usual, rlim_t left)
{
    struct rlimit few = *usual;
    few.rlim_cur = left;
    assert_int_equal(prlimit(daemon_1.pid, RLIMIT_NOFILE, &few, NULL), 0);
}

/* An importer for which no counter can be made misses the event and is told; the others get it. */
static void an_importer_without_counter(void **state)
{
    (void)state;
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    struct rlimit usual;
    const struct rsm_event_receivers_reply *reply = &msg.u.event_peers_reply;
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_OPEN, RSM_EVENT_IMPORT, second.import, 0, &msg, &fds),
        RSM_ST_OK);
    ino_t cell = inode_of(&fds);
    assert_int_equal(prlimit(daemon_1.pid, RLIMIT_NOFILE, NULL, &usual), 0);
    leave_descriptors(&usual, 0);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->total, 2);
    assert_int_equal(reply->count, 2);
    assert_int_equal(reply->peers[0], 0);
    assert_int_equal(reply->peers[1], second.import);
    assert_int_equal(inode_of(&fds), cell);
    uint32_t epoch = reply->epoch;
    leave_descriptors(&usual, usual.rlim_cur);
    /* Once, and then it has one, which posters look for again. */
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_OPEN, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_NO_RESOURCES);
    assert_int_not_equal(slot_value(table, export_id.epoch_slot), epoch);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_OPEN, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    cell = inode_of(&fds);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->peers[0], first.import);
    assert_int_equal(fds.count, 2);
    close(fds.fds[1]);
    fds.count = 1;
    assert_int_equal(inode_of(&fds), cell);
}

int main(void)
{
#define EVENT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EVENT_TEST(a_cell_is_sealed_and_writable),
        EVENT_TEST(both_ends_get_the_same_cell),
        EVENT_TEST(the_exporter_reaches_all_connections),
        EVENT_TEST(many_connections_are_paged),
        EVENT_TEST(peers_after_the_end),
        EVENT_TEST(handles_of_others),
        EVENT_TEST(pipes_are_passed_on),
        EVENT_TEST(pipes_of_imports),
        EVENT_TEST(an_importer_without_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
