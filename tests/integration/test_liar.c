/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon that hands out memory which its clients must not map: the test is the daemon. */
#include <sys/prctl.h>

#include "base/packet.h"
#include "protocol/proto.h"
#include "protocol/sharedmem.h"
#include "party.h"
#include "process.h"

enum { LENGTH = 4 * PARTY_PAGE, PEER_TIMEOUT = 3000 };

/* What is wrong with the memory that a daemon sends. */
enum lie {
    HONEST,
    UNSEALED,
    SHORT,
    EMPTY,
    HUGE,
    NO_MEMORY,
    READ_ONLY,
    LIES,
    /* What is said of extents, whose memory is as it should be. */
    DEVICE = LIES, /* which shm does not know */
    MISPLACED,     /* it begins behind its first page */
    CURTAILED,     /* it is shorter than was asked for */
    UNKNOWN_KIND,
    ALL_LIES,
};

/* ---------------------------------------------------------------- the daemon */

/* It lies about one kind of request; of all others the answers are good. */
static enum lie lie;
static uint32_t lied_about;
static int sent_last = -1; /* the last memory sent, for the daemon to truncate */

static int make_memory(size_t length, enum lie how)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    size_t size = how == SHORT ? length / 2 : how == EMPTY ? 0 : length;
    if (how == NO_MEMORY)
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (how == HUGE ? MFD_HUGETLB : 0);
    int fd = memfd_create("liar", flags);
    if (fd < 0 || ftruncate(fd, how == HUGE ? 2 << 20 : (off_t)size) < 0 ||
        (how != UNSEALED && fcntl(fd, F_ADD_SEALS, seals) < 0))
        _exit(120);
    if (how != READ_ONLY)
        return fd;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int readable = open(path, O_RDONLY | O_CLOEXEC);
    close(fd);
    return readable;
}

static struct rsm_extent_about about_memory(size_t length, enum lie how)
{
    return (struct rsm_extent_about){.kind = how == DEVICE         ? RSM_EXTENT_DEVICE
                                             : how == UNKNOWN_KIND ? 77
                                                                   : RSM_EXTENT_MEMFD,
                                     .offset = how == MISPLACED ? PARTY_PAGE : 0,
                                     .length = how == CURTAILED ? length - PARTY_PAGE : length};
}

static int make_table(enum lie how)
{
    int fd = make_memory(sizeof(struct rsm_generation_table), how);
    struct rsm_generation_table head = {.magic = RSM_GENERATION_TABLE_MAGIC,
                                        .version = RSM_GENERATION_TABLE_VERSION,
                                        .slots = RSM_GENERATION_TABLE_SLOTS,
                                        .alive = 1};
    if (how != NO_MEMORY && how != HUGE && how != EMPTY && how != READ_ONLY &&
        pwrite(fd, &head, RSM_GENERATION_TABLE_HEADER, 0) != RSM_GENERATION_TABLE_HEADER)
        _exit(121);
    return fd;
}

