/* SPDX-License-Identifier: BSD-3-Clause */
/* INSPECT: who is shown what, what is said of it, and pages. */
#include "base/memory_limit.h"
#include "peer.h"

enum { USER_A = 4001, USER_B = 4002, USER_C = 4003, MANY = 100 };

static struct daemon daemon_1, neighbour; /* node 2, of some of its clients */
static uint64_t page;

/* The kernel vouches for effective ids: a packet is the user's who sends it. */
static void become(uid_t uid)
{
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(uid), 0);
    assert_int_equal(seteuid(uid), 0);
}

static int hello_of(uid_t uid, uint32_t node)
{
    become(uid);
    return peer_hello_as(&daemon_1, node);
}

static int start(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    program_needs_root();
    daemon_start(&daemon_1, NULL, NULL);
    daemon_start_in(&neighbour, daemon_1.directory, 2, NULL, NULL);
    return 0;
}

static int stop(void **state)
{
    become(0);
    daemon_end(&neighbour);
    daemon_stop(&daemon_1);
    return 0;
}

static int back_to_root(void **state)
{
    become(0);
    return 0;
}

static enum rsm_status inspect(int socket, uint32_t what, uint32_t after,
                               struct rsm_inspect_reply *reply)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = what, .after = after}};
    enum rsm_status status = ask(socket, &msg);
    if (status == RSM_ST_OK)
        *reply = msg.u.inspect_reply;
    return status;
}

/* One page as this user sees it; fails the test if it is refused. */
static struct rsm_inspect_reply look(uid_t uid, int socket, uint32_t what, uint32_t after)
{
    struct rsm_inspect_reply reply;
    become(uid);
    assert_int_equal(inspect(socket, what, after, &reply), RSM_ST_OK);
    return reply;
}

/* All pages; how many items there are. */
static uint32_t read_all(uid_t uid, int socket, uint32_t what, struct rsm_inspect_item *items)
{
    uint32_t got = 0, after = 0;
    do {
        struct rsm_inspect_reply reply = look(uid, socket, what, after);
        assert_in_range(got + reply.count, 0, MANY);
        memcpy(items + got, reply.items, reply.count * sizeof *items);
        got += reply.count;
        assert_true(reply.next == 0 || reply.next > after);
        after = reply.next;
    } while (after != 0);
    return got;
}

/* ------------------------------------------------------------------ what is refused */

#define INSPECT_TEST(test) TEST_BETWEEN(test, NULL, back_to_root)

INSPECT_TEST(refusals)
{
    struct rsm_inspect_reply reply;
    int socket = peer_hello(&daemon_1), silent = peer_connect(&daemon_1);
    assert_int_equal(inspect(socket, 0, 0, &reply), RSM_ST_INVALID);
    assert_int_equal(inspect(socket, 3, 0, &reply), RSM_ST_INVALID);
    assert_int_equal(inspect(silent, RSM_INSPECT_EXPORTS, 0, &reply), RSM_ST_PROTOCOL);
    expect_hangup(silent);
    close(silent);
    close(socket);
}

/* ------------------------------------------------------------------ who was refused */

INSPECT_TEST(the_last_refusal)
{
    struct rsm_import_connect_reply made;
    int root = hello_of(0, 1), a = hello_of(USER_A, 1), b = hello_of(USER_B, 1);
    become(USER_A);
    enum rsm_status status = connect_on(a, "sci0", 1, 0x61ffff, 0, &made);
    assert_int_not_equal(status, RSM_ST_OK);
    struct rsm_refusal seen = look(USER_A, a, RSM_INSPECT_EXPORTS, 0).refusal;
    assert_true(seen.ago_ms >= 1);
    assert_int_equal(seen.type, RSM_MSG_IMPORT_CONNECT);
    assert_int_equal(seen.status, status);
    assert_int_equal(seen.uid, USER_A);
    assert_int_equal(seen.pid, getpid());
    assert_int_equal(look(0, root, RSM_INSPECT_EXPORTS, 0).refusal.uid, USER_A);
    seen = look(USER_B, b, RSM_INSPECT_EXPORTS, 0).refusal;
    assert_true(seen.ago_ms == 0 && seen.uid == 0 && seen.pid == 0 && seen.type == 0);
    close(root), close(a), close(b);
}

/* ------------------------------------------------------------------ what is said */

