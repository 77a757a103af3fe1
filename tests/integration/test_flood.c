/* SPDX-License-Identifier: BSD-3-Clause */
/* Strangers call what serves the memory over tcp, thousands a second, from many addresses, and show no
 * token. Importers connect as before. */
#include <arpa/inet.h>

#include "hosts.h"
#include "party.h"
#include "process.h"
#include "raw_tcp.h"

enum {
    FLOODERS = 2,
    SOURCES = 40, /* of each */
    HELD = 100,   /* calls that each keeps */
    BURST = 10,   /* calls, and then a pause: processors shall be left for what is tested */
    PAUSE_US = 1000,
    CONNECTS = 100,
    DELAY_MS = 100,
    LATE = 50, /* connects that may take longer, on a machine that is busy */
    LENGTH = 4096,
};

#define CONFIGURATION "[controller sci0]\ntransport = tcp\n[limits]\npeer-timeout-ms = 60000\n"
#define ACCESS        .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}

static struct stage {
    atomic_bool stop;
    atomic_uint calls;
} * stage;

static pid_t daemons[2];

/* ---------------------------------------------------------------- flood */

struct flood {
    uint32_t port;
    unsigned number; /* of the flooder */
};

/* From an address of its own, without waiting; a reset ends it later. */
static int call(const struct sockaddr_in *to, unsigned source)
{
    const struct linger at_once = {.l_onoff = 1};
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + source)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&from, sizeof from) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0 ||
        (connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 && errno != EINPROGRESS)) {
        close(fd);
        return -1;
    }
    atomic_fetch_add(&stage->calls, 1);
    return fd;
}

static int make_flood(void *bytes)
{
    const struct flood *flood = bytes;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)flood->port)};
    int held[HELD];
    memset(held, -1, sizeof held);
    NEED(inet_pton(AF_INET, host_address(0), &to.sin_addr) == 1);
    for (unsigned i = 0; !atomic_load(&stage->stop); i = (i + 1) % HELD) {
        if (held[i] >= 0)
            close(held[i]);
        held[i] = call(&to, flood->number * SOURCES + i % SOURCES);
        if (i % BURST == 0)
            usleep(PAUSE_US);
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i] >= 0)
            close(held[i]);
    return 0;
}

/* ---------------------------------------------------------------- importer */

static int find_port(void *bytes)
{
    struct flood *flood = bytes;
    struct raw_import import;
    NEED(raw_connect(&import, 2, PARTY_ID) == RSM_ST_OK);
    flood->port = import.offer.port;
    close(import.control);
    return 0;
}

/* .value: the longest; .flags: how many were late. */
static int connect_often(void *bytes)
{
    struct order *order = bytes;
    struct order each = {.node = 1, .length = LENGTH};
    for (unsigned i = 0; i < CONNECTS; i++) {
        int64_t began = now_ms();
        NEED(party_connect(&each) == RSM_SUCCESS);
        uint64_t took = (uint64_t)(now_ms() - began);
        order->value = took > order->value ? took : order->value;
        order->flags += took > DELAY_MS;
        NEED(party_disconnect(&each) == RSM_SUCCESS);
    }
    return 0;
}

/* ---------------------------------------------------------------- the test */

static int tear_down(void **state)
{
    hosts_end(daemons);
    return world_teardown(state);
}

TEST_BETWEEN(test_a_flood_delays_no_importer, world_setup, tear_down)
{
    const struct host hosts[] = {{1, CONFIGURATION}, {2, CONFIGURATION}};
    struct world *world = *state;
    struct actor *flooders[FLOODERS];
    struct flood flood = {.number = 0};
    struct order order = {.value = 0};
    stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stage != MAP_FAILED);
    (void)host_address(0);
    hosts_split(world, hosts);
    hosts_start(world, daemons);
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH, ACCESS);
    assert_int_equal(actor_run(importer, find_port, &flood, sizeof flood), 0);
    for (; flood.number < FLOODERS; flood.number++) {
        flooders[flood.number] = actor_start(world, 2);
        actor_begin(flooders[flood.number], make_flood, &flood, sizeof flood);
    }
    while (atomic_load(&stage->calls) < FLOODERS * HELD)
        usleep(1000);
    int result = actor_run(importer, connect_often, &order, sizeof order);
    atomic_store(&stage->stop, true);
    for (unsigned i = 0; i < FLOODERS; i++)
        assert_int_equal(actor_end(flooders[i], &flood, sizeof flood), 0);
    assert_int_equal(result, 0);
    print_message("    beside %u calls, %d connects took %u ms at most, %u more than %d ms\n",
                  atomic_load(&stage->calls), CONNECTS, (unsigned)order.value, order.flags,
                  DELAY_MS);
    assert_true(order.flags <= LATE);
    munmap(stage, sizeof *stage);
}
