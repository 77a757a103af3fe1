/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients that break every rule, while two nodes go on with their work. */
#include "client.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = 2 * PARTY_PAGE,
    PACKETS = 3000,
    FLOOD = 300,   /* connections of one process at once */
    STUFFING = 64, /* requests before the first look at an answer */
};

/* ---------------------------------------------------------------- the normal pair */

static struct actor *exporter, *importer;

static void begin(struct world *world)
{
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
}

/* Everything that needs a daemon, once; no call may take long. */
static void work(uint64_t round)
{
    int64_t start = now_ms();
    TELL_OK(importer, open_barrier);
    TELL_OK(importer, poke, .value = round);
    TELL_OK(importer, close_barrier);
    assert_int_equal(ASK(exporter, load).value, round);
    TELL_OK(importer, connect, .slot = 1, .node = 1);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .slot = 1, .timeout = 1000);
    TELL_OK(importer, wait_import, .timeout = 1000);
    TELL_OK(importer, disconnect, .slot = 1);
    TELL_OK(exporter, offer, .slot = 2, .length = LENGTH, .id = PARTY_ID + 2);
    TELL_OK(importer, attach, .slot = 2, .node = 1, .length = LENGTH, .id = PARTY_ID + 2);
    TELL_OK(exporter, withdraw, .slot = 2);
    TELL_OK(importer, detach, .slot = 2);
    assert_true(now_ms() - start < CALL_TIMEOUT_MS / 2);
}

static void work_until_done(struct actor *const *enemies, unsigned count)
{
    uint64_t round = 1;
    for (unsigned i = 0; i < count; i++) {
        do
            work(round++);
        while (!actor_ended(enemies[i], 0) && round < 100000);
        assert_int_equal(ANSWER(enemies[i]), 0);
    }
    work(round);
}

/* ---------------------------------------------------------------- enemies */

/* Reproducible noise. */
static uint32_t noise(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static bool say_hello(int socket)
{
    return client_hello(socket, 1, 5000) >= 0;
}

/* A packet that is nearly right: a real header and body, with some bytes changed. */
static size_t make_packet(uint8_t *packet, size_t capacity, uint32_t *seed)
{
    static struct rsm_msg msg;
    uint8_t *bytes = (uint8_t *)&msg.u;
    memset(&msg, 0, sizeof msg);
    msg.type = 1 + noise(seed) % 18;
    msg.sequence = noise(seed);
    for (unsigned i = 0; i < 64; i++)
        bytes[noise(seed) % 512] = (uint8_t)(noise(seed) % 4 ? noise(seed) % 4 : noise(seed));
    size_t length = rsm_msg_encode(&msg, packet, capacity);
    if (length == 0) {
        length = 1 + noise(seed) % 600;
        for (size_t i = 0; i < length; i++)
            packet[i] = (uint8_t)noise(seed);
    }
    if (noise(seed) % 3 == 0)
        packet[noise(seed) % length] ^= (uint8_t)(1 << noise(seed) % 8);
    if (noise(seed) % 8 == 0)
        length = 1 + noise(seed) % length;
    return length;
}

/* Descriptors that nobody asked for: a pipe's end, a file, the connection itself. */
static unsigned make_descriptors(int socket, struct rsm_packet_fds *fds, uint32_t *seed)
{
    fds->count = 0;
    if (noise(seed) % 4 != 0)
        return 0;
    fds->fds[fds->count++] = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (noise(seed) % 2 == 0)
        fds->fds[fds->count++] = dup(socket);
    return fds->count;
}

static int speak_nonsense(void *bytes)
{
    const struct order *order = bytes;
    uint32_t seed = (uint32_t)order->value;
    uint8_t packet[RSM_PROTO_MESSAGE_MAX];
    int socket = -1;
    for (unsigned i = 0; i < PACKETS; i++) {
        struct rsm_packet_fds fds;
        if (socket < 0) {
            socket = client_connect(order->node);
            NEED(socket >= 0 || errno == EAGAIN);
            if (socket >= 0 && noise(&seed) % 4 != 0)
                say_hello(socket);
        }
        if (socket < 0)
            continue;
        size_t length = make_packet(packet, sizeof packet, &seed);
        make_descriptors(socket, &fds, &seed);
        int sent = rsm_packet_send(socket, packet, length, &fds, (int)(noise(&seed) % 2));
        rsm_packet_fds_close(&fds);
        while (rsm_packet_receive(socket, packet, sizeof packet, &fds, NULL) > 0)
            rsm_packet_fds_close(&fds);
        if ((sent != 0 && sent != -EAGAIN) || noise(&seed) % 64 == 0) {
            close(socket);
            socket = -1;
        }
    }
    if (socket >= 0)
        close(socket);
    return 0;
}

WORLD_TEST(test_nonsense)
{
    enum { ENEMIES = 3 };
    struct actor *enemies[ENEMIES];
    begin(world);
    for (unsigned i = 0; i < ENEMIES; i++) {
        enemies[i] = actor_start(world, 1);
        struct order order = {.node = 1 + i % 2, .value = 0x9e3779b9 * (i + 1)};
        actor_begin(enemies[i], speak_nonsense, &order, sizeof order);
    }
    work_until_done(enemies, ENEMIES);
}

/* Connect and connect, say nothing, or hang up at once. */
static int flood(void *bytes)
{
    const struct order *order = bytes;
    static int sockets[FLOOD];
    for (uint64_t round = 0; round < order->value; round++) {
        for (unsigned i = 0; i < FLOOD; i++) {
            sockets[i] = client_connect(order->node);
            NEED(sockets[i] >= 0 || errno == EAGAIN || errno == ECONNREFUSED);
            if (sockets[i] >= 0 && i % 2 == 0) {
                close(sockets[i]);
                sockets[i] = -1;
            }
        }
        for (unsigned i = 0; i < FLOOD; i++)
            if (sockets[i] >= 0)
                close(sockets[i]);
    }
    return 0;
}

WORLD_TEST(test_flood)
{
    enum { ENEMIES = 2 };
    struct actor *enemies[ENEMIES];
    begin(world);
    for (unsigned i = 0; i < ENEMIES; i++) {
        enemies[i] = actor_start(world, 1);
        struct order order = {.node = 1, .value = 10};
        actor_begin(enemies[i], flood, &order, sizeof order);
    }
    work_until_done(enemies, ENEMIES);
}

/* Ask and ask and never read an answer, on many connections that stay. */
static int stuffed[STUFFING];

static int stuff(void *bytes)
{
    const struct order *order = bytes;
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_TOPOLOGY};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    for (unsigned i = 0; i < STUFFING; i++) {
        stuffed[i] = client_connect(order->node);
        NEED(stuffed[i] >= 0 && say_hello(stuffed[i]));
        struct pollfd writable = {.fd = stuffed[i], .events = POLLOUT};
        /* Until the daemon has had enough of it, and hangs up or takes nothing more. */
        for (int again = 0; again < 10000; again++) {
            int sent = rsm_packet_send(stuffed[i], buffer, length, NULL, 1);
            if (sent == -EAGAIN && poll(&writable, 1, 50) == 1 && writable.revents == POLLOUT)
                continue;
            if (sent != 0)
                break;
        }
    }
    return 0;
}

