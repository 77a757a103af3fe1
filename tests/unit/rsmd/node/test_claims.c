/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments that have their id from creation to end, and states that say who can connect. */
#include "peer.h"

enum { ID = 0x700000, RIGHTS = 6 };

static struct daemon daemon_1;
static uint64_t page;
static int owner, other; /* processes of the node */

static int start(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    daemon_start(&daemon_1, NULL, "--embedded");
    owner = peer_hello(&daemon_1);
    other = peer_hello(&daemon_1);
    return 0;
}

static int stop(void **state)
{
    close(owner);
    close(other);
    daemon_stop(&daemon_1);
    return 0;
}

/* ------------------------------------------------------------------ requests */

struct made {
    uint32_t id, extent, segment_id;
};

static enum rsm_status create(int socket, uint32_t claim, uint32_t segment_id, uint64_t size,
                              struct made *made)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci0",
                                              .length = page,
                                              .mode = 0600,
                                              .want_extent = 1,
                                              .size = size,
                                              .claim = claim,
                                              .space = RSM_ID_SPACE_SISCI,
                                              .segment_id = segment_id}};
    enum rsm_status status = ask_with(socket, &msg, NULL, &fds);
    if (status != RSM_ST_OK)
        return status;
    rsm_packet_fds_close(&fds);
    const struct rsm_export_create_reply *reply = &msg.u.export_create_reply;
    *made = (struct made){reply->export_id, reply->extent, reply->segment_id};
    return status;
}

static struct made claimed(int socket, uint32_t segment_id)
{
    struct made made;
    assert_int_equal(create(socket, RSM_CLAIM_ID, segment_id, 0, &made), RSM_ST_OK);
    assert_int_equal(made.segment_id, segment_id);
    return made;
}

static enum rsm_status tell_memory(int socket, const struct made *made, uint32_t segment_id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_PUBLISH,
                          .u.export_publish = {.export_id = made->id,
                                               .space = RSM_ID_SPACE_SISCI,
                                               .segment_id = segment_id,
                                               .piece_count = 1,
                                               .pieces = {{made->extent, 0, page}}}};
    return ask(socket, &msg);
}

static enum rsm_status move(int socket, struct rsm_export_state_request request, uint32_t *was)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_STATE, .u.export_state = request};
    enum rsm_status status = ask(socket, &msg);
    if (status == RSM_ST_OK && was != NULL)
        *was = msg.u.export_state_reply.was;
    return status;
}

/* Of an export, on adapter 0. */
static void must_move(int socket, uint32_t id, uint32_t from, uint32_t to, uint32_t flags)
{
    uint32_t was = UINT32_MAX;
    assert_int_equal(
        move(socket, (struct rsm_export_state_request){RSM_EVENT_EXPORT, id, 0, from, to, flags},
             &was),
        RSM_ST_OK);
    assert_int_equal(was, from);
}

static enum rsm_status connect_to(int socket, uint32_t segment_id, uint32_t flags,
                                  struct rsm_import_connect_reply *reply)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {.controller = "sci0",
                                               .node = 1,
                                               .space = RSM_ID_SPACE_SISCI,
                                               .segment_id = segment_id,
                                               .rights = RIGHTS,
                                               .flags = flags}};
    enum rsm_status status = ask_with(socket, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    if (status == RSM_ST_OK && reply != NULL)
        *reply = msg.u.import_connect_reply;
    return status;
}

/* ------------------------------------------------------------------ tests */