INSPECT_TEST(an_empty_node)
{
    int socket = peer_hello(&daemon_1);
    wait_for_clients(socket, 1); /* who asked whether the daemon is there may still be leaving */
    struct rsm_inspect_reply reply = look(0, socket, RSM_INSPECT_EXPORTS, 0);
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.count, 0);
    assert_int_equal(reply.exported_bytes, 0);
    uint64_t physical = rsmcore_memory_size();
    assert_in_range(reply.exported_limit, physical / 100 * 75, physical / 100 * 76);
    assert_int_equal(reply.segments, 0);
    assert_int_equal(reply.segments_limit, 65535);
    assert_int_equal(reply.clients, 1);
    reply = look(0, socket, RSM_INSPECT_IMPORTS, 7);
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.count, 0);
    close(socket);
}

INSPECT_TEST(an_export)
{
    const struct rsm_acl_entry acl[] = {{1, 0660}, {2, 0400}};
    int socket = hello_of(USER_A, 1);
    uint32_t extent = make_extent(socket, 2 * page),
             export_id = make_export(socket, 2 * page, 0640);
    struct rsm_inspect_reply reply = look(USER_A, socket, RSM_INSPECT_EXPORTS, 0);
    const struct rsm_inspect_item *item = &reply.items[0];
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.exported_bytes, 2 * page);
    assert_int_equal(reply.segments, 1);
    assert_int_equal(item->id, export_id);
    assert_int_equal(item->export_id, 0);
    assert_int_equal(item->published, 0);
    assert_int_equal(item->segment_id, 0);
    assert_int_equal(item->node, 1);
    assert_int_equal(item->pid, getpid());
    assert_int_equal(item->uid, USER_A);
    assert_int_equal(item->gid, USER_A);
    assert_int_equal(item->permission, 0640);
    assert_int_equal(item->acl_count, 0);
    assert_int_equal(item->connections, 0);
    assert_int_equal(item->pending, 0);
    assert_int_equal(item->length, 2 * page);
    assert_string_equal(item->controller, "sci0");
    assert_int_equal(publish(socket, export_id, 0x610000, extent, 2 * page, acl, 1), RSM_ST_OK);
    struct rsm_inspect_item later = look(USER_A, socket, RSM_INSPECT_EXPORTS, 0).items[0];
    assert_int_equal(later.published, 1);
    assert_int_equal(later.space, RSM_ID_SPACE_RSMAPI);
    assert_int_equal(later.segment_id, 0x610000);
    assert_int_equal(later.acl_count, 1);
    assert_int_equal(later.acl_shown, 1);
    assert_memory_equal(later.acl, acl, sizeof *acl);
    assert_int_equal(unpublish(socket, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(look(USER_A, socket, RSM_INSPECT_EXPORTS, 0).items[0].segment_id, 0);
    close(socket);
}

INSPECT_TEST(an_import)
{
    struct rsm_import_connect_reply made;
    int owner = hello_of(USER_A, 1), importer = hello_of(USER_B, 2);
    become(USER_A);
    uint32_t export_id = publish_page(owner, 0x610001, 0644);
    become(USER_B);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x610001, RSM_RIGHT_READ, &made), RSM_ST_OK);
    struct rsm_inspect_reply reply = look(USER_B, importer, RSM_INSPECT_IMPORTS, 0);
    const struct rsm_inspect_item *item = &reply.items[0];
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.segments, 2);
    assert_int_equal(item->id, made.import);
    assert_int_equal(item->export_id, export_id);
    assert_int_equal(item->published, 1);
    assert_int_equal(item->segment_id, 0x610001);
    assert_int_equal(item->node, 2);
    assert_int_equal(item->pid, getpid());
    assert_int_equal(item->uid, USER_B);
    assert_int_equal(item->gid, USER_B);
    assert_int_equal(item->permission, RSM_RIGHT_READ);
    assert_int_equal(item->length, page);
    assert_string_equal(item->controller, "sci0");
    assert_int_equal(look(USER_A, owner, RSM_INSPECT_EXPORTS, 0).items[0].connections, 1);
    /* Without its id it still is this segment; aborted it is none. */
    become(USER_A);
    assert_int_equal(unpublish(owner, export_id, RSM_UNPUBLISH_KEEP_CONNECTIONS, NULL), RSM_ST_OK);
    struct rsm_inspect_item later = look(USER_B, importer, RSM_INSPECT_IMPORTS, 0).items[0];
    assert_int_equal(later.export_id, export_id);
    assert_int_equal(later.published, 0);
    assert_int_equal(later.length, page);
    become(USER_A);
    assert_int_equal(destroy(owner, export_id, NULL), RSM_ST_OK);
    later = look(USER_B, importer, RSM_INSPECT_IMPORTS, 0).items[0];
    assert_int_equal(later.id, made.import);
    assert_int_equal(later.export_id, 0);
    assert_int_equal(later.segment_id, 0);
    assert_int_equal(later.length, 0);
    assert_int_equal(look(USER_A, owner, RSM_INSPECT_IMPORTS, 0).count, 0);
    close(importer);
    close(owner);
}

