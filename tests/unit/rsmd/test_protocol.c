/* SPDX-License-Identifier: BSD-3-Clause */
/* Greeting, controllers, extents and limits. */
#include "fixture.h"
#include "rsm/rsm_common.h"

TEST_ALONE(hello)
{
    struct rsm_packet_fds fds;
    int socket = peer_connect(&daemon_1);
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {0}};
    assert_int_equal(ask(socket, &msg), RSM_ST_INVALID);
    msg = (struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {65536}};
    assert_int_equal(ask(socket, &msg), RSM_ST_INVALID);
    msg = (struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {1}};
    assert_int_equal(ask_with(socket, &msg, NULL, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    assert_int_equal(msg.u.hello_reply.node, 1);
    assert_int_equal(msg.u.hello_reply.embedded, 0);
    assert_int_equal(msg.u.hello_reply.peer_timeout_ms, 3000);
    rsm_packet_fds_close(&fds);
    close(socket);
    const struct rsm_generation_table *table = gentable_map(&daemon_1);
    assert_int_equal(table->magic, RSM_GENERATION_TABLE_MAGIC);
    assert_int_equal(atomic_load(&table->alive), daemon_1.pid);
    gentable_unmap(table);
}

static enum rsm_status controller(int socket, const char *name, const char *transport,
                                  uint32_t unit, struct rsm_controller_reply *reply)
{
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.unit = unit}};
    strcpy(msg.u.controller.name, name);
    strcpy(msg.u.controller.transport, transport);
    enum rsm_status status = ask(socket, &msg);
    if (status == RSM_ST_OK)
        *reply = msg.u.controller_reply;
    return status;
}

TEST_ALONE(controllers)
{
    struct rsm_controller_reply reply;
    int socket = peer_hello(&daemon_1);
    assert_int_equal(controller(socket, "sci0", "", 0, &reply), RSM_ST_OK);
    assert_string_equal(reply.name, "sci0");
    assert_string_equal(reply.transport, "shm");
    assert_int_equal(reply.loopback, 0);
    assert_int_equal(reply.attr.page_size, page);
    assert_int_equal(controller(socket, "SCI0", "", 0, &reply), RSM_ST_NO_CONTROLLER);
    assert_int_equal(controller(socket, "sci00", "", 0, &reply), RSM_ST_NO_CONTROLLER);
    assert_int_equal(controller(socket, "sci", "", 0, &reply), RSM_ST_NO_CONTROLLER);
    assert_int_equal(controller(socket, "loopback", "", 17, &reply), RSM_ST_OK);
    assert_int_equal(reply.loopback, 1);
    assert_string_equal(reply.name, "loopback");
    close(socket);
}

/* Numbers count the controllers of a transport, or all, in the order of the configuration. */
TEST_ALONE(controllers_by_number)
{
    static const struct {
        const char *transport;
        uint32_t unit;
        const char *name; /* NULL: there is none */
    } cases[] = {
        {"", 0, "sci0"},        {"", 1, "Adapter7"}, {"", 2, NULL},
        {"", UINT32_MAX, NULL}, {"shm", 0, "sci0"},  {"shm", 1, "Adapter7"},
        {"shm", 2, NULL},       {"sh", 0, NULL},     {"SHM", 0, NULL},
    };
    struct daemon daemon;
    struct rsm_controller_reply reply;
    daemon_start(&daemon,
                 "[controller sci0]\ntransport = shm\n[controller Adapter7]\ntransport = shm\n",
                 NULL);
    int socket = peer_hello(&daemon);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum rsm_status status = controller(socket, "", cases[i].transport, cases[i].unit, &reply);
        assert_int_equal(status, cases[i].name != NULL ? RSM_ST_OK : RSM_ST_NO_CONTROLLER);
        if (cases[i].name != NULL)
            assert_string_equal(reply.name, cases[i].name);
    }
    close(socket);
    daemon_stop(&daemon);
}

static enum rsm_status alloc(int socket, const char *name, uint64_t length,
                             struct rsm_packet_fds *fds, uint32_t *extent)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC, .u.extent_alloc = {.length = length}};
    strcpy(msg.u.extent_alloc.controller, name);
    enum rsm_status status = ask_with(socket, &msg, NULL, fds);
    if (status == RSM_ST_OK)
        *extent = msg.u.extent_alloc_reply.extent;
    return status;
}