TEST_ALONE(an_id_is_taken_from_creation_to_end)
{
    struct made first = claimed(owner, ID), second;
    assert_int_equal(create(other, RSM_CLAIM_ID, ID, 0, &second), RSM_ST_ID_IN_USE);
    assert_int_equal(create(owner, RSM_CLAIM_ID, ID, 0, &second), RSM_ST_ID_IN_USE);
    assert_int_equal(connect_to(other, ID, 0, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(create(other, RSM_CLAIM_ASSIGN, ID, 0, &second), RSM_ST_OK);
    assert_int_equal(second.segment_id, ID + 1);
    assert_int_equal(destroy(other, second.id, NULL), RSM_ST_OK);
    assert_int_equal(destroy(owner, first.id, NULL), RSM_ST_OK);
    second = claimed(other, ID);
    assert_int_equal(destroy(other, second.id, NULL), RSM_ST_OK);
    /* The end of the process frees it likewise. */
    int third = peer_hello(&daemon_1);
    (void)claimed(third, ID);
    close(third);
    first = claimed(owner, ID);
    assert_int_equal(destroy(owner, first.id, NULL), RSM_ST_OK);
    /* What makes no sense claims nothing. */
    assert_int_equal(create(owner, RSM_CLAIM_ASSIGN + 1, ID, 0, &first), RSM_ST_INVALID);
    assert_int_equal(create(owner, RSM_CLAIM_ID, ID, page + 1, &first), RSM_ST_INVALID);
    first = claimed(owner, ID);
    assert_int_equal(destroy(owner, first.id, NULL), RSM_ST_OK);
}

TEST_ALONE(the_state_says_who_can_connect)
{
    struct rsm_import_connect_reply import;
    struct made made;
    uint32_t was;
    assert_int_equal(create(owner, RSM_CLAIM_ID, ID, 5, &made), RSM_ST_OK);
    must_move(owner, made.id, RSM_SEGMENT_NEW, RSM_SEGMENT_READY, 0);
    assert_int_equal(move(owner,
                          (struct rsm_export_state_request){RSM_EVENT_EXPORT, made.id, 0,
                                                            RSM_SEGMENT_READY, RSM_SEGMENT_OPEN, 0},
                          NULL),
                     RSM_ST_NOT_PUBLISHED);
    assert_int_equal(tell_memory(owner, &made, ID + 1), RSM_ST_INVALID);
    assert_int_equal(tell_memory(owner, &made, ID), RSM_ST_OK);
    assert_int_equal(connect_to(other, ID, 0, NULL), RSM_ST_NOT_FOUND);
    must_move(owner, made.id, RSM_SEGMENT_READY, RSM_SEGMENT_OPEN, 0);
    assert_int_equal(connect_to(other, ID, 0, &import), RSM_ST_OK);
    assert_int_equal(import.length, page);
    assert_int_equal(import.size, 5);
    /* One who is late changes nothing, and learns it. */
    assert_int_equal(move(owner,
                          (struct rsm_export_state_request){RSM_EVENT_EXPORT, made.id, 0,
                                                            RSM_SEGMENT_NEW, RSM_SEGMENT_READY, 0},
                          &was),
                     RSM_ST_OK);
    assert_int_equal(was, RSM_SEGMENT_OPEN);
    /* Two adapters: open as long as it is on one of them. */
    assert_int_equal(move(owner,
                          (struct rsm_export_state_request){RSM_EVENT_EXPORT, made.id, 1,
                                                            RSM_SEGMENT_NEW, RSM_SEGMENT_OPEN, 0},
                          &was),
                     RSM_ST_OK);
    must_move(owner, made.id, RSM_SEGMENT_OPEN, RSM_SEGMENT_READY, 0);
    assert_int_equal(connect_to(other, ID, 0, NULL), RSM_ST_OK);
    assert_int_equal(unpublish(owner, made.id, RSM_UNPUBLISH_KEEP_CONNECTIONS, NULL), RSM_ST_OK);
    assert_int_equal(connect_to(other, ID, 0, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(tell_memory(owner, &made, ID), RSM_ST_OK);
    assert_int_equal(connect_to(other, ID, 0, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(disconnect(other, import.import), RSM_ST_OK);
    assert_int_equal(destroy(owner, made.id, NULL), RSM_ST_OK);
}

TEST_ALONE(a_liar_changes_no_state)
{
    struct made made = claimed(owner, ID);
    const struct rsm_export_state_request good = {RSM_EVENT_EXPORT, made.id,           0,
                                                  RSM_SEGMENT_NEW,  RSM_SEGMENT_READY, 0};
    struct rsm_export_state_request bad[6];
    for (unsigned i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].unit = RSM_PROTO_UNITS_MAX;
    bad[1].to = RSM_SEGMENT_OPEN + 1;
    bad[2].from = UINT32_MAX;
    bad[3].flags = 4;
    bad[4].end = RSM_EVENT_EXPORT_RECORDS;
    bad[5].unit = UINT32_MAX;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(move(owner, bad[i], NULL), RSM_ST_INVALID);
    assert_int_equal(move(other, good, NULL), RSM_ST_NOT_FOUND);
    uint32_t plain = make_export(owner, page, 0600);
    struct rsm_export_state_request unclaimed = good;
    unclaimed.id = plain;
    assert_int_equal(move(owner, unclaimed, NULL), RSM_ST_INVALID);
    must_move(owner, made.id, RSM_SEGMENT_NEW, RSM_SEGMENT_NEW, 0);
    assert_int_equal(destroy(owner, plain, NULL), RSM_ST_OK);
    assert_int_equal(destroy(owner, made.id, NULL), RSM_ST_OK);
}

static enum rsm_status defer(int socket, uint32_t id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_DESTROY,
                          .u.export_destroy = {.export_id = id, .flags = RSM_DESTROY_DEFER}};
    return ask(socket, &msg);
}

TEST_ALONE(those_who_share_it_have_it_in_common)
{
    struct rsm_import_connect_reply part = {0}, import = {0};
    struct made made = claimed(owner, ID), another;
    uint32_t was;
    assert_int_equal(connect_to(other, ID, RSM_CONNECT_ATTACH, NULL), RSM_ST_DENIED);
    assert_int_equal(connect_to(other, ID + 1, RSM_CONNECT_ATTACH, NULL), RSM_ST_NOT_FOUND);
    must_move(owner, made.id, RSM_SEGMENT_NEW, RSM_SEGMENT_NEW, RSM_STATE_SHARE);
    assert_int_equal(connect_to(other, ID, RSM_CONNECT_ATTACH, NULL), RSM_ST_NOT_PUBLISHED);
    assert_int_equal(tell_memory(owner, &made, ID), RSM_ST_OK);
    assert_int_equal(connect_to(other, ID, RSM_CONNECT_ATTACH, &part), RSM_ST_OK);
    assert_int_equal(connect_to(other, ID, 2, NULL), RSM_ST_INVALID);
    /* Whoever is attached opens it, but cannot share it on. */
    struct rsm_export_state_request request = {RSM_EVENT_IMPORT, part.import,      0,
                                               RSM_SEGMENT_NEW,  RSM_SEGMENT_OPEN, RSM_STATE_SHARE};
    assert_int_equal(move(other, request, NULL), RSM_ST_INVALID);
    request.flags = 0;
    assert_int_equal(move(other, request, &was), RSM_ST_OK);
    must_move(owner, made.id, RSM_SEGMENT_OPEN, RSM_SEGMENT_OPEN, 0);
    assert_int_equal(connect_to(other, ID, 0, &import), RSM_ST_OK);
    request.id = import.import; /* not attached */
    assert_int_equal(move(other, request, NULL), RSM_ST_INVALID);
    assert_int_equal(unpublish(owner, made.id, 0, NULL), RSM_ST_BUSY);
    /* The exporter leaves it to the other. */
    assert_int_equal(defer(owner, made.id), RSM_ST_OK);
    assert_int_equal(create(owner, RSM_CLAIM_ID, ID, 0, &another), RSM_ST_ID_IN_USE);
    assert_int_equal(connect_to(owner, ID, 0, NULL), RSM_ST_OK);
    assert_int_equal(disconnect(other, part.import), RSM_ST_OK);
    assert_int_equal(connect_to(other, ID, 0, NULL), RSM_ST_NOT_FOUND);
    another = claimed(owner, ID);
    assert_int_equal(destroy(owner, another.id, NULL), RSM_ST_OK);
    assert_int_equal(disconnect(other, import.import), RSM_ST_OK);
}

TEST_ALONE(sharing_ends_with_the_process_that_exports)
{
    struct rsm_import_connect_reply part;
    int third = peer_hello(&daemon_1);
    struct made made = claimed(third, ID);
    assert_int_equal(tell_memory(third, &made, ID), RSM_ST_OK);
    must_move(third, made.id, RSM_SEGMENT_NEW, RSM_SEGMENT_NEW, RSM_STATE_SHARE);
    assert_int_equal(connect_to(other, ID, RSM_CONNECT_ATTACH, &part), RSM_ST_OK);
    const struct rsm_generation_table *table = gentable_map(&daemon_1);
    close(third);
    await_move(table, part.slot, part.generation);
    gentable_unmap(table);
    const struct rsm_export_state_request request = {RSM_EVENT_IMPORT, part.import,       0,
                                                     RSM_SEGMENT_NEW,  RSM_SEGMENT_READY, 0};
    assert_int_equal(move(other, request, NULL), RSM_ST_ABORTED);
    made = claimed(owner, ID);
    assert_int_equal(destroy(owner, made.id, NULL), RSM_ST_OK);
    assert_int_equal(disconnect(other, part.import), RSM_ST_OK);
}

TEST_ALONE(an_importer_that_asks_late_is_told_that_it_is_to_leave)
{
    struct rsm_import_connect_reply import;
    struct made made = claimed(owner, ID);
    assert_int_equal(tell_memory(owner, &made, ID), RSM_ST_OK);
    must_move(owner, made.id, RSM_SEGMENT_NEW, RSM_SEGMENT_OPEN, 0);
    assert_int_equal(connect_to(other, ID, 0, &import), RSM_ST_OK);
    must_move(owner, made.id, RSM_SEGMENT_OPEN, RSM_SEGMENT_READY, RSM_STATE_NOTIFY);
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN,
                          .u.event_open = {RSM_EVENT_IMPORT_RECORDS, import.import}};
    assert_int_equal(ask_with(other, &msg, NULL, &fds), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    msg = (struct rsm_msg){.type = RSM_MSG_MAILBOX_TAKE,
                           .u.mailbox_take = {RSM_EVENT_IMPORT_RECORDS, import.import, 0}};
    assert_int_equal(ask(other, &msg), RSM_ST_OK);
    assert_int_equal(msg.u.mailbox_take_reply.count, 1);
    assert_int_equal(msg.u.mailbox_take_reply.entries[0].record.event, RSM_RECORD_UNAVAILABLE);
    assert_int_equal(destroy(owner, made.id, NULL), RSM_ST_OK);
    assert_int_equal(disconnect(other, import.import), RSM_ST_OK);
}

TESTS_BETWEEN(start, stop)