static void add(struct rsm_packet_fds *fds, int fd)
{
    fds->fds[fds->count++] = fd;
    if (sent_last >= 0)
        close(sent_last);
    sent_last = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void fill_controller(struct rsm_controller_reply *reply)
{
    memset(reply, 0, sizeof *reply);
    strcpy(reply->name, "sci0");
    strcpy(reply->transport, "shm");
    reply->attr = (struct rsm_port_attr){.page_size = PARTY_PAGE,
                                         .max_segment_size = 1 << 30,
                                         .total_segment_size = 1 << 30,
                                         .max_segments = 100,
                                         .max_map_size = 1 << 30,
                                         .total_map_size = 1 << 30,
                                         .max_imports = 100};
}

/* Turn a request into its reply. */
static void answer(struct rsm_msg *msg, struct rsm_packet_fds *fds)
{
    static uint32_t last_id;
    struct rsm_msg asked = *msg;
    enum lie how = msg->type == lied_about ? lie : HONEST;
    fds->count = 0;
    memset(&msg->u, 0, sizeof msg->u);
    switch (asked.type) {
    case RSM_MSG_HELLO:
        msg->u.hello_reply = (struct rsm_hello_reply){.node = 1, .peer_timeout_ms = PEER_TIMEOUT};
        add(fds, make_table(how));
        break;
    case RSM_MSG_CONTROLLER:
        fill_controller(&msg->u.controller_reply);
        break;
    case RSM_MSG_EXPORT_CREATE:
        msg->u.export_create_reply = (struct rsm_export_create_reply){
            .export_id = ++last_id,
            .epoch_slot = 1,
            .extent = asked.u.export_create.want_extent ? ++last_id : 0,
            .about = about_memory(asked.u.export_create.length, how)};
        if (asked.u.export_create.want_extent)
            add(fds, make_memory(asked.u.export_create.length, how));
        break;
    case RSM_MSG_EXTENT_ALLOC:
        msg->u.extent_alloc_reply = (struct rsm_extent_alloc_reply){
            .extent = ++last_id, .about = about_memory(asked.u.extent_alloc.length, how)};
        add(fds, make_memory(asked.u.extent_alloc.length, how));
        break;
    case RSM_MSG_EXTENT_OPEN: /* of the only one */
        add(fds, how == HONEST ? fcntl(sent_last, F_DUPFD_CLOEXEC, 3) : make_memory(LENGTH, how));
        break;
    case RSM_MSG_EVENT_OPEN:
        add(fds, make_memory(PARTY_PAGE, how));
        break;
    default: /* the others' replies are empty, or zeros will do */
        break;
    }
    msg->type = asked.type | RSM_MSG_REPLY;
}

static bool serve_one(int client)
{
    static uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    static struct rsm_msg msg;
    struct rsm_packet_fds fds;
    ssize_t length = recv(client, buffer, sizeof buffer, 0);
    /* Memory that was sent is pulled away, if it can be, while the client uses it. */
    if (sent_last >= 0)
        (void)!ftruncate(sent_last, 0);
    if (length <= 0 || rsm_msg_decode(&msg, buffer, (size_t)length) != RSM_ST_OK)
        return false;
    answer(&msg, &fds);
    size_t size = rsm_msg_encode(&msg, buffer, sizeof buffer);
    int failed = rsm_packet_send(client, buffer, size, &fds, 0);
    rsm_packet_fds_close(&fds);
    return failed == 0;
}

__attribute__((noreturn)) static void serve(int listener)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        while (client >= 0 && serve_one(client))
            continue;
        close(client);
    }
}