static enum rsm_status report_trap(int socket, uint32_t import, uint32_t trap, uint32_t reason)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_TRAP,
                          .u.import_trap = {import, {.trap = trap, .reason = reason}}};
    return ask(socket, &msg);
}

static void expect_trap(int socket, uint32_t trap, uint32_t reason)
{
    struct rsm_inspect_reply reply = look(0, socket, RSM_INSPECT_IMPORTS, 0);
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.items[0].choice.trap, trap);
    assert_int_equal(reply.items[0].choice.reason, reason);
}

/* A client says what it likes of its own connections, in values that exist. */
INSPECT_TEST(a_trap)
{
    struct rsm_import_connect_reply made;
    int owner = peer_hello(&daemon_1), importer = peer_hello_as(&daemon_1, 2);
    publish_page(owner, 0x610003, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x610003, RSM_RIGHT_READ, &made), RSM_ST_OK);
    expect_trap(owner, MAPPING_USED_NONE, MAPPING_REASON_NONE);
    assert_int_equal(
        report_trap(importer, made.import, MAPPING_USED_SIGNAL, MAPPING_REASON_NO_USERFAULTFD),
        RSM_ST_OK);
    static const uint32_t wrong[][2] = {{MAPPING_USED_TRAPS, MAPPING_REASON_NONE},
                                        {UINT32_MAX, MAPPING_REASON_NONE},
                                        {MAPPING_USED_THREAD, MAPPING_REASONS},
                                        {MAPPING_USED_THREAD, UINT32_MAX},
                                        {MAPPING_USED_NONE, MAPPING_REASON_REQUESTED}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(report_trap(importer, made.import, wrong[i][0], wrong[i][1]),
                         RSM_ST_INVALID);
    assert_int_equal(report_trap(owner, made.import, MAPPING_USED_THREAD, MAPPING_REASON_NONE),
                     RSM_ST_NOT_FOUND);
    assert_int_equal(
        report_trap(importer, made.import + 1, MAPPING_USED_THREAD, MAPPING_REASON_NONE),
        RSM_ST_NOT_FOUND);
    expect_trap(owner, MAPPING_USED_SIGNAL, MAPPING_REASON_NO_USERFAULTFD);
    assert_int_equal(report_trap(importer, made.import, MAPPING_USED_THREAD, MAPPING_REASON_NONE),
                     RSM_ST_OK);
    expect_trap(owner, MAPPING_USED_THREAD, MAPPING_REASON_NONE);
    close(importer);
    close(owner);
}

static enum rsm_status report_counts(int socket, uint32_t import, uint64_t unknown)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_COUNTS,
                          .u.import_counts = {import, {unknown, 2, UINT64_MAX}}};
    return ask(socket, &msg);
}

static struct rsm_counts_reply look_at_counts(uid_t uid, int socket, uint32_t after)
{
    struct rsm_msg msg = {.type = RSM_MSG_COUNTS, .u.counts = {after}};
    become(uid);
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    become(0);
    return msg.u.counts_reply;
}

