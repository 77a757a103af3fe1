/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fabric tells of importers, through a transport from outside. */
#include "outside.h"
#include "peer.h"

static struct daemon daemon_1;
static const struct rsm_generation_table *table;
static char fifo_path[80], configuration[256];
static int fifo, exporter, importer;
static uint32_t export_id;
static struct rsm_import_connect_reply first, second;

static void set_up_with(const char *options, const char *cluster)
{
    char directory[64];
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    directory_make(directory);
    snprintf(fifo_path, sizeof fifo_path, "%s.fifo", directory);
    assert_int_equal(mkfifo(fifo_path, 0600), 0);
    snprintf(configuration, sizeof configuration,
             "%s[controller sci0]\ntransport = news\ndevice = %s\n%s", cluster, fifo_path, options);
    daemon_start_in(&daemon_1, directory, 1, configuration, NULL);
    fifo = open(fifo_path, O_WRONLY | O_CLOEXEC);
    assert_true(fifo >= 0);
    table = gentable_map(&daemon_1);
    exporter = peer_hello(&daemon_1);
    importer = peer_hello_as(&daemon_1, 2);
    export_id = publish_page(exporter, 0x700, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x700, 6, &first), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x700, 6, &second), RSM_ST_OK);
    assert_string_equal(first.transport, "news");
}

static int set_up(void **state)
{
    set_up_with("", "");
    return 0;
}

/* Offers end when the test says so. */
static int set_up_later(void **state)
{
    set_up_with("options = later\n", "[limits]\npeer-timeout-ms = 60000\n");
    return 0;
}

/* ... or soon. */
static int set_up_never(void **state)
{
    set_up_with("options = later\n", "[limits]\npeer-timeout-ms = 400\n");
    return 0;
}

static int tear_down(void **state)
{
    close(exporter);
    close(importer);
    close(fifo);
    gentable_unmap(table);
    daemon_stop(&daemon_1);
    assert_int_equal(unlink(fifo_path), 0);
    return 0;
}

static void tell(struct news_order order)
{
    assert_int_equal(write(fifo, &order, sizeof order), sizeof order);
}

