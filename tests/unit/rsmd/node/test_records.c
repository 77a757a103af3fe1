/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of connections: what is kept, what a reader is told, what it costs, and what crosses to
 * other hosts. */
#include "pair.h"
#include "node/records.h"

static struct person neighbour;

static int set_up(void **state)
{
    hosts_begin(state);
    person_begin(&exporter, 1, 500);
    person_begin(&neighbour, 1, 600);
    person_begin(&importer, 2, 500);
    export_id = offer_page(&exporter, 0666);
    return 0;
}

static int tear_down(void **state)
{
    person_end(&importer);
    person_end(&neighbour);
    person_end(&exporter);
    deliver_all();
    assert_int_equal(hosts.node[1].shares.used[RSMD_RECORDS], 0);
    assert_int_equal(hosts.node[2].shares.used[RSMD_RECORDS], 0);
    return hosts_end(state);
}

static enum rsm_status open_records(struct person *person, uint32_t end, uint32_t id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {.end = end, .id = id}};
    return ask(person, &msg);
}

static enum rsm_status fetch_from(struct person *person, uint32_t end, uint32_t id, uint64_t after)
{
    struct rsm_msg msg = {.type = RSM_MSG_MAILBOX_TAKE,
                          .u.mailbox_take = {.end = end, .id = id, .after = after}};
    return ask(person, &msg);
}

/* The records that have come since; they are discarded. At most a page. */
static const struct rsm_mailbox_take_reply *fetch(struct person *person, uint32_t end, uint32_t id)
{
    static struct rsm_mailbox_take_reply page;
    deliver_all();
    assert_int_equal(fetch_from(person, end, id, 0), RSM_ST_OK);
    page = person->reply.u.mailbox_take_reply;
    if (page.count > 0)
        assert_int_equal(fetch_from(person, end, id, page.entries[page.count - 1].record.order),
                         RSM_ST_OK);
    return &page;
}

static void expect_exporters(enum rsm_record_event event, uint32_t node, uint32_t connection)
{
    const struct rsm_mailbox_take_reply *page =
        fetch(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id);
    assert_int_equal(page->count, 1);
    assert_int_equal(page->entries[0].record.event, event);
    assert_int_equal(page->entries[0].record.node, node);
    assert_int_equal(page->entries[0].record.connection, connection);
    assert_int_equal(page->entries[0].record.lost, 0);
}

static void expect_importers(uint32_t import, enum rsm_record_event event)
{
    const struct rsm_mailbox_take_reply *page = fetch(&importer, RSM_EVENT_IMPORT_RECORDS, import);
    assert_int_equal(page->count, 1);
    assert_int_equal(page->entries[0].record.event, event);
    assert_int_equal(page->entries[0].record.node, 1);
}

/* Connect; the connection's number at the exporter's node. */
static uint32_t connect_one(struct person *person)
{
    assert_int_equal(connect_to(person, 1, 6), RSM_ST_OK);
    struct rsmd_export *exported;
    HASH_FIND_INT(hosts.node[1].exports, &export_id, exported);
    assert_non_null(exported);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): asserted */
    return exported->grants->prev->importer->id; /* the last one */
}

static void disconnect_one(struct person *person, uint32_t import)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT, .u.import_disconnect.import = import};
    assert_int_equal(ask(person, &msg), RSM_ST_OK);
}

#define TEST(name) TEST_BETWEEN(name, set_up, tear_down)

TEST(only_who_asks_gets_records)
{
    assert_int_equal(fetch_from(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id, 0),
                     RSM_ST_NOT_FOUND);
    assert_int_equal(fetch_from(&exporter, RSM_EVENT_EXPORT, export_id, 0), RSM_ST_INVALID);
    assert_int_equal(open_records(&neighbour, RSM_EVENT_EXPORT_RECORDS, export_id),
                     RSM_ST_NOT_FOUND);
    struct rsm_msg arm = {.type = RSM_MSG_EVENT_ARM,
                          .u.event_arm = {.end = RSM_EVENT_EXPORT_RECORDS, .id = export_id}};
    assert_int_equal(ask(&exporter, &arm), RSM_ST_NOT_FOUND);
    (void)connect_one(&neighbour);
    assert_int_equal(open_records(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id), RSM_ST_OK);
    assert_int_equal(open_records(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id), RSM_ST_OK);
    assert_int_equal(fetch(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id)->count, 0);
    /* Nobody but rsmd posts there. */
    struct rsm_msg peers = {
        .type = RSM_MSG_EVENT_RECEIVERS,
        .u.event_receivers = {.end = RSM_EVENT_EXPORT_RECORDS, .id = export_id}};
    assert_int_equal(ask(&exporter, &peers), RSM_ST_INVALID);
    struct rsm_msg kick = {.type = RSM_MSG_EVENT_DOORBELL,
                           .u.event_doorbell = {.end = RSM_EVENT_EXPORT_RECORDS, .id = export_id}};
    assert_int_equal(ask(&exporter, &kick), RSM_ST_INVALID);
}

