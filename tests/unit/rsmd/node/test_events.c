/* SPDX-License-Identifier: BSD-3-Clause */
/* Event cells and pipes: who gets which. */
#include "peer.h"

static struct daemon daemon_1;
static const struct rsm_generation_table *table;
static int exporter, importer;
static struct rsm_export_create_reply export_id;
static struct rsm_import_connect_reply first, second;

/* A segment of one process and two connections of another. */
static int set_up(void **state)
{
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
        msg->u.event_receivers = (struct rsm_event_receivers_request){end, id, argument};
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

#define EVENT_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

EVENT_TEST(a_cell_is_sealed_and_writable)
{
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

EVENT_TEST(both_ends_get_the_same_cell)
{
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    /* A post before the owner looks must not be lost: the counter lives from then on. */
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(msg.u.event_receivers_reply.total, 1);
    assert_int_equal(msg.u.event_receivers_reply.count, 1);
    assert_int_equal(msg.u.event_receivers_reply.receivers[0], 0);
    assert_int_equal(msg.u.event_receivers_reply.epoch, first.generation);
    ino_t seen = inode_of(&fds);
    assert_int_equal(
        ask_end(exporter, RSM_MSG_EVENT_OPEN, RSM_EVENT_EXPORT, export_id.export_id, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(inode_of(&fds), seen);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_IMPORT, first.import, 1, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(msg.u.event_receivers_reply.total, 1);
    assert_int_equal(msg.u.event_receivers_reply.count, 0);
    assert_int_equal(fds.count, 0);
}

EVENT_TEST(the_exporter_reaches_all_connections)
{
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    struct rsm_event_receivers_reply *reply = &msg.u.event_receivers_reply;
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->total, 2);
    assert_int_equal(reply->count, 2);
    assert_int_equal(fds.count, 2);
    assert_int_equal(reply->receivers[0], first.import);
    assert_int_equal(reply->receivers[1], second.import);
    assert_int_equal(reply->epoch, slot_value(table, export_id.epoch_slot));
    uint32_t epoch = reply->epoch;
    rsm_packet_fds_close(&fds);
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 1, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->count, 1);
    assert_int_equal(reply->receivers[0], second.import);
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
    assert_int_equal(reply->receivers[0], second.import);
    rsm_packet_fds_close(&fds);
}

EVENT_TEST(many_connections_are_paged)
{
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
        const struct rsm_event_receivers_reply *reply = &msg.u.event_receivers_reply;
        assert_int_equal(reply->total, MORE + 2);
        assert_in_range(reply->count, 1, RSM_PROTO_COUNTERS_MAX);
        assert_int_equal(fds.count, reply->count);
        for (uint32_t i = 0; i < reply->count; i++)
            names[seen++] = reply->receivers[i];
        rsm_packet_fds_close(&fds);
    }
    for (uint32_t i = 1; i < seen; i++)
        assert_true(names[i] > names[i - 1]);
}

EVENT_TEST(peers_after_the_end)
{
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    assert_int_equal(unpublish(exporter, export_id.export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_IMPORT, first.import, 0, &msg, &fds),
        RSM_ST_OK);
    assert_int_equal(msg.u.event_receivers_reply.total, 0);
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
    assert_int_equal(msg.u.event_receivers_reply.total, 0);
}

EVENT_TEST(handles_of_others)
{
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

static enum rsm_status get_end(int socket, uint32_t end, uint32_t id, uint32_t ringing, int *fd)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_ARM, .u.event_arm = {end, id, ringing}};
    enum rsm_status status = ask_with(socket, &msg, NULL, &fds);
    assert_int_equal(fds.count, status == RSM_ST_OK);
    if (status == RSM_ST_OK)
        *fd = fds.fds[0];
    return status;
}

/* The end that is polled and the one that rings. */
static void arm(int socket, uint32_t end, uint32_t id, int ends[2])
{
    assert_int_equal(get_end(socket, end, id, 0, &ends[0]), RSM_ST_OK);
    assert_int_equal(get_end(socket, end, id, 1, &ends[1]), RSM_ST_OK);
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static short polled(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN | POLLRDNORM};
    assert_in_range(poll(&entry, 1, 0), 0, 1);
    return entry.revents;
}

static void expect_rung(int fd)
{
    char byte;
    assert_int_equal(polled(fd), POLLIN | POLLRDNORM);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 1);
    assert_int_equal(polled(fd), 0);
}

static enum rsm_status ring_exporter(uint32_t peer)
{
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    enum rsm_status status =
        ask_end(importer, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_IMPORT, first.import, peer, &msg, &fds);
    assert_int_equal(fds.count, 0);
    return status;
}

static enum rsm_status ring_importer(uint32_t peer)
{
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    enum rsm_status status = ask_end(exporter, RSM_MSG_EVENT_DOORBELL, RSM_EVENT_EXPORT,
                                     export_id.export_id, peer, &msg, &fds);
    assert_int_equal(fds.count, 0);
    return status;
}

