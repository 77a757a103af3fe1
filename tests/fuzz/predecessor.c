/* SPDX-License-Identifier: BSD-3-Clause */
#include "predecessor.h"

#include "base/log.h"
#include "check.h"
#include "base/packet.h"
#include "protocol/proto.h"
#include "descriptors.h"
#include "node/generation_table.h"

enum {
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL,
    END_MS = 20000,
    PAGE = 4096,
    FIRST_SEGMENT = 9,
    TURNS = 8,
    AT_LENGTH = 8, /* in the header */
    AT_SUM = 16,
};

struct left left;

void world_begin(struct world *world, int table)
{
    static const char text[] = "[controller sci0]\ntransport = shm\n";
    char why[256];
    struct rsmd_conf_error error;
    struct rsmcore_runtime runtime = {.directory = "/nonexistent", .node = 1};
    CHECK(rsmd_conf_parse(&world->conf, text, sizeof text - 1, &error));
    CHECK(rsmd_node_init(&world->node, 1, false, &runtime, &world->conf, why, sizeof why));
    rsmd_generation_table_free(world->node.generation_table);
    CHECK((table < 0 ? rsmd_generation_table_create(&world->node.generation_table, true)
                     : rsmd_generation_table_take_over(table, &world->node.generation_table)) ==
          RSM_ST_OK);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    world->address = (struct sockaddr_un){.sun_family = AF_UNIX}; /* the kernel chooses the name */
    world->address_length = sizeof world->address;
    CHECK(bind(listener, (struct sockaddr *)&world->address, sizeof(sa_family_t)) == 0);
    CHECK(listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&world->address, &world->address_length) == 0);
    CHECK(rsmd_server_init(&world->server, &world->node, listener, -1));
}

void world_end(struct world *world)
{
    struct rsmd_instance instance = {.lock = -1};
    const struct rsmd_node *node = &world->node;
    CHECK(rsmd_server_end(&world->server, &instance));
    CHECK(node->extents == NULL && node->exports == NULL && node->published == NULL);
    CHECK(node->importers == NULL && node->interrupts_by_number == NULL);
    CHECK(node->shares.accounts == NULL && rsmd_shares_are_sound(&node->shares));
    rsmd_node_end(&world->node);
    rsmd_conf_free(&world->conf);
}

unsigned left_descriptors(void)
{
    return descriptors_open();
}

void left_await_descriptors(unsigned count)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; descriptors_open() != count; waited++) {
        CHECK(waited < END_MS);
        nanosleep(&pause, NULL);
    }
}

/* ------------------------------------------------------------------ a predecessor */

static void ask(struct world *world, int client, struct rsm_msg *msg)
{
    static uint32_t sequence;
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = -EAGAIN;
    msg->sequence = ++sequence;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    CHECK(rsm_packet_send(client, bytes, length, NULL, 0) == 0);
    for (unsigned turns = 0; got == -EAGAIN && turns < END_MS; turns++) {
        event_base_loop(world->server.base, EVLOOP_NONBLOCK);
        got = rsm_packet_receive(client, bytes, sizeof bytes, &fds, NULL);
    }
    CHECK(got > 0 && rsm_msg_decode(msg, bytes, (size_t)got) == RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    CHECK(msg->status == RSM_ST_OK);
}

static void open_counter(struct world *world, int client, uint32_t end, uint32_t id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {end, id}};
    ask(world, client, &msg);
}

static uint32_t publish(struct world *world, int client, uint32_t segment_id)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci0", .length = PAGE, .mode = 0666, .want_extent = 1}};
    ask(world, client, &msg);
    struct rsm_export_create_reply made = msg.u.export_create_reply;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_PUBLISH,
                           .u.export_publish = {.export_id = made.export_id,
                                                .segment_id = segment_id,
                                                .piece_count = 1,
                                                .pieces = {{made.extent, 0, PAGE}}}};
    ask(world, client, &msg);
    return made.export_id;
}

static uint32_t connect_to(struct world *world, int client, uint32_t segment_id)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {.controller = "sci0",
                                               .node = 1,
                                               .space = RSM_ID_SPACE_RSMAPI,
                                               .segment_id = segment_id,
                                               .rights = RSM_RIGHT_READ}};
    ask(world, client, &msg);
    return msg.u.import_connect_reply.import;
}