static pid_t liar_start(struct world *world, uint32_t about, enum lie how)
{
    char path[RSM_PROTO_PATH_MAX];
    struct sockaddr_un address;
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    world_socket(world, 1, path);
    assert_true(listener >= 0);
    assert_int_equal(rsm_unix_address(&address, path), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    lie = how;
    lied_about = about;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        serve(listener);
    close(listener);
    return pid;
}

static void liar_end(struct world *world, pid_t liar)
{
    int status;
    char path[RSM_PROTO_PATH_MAX];
    assert_int_equal(kill(liar, SIGKILL), 0);
    assert_int_equal(child_await(liar, 0, CALL_TIMEOUT_MS, &status), liar);
    world_socket(world, 1, path);
    unlink(path);
}

static bool can_be_told(enum lie how)
{
    int fd = how == HUGE ? memfd_create("try", MFD_CLOEXEC | MFD_HUGETLB) : 0;
    if (fd > 0)
        close(fd);
    if (fd < 0)
        print_message("    not tried: huge pages, which this kernel has not\n");
    return fd >= 0;
}

/* ---------------------------------------------------------------- tests */

/* Export the first half of some memory, then all of it: the first extent comes with the segment,
 * that of the rest is asked for. .flags tells which of the two succeeded. */
static int export_twice(void *bytes)
{
    struct order *order = bytes;
    rsm_memseg_export_handle_t half = NULL, whole = NULL;
    uint8_t *memory = memory_get(order->kind, 2 * LENGTH);
    NEED(memory != NULL);
    for (int i = 0; i < 2 * LENGTH; i++)
        memory[i] = (uint8_t)(i * 7);
    rsmapi_controller_handle_t controller = party_controller(NULL);
    NEED(controller != NULL);
    int first = rsm_memseg_export_create(controller, &half, memory, LENGTH, 0);
    int second = rsm_memseg_export_create(controller, &whole, memory, 2 * LENGTH, 0);
    NEED((first == RSM_SUCCESS) == (half != NULL) && (second == RSM_SUCCESS) == (whole != NULL));
    order->flags = (first == RSM_SUCCESS ? 1 : 0) | (second == RSM_SUCCESS ? 2 : 0);
    for (int i = 0; i < 2 * LENGTH; i++)
        NEED(memory[i] == (uint8_t)(i * 7));
    NEED(half == NULL || rsm_memseg_export_destroy(half) == RSM_SUCCESS);
    NEED(whole == NULL || rsm_memseg_export_destroy(whole) == RSM_SUCCESS);
    for (int i = 0; i < 2 * LENGTH; i++)
        NEED(memory[i] == (uint8_t)(i * 7));
    NEED(memory_put(order->kind, memory, 2 * LENGTH) == 0);
    return 0;
}

static void try_extents(struct world *world, uint32_t about, unsigned good)
{
    for (enum lie how = HONEST; how < ALL_LIES; how++) {
        if (!can_be_told(how))
            continue;
        pid_t liar = liar_start(world, about, how);
        struct actor *client = actor_start(world, 1);
        struct order done = party_ask(client, export_twice, (struct order){.kind = MEMORY_PRIVATE});
        assert_int_equal(done.result, 0);
        assert_int_equal(done.flags, how == HONEST ? 3 : good);
        actor_stop(client);
        liar_end(world, liar);
    }
}

/* The second segment finds nothing exported, so that its extent comes with it, too. */
WORLD_TEST(test_extents_of_segments)
{
    try_extents(world, RSM_MSG_EXPORT_CREATE, 0);
}

WORLD_TEST(test_further_extents)
{
    try_extents(world, RSM_MSG_EXTENT_ALLOC, 1);
}

/* Put other memory behind a published segment, for which its extent is asked for again. .flags
 * tells whether that succeeded. */
static int rebind_published(void *bytes)
{
    struct order *order = bytes;
    rsm_memseg_export_handle_t segment;
    rsm_memseg_id_t id = PARTY_ID;
    uint8_t *from = memory_get(MEMORY_PRIVATE, LENGTH), *to = memory_get(MEMORY_PRIVATE, LENGTH);
    rsmapi_controller_handle_t controller = party_controller(NULL);
    NEED(from != NULL && to != NULL && controller != NULL);
    memset(from, 1, LENGTH);
    memset(to, 2, LENGTH);
    NEED(rsm_memseg_export_create(controller, &segment, from, LENGTH, RSM_ALLOW_REBIND) ==
         RSM_SUCCESS);
    NEED(rsm_memseg_export_publish(segment, &id, NULL, 0) == RSM_SUCCESS);
    order->flags = rsm_memseg_export_rebind(segment, to, 0, LENGTH) == RSM_SUCCESS;
    for (int i = 0; i < LENGTH; i++)
        NEED(from[i] == 1 && to[i] == 2);
    NEED(rsm_memseg_export_destroy(segment) == RSM_SUCCESS);
    for (int i = 0; i < LENGTH; i++)
        NEED(from[i] == 1 && to[i] == 2);
    NEED(memory_put(MEMORY_PRIVATE, from, LENGTH) == 0);
    NEED(memory_put(MEMORY_PRIVATE, to, LENGTH) == 0);
    return 0;
}

WORLD_TEST(test_extents_opened_again)
{
    for (enum lie how = HONEST; how < LIES; how++) {
        if (!can_be_told(how))
            continue;
        pid_t liar = liar_start(world, RSM_MSG_EXTENT_OPEN, how);
        struct actor *client = actor_start(world, 1);
        struct order done = party_ask(client, rebind_published, (struct order){.kind = 0});
        assert_int_equal(done.result, 0);
        assert_int_equal(done.flags, how == HONEST);
        actor_stop(client);
        liar_end(world, liar);
    }
}

WORLD_TEST(test_event_cells)
{
    for (enum lie how = HONEST; how < LIES; how++) {
        if (!can_be_told(how))
            continue;
        pid_t liar = liar_start(world, RSM_MSG_EVENT_OPEN, how);
        struct actor *client = actor_start(world, 1);
        TELL_OK(client, create, .length = LENGTH);
        TELL_GET(client, wait_export,
                 how == HONEST ? RSMERR_TIMEOUT : RSMERR_INSUFFICIENT_RESOURCES, .timeout = 10);
        TELL_OK(client, destroy);
        actor_stop(client);
        liar_end(world, liar);
    }
}

WORLD_TEST(test_generation_tables)
{
    for (enum lie how = HONEST; how < LIES; how++) {
        if (!can_be_told(how))
            continue;
        pid_t liar = liar_start(world, RSM_MSG_HELLO, how);
        struct actor *client = actor_start(world, 1);
        TELL_GET(client, open, how == HONEST ? RSM_SUCCESS : RSMERR_CTLR_NOT_PRESENT);
        actor_stop(client);
        liar_end(world, liar);
    }
}