WORLD_TEST(test_never_reading)
{
    begin(world);
    struct actor *enemy = actor_start(world, 1);
    struct order order = {.node = 1};
    actor_begin(enemy, stuff, &order, sizeof order);
    work_until_done(&enemy, 1);
    work(77);
}

/* Take everything that one client may have, and keep it. */
static int hoard(void *bytes)
{
    struct order *order = bytes;
    int socket = client_connect(1);
    NEED(socket >= 0 && say_hello(socket));
    for (order->value = 0; order->value < 100000; order->value++) {
        struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                              .u.extent_alloc = {.controller = "sci0", .length = PARTY_PAGE}};
        int status = client_ask(socket, &msg, NULL, CALL_TIMEOUT_MS);
        NEED(status >= 0);
        if (status != RSM_ST_OK)
            break;
    }
    return 0; /* the connection stays until the process ends */
}

WORLD_TEST(test_hoarding)
{
    begin(world);
    struct actor *enemy = actor_start(world, 1);
    struct order order = {0};
    actor_begin(enemy, hoard, &order, sizeof order);
    work_until_done(&enemy, 1);
    work(78);
    actor_stop(enemy);
    work(79);
}

/* ---------------------------------------------------------------- an enemy with a segment */

/* Scribble over every page that the library lets an importer write, event counters included. */
static int scribble(void *unused)
{
    char line[512], permissions[8];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    NEED(maps != NULL);
    unsigned scribbled = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, permissions) != 3 ||
            strncmp(permissions, "rw-s", 4) != 0 || strstr(line, "memfd:") == NULL)
            continue;
        void *address = (void *)start;
        memset(address, 0xff, end - start);
        scribbled++;
    }
    fclose(maps);
    return scribbled > 0 ? 0 : -1;
}

WORLD_TEST(test_scribbling_importer)
{
    begin(world);
    struct actor *enemy = actor_start(world, 2);
    TELL_OK(exporter, offer, .slot = 3, .length = LENGTH, .id = PARTY_ID + 3);
    TELL_OK(exporter, export_pollfd, .slot = 3);
    TELL_OK(enemy, attach, .node = 1, .length = LENGTH, .id = PARTY_ID + 3);
    TELL_OK(enemy, post_import);
    TELL_OK(exporter, wait_export, .slot = 3, .timeout = 1000);
    assert_int_equal(actor_run(enemy, scribble, NULL, 0), 0);
    /* The segment that it was given is spoilt; events of it come without number; no more. */
    assert_int_equal(ASK(exporter, load, .slot = 3).value, UINT64_MAX);
    for (int i = 0; i < 100; i++)
        TELL_OK(exporter, wait_export, .slot = 3);
    TELL_OK(exporter, post_export, .slot = 3);
    work(80);
    TELL_OK(exporter, release_export_pollfd, .slot = 3);
    TELL_OK(exporter, withdraw, .slot = 3);
    work(81);
}
