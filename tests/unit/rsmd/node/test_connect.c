/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting: the order of refusals, users, nodes, what is handed over. */
#include "fixture.h"

TEST_ALONE(refusals_in_order)
{
    int socket = peer_hello(&daemon_1);
    assert_int_equal(connect_on(socket, "sci1", 9, 0x600000, 1, NULL), RSM_ST_NO_CONTROLLER);
    assert_int_equal(connect_on(socket, "loopback", 9, 0x600000, 1, NULL), RSM_ST_NO_CONTROLLER);
    assert_int_equal(connect_on(socket, "sci0", 9, 0x600000, 1, NULL), RSM_ST_NO_ROUTE);
    assert_int_equal(connect_on(socket, "sci0", 0, 0x600000, 1, NULL), RSM_ST_NO_ROUTE);
    assert_int_equal(connect_on(socket, "sci0", 65, 0x600000, 1, NULL), RSM_ST_NO_ROUTE);
    assert_int_equal(connect_on(socket, "sci0", 1, 0x600000, 1, NULL), RSM_ST_NOT_FOUND);
    make_export(socket, page, 0600); /* created is not published */
    assert_int_equal(connect_on(socket, "sci0", 1, 0, 4, NULL), RSM_ST_NOT_FOUND);
    publish_page(socket, 0x600000, 0600);
    assert_int_equal(connect_on(socket, "sci0", 1, 0x600000, 1, NULL), RSM_ST_DENIED);
    assert_int_equal(connect_on(socket, "sci0", 1, 0x600000, 6, NULL), RSM_ST_OK);
    close(socket);
}

TEST_ALONE(own_node_through_any_controller)
{
    struct rsm_import_connect_reply a, b;
    int socket = peer_hello(&daemon_1);
    publish_page(socket, 0x600001, 0600);
    assert_int_equal(connect_on(socket, "loopback", 1, 0x600001, 6, &a), RSM_ST_OK);
    assert_int_equal(connect_on(socket, "SCI0", 1, 0x600001, 6, &b), RSM_ST_OK);
    assert_int_not_equal(a.import, b.import);
    assert_string_equal(a.transport, "shm");
    close(socket);
}

/* The descriptors of an offer reach the exporter's memory with exactly the rights granted. */
TEST_ALONE(descriptors_carry_the_rights)
{
    int socket = peer_hello(&daemon_1);
    struct rsm_packet_fds memory, offer;
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.controller = "sci0", .length = page}};
    assert_int_equal(ask_with(socket, &msg, NULL, &memory), RSM_ST_OK);
    uint32_t extent = msg.u.extent_alloc_reply.extent, export_id = make_export(socket, page, 0600);
    assert_int_equal(publish(socket, export_id, 0x600002, extent, page, NULL, 0), RSM_ST_OK);
    char *exporter = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fds[0], 0);
    assert_ptr_not_equal(exporter, MAP_FAILED);
    msg = (struct rsm_msg){
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", 1, RSM_ID_SPACE_RSMAPI, 0x600002, RSM_RIGHT_READ}};
    assert_int_equal(ask_with(socket, &msg, NULL, &offer), RSM_ST_OK);
    assert_int_equal(offer.count, 1);
    assert_int_equal(fcntl(offer.fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_ptr_equal(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, offer.fds[0], 0),
                     MAP_FAILED);
    char *importer = mmap(NULL, page, PROT_READ, MAP_SHARED, offer.fds[0], 0);
    assert_ptr_not_equal(importer, MAP_FAILED);
    exporter[100] = 'x';
    assert_int_equal(importer[100], 'x');
    munmap(importer, page);
    munmap(exporter, page);
    rsm_packet_fds_close(&offer);
    rsm_packet_fds_close(&memory);
    close(socket);
}

/* ------------------------------------------------------------------ other nodes */

TEST_ALONE(clients_of_other_nodes)
{
    struct rsm_import_connect_reply import;
    int exporter = peer_hello(&daemon_1), importer = peer_hello_as(&daemon_1, 2);
    publish_page(exporter, 0x600003, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x600003, 6, &import), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "loopback", 1, 0x600003, 6, NULL), RSM_ST_NO_CONTROLLER);
    assert_int_equal(connect_on(importer, "sci0", 2, 0x600003, 6, NULL), RSM_ST_DENIED);
    assert_int_equal(disconnect(exporter, import.import), RSM_ST_NOT_FOUND);
    assert_int_equal(disconnect(importer, import.import), RSM_ST_OK);
    static const uint32_t refused[] = {
        RSM_MSG_CONTROLLER,     RSM_MSG_TOPOLOGY,         RSM_MSG_LOCATE,
        RSM_MSG_EXTENT_ALLOC,   RSM_MSG_EXTENT_FREE,      RSM_MSG_EXPORT_CREATE,
        RSM_MSG_EXPORT_PUBLISH, RSM_MSG_EXPORT_REPUBLISH, RSM_MSG_EXPORT_UNPUBLISH,
        RSM_MSG_EXPORT_DESTROY, RSM_MSG_EXTENT_OPEN,
    };
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct rsm_msg msg = {.type = refused[i]};
        assert_int_equal(ask(importer, &msg), RSM_ST_DENIED);
    }
    close(exporter);
    close(importer);
}