/* A segment that the client imports itself, counters for both ends, and records of both, which
 * nobody fetches. The export's id. */
static uint32_t make_segment(struct world *world, int client, uint32_t segment_id)
{
    uint32_t exported = publish(world, client, segment_id);
    open_counter(world, client, RSM_EVENT_EXPORT_RECORDS, exported);
    uint32_t import = connect_to(world, client, segment_id);
    open_counter(world, client, RSM_EVENT_EXPORT, exported);
    open_counter(world, client, RSM_EVENT_IMPORT, import);
    open_counter(world, client, RSM_EVENT_IMPORT_RECORDS, import);
    return exported;
}

/* One that has been triggered; @p text is a message, or "" of a plain one. */
static void make_interrupt(struct world *world, int client, uint32_t number, const char *text)
{
    uint32_t kind = text[0] != '\0' ? RSM_INTERRUPT_DATA : RSM_INTERRUPT_PLAIN;
    struct rsm_msg msg = {.type = RSM_MSG_INTERRUPT_CREATE,
                          .u.interrupt_create = {.kind = kind, .number = number, .mode = 0600}};
    ask(world, client, &msg);
    uint32_t id = msg.u.interrupt_create_reply.interrupt;
    open_counter(world, client, RSM_EVENT_INTERRUPT, id);
    for (unsigned i = 0; i < 2; i++) {
        msg = (struct rsm_msg){.type = RSM_MSG_INTERRUPT_TRIGGER,
                               .u.interrupt_trigger = {.node = 1,
                                                       .kind = kind,
                                                       .number = number,
                                                       .interrupt = id,
                                                       .length = (uint32_t)strlen(text)}};
        memcpy(msg.u.interrupt_trigger.data, text, strlen(text));
        ask(world, client, &msg);
    }
}

static int greet(struct world *world)
{
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(connect(client, (struct sockaddr *)&world->address, world->address_length) == 0);
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    ask(world, client, &msg);
    return client;
}

static int make_client(struct world *world)
{
    struct rsm_msg msg;
    int client = greet(world);
    connect_to(world, client, FIRST_SEGMENT);
    (void)make_segment(world, client, 7);
    /* The connection to this one is cut, and its importer has not said that it knows. */
    uint32_t withdrawn = make_segment(world, client, 8);
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {.export_id = withdrawn, .flags = RSM_UNPUBLISH_NOTIFY}};
    ask(world, client, &msg);
    make_interrupt(world, client, 5, "");
    make_interrupt(world, client, 6, "message");
    return client;
}

/* What is wrong with a state may be logged. What is wrong with the successor's accounts may not be. */
static void on_log(enum rsmcore_log_level level, const char *text)
{
    CHECK(strstr(text, "defect of rsmd") == NULL);
}

/* As the snapshot has it. */
static void find_sections(const struct rsmd_snapshot *snapshot)
{
    CHECK(snapshot->section_count == LEFT_SECTIONS);
    for (size_t i = 0; i < LEFT_SECTIONS; i++) {
        left.section[i] = RSMD_SNAPSHOT_HEADER + snapshot->sections[i].at;
        left.first_fd[i] = snapshot->sections[i].first_fd;
    }
    left.section[LEFT_SECTIONS] = left.length - LEFT_SECTIONS * 2 * sizeof(uint32_t);
}

void left_make(void)
{
    static struct world world;
    struct rsmd_snapshot snapshot = {.bytes = NULL};
    world_begin(&world, -1);
    left.first = greet(&world);
    left.exported = publish(&world, left.first, FIRST_SEGMENT);
    left.client = make_client(&world);
    rsmd_state_save(&snapshot, &world.server);
    int memfd = rsmd_snapshot_seal(&snapshot);
    CHECK(memfd >= 0 && snapshot.fd_count <= LEFT_FDS_MAX);
    left.length = (size_t)pread(memfd, left.bytes, sizeof left.bytes, 0);
    CHECK(left.length > RSMD_SNAPSHOT_HEADER && left.length < LEFT_MAX);
    left.fd_count = snapshot.fd_count;
    find_sections(&snapshot);
    for (uint32_t i = 0; i < left.fd_count; i++)
        left.fds[i] = fcntl(snapshot.fds[i], F_DUPFD_CLOEXEC, 3);
    left.table =
        fcntl(rsmd_generation_table_lasting_fd(world.node.generation_table), F_DUPFD_CLOEXEC, 3);
    rsmd_snapshot_free(&snapshot);
    close(memfd);
    world_end(&world);
    rsmcore_log_to(on_log, RSMCORE_LOG_ERROR);
}

