/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No step of rsmd's loop takes long, however long the lists are that one user's share allows. Each
 * case makes one kind of list as long as it may be, with a daemon of its own, and then has all that
 * is done to it. The daemon measures its steps in processor time, so that a loaded machine does not
 * count. The figures are printed.
 */
#include "descriptors.h"
#include "users.h"

enum {
    STEP_MAX_US = 50000,
    FILES = 20000, /* of the daemon: bound for records and interrupts */
    SEGMENT = 0x720000,
    NUMBER = 77,
    LIST_MAX = 65536,
    ATTACH_MAX = 2000, /* beyond what is allowed */
    SHARERS_TRIED = FILES / 3 * 2,
};

static int watcher, exporter, importer;
static uint32_t ids[LIST_MAX];

static int start(void **state)
{
    start_with_files(&daemon_1, "[controller sci0]\ntransport = shm\n", FILES);
    watcher = hello_as(&daemon_1, 0);
    exporter = hello_as(&daemon_1, GREEDY);
    importer = hello_as(&daemon_1, GREEDY);
    return 0;
}

static int stop(void **state)
{
    close(watcher);
    close(exporter);
    close(importer);
    daemon_stop(&daemon_1);
    return 0;
}

/* Of all steps so far. */
static void judge(const char *what, unsigned count)
{
    uint64_t longest = inspect_exports(watcher).longest_step_us;
    print_message("%s, %u: the longest step took %u.%03u ms\n", what, count,
                  (unsigned)(longest / 1000), (unsigned)(longest % 1000));
    assert_in_range(longest, 0, STEP_MAX_US);
}

static void await_segments(uint32_t count)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int waited = 0; inspect_exports(watcher).segments != count; waited += 5) {
        assert_in_range(waited, 0, 3 * PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

/* Connect until the share is used up, or there are so many. */
static unsigned connect_many(unsigned most)
{
    unsigned count = 0;
    struct rsm_import_connect_reply reply;
    while (count < most &&
           connect_on(importer, "sci0", 1, SEGMENT, RSM_RIGHT_READ, &reply) == RSM_ST_OK)
        ids[count++] = reply.import;
    return count;
}

static bool open_events(int socket, uint32_t end, uint32_t id)
{
    struct rsm_packet_fds fds = {.count = 0};
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {.end = end, .id = id}};
    bool opened = ask_with(socket, &msg, NULL, &fds) == RSM_ST_OK;
    rsm_packet_fds_close(&fds);
    return opened;
}

/* Records of so many connections as there are descriptors for. */
static unsigned ask_for_records(unsigned count)
{
    unsigned with = 0;
    while (with < count && open_events(importer, RSM_EVENT_IMPORT_RECORDS, ids[with]))
        with++;
    return with;
}

/* A segment with a claimed id, which another process of its user shares and hears of. */
static uint32_t publish_shared(void)
{
    uint32_t extent;
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci0",
                                              .length = page,
                                              .mode = 0666,
                                              .want_extent = 1,
                                              .claim = RSM_CLAIM_ID,
                                              .segment_id = SEGMENT}};
    assert_int_equal(ask_with(exporter, &msg, NULL, &fds), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    uint32_t id = msg.u.export_create_reply.export_id;
    extent = msg.u.export_create_reply.extent;
    assert_int_equal(publish(exporter, id, SEGMENT, extent, page, NULL, 0), RSM_ST_OK);
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_STATE,
                           .u.export_state = {.end = RSM_EVENT_EXPORT,
                                              .id = id,
                                              .from = RSM_SEGMENT_NEW,
                                              .to = RSM_SEGMENT_OPEN,
                                              .flags = RSM_STATE_SHARE}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    return id;
}

/* As many as may be; the first gets records. */
static unsigned attach_many(int socket)
{
    unsigned count = 0;
    for (; count < ATTACH_MAX; count++) {
        struct rsm_packet_fds fds = {.count = 0};
        struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                              .u.import_connect = {.controller = "sci0",
                                                   .node = 1,
                                                   .segment_id = SEGMENT,
                                                   .rights = RSM_RIGHT_READ,
                                                   .flags = RSM_CONNECT_ATTACH}};
        if (ask_with(socket, &msg, NULL, &fds) != RSM_ST_OK)
            break;
        rsm_packet_fds_close(&fds);
        assert_true(
            open_events(socket, RSM_EVENT_IMPORT_RECORDS, msg.u.import_connect_reply.import));
    }
    return count;
}

/* ------------------------------------------------------------------ segments */

#define TEST(test) TEST_BETWEEN(test, start, stop)

TEST(connections_of_a_shared_segment)
{
    uint32_t offered, id = publish_shared();
    unsigned attached = attach_many(importer);
    unsigned count = connect_many(LIST_MAX);
    assert_true(attached > 0 && count > 40000);
    judge("connects to a segment that others are attached to", count);
    assert_int_equal(destroy(exporter, id, &offered), RSM_ST_OK);
    assert_int_equal(inspect_exports(watcher).segments,
                     count + attached); /* they are cut, and still there */
    judge("destroyed with as many connections", count);

    close(importer);
    await_segments(0);
    importer = hello_as(&daemon_1, GREEDY);
    judge("the end of their client", count);
}

