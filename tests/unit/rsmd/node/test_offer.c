/* SPDX-License-Identifier: BSD-3-Clause */
/* By which transport importers on the exporter's host reach a segment whose memory they may map. */
#include <dirent.h>

#include "peer.h"

static struct daemon daemon_1;
static uint64_t page;

static int start(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    daemon_start(&daemon_1,
                 "[controller sci0]\ntransport = shared\n[controller wrsm0]\ntransport = shm\n"
                 "[controller sci1]\ntransport = shared\n[controller wrsm1]\ntransport = shm\n"
                 "[controller ntb0]\ntransport = window\n[controller ntb1]\ntransport = window\n",
                 NULL);
    return 0;
}

static int stop(void **state)
{
    daemon_stop(&daemon_1);
    return 0;
}

/* Descriptors that the daemon has open. */
static unsigned daemon_descriptors(void)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)daemon_1.pid);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* rsmd closes what it attached to a reply when that is on its way. */
static void expect_descriptors(unsigned count)
{
    for (int i = 0; i < 5000 && daemon_descriptors() != count; i++)
        usleep(1000);
    assert_int_equal(daemon_descriptors(), count);
}

/* An extent of `pages` pages on a controller, mapped. */
static char *extent_on(int socket, const char *controller, uint64_t pages, uint32_t *id)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC, .u.extent_alloc = {.length = pages * page}};
    snprintf(msg.u.extent_alloc.controller, RSM_PROTO_NAME_MAX, "%s", controller);
    assert_int_equal(ask_with(socket, &msg, NULL, &fds), RSM_ST_OK);
    char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    rsm_packet_fds_close(&fds);
    *id = msg.u.extent_alloc_reply.extent;
    return memory;
}

static uint32_t export_on(int socket, const char *controller, uint64_t pages)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.length = pages * page, .mode = 0600}};
    snprintf(msg.u.export_create.controller, RSM_PROTO_NAME_MAX, "%s", controller);
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    return msg.u.export_create_reply.export_id;
}

static enum rsm_status publish_pieces(int socket, uint32_t export_id, uint32_t segment_id,
                                      const struct rsm_segment_piece *pieces, uint32_t count)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_PUBLISH,
                          .u.export_publish = {.export_id = export_id,
                                               .segment_id = segment_id,
                                               .piece_count = count}};
    memcpy(msg.u.export_publish.pieces, pieces, count * sizeof *pieces);
    return ask(socket, &msg);
}

static enum rsm_status connect_with(int socket, uint32_t segment_id, uint32_t rights,
                                    struct rsm_import_connect_reply *reply,
                                    struct rsm_packet_fds *fds)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {
            .controller = "sci0", .node = 1, .segment_id = segment_id, .rights = rights}};
    enum rsm_status status = ask_with(socket, &msg, NULL, fds);
    *reply = msg.u.import_connect_reply;
    return status;
}

/* It is the first one, because it counts while nobody else is there. */
/* The loopback controller adopts the memory, and takes no descriptor for that. */
TEST_ALONE(adopted_memory_has_one_descriptor)
{
    int exporter = peer_hello(&daemon_1), importer = peer_hello(&daemon_1);
    wait_for_clients(exporter, 2);
    unsigned before = daemon_descriptors();
    uint32_t extent = make_extent(exporter, page), export_id = make_export(exporter, page, 0600);
    assert_int_equal(publish(exporter, export_id, 0x712, extent, page, NULL, 0), RSM_ST_OK);
    expect_descriptors(before + 1);
    struct rsm_import_connect_reply import;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(connect_on(importer, "sci0", 1, 0x712, 6, &import), RSM_ST_OK);
        expect_descriptors(before + 1);
    }
    assert_int_equal(disconnect(importer, import.import), RSM_ST_OK);
    assert_int_equal(destroy(exporter, export_id, NULL), RSM_ST_OK);
    assert_int_equal(extent_free(exporter, extent, 0), RSM_ST_OK);
    expect_descriptors(before);
    close(exporter);
    close(importer);
}