TEST_ALONE(extents)
{
    struct rsm_packet_fds fds;
    struct stat what;
    uint32_t first, second;
    int socket = peer_hello(&daemon_1), stranger = peer_hello(&daemon_1);
    assert_int_equal(alloc(socket, "nope0", page, &fds, &first), RSM_ST_NO_CONTROLLER);
    assert_int_equal(alloc(socket, "sci0", 0, &fds, &first), RSM_ST_INVALID);
    assert_int_equal(alloc(socket, "sci0", page + 1, &fds, &first), RSM_ST_ALIGNMENT);
    assert_int_equal(alloc(socket, "sci0", 3 * page, &fds, &first), RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    assert_int_equal(fstat(fds.fds[0], &what), 0);
    assert_int_equal(what.st_size, 3 * page);
    assert_int_equal(fcntl(fds.fds[0], F_GETFL) & O_ACCMODE, O_RDWR);
    rsm_packet_fds_close(&fds);
    second = make_extent(socket, page);
    assert_int_not_equal(first, second);
    assert_int_equal(extent_free(stranger, first, 0), RSM_ST_NOT_FOUND);
    assert_int_equal(extent_free(socket, first + second + 1000, 0), RSM_ST_NOT_FOUND);
    assert_int_equal(extent_free(socket, first, 0), RSM_ST_OK);
    assert_int_equal(extent_free(socket, first, 0), RSM_ST_NOT_FOUND);
    close(socket);
    close(stranger);
}

TEST_ALONE(exported_memory_is_limited)
{
    struct daemon daemon;
    struct rsm_packet_fds fds;
    uint32_t first, second;
    uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * page / 100;
    uint64_t part = most / 2 / page * page + page; /* two of them are too much */
    daemon_start(&daemon, "[controller sci0]\ntransport = shm\n[limits]\nmax-exported-memory = 1\n",
                 NULL);
    int one = peer_hello(&daemon), two = peer_hello(&daemon);
    assert_int_equal(alloc(one, "sci0", part, &fds, &first), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    assert_int_equal(alloc(two, "sci0", part, &fds, &second), RSM_ST_NO_MEMORY);
    assert_int_equal(alloc(two, "sci0", UINT64_MAX / page * page, &fds, &second), RSM_ST_NO_MEMORY);
    assert_int_equal(extent_free(one, first, 0), RSM_ST_OK);
    assert_int_equal(alloc(two, "sci0", part, &fds, &second), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    close(one);
    close(two);
    daemon_stop(&daemon);
}

static enum rsm_status create(int socket, const char *name, uint64_t length, uint32_t mode,
                              struct rsm_export_create_reply *reply)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.length = length, .mode = mode}};
    strcpy(msg.u.export_create.controller, name);
    enum rsm_status status = ask(socket, &msg);
    if (status == RSM_ST_OK && reply != NULL)
        *reply = msg.u.export_create_reply;
    return status;
}

TEST_ALONE(creation)
{
    struct rsm_export_create_reply first, second;
    int socket = peer_hello(&daemon_1);
    assert_int_equal(create(socket, "sci1", page, 0644, NULL), RSM_ST_NO_CONTROLLER);
    assert_int_equal(create(socket, "sci0", 0, 0644, NULL), RSM_ST_INVALID);
    assert_int_equal(create(socket, "sci0", page / 2, 0644, NULL), RSM_ST_ALIGNMENT);
    assert_int_equal(create(socket, "sci0", page, 01000, NULL), RSM_ST_INVALID);
    assert_int_equal(create(socket, "sci0", page, 0777, &first), RSM_ST_OK);
    assert_int_equal(create(socket, "loopback", page, 0, &second), RSM_ST_OK);
    assert_int_not_equal(first.export_id, second.export_id);
    assert_int_not_equal(first.epoch_slot, second.epoch_slot);
    assert_int_equal(destroy(socket, first.export_id, NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket, first.export_id, NULL), RSM_ST_NOT_FOUND);
    close(socket);
}

TEST_ALONE(segments_are_limited)
{
    struct daemon daemon;
    struct rsm_import_connect_reply import;
    daemon_start(&daemon, "[controller sci0]\ntransport = shm\n[limits]\nmax-segments = 3\n", NULL);
    int one = peer_hello(&daemon), two = peer_hello(&daemon);
    uint32_t export_id = publish_page(one, 0x600000, 0666);
    assert_int_equal(connect_on(two, "sci0", 1, 0x600000, RSM_RIGHT_READ, &import), RSM_ST_OK);
    uint32_t last = make_export(two, page, 0);
    assert_int_equal(create(two, "sci0", page, 0, NULL), RSM_ST_NO_RESOURCES);
    assert_int_equal(connect_on(two, "sci0", 1, 0x600000, 0, NULL), RSM_ST_NO_RESOURCES);
    assert_int_equal(destroy(two, last, NULL), RSM_ST_OK);
    assert_int_equal(connect_on(two, "sci0", 1, 0x600000, 0, NULL), RSM_ST_OK);
    assert_int_equal(disconnect(two, import.import), RSM_ST_OK);
    assert_int_equal(create(two, "sci0", page, 0, NULL), RSM_ST_OK);
    assert_int_equal(destroy(one, export_id, NULL), RSM_ST_OK);
    close(one);
    close(two);
    daemon_stop(&daemon);
}

TEST_ALONE(many_rounds_leak_nothing)
{
    struct daemon daemon;
    daemon_start(&daemon, "[controller sci0]\ntransport = shm\n[limits]\nmax-segments = 2\n", NULL);
    for (int i = 0; i < 300; i++) {
        struct rsm_import_connect_reply import;
        int socket = peer_hello(&daemon);
        uint32_t export_id = publish_page(socket, 0x600000, 0600);
        assert_int_equal(connect_on(socket, "sci0", 1, 0x600000, 6, &import), RSM_ST_OK);
        if (i % 3 == 0)
            assert_int_equal(disconnect(socket, import.import), RSM_ST_OK);
        if (i % 2 == 0)
            assert_int_equal(destroy(socket, export_id, NULL), RSM_ST_OK);
        close(socket);
        /* What the closed connection had goes before the next one is served: the id is free. */
    }
    daemon_stop(&daemon);
}

TESTS_BETWEEN(daemon_setup, daemon_teardown)