TEST_ALONE(loopback_segments_stay_on_their_node)
{
    int exporter = peer_hello(&daemon_1), importer = peer_hello_as(&daemon_1, 2);
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "loopback", .length = page, .mode = 0666}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    uint32_t extent = make_extent(exporter, page);
    assert_int_equal(
        publish(exporter, msg.u.export_create_reply.export_id, 0x600004, extent, page, NULL, 0),
        RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 0x600004, 4, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(connect_on(exporter, "sci0", 1, 0x600004, 4, NULL), RSM_ST_OK);
    close(exporter);
    close(importer);
}

TEST_ALONE(lists_name_the_importers_node)
{
    const struct rsm_acl_entry acl = {2, 0600};
    int exporter = peer_hello(&daemon_1), near = peer_hello(&daemon_1);
    int second = peer_hello_as(&daemon_1, 2), third = peer_hello_as(&daemon_1, 3);
    publish_page(exporter, 0x600005, 0600);
    uint32_t extent = make_extent(exporter, page), export_id = make_export(exporter, page, 0600);
    /* Node 2 is not in the configuration, and no daemon of it listens. */
    assert_int_equal(publish(exporter, export_id, 0x600006, extent, page, &acl, 1),
                     RSM_ST_NO_ROUTE);
    struct daemon neighbour;
    daemon_start_in(&neighbour, daemon_1.directory, 2, NULL, NULL);
    assert_int_equal(publish(exporter, export_id, 0x600006, extent, page, &acl, 1), RSM_ST_OK);
    assert_int_equal(connect_on(near, "sci0", 1, 0x600006, 6, NULL), RSM_ST_NOT_TO_NODE);
    assert_int_equal(connect_on(third, "sci0", 1, 0x600006, 6, NULL), RSM_ST_NOT_TO_NODE);
    assert_int_equal(connect_on(second, "sci0", 1, 0x600006, 6, NULL), RSM_ST_OK);
    daemon_end(&neighbour);
    close(exporter);
    close(near);
    close(second);
    close(third);
}

/* ------------------------------------------------------------------ users */

struct attempt {
    uint32_t segment;
    uint32_t rights;
};

/* In a process of its own: connect and return the status. */
static int try_connect(const void *argument)
{
    const struct attempt *attempt = argument;
    int socket = peer_hello(&daemon_1);
    int status = (int)connect_on(socket, "sci0", 1, attempt->segment, attempt->rights, NULL);
    close(socket);
    return status;
}

/* Exported by uid 4001, gid 4002. */
static int export_and_wait(const void *argument)
{
    const int *ends = argument;
    char byte;
    int socket = peer_hello(&daemon_1);
    publish_page(socket, 0x600010, 0640);
    publish_page(socket, 0x600011, 0066);
    publish_page(socket, 0x600012, 0000);
    if (write(ends[1], "p", 1) != 1)
        return 1;
    ssize_t ignored = read(ends[2], &byte, 1);
    (void)ignored;
    close(socket);
    return 0;
}

TEST_ALONE(users_and_groups)
{
    case_needs_root();
    int up[2], down[2];
    char byte;
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid_t exporter = fork();
    assert_true(exporter >= 0);
    if (exporter == 0) {
        int ends[] = {up[0], up[1], down[0]};
        close(down[1]);
        _exit(as_user(4001, 4002, 0, export_and_wait, ends));
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    const struct {
        uid_t uid;
        gid_t gid, group;
        struct attempt attempt;
        enum rsm_status status;
    } attempts[] = {
        {4001, 9, 0, {0x600010, 6}, RSM_ST_OK},     {4001, 9, 0, {0x600011, 4}, RSM_ST_DENIED},
        {4003, 4002, 0, {0x600010, 4}, RSM_ST_OK},  {4003, 4002, 0, {0x600010, 6}, RSM_ST_DENIED},
        {4003, 9, 4002, {0x600010, 4}, RSM_ST_OK},  {4003, 9, 4002, {0x600011, 6}, RSM_ST_OK},
        {4003, 9, 0, {0x600010, 4}, RSM_ST_DENIED}, {4003, 9, 0, {0x600011, 6}, RSM_ST_OK},
        {4001, 4002, 0, {0x600012, 0}, RSM_ST_OK},  {4001, 4002, 0, {0x600012, 4}, RSM_ST_DENIED},
        {0, 0, 0, {0x600012, 6}, RSM_ST_OK},
    };
    for (unsigned i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        assert_int_equal(as_user(attempts[i].uid, attempts[i].gid, attempts[i].group, try_connect,
                                 &attempts[i].attempt),
                         attempts[i].status);
    close(down[1]);
    assert_int_equal(wait_exit(exporter), 0);
    close(down[0]);
    close(up[0]);
    close(up[1]);
}

/* A connection made by one user and used by another counts as the other's. */
static int use_inherited(const void *argument)
{
    const int *socket = argument;
    return (int)connect_on(*socket, "sci0", 1, 0x600020, 6, NULL);
}

TEST_ALONE(the_sender_counts)
{
    case_needs_root();
    int socket = peer_hello(&daemon_1);
    publish_page(socket, 0x600020, 0600);
    assert_int_equal(as_user(4003, 9, 0, use_inherited, &socket), RSM_ST_DENIED);
    assert_int_equal(connect_on(socket, "sci0", 1, 0x600020, 6, NULL), RSM_ST_OK);
    close(socket);
}

TESTS_BETWEEN(daemon_setup, daemon_teardown)