static struct rsm_event_counter *open_cell(void)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN,
                          .u.event_open = {.end = RSM_EVENT_EXPORT, .id = export_id}};
    assert_int_equal(ask_with(exporter, &msg, NULL, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    struct rsm_event_counter *cell =
        mmap(NULL, sizeof *cell, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(cell, MAP_FAILED);
    rsm_packet_fds_close(&fds);
    return cell;
}

/* Orders are carried out in order, so a count that the last one leads to is the end of it. */
static void await_pending(const struct rsm_event_counter *cell, uint32_t wanted)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; atomic_load(&cell->pending) != wanted; waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

#define FABRIC_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

FABRIC_TEST(signals_reach_the_exporter)
{
    tell((struct news_order){.offer = 0, .count = 3}); /* nobody has looked at the counter yet */
    struct rsm_event_counter *cell = open_cell();
    await_pending(cell, 3);
    tell((struct news_order){.offer = 1, .count = 2});
    tell((struct news_order){.offer = 1, .count = 5, .coalesced = true});
    tell((struct news_order){.offer = 0, .count = 1});
    await_pending(cell, 6);
    atomic_store(&cell->pending, 0);
    tell((struct news_order){.offer = 1, .count = 5, .coalesced = true});
    tell((struct news_order){.offer = 9, .count = 1}); /* no such offer */
    tell((struct news_order){.offer = 1, .count = UINT32_MAX});
    await_pending(cell, UINT32_MAX);
    munmap(cell, sizeof *cell);
}

FABRIC_TEST(a_doorbell_is_rung_once)
{
    char bytes[4];
    struct rsm_event_counter *cell = open_cell();
    struct rsm_packet_fds ends;
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_ARM,
                          .u.event_arm = {.end = RSM_EVENT_EXPORT, .id = export_id}};
    assert_int_equal(ask_with(exporter, &msg, NULL, &ends), RSM_ST_OK);
    atomic_store(&cell->armed, 1);
    tell((struct news_order){.offer = 0, .count = 1});
    struct pollfd readable = {.fd = ends.fds[0], .events = POLLIN};
    assert_int_equal(poll(&readable, 1, PEER_WAIT_MS), 1);
    tell((struct news_order){.offer = 0, .count = 1});
    await_pending(cell, 2);
    /* It answers when it is done with the signal. */
    msg = (struct rsm_msg){.type = RSM_MSG_LOCATE};
    assert_int_equal(ask(exporter, &msg), RSM_ST_NO_CONTROLLER);
    assert_int_equal(recv(ends.fds[0], bytes, sizeof bytes, 0), 1);
    assert_int_equal(recv(ends.fds[0], bytes, sizeof bytes, 0), -1);
    assert_int_equal(errno, EAGAIN);
    rsm_packet_fds_close(&ends);
    munmap(cell, sizeof *cell);
}

FABRIC_TEST(a_lost_importer_is_aborted)
{
    tell((struct news_order){.offer = 1, .lost = true});
    await_move(table, second.slot, second.generation);
    assert_int_equal(slot_value(table, first.slot), first.generation);
    struct rsm_event_counter *cell = open_cell();
    /* What is told of it later is about nobody. */
    tell((struct news_order){.offer = 1, .count = 7});
    tell((struct news_order){.offer = 1, .lost = true});
    tell((struct news_order){.offer = 0, .count = 1});
    await_pending(cell, 1);
    munmap(cell, sizeof *cell);
    assert_int_equal(disconnect(importer, second.import), RSM_ST_OK);
    assert_int_equal(disconnect(importer, first.import), RSM_ST_OK);
    uint32_t offered;
    assert_int_equal(unpublish(exporter, export_id, 0, &offered), RSM_ST_OK);
    tell((struct news_order){.offer = 0, .count = 1});
    assert_int_equal(destroy(exporter, export_id, NULL), RSM_ST_OK);
}

/* The controller has other ports, by which the rest is connected. */
FABRIC_TEST(a_part_without_link_loses_its_importers)
{
    tell((struct news_order){.kind = NEWS_OF_PART, .offer = 1});
    await_move(table, second.slot, second.generation);
    assert_int_equal(slot_value(table, first.slot), first.generation);
    struct rsm_import_connect_reply third;
    assert_int_equal(connect_on(importer, "sci0", 1, 0x700, 6, &third), RSM_ST_OK);
}

FABRIC_TEST(importers_and_exporters_leave)
{
    tell((struct news_order){.offer = 0, .count = 1});
    close(exporter);
    await_move(table, first.slot, first.generation);
    tell((struct news_order){.offer = 0, .count = 1});
    tell((struct news_order){.offer = 1, .lost = true});
    exporter = peer_hello(&daemon_1); /* it still serves */
}

static uint32_t topology_generation(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_TOPOLOGY};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    return msg.u.topology_reply.generation;
}

/* The generation moves with each report that changes something, and with no other. */
static void await_generation(uint32_t wanted)
{
    struct timespec pause = {.tv_nsec = 1000000};
    uint32_t seen;
    for (int waited = 0; (seen = topology_generation()) != wanted; waited++) {
        assert_true(waited < PEER_WAIT_MS && seen < wanted);
        nanosleep(&pause, NULL);
    }
}

FABRIC_TEST(reports_of_link_and_nodes_arrive)
{
    uint32_t before = topology_generation();
    struct news_order node = {.kind = NEWS_OF_NODE, .node = 3, .up = true, .epoch = 1};
    tell(node);
    await_generation(before + 1);
    tell(node);
    node.epoch = 2;
    tell(node);
    await_generation(before + 2);
    node.up = false;
    tell(node);
    tell(node);
    node.node = 1; /* itself, and what can be no node */
    tell(node);
    node.node = UINT32_MAX;
    tell(node);
    node.node = 0;
    tell(node);
    tell((struct news_order){.kind = NEWS_OF_LINK, .up = true}); /* as it was */
    tell((struct news_order){.kind = NEWS_OF_LINK, .up = false});
    await_generation(before + 4);
    /* Who connects on this host goes on. */
    assert_int_equal(slot_value(table, first.slot), first.generation);
    assert_int_equal(disconnect(importer, first.import), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x700, 6, &first), RSM_ST_OK);
}