/* ------------------------------------------------------------------ a successor */

void left_set_number(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* FNV-1a, as the writer. */
void left_repair(uint8_t *bytes, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = RSMD_SNAPSHOT_HEADER; i < length; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    left_set_number(bytes + AT_LENGTH, length - RSMD_SNAPSHOT_HEADER, 8);
    left_set_number(bytes + AT_SUM, sum, 8);
}

int left_memory(const uint8_t *bytes, size_t length, int seals)
{
    int memfd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(memfd >= 0);
    CHECK(write(memfd, bytes, length) == (ssize_t)length);
    CHECK(fcntl(memfd, F_ADD_SEALS, seals) == 0);
    return memfd;
}

bool left_open(struct rsmd_snapshot_reader *reader, const uint8_t *bytes, size_t length,
               uint32_t fd_count, uint32_t odd, int other)
{
    int fds[LEFT_FDS_MAX + 1];
    for (uint32_t i = 0; i < fd_count; i++)
        fds[i] = fcntl(i == odd ? other : left.fds[i % left.fd_count], F_DUPFD_CLOEXEC, 3);
    int memfd = left_memory(bytes, length, SEALS);
    bool opened = rsmd_snapshot_open(reader, memfd, fds, fd_count);
    close(memfd);
    return opened;
}

/* A socket has ended with the daemon that had it: each successor gets a new one. */
static void renew(int *client, uint32_t number)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    CHECK(dup3(ends[0], left.fds[number], O_CLOEXEC) >= 0);
    CHECK(dup3(ends[1], *client, O_CLOEXEC) >= 0);
    close(ends[0]);
    close(ends[1]);
}

/* Whether a client's request is answered, and how. */
static bool is_served(struct world *world, int client, struct rsm_msg *msg)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = -EAGAIN;
    size_t length = rsm_msg_encode(msg, bytes, sizeof bytes);
    if (rsm_packet_send(client, bytes, length, NULL, 0) != 0)
        return false;
    for (unsigned turns = 0; got == -EAGAIN && turns < TURNS; turns++) {
        event_base_loop(world->server.base, EVLOOP_NONBLOCK);
        got = rsm_packet_receive(client, bytes, sizeof bytes, &fds, NULL);
    }
    if (got <= 0)
        return false;
    CHECK(rsm_msg_decode(msg, bytes, (size_t)got) == RSM_ST_OK);
    rsm_packet_fds_close(&fds);
    return true;
}

/* The first client is served only with what it had. */
static unsigned who_is_served(struct world *world)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN,
                          .u.event_open = {RSM_EVENT_EXPORT, left.exported}};
    unsigned served = 0;
    if (is_served(world, left.first, &msg) && msg.status == RSM_ST_OK)
        served |= LEFT_FIRST;
    msg = (struct rsm_msg){.type = RSM_MSG_INTERRUPTS};
    if (is_served(world, left.client, &msg))
        served |= LEFT_SECOND;
    return served != 0 ? served : LEFT_NOBODY;
}

unsigned left_restore(const uint8_t *bytes, size_t length, uint32_t odd, int other,
                      void (*use)(struct world *world))
{
    static struct world world;
    struct rsmd_snapshot_reader reader;
    unsigned before = descriptors_open();
    unsigned served = 0;
    renew(&left.first, left.first_fd[1]);
    renew(&left.client, left.first_fd[2]);
    if (left_open(&reader, bytes, length, left.fd_count, odd, other)) {
        world_begin(&world, fcntl(left.table, F_DUPFD_CLOEXEC, 3));
        bool restored = rsmd_state_restore(&reader, &world.server);
        rsmd_snapshot_reader_end(&reader);
        if (restored)
            served = who_is_served(&world);
        if (served == LEFT_ALL && use != NULL)
            use(&world);
        world_end(&world);
    }
    left_await_descriptors(before);
    return served;
}
