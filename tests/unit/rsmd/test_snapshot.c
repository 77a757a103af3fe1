/* SPDX-License-Identifier: BSD-3-Clause */
/* State that a predecessor has left, damaged in every place: it is refused, or if its checksum is right
 * restored or refused, and in the end nothing is left of it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cmocka_all.h"
#include "common/snapshot.h"
#include "control/packet.h"
#include "control/proto.h"
#include "handover/state.h"
#include "node/generation_table.h"
#include "server/server.h"

enum {
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL,
    STATE_MAX = 1 << 16,
    FDS_MAX = 64,
    END_MS = 20000,
    AT_LENGTH = 8, /* in the header */
    AT_SUM = 16,
    AT_FD_COUNT = 24,
};

/* What the predecessor has left. */
static struct {
    uint8_t bytes[STATE_MAX];
    size_t length;
    int fds[FDS_MAX];
    uint32_t fd_count;
    int table;
} left;

struct world {
    struct rsmd_conf conf;
    struct rsmd_node node;
    struct rsmd_server server;
    struct sockaddr_un address;
    socklen_t address_length;
};

/* With the predecessor's table, or if that is -1 a new one. */
static void begin(struct world *world, int table)
{
    static const char text[] = "[controller sci0]\ntransport = shm\n";
    char why[256];
    struct rsmd_conf_error error;
    struct rsmcore_runtime runtime = {.directory = "/nonexistent", .node = 1};
    assert_true(rsmd_conf_parse(&world->conf, text, sizeof text - 1, &error));
    assert_true(rsmd_node_init(&world->node, 1, false, &runtime, &world->conf, why, sizeof why));
    rsmd_generation_table_free(world->node.generation_table);
    assert_int_equal(table < 0
                         ? rsmd_generation_table_create_lasting(&world->node.generation_table)
                         : rsmd_generation_table_take_over(table, &world->node.generation_table),
                     RSM_ST_OK);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    world->address = (struct sockaddr_un){.sun_family = AF_UNIX}; /* the kernel chooses the name */
    world->address_length = sizeof world->address;
    assert_int_equal(bind(listener, (struct sockaddr *)&world->address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(
        getsockname(listener, (struct sockaddr *)&world->address, &world->address_length), 0);
    assert_true(rsmd_server_init(&world->server, &world->node, listener, -1));
}

static void end(struct world *world)
{
    struct rsmd_instance instance = {.lock = -1};
    assert_true(rsmd_server_end(&world->server, &instance));
    assert_null(world->node.extents);
    assert_null(world->node.exports);
    assert_null(world->node.imports);
    assert_null(world->node.shares.accounts);
    rsmd_node_end(&world->node);
    rsmd_conf_free(&world->conf);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* What threads close takes its time. */
static void await_descriptors(unsigned count)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; open_descriptors() != count; waited++) {
        assert_true(waited < END_MS);
        nanosleep(&pause, NULL);
    }
}

/* ------------------------------------------------------------------ a predecessor */

static void ask(struct world *world, int client, struct rsm_msg *msg)
{
    static uint32_t sequence;
    uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = -EAGAIN;
    msg->sequence = ++sequence;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    assert_int_equal(rsm_packet_send(client, bytes, length, NULL, 0), 0);
    for (unsigned turns = 0; got == -EAGAIN && turns < END_MS; turns++) {
        event_base_loop(world->server.base, EVLOOP_NONBLOCK);
        got = rsm_packet_receive(client, bytes, sizeof bytes, &fds, NULL);
    }
    assert_true(got > 0);
    assert_int_equal(rsm_msg_decode(msg, bytes, (size_t)got), RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    assert_int_equal(msg->status, RSM_ST_OK);
}

/* A client with a segment that it imports itself, and counters for both ends. */
static int make_client(struct world *world)
{
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&world->address, world->address_length), 0);
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    ask(world, client, &msg);
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci0", .length = 4096, .mode = 0666, .want_extent = 1}};
    ask(world, client, &msg);
    struct rsm_export_create_reply made = msg.u.export_create_reply;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = made.export_id,
                                                .segment_id = 7,
                                                .piece_count = 1,
                                                .pieces = {{made.extent, 0, 4096}}}};
    ask(world, client, &msg);
    msg = (struct rsm_msg){
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {"sci0", 1, 7, RSM_RIGHT_READ, RSM_ID_SPACE_RSMAPI, 0}};
    ask(world, client, &msg);
    uint32_t import = msg.u.import_connect_reply.import;
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_OPEN,
                           .u.event_open = {RSM_EVENT_EXPORT, made.export_id}};
    ask(world, client, &msg);
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_OPEN, .u.event_open = {RSM_EVENT_IMPORT, import}};
    ask(world, client, &msg);
    return client;
}

static int make_state(void **state)
{
    (void)state;
    static struct world world;
    struct rsmd_snapshot snapshot = {.bytes = NULL};
    begin(&world, -1);
    int client = make_client(&world);
    rsmd_state_save(&snapshot, &world.server);
    int memfd = rsmd_snapshot_seal(&snapshot);
    assert_true(memfd >= 0 && snapshot.fd_count <= FDS_MAX);
    left.length = (size_t)pread(memfd, left.bytes, sizeof left.bytes, 0);
    assert_in_range(left.length, RSMD_SNAPSHOT_HEADER + 1, STATE_MAX - 1);
    left.fd_count = snapshot.fd_count;
    for (uint32_t i = 0; i < left.fd_count; i++)
        left.fds[i] = fcntl(snapshot.fds[i], F_DUPFD_CLOEXEC, 3);
    left.table =
        fcntl(rsmd_generation_table_lasting_fd(world.node.generation_table), F_DUPFD_CLOEXEC, 3);
    rsmd_snapshot_free(&snapshot);
    close(memfd);
    end(&world);
    close(client);
    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
    return 0;
}