/* ------------------------------------------------------------------ offers that end later */

static void begin_unpublish(void)
{
    uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .sequence = 77,
                          .u.export_unpublish.export_id = export_id};
    size_t length = rsm_msg_encode(&msg, bytes, sizeof bytes);
    assert_int_equal(rsm_packet_send(exporter, bytes, length, NULL, 1), 0);
    await_move(table, first.slot, first.generation); /* the importers see it at once */
    await_move(table, second.slot, second.generation);
}

static bool is_answered(void)
{
    struct pollfd readable = {.fd = exporter, .events = POLLIN};
    return poll(&readable, 1, 20) == 1;
}

static void take_answer(void)
{
    uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg reply;
    await_readable(exporter);
    ssize_t length = rsm_packet_receive(exporter, bytes, sizeof bytes, NULL, NULL);
    assert_true(length > 0);
    assert_int_equal(rsm_msg_decode(&reply, bytes, (size_t)length), RSM_ST_OK);
    assert_int_equal(reply.type, RSM_MSG_EXPORT_UNPUBLISH | RSM_MSG_REPLY);
    assert_int_equal(reply.sequence, 77);
    assert_int_equal(reply.status, RSM_ST_OK);
}

#define LATER_TEST(name) TEST_BETWEEN(name, set_up_later, tear_down)

LATER_TEST(an_unpublish_waits_alone)
{
    begin_unpublish();
    assert_false(is_answered());
    (void)publish_page(exporter, 0x701, 0600); /* its other requests go on */
    assert_int_equal(connect_on(importer, "sci0", 1, 0x701, 6, NULL), RSM_ST_OK);
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 1});
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 1}); /* it has gone */
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 2}); /* it is not ending */
    tell((struct news_order){.offer = 0, .lost = true});        /* it is ending */
    assert_false(is_answered());
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 0});
    take_answer();
    assert_int_equal(destroy(exporter, export_id, NULL), RSM_ST_OK);
}

LATER_TEST(an_exporter_dies_while_it_waits)
{
    begin_unpublish();
    close(exporter);
    exporter = peer_hello(&daemon_1);
    export_id = publish_page(exporter, 0x700, 0600); /* the same id, of another process */
    assert_int_equal(connect_on(importer, "sci0", 1, 0x700, 6, NULL), RSM_ST_OK);
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 0});
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 1});
    (void)topology_generation(); /* it still serves */
}

/* daemon_end() asserts that it ends in order, and the transport that all offers have ended. */
LATER_TEST(a_daemon_ends_while_an_unpublish_waits)
{
    begin_unpublish();
    assert_false(is_answered());
}

/* What a successor reads again; it has been removed after the start. */
static void write_configuration(char path[80])
{
    snprintf(path, 80, "%s.conf", daemon_1.directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(configuration, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The successor knows nothing of them. */
LATER_TEST(a_daemon_hands_over_while_an_unpublish_waits)
{
    char path[80];
    write_configuration(path);
    begin_unpublish();
    assert_false(is_answered());
    assert_int_equal(kill(daemon_1.pid, SIGUSR2), 0);
    take_answer();
    expect_hangup(exporter); /* the transport does not take part */
    close(exporter);
    exporter = peer_hello(&daemon_1);
    (void)topology_generation();
    assert_int_equal(unlink(path), 0);
}

TEST_BETWEEN(silence_ends_in_time, set_up_never, tear_down)
{
    begin_unpublish();
    take_answer();
    tell((struct news_order){.kind = NEWS_OF_END, .offer = 0}); /* too late */
    assert_int_equal(destroy(exporter, export_id, NULL), RSM_ST_OK);
}