EVENT_TEST(doorbells_are_rung)
{
    int ends[2];
    assert_int_equal(get_end(exporter, RSM_EVENT_EXPORT, export_id.export_id, 1, &ends[1]),
                     RSM_ST_NOT_FOUND);
    assert_int_equal(get_end(exporter, RSM_EVENT_EXPORT, export_id.export_id, 2, &ends[1]),
                     RSM_ST_INVALID);
    assert_int_equal(ring_exporter(0), RSM_ST_NOT_FOUND);
    arm(exporter, RSM_EVENT_EXPORT, export_id.export_id, ends);
    assert_int_equal(polled(ends[0]), 0);
    assert_int_equal(send(ends[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL), 1);
    expect_rung(ends[0]);
    assert_int_equal(ring_exporter(1), RSM_ST_NOT_FOUND);
    assert_int_equal(ring_exporter(0), RSM_ST_OK);
    expect_rung(ends[0]);
    /* One that is full is rung. */
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(ring_exporter(0), RSM_ST_OK);
    assert_int_equal(polled(ends[0]), POLLIN | POLLRDNORM);
    /* One that nobody polls any more is none. */
    close_both(ends);
    assert_int_equal(ring_exporter(0), RSM_ST_NOT_FOUND);
}

EVENT_TEST(doorbells_of_imports)
{
    int replaced[2], ends[2];
    arm(importer, RSM_EVENT_IMPORT, second.import, replaced);
    arm(importer, RSM_EVENT_IMPORT, second.import, ends);
    assert_int_equal(ring_importer(first.import), RSM_ST_NOT_FOUND);
    assert_int_equal(ring_importer(second.import), RSM_ST_OK);
    expect_rung(ends[0]);
    assert_int_equal(polled(replaced[0]), 0);
    close_both(replaced);
    /* With the handle the daemon's end goes; the owner has one, so that nothing comes. */
    assert_int_equal(disconnect(importer, second.import), RSM_ST_OK);
    assert_int_equal(ring_importer(second.import), RSM_ST_NOT_FOUND);
    assert_int_equal(polled(ends[0]), 0);
    close_both(ends);
}

/* Whoever has the end that is polled cannot leave anything where the daemon would have to close it: not in
 * its end, and not in that one while the daemon has it. */
EVENT_TEST(nothing_is_left_in_a_doorbell)
{
    int ends[2];
    struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
    msg.msg_controllen = sizeof control.bytes;
    arm(exporter, RSM_EVENT_EXPORT, export_id.export_id, ends);
    assert_int_equal(sendmsg(ends[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(send(ends[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    /* It has no other peer, for good. */
    assert_int_equal(connect(ends[0], &nobody, sizeof nobody), -1);
    assert_int_equal(shutdown(ends[1], SHUT_RD), 0);
    assert_int_equal(send(ends[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
    close_both(ends);
}

/* Descriptors of the daemon, but for so many. */
static void leave_descriptors(const struct rlimit *usual, rlim_t left)
{
    struct rlimit few = *usual;
    few.rlim_cur = left;
    assert_int_equal(prlimit(daemon_1.pid, RLIMIT_NOFILE, &few, NULL), 0);
}

/* So many descriptors that the daemon gets no further one. It has more than 0, because the kernel lets a
 * daemon without privileges pass on none while as many of its user's as that are under way: of any
 * process. */
static rlim_t all_in_use(void)
{
    char path[64];
    for (unsigned fd = 0;; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)daemon_1.pid, fd);
        if (access(path, F_OK) != 0 && errno == ENOENT)
            return fd;
    }
}

/* An importer for which no counter can be made misses the event and is told; the others get it. */
EVENT_TEST(an_importer_without_counter)
{
    struct rsm_msg msg;
    struct rsm_packet_fds fds;
    struct rlimit usual;
    const struct rsm_event_receivers_reply *reply = &msg.u.event_receivers_reply;
    assert_int_equal(
        ask_end(importer, RSM_MSG_EVENT_OPEN, RSM_EVENT_IMPORT, second.import, 0, &msg, &fds),
        RSM_ST_OK);
    ino_t cell = inode_of(&fds);
    assert_int_equal(prlimit(daemon_1.pid, RLIMIT_NOFILE, NULL, &usual), 0);
    leave_descriptors(&usual, all_in_use());
    assert_int_equal(ask_end(exporter, RSM_MSG_EVENT_RECEIVERS, RSM_EVENT_EXPORT,
                             export_id.export_id, 0, &msg, &fds),
                     RSM_ST_OK);
    assert_int_equal(reply->total, 2);
    assert_int_equal(reply->count, 2);
    assert_int_equal(reply->receivers[0], 0);
    assert_int_equal(reply->receivers[1], second.import);
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
    assert_int_equal(reply->receivers[0], first.import);
    assert_int_equal(fds.count, 2);
    close(fds.fds[1]);
    fds.count = 1;
    assert_int_equal(inode_of(&fds), cell);
}