/* ------------------------------------------------------------------ a successor */

static void set_number(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Length and checksum (FNV-1a) as if the damage were meant. */
static void repair(uint8_t *bytes, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = RSMD_SNAPSHOT_HEADER; i < length; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    set_number(bytes + AT_LENGTH, length - RSMD_SNAPSHOT_HEADER, 8);
    set_number(bytes + AT_SUM, sum, 8);
}

static int memory_of(const uint8_t *bytes, size_t length, int seals)
{
    int memfd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(memfd >= 0);
    assert_int_equal(write(memfd, bytes, length), length);
    assert_int_equal(fcntl(memfd, F_ADD_SEALS, seals), 0);
    return memfd;
}

/* Open it with copies of the descriptors; `other` instead of the one with the number `odd`. */
static bool open_state(struct rsmd_snapshot_reader *reader, const uint8_t *bytes, size_t length,
                       uint32_t fd_count, uint32_t odd, int other)
{
    int fds[FDS_MAX + 1];
    for (uint32_t i = 0; i < fd_count; i++)
        fds[i] = fcntl(i == odd ? other : left.fds[i % left.fd_count], F_DUPFD_CLOEXEC, 3);
    int memfd = memory_of(bytes, length, SEALS);
    bool opened = rsmd_snapshot_open(reader, memfd, fds, fd_count);
    close(memfd);
    return opened;
}

/* Whether a successor takes it over; whatever it says, in the end it has nothing more. */
static bool restores(const uint8_t *bytes, size_t length, uint32_t odd, int other)
{
    static struct world world;
    struct rsmd_snapshot_reader reader;
    unsigned before = open_descriptors();
    bool restored = false;
    if (open_state(&reader, bytes, length, left.fd_count, odd, other)) {
        begin(&world, fcntl(left.table, F_DUPFD_CLOEXEC, 3));
        restored = rsmd_state_restore(&reader, &world.server);
        rsmd_snapshot_reader_end(&reader);
        end(&world);
    }
    await_descriptors(before);
    return restored;
}

static bool is_refused(const uint8_t *bytes, size_t length, uint32_t fd_count)
{
    struct rsmd_snapshot_reader reader;
    unsigned before = open_descriptors();
    bool opened = open_state(&reader, bytes, length, fd_count, FDS_MAX, -1);
    if (opened)
        rsmd_snapshot_reader_end(&reader);
    await_descriptors(before);
    return !opened;
}

static void whole_state_is_restored(void **state)
{
    (void)state;
    assert_true(restores(left.bytes, left.length, FDS_MAX, -1));
    assert_false(is_refused(left.bytes, left.length, left.fd_count));
}

static void damage_is_refused(void **state)
{
    (void)state;
    static uint8_t bytes[STATE_MAX];
    memcpy(bytes, left.bytes, left.length);
    for (size_t i = 0; i < left.length; i++) {
        bytes[i] ^= 0xff;
        assert_true(is_refused(bytes, left.length, left.fd_count));
        bytes[i] ^= 0xff;
        assert_true(is_refused(bytes, i, left.fd_count));
    }
    assert_true(is_refused(bytes, left.length + 1, left.fd_count));
}

/* Every byte, and the state cut at every place: counts, lengths, ids and numbers of descriptors. */
static void lies_leave_nothing(void **state)
{
    (void)state;
    static uint8_t bytes[STATE_MAX];
    for (size_t i = RSMD_SNAPSHOT_HEADER; i < left.length; i++) {
        memcpy(bytes, left.bytes, left.length);
        bytes[i] ^= i % 2 != 0 ? 0xff : 1;
        repair(bytes, left.length);
        (void)restores(bytes, left.length, FDS_MAX, -1);
    }
    size_t records = left.length - left.fd_count * sizeof(uint32_t);
    for (size_t cut = RSMD_SNAPSHOT_HEADER + 1; cut < records; cut += 7) {
        memcpy(bytes, left.bytes, left.length);
        repair(bytes, cut);
        (void)restores(bytes, cut, FDS_MAX, -1);
    }
}

static void descriptors_are_counted(void **state)
{
    (void)state;
    static uint8_t bytes[STATE_MAX];
    memcpy(bytes, left.bytes, left.length);
    assert_true(is_refused(bytes, left.length, left.fd_count - 1));
    assert_true(is_refused(bytes, left.length, left.fd_count + 1));
    set_number(bytes + AT_FD_COUNT, UINT32_MAX, 4);
    assert_true(is_refused(bytes, left.length, left.fd_count));
}

/* A device instead of each descriptor, and none. */
static void other_descriptors_leave_nothing(void **state)
{
    (void)state;
    int device = open("/dev/null", O_RDWR | O_CLOEXEC);
    unsigned refused = 0;
    for (uint32_t i = 0; i < left.fd_count; i++) {
        refused += !restores(left.bytes, left.length, i, device);
        assert_false(restores(left.bytes, left.length, i, -1));
    }
    assert_true(refused >= 3); /* at least socket, memory and counters */
    close(device);
}

static void unsealed_state_is_refused(void **state)
{
    (void)state;
    struct rsmd_snapshot_reader reader;
    int memfd = memory_of(left.bytes, left.length, SEALS & ~F_SEAL_WRITE);
    assert_false(rsmd_snapshot_open(&reader, memfd, NULL, 0));
    close(memfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_state_is_restored),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(lies_leave_nothing),
        cmocka_unit_test(descriptors_are_counted),
        cmocka_unit_test(other_descriptors_leave_nothing),
        cmocka_unit_test(unsealed_state_is_refused),
    };
    return cmocka_run_group_tests(tests, make_state, NULL);
}
