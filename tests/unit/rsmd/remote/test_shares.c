/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes of other hosts and their users may have of this one. */
#include "pair.h"
#include "base/log.h"
#include "node/controllers.h"
#include "node/refusals.h"

static unsigned imports_of(uint32_t node)
{
    return HASH_COUNT(hosts.node[node].importers);
}

/* Connect until there is no more; how often. */
static unsigned connect_all(struct person *person)
{
    unsigned count = 0;
    enum rsm_status status;
    while ((status = connect_to(person, 1, RSM_RIGHT_READ)) == RSM_ST_OK)
        assert_true(++count < 100);
    assert_int_equal(status, RSM_ST_NO_RESOURCES);
    return count;
}

#define TEST(name) TEST_BETWEEN(name, pair_begin, pair_end)

/* Whatever a remote node says of its users, it gets what one user gets, and one of them not all of
 * that. */
TEST(a_far_node_does_not_take_all)
{
    struct rsmd_shares *shares = &hosts.node[1].shares;
    struct person other, third, local, root;
    person_begin(&other, 2, 0); /* that node's root is nobody special here */
    person_begin(&third, 3, 500);
    person_begin(&local, 1, 500);
    person_begin(&root, 1, 0);
    rsmd_shares_limit(shares, RSMD_SEGMENTS, 40); /* one of them the export */
    assert_int_equal(connect_all(&importer), 22);
    assert_int_equal(connect_all(&other), 8);
    assert_int_equal(imports_of(1), 30);
    assert_int_equal(connect_all(&third), 7);
    assert_int_equal(connect_all(&local), 0);
    assert_int_equal(connect_all(&root), 2);
    assert_true(rsmd_shares_are_sound(shares));
    /* What goes with the link is there for the others. */
    link_down(1, 2);
    assert_int_equal(shares->used[RSMD_SEGMENTS], 1 + 7 + 2);
    assert_int_equal(connect_all(&local), 29);
    person_end(&other);
    person_end(&third);
    person_end(&local);
    person_end(&root);
    deliver_all();
    assert_int_equal(shares->used[RSMD_SEGMENTS], 1);
}

static enum rsm_status alloc_pages(struct person *person, uint64_t pages, uint32_t *extent)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.controller = "sci0",
                                             .length = pages * (uint64_t)sysconf(_SC_PAGESIZE)}};
    enum rsm_status status = ask(person, &msg);
    if (status == RSM_ST_OK)
        rsm_packet_fds_close(&person->fds);
    *extent = person->reply.u.extent_alloc_reply.extent;
    return status;
}

/* Memory that a transport pins has a limit of its own, and is refused like other memory. */
TEST(pinned_memory_has_a_limit)
{
    struct rsmd_shares *shares = &hosts.node[2].shares;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t first, second;
    rsmd_shares_limit(shares, RSMD_PINNED, 40 * page);
    assert_int_equal(alloc_pages(&importer, 31, &first), RSM_ST_OK); /* it pins nothing yet */
    assert_int_equal(shares->used[RSMD_PINNED], 0);
    struct rsm_msg free_first = {.type = RSM_MSG_EXTENT_FREE, .u.extent_free = {.extent = first}};
    assert_int_equal(ask(&importer, &free_first), RSM_ST_OK);
    transport_pins();
    assert_int_equal(alloc_pages(&importer, 31, &first), RSM_ST_NO_MEMORY);
    assert_int_equal(alloc_pages(&importer, 30, &first), RSM_ST_OK);
    assert_int_equal(alloc_pages(&importer, 1, &second), RSM_ST_NO_MEMORY);
    assert_int_equal(shares->used[RSMD_PINNED], 30 * page);
    assert_int_equal(shares->used[RSMD_BYTES], 30 * page); /* a refusal charges nothing */
    assert_int_equal(shares->used[RSMD_DESCRIPTORS], 1);
    free_first.u.extent_free.extent = first;
    assert_int_equal(ask(&importer, &free_first), RSM_ST_OK);
    assert_int_equal(shares->used[RSMD_PINNED], 0);
    assert_int_equal(shares->used[RSMD_BYTES], 0);
}