/* A client counts for its own connections, and who sees these sees that. */
INSPECT_TEST(inexact_stores)
{
    struct rsm_import_connect_reply made, other;
    int owner = peer_hello(&daemon_1), importer = peer_hello_as(&daemon_1, 2);
    publish_page(owner, 0x610004, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x610004, RSM_RIGHT_READ, &made), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x610004, RSM_RIGHT_READ, &other), RSM_ST_OK);
    assert_int_equal(look_at_counts(0, owner, 0).count, 0);
    assert_int_equal(report_counts(owner, made.import, 1), RSM_ST_NOT_FOUND);
    assert_int_equal(report_counts(importer, made.import + 2, 1), RSM_ST_NOT_FOUND);
    assert_int_equal(report_counts(importer, made.import, 1), RSM_ST_OK);
    assert_int_equal(report_counts(importer, made.import, 7), RSM_ST_OK);
    struct rsm_counts_reply reply = look_at_counts(0, owner, 0);
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.items[0].id, made.import);
    assert_int_equal(reply.items[0].counts.unknown, 7);
    assert_int_equal(reply.items[0].counts.blocked, 2);
    assert_true(reply.items[0].counts.by_calls == UINT64_MAX);
    assert_int_equal(look_at_counts(0, owner, UINT32_MAX).count, 0);
    close(importer);
    close(owner);
}

static enum rsm_status report_group(int socket, uint32_t import, uint64_t puts)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_GROUP,
                          .u.import_group = {import, {3, puts, 1000, 20, UINT64_MAX}}};
    return ask(socket, &msg);
}

static struct rsm_groups_reply look_groups(uid_t uid, int socket, uint32_t after)
{
    struct rsm_msg msg = {.type = RSM_MSG_GROUPS, .u.groups = {after}};
    become(uid);
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    become(0);
    return msg.u.groups_reply;
}

/* The same of members of groups; time passes for them. */
INSPECT_TEST(members_of_groups)
{
    struct rsm_import_connect_reply made, other;
    int owner = peer_hello(&daemon_1), importer = peer_hello_as(&daemon_1, 2);
    publish_page(owner, 0x610005, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x610005, RSM_RIGHT_READ, &made), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x610005, RSM_RIGHT_READ, &other), RSM_ST_OK);
    assert_int_equal(look_groups(0, owner, 0).count, 0);
    assert_int_equal(report_group(owner, made.import, 1), RSM_ST_NOT_FOUND);
    assert_int_equal(report_group(importer, other.import, 9), RSM_ST_OK);
    usleep(2000);
    struct rsm_groups_reply reply = look_groups(0, owner, 0);
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.items[0].id, other.import);
    assert_int_equal(reply.items[0].stats.group, 3);
    assert_int_equal(reply.items[0].stats.puts, 9);
    assert_true(reply.items[0].stats.quiet_us >= 3000);
    assert_int_equal(reply.items[0].stats.lag_us, 20);
    assert_true(reply.items[0].stats.lacked == UINT64_MAX);
    assert_int_equal(look_groups(0, owner, UINT32_MAX).count, 0);
    close(importer);
    close(owner);
}

static _Atomic uint32_t *pending_events(int socket, uint32_t end, uint32_t id)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {.end = end, .id = id}};
    assert_int_equal(ask_with(socket, &msg, NULL, &fds), RSM_ST_OK);
    struct rsm_event_counter *cell =
        mmap(NULL, sizeof *cell, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(cell, MAP_FAILED);
    rsm_packet_fds_close(&fds);
    return &cell->pending;
}

INSPECT_TEST(events)
{
    struct rsm_import_connect_reply made;
    int socket = peer_hello(&daemon_1);
    uint32_t export_id = publish_page(socket, 0x610002, 0600);
    assert_int_equal(connect_on(socket, "sci0", 1, 0x610002, RSM_RIGHT_READ, &made), RSM_ST_OK);
    _Atomic uint32_t *exporter = pending_events(socket, RSM_EVENT_EXPORT, export_id);
    _Atomic uint32_t *importer = pending_events(socket, RSM_EVENT_IMPORT, made.import);
    atomic_store(exporter, 3);
    atomic_store(importer, UINT32_MAX); /* clients write there what they like */
    assert_int_equal(look(0, socket, RSM_INSPECT_EXPORTS, 0).items[0].pending, 3);
    assert_int_equal(look(0, socket, RSM_INSPECT_IMPORTS, 0).items[0].pending, UINT32_MAX);
    assert_int_equal(munmap((void *)exporter, sizeof(struct rsm_event_counter)), 0);
    assert_int_equal(munmap((void *)importer, sizeof(struct rsm_event_counter)), 0);
    close(socket);
}

/* ------------------------------------------------------------------ who sees what */

static bool is_shown(uid_t uid, int socket, uint32_t what, uint32_t id,
                     struct rsm_inspect_item *item)
{
    struct rsm_inspect_item items[MANY];
    uint32_t count = read_all(uid, socket, what, items);
    for (uint32_t i = 0; i < count; i++)
        if (items[i].id == id) {
            *item = items[i];
            return true;
        }
    return false;
}