TEST_ALONE(importers_here_go_by_shm)
{
    struct rsm_import_connect_reply reply;
    struct rsm_packet_fds fds;
    uint32_t extent;
    int exporter = peer_hello(&daemon_1);
    char *memory = extent_on(exporter, "sci0", 2, &extent);
    uint32_t export_id = export_on(exporter, "sci0", 2);
    const struct rsm_segment_piece pieces[] = {{extent, page, page}, {extent, 0, page}};
    assert_int_equal(publish_pieces(exporter, export_id, 0x710, pieces, 2), RSM_ST_OK);
    const uint32_t nodes[] = {1, 2};
    for (unsigned i = 0; i < 2; i++) {
        int importer = peer_hello_as(&daemon_1, nodes[i]);
        assert_int_equal(connect_with(importer, 0x710, RSM_RIGHT_READ, &reply, &fds), RSM_ST_OK);
        assert_string_equal(reply.transport, "shm");
        assert_int_equal(fds.count, 2);
        assert_int_equal(fcntl(fds.fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
        const char *seen = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fds.fds[0], 0);
        assert_ptr_not_equal(seen, MAP_FAILED);
        memory[page] = (char)(i + 1);
        assert_int_equal(seen[page], i + 1);
        munmap((void *)(uintptr_t)seen, 2 * page);
        rsm_packet_fds_close(&fds);
        close(importer);
    }
    munmap(memory, 2 * page);
    close(exporter);
}

TEST_ALONE(the_connection_is_the_segments_controllers)
{
    int socket = peer_hello(&daemon_1);
    struct rsm_import_connect_reply import;
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_IMPORTS}};
    wait_for_clients(socket, 1);
    publish_page(socket, 0x711, 0600);
    assert_int_equal(connect_on(socket, "sci0", 1, 0x711, 6, &import), RSM_ST_OK);
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    assert_int_equal(msg.u.inspect_reply.count, 1);
    assert_string_equal(msg.u.inspect_reply.items[0].controller, "sci0");
    close(socket);
}

/* Overlapping segments of two controllers lie on one extent. */
TEST_ALONE(a_segment_of_shm_may_lie_on_memory_of_others)
{
    struct rsm_import_connect_reply reply;
    struct rsm_packet_fds fds;
    uint32_t foreign, own;
    int socket = peer_hello(&daemon_1);
    munmap(extent_on(socket, "sci0", 1, &foreign), page);
    munmap(extent_on(socket, "wrsm0", 1, &own), page);
    const struct rsm_segment_piece pieces[] = {{foreign, 0, page}, {own, 0, page}};
    uint32_t on_shm = export_on(socket, "wrsm0", 2), on_loopback = export_on(socket, "loopback", 2);
    assert_int_equal(publish_pieces(socket, on_shm, 0x713, pieces, 2), RSM_ST_OK);
    assert_int_equal(publish_pieces(socket, on_loopback, 0x714, pieces, 2), RSM_ST_OK);
    assert_int_equal(connect_with(socket, 0x713, RSM_RIGHT_READ, &reply, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 2);
    rsm_packet_fds_close(&fds);
    assert_int_equal(connect_with(socket, 0x714, RSM_RIGHT_READ, &reply, &fds), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    /* The other way round the fabric would have to know memory that it did not make. */
    uint32_t on_fabric = export_on(socket, "sci0", 2);
    assert_int_equal(publish_pieces(socket, on_fabric, 0x715, pieces, 2), RSM_ST_INVALID);
    close(socket);
}

/* Two ports of one transport are on two devices: what one has made the other does not know,
 * whether or not processes of this host may map it. */
TEST_ALONE(a_fabric_offers_what_its_own_port_has_made)
{
    static const char *const pairs[][2] = {{"ntb0", "ntb1"}, {"sci0", "sci1"}};
    int socket = peer_hello(&daemon_1);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t other, own;
        munmap(extent_on(socket, pairs[i][0], 1, &other), page);
        munmap(extent_on(socket, pairs[i][1], 1, &own), page);
        uint32_t export_id = export_on(socket, pairs[i][1], 2);
        const struct rsm_segment_piece mixed[] = {{own, 0, page}, {other, 0, page}};
        const struct rsm_segment_piece sound[] = {{own, 0, page}, {own, 0, page}};
        assert_int_equal(publish_pieces(socket, export_id, 0x716, mixed, 2), RSM_ST_INVALID);
        assert_int_equal(publish_pieces(socket, export_id, 0x716, sound, 2), RSM_ST_OK);
        assert_int_equal(destroy(socket, export_id, NULL), RSM_ST_OK);
    }
    close(socket);
}

/* Importers of a shm controller are on this host, where the loopback controller adopts for them. */
TEST_ALONE(two_controllers_of_shm_share_memory)
{
    struct rsm_import_connect_reply reply;
    struct rsm_packet_fds fds;
    uint32_t other;
    int exporter = peer_hello(&daemon_1), importer = peer_hello(&daemon_1);
    wait_for_clients(exporter, 2);
    char *memory = extent_on(exporter, "wrsm0", 1, &other);
    uint32_t export_id = export_on(exporter, "wrsm1", 1);
    const struct rsm_segment_piece piece = {other, 0, page};
    assert_int_equal(publish_pieces(exporter, export_id, 0x717, &piece, 1), RSM_ST_OK);
    unsigned before = daemon_descriptors();
    assert_int_equal(connect_with(importer, 0x717, RSM_RIGHT_READ, &reply, &fds), RSM_ST_OK);
    expect_descriptors(before); /* adopted, by the same descriptor */
    const char *seen = mmap(NULL, page, PROT_READ, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    memory[1] = 7;
    assert_int_equal(seen[1], 7);
    munmap((void *)(uintptr_t)seen, page);
    munmap(memory, page);
    rsm_packet_fds_close(&fds);
    close(importer);
    close(exporter);
}

TESTS_BETWEEN(start, stop)