/* Who must not pin so much gets memory that is not, if the transport has any; only what is pinned is charged. */
TEST(what_is_not_pinned_is_not_charged)
{
    struct rsmd_shares *shares = &hosts.node[2].shares;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t first, second, third;
    rsmd_shares_limit(shares, RSMD_PINNED, 40 * page);
    transport_pins();
    transport_does_without_pinning(false);
    assert_int_equal(alloc_pages(&importer, 31, &first), RSM_ST_OK);
    assert_int_equal(shares->used[RSMD_PINNED], 0);
    assert_int_equal(alloc_pages(&importer, 20, &second), RSM_ST_OK);
    assert_int_equal(shares->used[RSMD_PINNED], 20 * page);
    transport_does_without_pinning(true);
    assert_int_equal(alloc_pages(&importer, 5, &third), RSM_ST_OK);
    assert_int_equal(shares->used[RSMD_PINNED], 20 * page);
    assert_int_equal(shares->used[RSMD_BYTES], 56 * page);
    const uint32_t extents[] = {first, second, third};
    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        struct rsm_msg give_back = {.type = RSM_MSG_EXTENT_FREE,
                                    .u.extent_free = {.extent = extents[i]}};
        assert_int_equal(ask(&importer, &give_back), RSM_ST_OK);
    }
    assert_int_equal(shares->used[RSMD_PINNED], 0);
    assert_int_equal(shares->used[RSMD_BYTES], 0);
    assert_true(rsmd_shares_are_sound(shares));
}

/* What is charged by a transport is charged to the user who asks, in the part that is configured. */
TEST(transports_learn_whose_an_extent_is)
{
    struct rsmd_node *node = &hosts.node[2];
    uint32_t extent;
    transport_has_room_for(501);
    assert_int_equal(alloc_pages(&importer, 1, &extent), RSM_ST_NO_MEMORY);
    assert_int_equal(node->shares.used[RSMD_BYTES], 0);
    transport_has_room_for(500);
    assert_int_equal(alloc_pages(&importer, 1, &extent), RSM_ST_OK);
    node->conf.max_user_share = 30;
    rsmd_shares_update(&node->shares, &node->conf);
    rsmd_controllers_limit_users(node);
    assert_int_equal(told_one_percent, 30);
}

/* A segment that is pinned in part says how much of it is. */
TEST(what_is_pinned_of_a_segment_is_shown)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t pinned, pool;
    transport_pins();
    transport_does_without_pinning(false);
    assert_int_equal(alloc_pages(&importer, 2, &pinned), RSM_ST_OK);
    transport_does_without_pinning(true);
    assert_int_equal(alloc_pages(&importer, 1, &pool), RSM_ST_OK);
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci0", .length = 3 * page, .mode = 0600}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    uint32_t exported = importer.reply.u.export_create_reply.export_id;
    struct rsm_msg look = {.type = RSM_MSG_INSPECT, .u.inspect = {RSM_INSPECT_EXPORTS, 0}};
    assert_int_equal(ask(&importer, &look), RSM_ST_OK);
    assert_int_equal(importer.reply.u.inspect_reply.items[0].pinned, 0); /* it has no memory yet */
    msg =
        (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                         .u.export_publish = {.export_id = exported,
                                              .segment_id = 9,
                                              .piece_count = 2,
                                              .pieces = {{pinned, 0, 2 * page}, {pool, 0, page}}}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_int_equal(ask(&importer, &look), RSM_ST_OK);
    assert_int_equal(importer.reply.u.inspect_reply.count, 1);
    assert_int_equal(importer.reply.u.inspect_reply.items[0].pinned, 2 * page);
}