INSPECT_TEST(parties_see_each_other)
{
    struct rsm_import_connect_reply made;
    struct rsm_inspect_item item;
    int a = hello_of(USER_A, 1), b = hello_of(USER_B, 2), c = hello_of(USER_C, 1);
    int root = hello_of(0, 3);
    become(USER_A);
    uint32_t shared = publish_page(a, 0x610003, 0666), hidden = publish_page(a, 0x610004, 0600);
    become(USER_B);
    assert_int_equal(connect_on(b, "sci0", 1, 0x610003, 6, &made), RSM_ST_OK);

    assert_true(is_shown(USER_A, a, RSM_INSPECT_EXPORTS, hidden, &item));
    assert_false(is_shown(USER_B, b, RSM_INSPECT_EXPORTS, hidden, &item));
    assert_true(is_shown(0, root, RSM_INSPECT_EXPORTS, hidden, &item));
    assert_true(is_shown(USER_A, a, RSM_INSPECT_IMPORTS, made.import, &item));
    assert_int_equal(item.uid, USER_B);
    assert_true(is_shown(USER_B, b, RSM_INSPECT_IMPORTS, made.import, &item));
    assert_true(is_shown(0, root, RSM_INSPECT_IMPORTS, made.import, &item));
    assert_int_equal(item.permission, 6);
    assert_int_equal(look(USER_C, c, RSM_INSPECT_EXPORTS, 0).count, 0);
    assert_int_equal(look(USER_C, c, RSM_INSPECT_IMPORTS, 0).count, 0);
    assert_int_equal(look(USER_C, c, RSM_INSPECT_IMPORTS, 0).segments, 3);

    /* Whose segment it is, an importer learns; to whom else it is open, and who uses it, not. */
    assert_true(is_shown(USER_B, b, RSM_INSPECT_EXPORTS, shared, &item));
    assert_int_equal(item.uid, USER_A);
    assert_int_equal(item.segment_id, 0x610003);
    assert_int_equal(item.permission, RSM_INSPECT_HIDDEN);
    assert_int_equal(item.acl_count, RSM_INSPECT_HIDDEN);
    assert_int_equal(item.acl_shown, 0);
    assert_int_equal(item.connections, RSM_INSPECT_HIDDEN);
    assert_true(is_shown(0, root, RSM_INSPECT_EXPORTS, shared, &item));
    assert_int_equal(item.permission, 0666);
    assert_int_equal(item.connections, 1);
    become(USER_B);
    assert_int_equal(disconnect(b, made.import), RSM_ST_OK);
    assert_false(is_shown(USER_B, b, RSM_INSPECT_EXPORTS, shared, &item));
    close(a), close(b), close(c), close(root);
}

/* A packet counts as its sender's, whoever opened the connection. */
INSPECT_TEST(the_sender_counts)
{
    int a = hello_of(USER_A, 1);
    publish_page(a, 0x610005, 0666);
    assert_int_equal(look(USER_A, a, RSM_INSPECT_EXPORTS, 0).count, 1);
    assert_int_equal(look(USER_C, a, RSM_INSPECT_EXPORTS, 0).count, 0);
    assert_int_equal(look(0, a, RSM_INSPECT_EXPORTS, 0).count, 1);
    close(a);
}

/* ------------------------------------------------------------------ pages */

/* MANY exports, every second one of each user; the ids of USER_A's in order. */
static void make_many(int a, int b, uint32_t ids[MANY / 2])
{
    for (unsigned i = 0; i < MANY / 2; i++) {
        become(USER_A);
        ids[i] = make_export(a, page, 0600);
        become(USER_B);
        make_export(b, page, 0600);
    }
}