TEST(importers_of_other_hosts_are_told_apart)
{
    assert_int_equal(open_records(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id), RSM_ST_OK);
    uint32_t connection = connect_one(&importer);
    uint32_t import = importer.reply.u.import_connect_reply.import;
    expect_exporters(RSM_RECORD_CONNECTED, 2, connection);
    disconnect_one(&importer, import);
    expect_exporters(RSM_RECORD_DISCONNECTED, 2, connection);
    /* A process that ends without a word. */
    struct person mortal;
    person_begin(&mortal, 2, 500);
    connection = connect_one(&mortal);
    expect_exporters(RSM_RECORD_CONNECTED, 2, connection);
    person_end(&mortal);
    expect_exporters(RSM_RECORD_LOST, 2, connection);
    /* A link that goes. */
    connection = connect_one(&importer);
    expect_exporters(RSM_RECORD_CONNECTED, 2, connection);
    link_down(1, 2);
    expect_exporters(RSM_RECORD_LOST, 2, connection);
}

/* Whoever connects during the silence learns nothing of it, nor of its end. */
TEST(a_node_that_does_not_answer_for_now)
{
    assert_int_equal(open_records(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id), RSM_ST_OK);
    uint32_t connection = connect_one(&importer);
    uint32_t import = importer.reply.u.import_connect_reply.import;
    expect_exporters(RSM_RECORD_CONNECTED, 2, connection);
    assert_int_equal(open_records(&importer, RSM_EVENT_IMPORT_RECORDS, import), RSM_ST_OK);
    for (unsigned i = 0; i < 2; i++) {
        rsmd_remote_silent(&hosts.node[1], 2, true);
        rsmd_remote_silent(&hosts.node[2], 1, true);
        expect_exporters(RSM_RECORD_SILENT, 2, connection);
        expect_importers(import, RSM_RECORD_SILENT);
        uint32_t other = connect_one(&importer);
        uint32_t second = importer.reply.u.import_connect_reply.import;
        expect_exporters(RSM_RECORD_CONNECTED, 2, other);
        rsmd_remote_silent(&hosts.node[1], 2, false);
        rsmd_remote_silent(&hosts.node[2], 1, false);
        expect_exporters(RSM_RECORD_ANSWERS, 2, connection);
        expect_importers(import, RSM_RECORD_ANSWERS);
        disconnect_one(&importer, second);
        expect_exporters(RSM_RECORD_DISCONNECTED, 2, other);
    }
    /* Who asks later gets it, too. In the end the link goes. */
    (void)connect_one(&importer);
    uint32_t late = importer.reply.u.import_connect_reply.import;
    rsmd_remote_silent(&hosts.node[2], 1, true);
    expect_importers(import, RSM_RECORD_SILENT);
    assert_int_equal(open_records(&importer, RSM_EVENT_IMPORT_RECORDS, late), RSM_ST_OK);
    expect_importers(late, RSM_RECORD_SILENT);
    disconnect_one(&importer, late);
    while (fetch(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id)->count > 0)
        continue;
    link_down(1, 2);
    expect_importers(import, RSM_RECORD_LOST);
    expect_exporters(RSM_RECORD_LOST, 2, connection);
    rsmd_remote_silent(&hosts.node[2], 1, false);
    assert_int_equal(fetch(&importer, RSM_EVENT_IMPORT_RECORDS, import)->count, 0);
}

TEST(importers_learn_what_their_exporter_does)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {.export_id = export_id,
                               .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS | RSM_UNPUBLISH_NOTIFY}};
    (void)connect_one(&importer);
    uint32_t import = importer.reply.u.import_connect_reply.import;
    assert_int_equal(open_records(&importer, RSM_EVENT_IMPORT_RECORDS, import), RSM_ST_OK);
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    expect_importers(import, RSM_RECORD_UNAVAILABLE);
    msg =
        (struct rsm_msg){.type = RSM_MSG_EXPORT_DESTROY,
                         .u.export_destroy = {.export_id = export_id, .flags = RSM_DESTROY_DEFER}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    expect_importers(import, RSM_RECORD_UNAVAILABLE);
    person_end(&exporter);
    expect_importers(import, RSM_RECORD_LOST);
    person_begin(&exporter, 1, 500);
    export_id = offer_page(&exporter, 0666);
    /* A link that goes; and a request that comes too late. */
    (void)connect_one(&importer);
    uint32_t other = importer.reply.u.import_connect_reply.import;
    assert_int_equal(open_records(&importer, RSM_EVENT_IMPORT_RECORDS, other), RSM_ST_OK);
    (void)connect_one(&importer);
    uint32_t late = importer.reply.u.import_connect_reply.import;
    link_down(1, 2);
    expect_importers(other, RSM_RECORD_LOST);
    assert_int_equal(open_records(&importer, RSM_EVENT_IMPORT_RECORDS, late), RSM_ST_OK);
    expect_importers(late, RSM_RECORD_LOST);
}