/* Connects that are under way are counted, too. */
TEST(forwarded_connects_have_a_limit)
{
    struct rsmd_shares *shares = &hosts.node[2].shares;
    rsmd_shares_limit(shares, RSMD_FORWARDS, 10);
    for (int i = 0; i < 7; i++)
        begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_int_equal(importer.answers, 0);
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_int_equal(importer.answers, 1);
    assert_int_equal(importer.reply.status, RSM_ST_NO_RESOURCES);
    assert_int_equal(shares->used[RSMD_FORWARDS], 7);
    deliver_all();
    assert_int_equal(importer.answers, 8);
    assert_int_equal(shares->used[RSMD_FORWARDS], 0);
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_OK);
}

/* What a transport keeps for a connection is charged to the importer before he gets the offer, and
 * given back when the offer has been revoked. */
TEST(what_transports_keep_is_charged)
{
    struct rsmd_shares *shares = &hosts.node[1].shares;
    uint64_t before = shares->used[RSMD_DESCRIPTORS];
    hosts.keeps_descriptors = 3;
    hosts.keeps_threads = 1;
    rsmd_shares_limit(shares, RSMD_DESCRIPTORS, 200);
    rsmd_shares_limit(shares, RSMD_THREADS, 40); /* a remote node 30, one user of it 22 */
    assert_int_equal(connect_all(&importer), 22);
    assert_int_equal(shares->used[RSMD_THREADS], 22);
    assert_int_equal(shares->used[RSMD_DESCRIPTORS], before + 66);
    assert_int_equal(hosts.revokes, 1); /* of the connect that was refused */
    assert_int_equal(imports_of(1), 22);
    assert_true(rsmd_shares_are_sound(shares));
    /* Descriptors run out first. */
    rsmd_shares_limit(shares, RSMD_THREADS, 4000);
    assert_int_equal(connect_all(&importer), 37 - 22); /* a user of a remote node: 112 */
    assert_int_equal(shares->used[RSMD_THREADS], 37);
    struct rsm_msg end = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = importer.client.imports->importer.id};
    assert_int_equal(ask(&importer, &end), RSM_ST_OK);
    deliver_all();
    assert_int_equal(shares->used[RSMD_DESCRIPTORS], before + 108);
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_OK);
    link_down(1, 2);
    deliver_all();
    assert_int_equal(shares->used[RSMD_DESCRIPTORS], before);
    assert_int_equal(shares->used[RSMD_THREADS], 0);
    assert_int_equal(hosts.revokes, 2 + 38); /* refused; made */
}

/* ------------------------------------------------------------------ the log */

static unsigned lines;
static char latest[256];

static void count_line(enum rsmcore_log_level level, const char *text)
{
    lines++;
    snprintf(latest, sizeof latest, "%s", text);
}

/* Whatever one user or another node does, the lines about the others are written. */
TEST(one_user_does_not_fill_the_log)
{
    struct rsmd_node *node = &hosts.node[1];
    lines = 0;
    rsmcore_log_to(count_line, RSMCORE_LOG_INFO);
    for (unsigned i = 0; i < 22000; i++)
        rsmd_log_of_user(node, 500, "process %u does it again", i);
    assert_int_equal(lines, RSMD_COMPLAINTS_BURST);
    rsmd_log_of_user(node, 501, "once");
    assert_int_equal(lines, RSMD_COMPLAINTS_BURST + 1);
    for (unsigned i = 0; i < 22000; i++)
        rsmd_log_of_node(node, 2, "node 2 says %u", i);
    assert_int_equal(lines, 2 * RSMD_COMPLAINTS_BURST + 1);
    /* Nobody's words begin a line of their own, or speak to a terminal. */
    rsmd_log_of_node(node, 3, "it says: %s", "go\n\033[2Jaway\177");
    assert_string_equal(latest, "it says: go??[2Jaway?");
    rsmcore_log_to(NULL, RSMCORE_LOG_INFO);
}