TEST(connections_that_ask_for_records)
{
    uint32_t offered, id = publish_page(exporter, SEGMENT, 0666);
    unsigned count = connect_many(FILES), with = ask_for_records(count);
    assert_true(with > FILES / 2);
    judge("records of connections", with);
    assert_int_equal(
        unpublish(exporter, id, RSM_UNPUBLISH_NOTIFY | RSM_UNPUBLISH_KEEP_CONNECTIONS, &offered),
        RSM_ST_OK);
    judge("unpublished, and told", with);
    for (unsigned i = 0; i < with; i += 1000) { /* who had to be told has been */
        struct rsm_msg msg = {.type = RSM_MSG_MAILBOX_TAKE,
                              .u.mailbox_take = {.end = RSM_EVENT_IMPORT_RECORDS, .id = ids[i]}};
        assert_int_equal(ask(importer, &msg), RSM_ST_OK);
        assert_int_equal(msg.u.mailbox_take_reply.count, 1);
        assert_int_equal(msg.u.mailbox_take_reply.entries[0].record.event, RSM_RECORD_UNAVAILABLE);
    }
    assert_int_equal(unpublish(exporter, id, RSM_UNPUBLISH_NOTIFY, &offered), RSM_ST_OK);
    judge("cut, and told", with);
    close(importer);
    await_segments(1);
    importer = hello_as(&daemon_1, GREEDY);
    judge("the end of their client", with);
}

TEST(the_id_of_one_whose_exporter_has_gone)
{
    publish_page(exporter, SEGMENT, 0666);
    unsigned count = connect_many(LIST_MAX);
    close(exporter);
    exporter = hello_as(&daemon_1, MODEST);
    publish_page(exporter, SEGMENT, 0666);
    judge("published under the id of one with as many connections", count);
}

/* ------------------------------------------------------------------ interrupts */

static enum rsm_status create_interrupt(int socket, uint32_t number, uint32_t flags, uint32_t *id)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_INTERRUPT_CREATE,
        .u.interrupt_create = {
            .kind = RSM_INTERRUPT_PLAIN, .number = number, .flags = flags, .mode = 0666}};
    enum rsm_status status = ask(socket, &msg);
    *id = msg.u.interrupt_create_reply.interrupt;
    return status;
}

TEST(interrupts_of_one_number)
{
    uint32_t group, id, count = 0;
    assert_int_equal(create_interrupt(exporter, NUMBER, RSM_INTERRUPT_SHARED, &group), RSM_ST_OK);
    while (count < SHARERS_TRIED &&
           create_interrupt(exporter, NUMBER, RSM_INTERRUPT_SHARED, &id) == RSM_ST_OK &&
           open_events(exporter, RSM_EVENT_INTERRUPT, id))
        count++;
    struct rsm_msg msg = {
        .type = RSM_MSG_INTERRUPT_TRIGGER,
        .u.interrupt_trigger = {
            .node = 1, .kind = RSM_INTERRUPT_PLAIN, .number = NUMBER, .interrupt = group}};
    assert_int_equal(ask(importer, &msg), RSM_ST_OK);
    judge("a trigger of interrupts that share a number", count);
    close(exporter);
    exporter = hello_as(&daemon_1, MODEST);
    while (create_interrupt(exporter, NUMBER, 0, &id) == RSM_ST_ID_IN_USE)
        usleep(1000);
    judge("their number taken by another user", count);
}

TEST(interrupts_of_many_numbers)
{
    uint32_t count = 0, id;
    while (create_interrupt(exporter, count + 1, 0, &id) == RSM_ST_OK)
        count++;
    assert_true(count > 40000);
    assert_int_equal(create_interrupt(importer, 0, RSM_INTERRUPT_ASSIGN_NUMBER, &id),
                     RSM_ST_NO_RESOURCES);
    assert_int_equal(create_interrupt(watcher, 0, RSM_INTERRUPT_ASSIGN_NUMBER, &id), RSM_ST_OK);
    judge("a number assigned behind as many", count);
    close(exporter);
    exporter = hello_as(&daemon_1, MODEST);
    for (id = 0; create_interrupt(exporter, 1, 0, &id) == RSM_ST_ID_IN_USE;)
        usleep(1000);
    judge("the end of their client", count);
}

/* ------------------------------------------------------------------ segments of one client */

TEST(segments_of_one_client)
{
    unsigned count = 0;
    while (create(exporter, 0) == RSM_ST_OK)
        count++;
    judge("segments made", count);
    assert_true(count > 40000);
    close(exporter);
    await_segments(0);
    exporter = hello_as(&daemon_1, GREEDY);
    judge("the end of their client", count);
}

TESTS_BETWEEN(need_root, NULL)