INSPECT_TEST(pages)
{
    struct rsm_inspect_item items[MANY];
    uint32_t ids[MANY / 2];
    int a = hello_of(USER_A, 1), b = hello_of(USER_B, 1), root = hello_of(0, 1);
    make_many(a, b, ids);
    struct rsm_inspect_reply reply = look(USER_A, a, RSM_INSPECT_EXPORTS, 0);
    assert_int_equal(reply.count, RSM_PROTO_ITEMS_MAX);
    assert_int_not_equal(reply.next, 0);
    assert_int_equal(read_all(USER_A, a, RSM_INSPECT_EXPORTS, items), MANY / 2);
    for (unsigned i = 0; i < MANY / 2; i++)
        assert_int_equal(items[i].id, ids[i]);
    assert_int_equal(read_all(0, root, RSM_INSPECT_EXPORTS, items), MANY);
    for (unsigned i = 1; i < MANY; i++)
        assert_true(items[i - 1].id < items[i].id);
    /* rsmd remembers nothing of the page before: another one, or another client, may go on. */
    look(USER_A, a, RSM_INSPECT_IMPORTS, 0);
    struct rsm_inspect_reply second = look(USER_A, b, RSM_INSPECT_EXPORTS, reply.next);
    assert_int_equal(second.count, MANY / 2 - RSM_PROTO_ITEMS_MAX);
    assert_int_equal(second.items[0].id, ids[RSM_PROTO_ITEMS_MAX]);
    assert_int_equal(second.next, 0);
    assert_int_equal(look(0, root, RSM_INSPECT_EXPORTS, UINT32_MAX).count, 0);
    assert_int_equal(look(0, root, RSM_INSPECT_EXPORTS, 65535).next, 0);
    close(a), close(b), close(root);
}

/* What goes between two pages neither hides nor doubles what stays. */
INSPECT_TEST(pages_while_exports_go)
{
    struct rsm_inspect_item items[MANY];
    uint32_t ids[MANY / 2];
    int a = hello_of(USER_A, 1), b = hello_of(USER_B, 1);
    make_many(a, b, ids);
    struct rsm_inspect_reply reply = look(USER_A, a, RSM_INSPECT_EXPORTS, 0);
    assert_int_equal(reply.items[31].id, ids[31]);
    assert_int_equal(destroy(a, ids[0], NULL), RSM_ST_OK);
    assert_int_equal(destroy(a, ids[31], NULL), RSM_ST_OK); /* where the page ended */
    assert_int_equal(destroy(a, ids[33], NULL), RSM_ST_OK);
    reply = look(USER_A, a, RSM_INSPECT_EXPORTS, reply.next);
    assert_int_equal(reply.count, 17);
    assert_int_equal(reply.next, 0);
    assert_int_equal(reply.items[0].id, ids[32]);
    assert_int_equal(reply.items[1].id, ids[34]);
    assert_int_equal(reply.items[16].id, ids[49]);
    assert_int_equal(read_all(USER_A, a, RSM_INSPECT_EXPORTS, items), 47);
    close(a), close(b);
}

/* One request does not walk along all that others have, nor along all importers of one segment. */
INSPECT_TEST(a_page_is_bounded)
{
    enum { OTHERS = 3000 };
    struct rsm_import_connect_reply made;
    int a = hello_of(USER_A, 1), b = hello_of(USER_B, 1), c = hello_of(USER_C, 1);
    become(USER_A);
    uint32_t shared = publish_page(a, 0x610006, 0666);
    for (unsigned i = 0; i < OTHERS; i++)
        make_export(a, page, 0600);
    become(USER_B);
    uint32_t own = make_export(b, page, 0600);
    unsigned pages_seen = 0, found = 0;
    struct rsm_inspect_reply reply = {.next = 0};
    do {
        reply = look(USER_B, b, RSM_INSPECT_EXPORTS, reply.next);
        found += reply.count;
        pages_seen++;
        assert_true(reply.count == 0 || reply.items[0].id == own);
    } while (reply.next != 0);
    assert_int_equal(found, 1);
    assert_in_range(pages_seen, 2, OTHERS / 500);
    /* With many importers of another user. */
    become(USER_B);
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(connect_on(b, "sci0", 1, 0x610006, 0, &made), RSM_ST_OK);
    become(USER_C);
    assert_int_equal(connect_on(c, "sci0", 1, 0x610006, 0, &made), RSM_ST_OK);
    struct rsm_inspect_item item;
    assert_true(is_shown(USER_C, c, RSM_INSPECT_EXPORTS, shared, &item));
    become(USER_C);
    assert_int_equal(disconnect(c, made.import), RSM_ST_OK);
    assert_false(is_shown(USER_C, c, RSM_INSPECT_EXPORTS, shared, &item));
    assert_true(is_shown(USER_B, b, RSM_INSPECT_EXPORTS, shared, &item));
    close(a), close(b), close(c);
}

TESTS_BETWEEN(start, stop)