TEST(a_far_node_can_only_speak_of_its_own)
{
    uint32_t connection = connect_one(&importer);
    uint32_t import = importer.reply.u.import_connect_reply.import;
    assert_int_equal(open_records(&importer, RSM_EVENT_IMPORT_RECORDS, import), RSM_ST_OK);
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_UNAVAILABLE, .u.unavailable.import = 77};
    forge(1, 2, msg);
    msg.u.unavailable.import = connection;
    forge(3, 2, msg);
    assert_int_equal(fetch(&importer, RSM_EVENT_IMPORT_RECORDS, import)->count, 0);
    forge(1, 2, msg);
    expect_importers(import, RSM_RECORD_UNAVAILABLE);
}

static void come_and_go(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        (void)connect_one(&neighbour);
        disconnect_one(&neighbour, neighbour.reply.u.import_connect_reply.import);
    }
}

/* Acknowledge and fetch until nothing comes; how many records there were, and lost. */
static unsigned drain(uint64_t *after, uint32_t *lost)
{
    unsigned records = 0;
    *lost = 0;
    for (;;) {
        assert_int_equal(fetch_from(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id, *after),
                         RSM_ST_OK);
        const struct rsm_mailbox_take_reply *page = &exporter.reply.u.mailbox_take_reply;
        if (page->count == 0)
            return records;
        for (uint32_t i = 0; i < page->count; i++) {
            const struct rsm_record *record = &page->entries[i].record;
            assert_true(record->order > *after);
            *after = record->order;
            *lost += record->lost;
            records += record->event != RSM_RECORD_OVERFLOW;
            assert_int_equal(record->event == RSM_RECORD_OVERFLOW, record->lost > 0);
        }
    }
}

TEST(too_many_are_counted_and_told_in_their_place)
{
    uint64_t after = 0;
    uint32_t lost;
    assert_int_equal(open_records(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id), RSM_ST_OK);
    come_and_go(RSM_MAILBOX_MAX / 2 + 10);
    assert_int_equal(drain(&after, &lost), RSM_MAILBOX_MAX);
    assert_int_equal(lost, 20);
    come_and_go(5);
    assert_int_equal(drain(&after, &lost), 10);
    assert_int_equal(lost, 0);
    /* Of those that are lost between the telling and the acknowledgement it is told, too. */
    come_and_go(RSM_MAILBOX_MAX / 2 + 1);
    const struct rsm_mailbox_take_reply *page = &exporter.reply.u.mailbox_take_reply;
    for (unsigned i = 0; i < RSM_MAILBOX_MAX / RSM_PROTO_ENTRIES_MAX + 1; i++) {
        assert_int_equal(fetch_from(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id, after),
                         RSM_ST_OK);
        after = page->entries[page->count - 1].record.order;
    }
    assert_int_equal(page->entries[0].record.event, RSM_RECORD_OVERFLOW);
    assert_int_equal(page->entries[0].record.lost, 2);
    come_and_go(2);
    assert_int_equal(drain(&after, &lost), 0);
    assert_int_equal(lost, 4);
    /* One event for each record, so many as the reader has seen. */
    uint32_t pending =
        atomic_load(&own_counter(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id)->pending);
    assert_int_equal(pending, RSM_MAILBOX_MAX + 1 + 10 + RSM_MAILBOX_MAX + 1 + 1);
}

TEST(a_user_has_his_share_of_records)
{
    uint64_t after = 0;
    uint32_t lost;
    rsmd_shares_limit(&hosts.node[1].shares, RSMD_RECORDS, 20);
    assert_int_equal(open_records(&exporter, RSM_EVENT_EXPORT_RECORDS, export_id), RSM_ST_OK);
    come_and_go(20);
    assert_int_equal(hosts.node[1].shares.used[RSMD_RECORDS], 15);
    assert_int_equal(drain(&after, &lost), 15);
    assert_int_equal(lost, 25);
    assert_int_equal(hosts.node[1].shares.used[RSMD_RECORDS], 0);
}
