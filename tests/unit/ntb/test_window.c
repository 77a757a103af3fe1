/* SPDX-License-Identifier: BSD-3-Clause */
/* Both halves of two nodes, joined by a server that is a thread: what becomes of memory and of
 * imports when an offer, a process, a session or a host ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_all.h"
#include "rsm/transport.h"
#include "server.h"
#include "transport/ntb/node/session.h"
#include "transport/ntb/node/window.h"

#define PAGE       UINT64_C(4096)
#define MEMORY     (UINT64_C(16) << 20)
#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

enum { PATIENCE_MS = 20000, TICK_US = 500, LENGTH = 4 * 4096 };

extern const struct rsm_node_ops rsm_transport_node_ops_v2;
extern const struct rsm_import_ops rsm_transport_import_ops_v2;
static const struct rsm_node_ops *const node_ops = &rsm_transport_node_ops_v2;
static const struct rsm_import_ops *const import_ops = &rsm_transport_import_ops_v2;

static char directory[64], device[128], path[96];
static int listener, memory, stop;
static pthread_t server;
static uint8_t *shared; /* all of it */

static struct host {
    struct rsm_node_port *port;
    uint32_t peer; /* node in reach; 0: none */
    uint64_t epoch;
    unsigned downs;
} host[3]; /* by node */

static struct rsm_port *importer;

/* A segment of node 1, imported by a process of node 2. */
static struct {
    struct rsm_extent *extent;
    struct rsm_node_offer *made;
    struct rsm_node_import *entry;
    struct rsm_conn *conn;
    struct rsm_offer grant;
} segment;

static void *serve(void *argument)
{
    (void)argument;
    (void)ivshmem_server_run(listener, memory, IVSHMEM_SERVER_VECTORS, stop);
    return NULL;
}

/* ------------------------------------------------------------------ hosts */

static void on_node_state(void *context, struct rsm_node_port *port, uint32_t node, bool up,
                          uint64_t epoch)
{
    struct host *of = context;
    (void)port;
    of->peer = up ? node : 0;
    of->epoch = up ? epoch : of->epoch;
    of->downs += !up;
}

static const struct rsm_node_upcalls upcalls = {.size = sizeof upcalls,
                                                .node_state = on_node_state};

static void look(unsigned node)
{
    if (host[node].port != NULL)
        node_ops->dispatch(host[node].port, &upcalls, &host[node]);
}

static void open_host(unsigned node)
{
    const struct rsm_controller_info info = {.size = sizeof info,
                                             .name = "ntb0",
                                             .device = device,
                                             .options = "timeout=300,wait=0",
                                             .node = node};
    host[node] = (struct host){.peer = 0};
    assert_int_equal(node_ops->open(&info, &host[node].port), RSM_ST_OK);
}

static void close_host(unsigned node)
{
    if (host[node].port != NULL)
        node_ops->close(host[node].port);
    host[node].port = NULL;
}

/* Both look until the condition holds. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t end_ = rsm_clock_ms() + PATIENCE_MS;                                               \
        while (!(condition)) {                                                                     \
            look(1);                                                                               \
            look(2);                                                                               \
            usleep(TICK_US);                                                                       \
            if (rsm_clock_ms() > end_)                                                             \
                fail_msg("%s does not come true", #condition);                                     \
        }                                                                                          \
    } while (0)

static void await_session(void)
{
    AWAIT(host[1].peer == 2 && host[2].peer == 1);
}

static uint64_t used(unsigned node)
{
    look(node);
    return ntb_window_of(host[node].port)->allocator.used;
}

/* ------------------------------------------------------------------ a segment and its import */

static enum rsm_status offer_it(uint32_t rights)
{
    const struct rsm_importer who = {.node = 2};
    const struct rsm_extent_piece piece = {.extent = segment.extent, .length = LENGTH};
    return node_ops->offer(host[1].port, &piece, 1, rights, &who, &segment.grant, &segment.made);
}

static enum rsm_status accept_it(uint32_t rights, struct rsm_offer *ticket)
{
    const struct rsm_importer who = {.node = 2, .local = true};
    return node_ops->imports->accept(host[2].port, 1, LENGTH, rights, &who, &segment.grant, ticket,
                                     &segment.entry);
}

static void connect_it(uint32_t rights)
{
    struct rsm_offer ticket;
    assert_int_equal(accept_it(rights, &ticket), RSM_ST_OK);
    assert_int_equal(import_ops->connect(importer, &ticket, LENGTH, rights, &segment.conn),
                     RSM_ST_OK);
    while (ticket.fd_count > 0)
        close(ticket.fds[--ticket.fd_count]);
}

static void disconnect_it(void)
{
    import_ops->disconnect(segment.conn);
    segment.conn = NULL;
}

static uint64_t exported_word(void)
{
    uint64_t word;
    memcpy(&word, shared + segment.extent->offset, sizeof word);
    return word;
}

static enum rsm_status put_word(uint64_t word)
{
    assert_int_equal(import_ops->put(segment.conn, 0, &word, sizeof word), RSM_ST_OK);
    return import_ops->complete(segment.conn);
}

static void import_it(void)
{
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    connect_it(READ_WRITE);
    assert_int_equal(put_word(77), RSM_ST_OK);
    assert_int_equal(exported_word(), 77);
}

/* What the exporter had when it ended the import must not change any more. */
static void nothing_lands(void)
{
    uint64_t before[LENGTH / 8];
    const uint8_t *at = shared + segment.extent->offset;
    memcpy(before, at, sizeof before);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(put_word(1000 + i), RSM_ST_ABORTED);
    assert_int_not_equal(import_ops->health(segment.conn), RSM_ST_OK);
    assert_memory_equal(before, at, sizeof before);
}

/* ------------------------------------------------------------------ begin and end */

static int begin(void **state)
{
    (void)state;
    memset(&segment, 0, sizeof segment);
    strcpy(directory, "/tmp/rsm-ntb-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(device, sizeof device, "ivshmem:%s", path);
    listener = ivshmem_server_listen(path);
    memory = ivshmem_server_memory(MEMORY);
    stop = eventfd(0, EFD_CLOEXEC);
    assert_true(listener >= 0 && memory >= 0 && stop >= 0);
    shared = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    open_host(1);
    open_host(2);
    const struct rsm_controller_info info = {.size = sizeof info, .device = "", .options = ""};
    assert_int_equal(import_ops->open(&info, &importer), RSM_ST_OK);
    await_session();
    return 0;
}

static int end(void **state)
{
    static const uint64_t one = 1;
    (void)state;
    if (segment.conn != NULL)
        disconnect_it();
    import_ops->close(importer);
    if (segment.entry != NULL && host[2].port != NULL)
        node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    close_host(1);
    close_host(2);
    assert_int_equal(write(stop, &one, sizeof one), sizeof one);
    pthread_join(server, NULL);
    munmap(shared, MEMORY);
    close(listener);
    close(memory);
    close(stop);
    unlink(path);
    rmdir(directory);
    return 0;
}

/* ------------------------------------------------------------------ tests */

static void memory_waits_for_the_importers_node(void **state)
{
    (void)state;
    import_it();
    node_ops->revoke(host[1].port, segment.made);
    node_ops->extent_free(host[1].port, segment.extent);
    assert_int_equal(used(1), LENGTH); /* somebody may still store there */
    assert_false(node_ops->imports->revoke(host[2].port, segment.entry));
    nothing_lands();
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    assert_int_equal(used(1), LENGTH);
    node_ops->imports->released(host[1].port, segment.made);
    assert_int_equal(used(1), 0);
}

static void extents_are_zero(void **state)
{
    (void)state;
    import_it();
    uint64_t offset = segment.extent->offset;
    memset(shared + offset, 0xee, LENGTH);
    node_ops->revoke(host[1].port, segment.made);
    node_ops->imports->released(host[1].port, segment.made);
    node_ops->extent_free(host[1].port, segment.extent);
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(segment.extent->offset, offset); /* the same memory */
    for (unsigned i = 0; i < LENGTH; i++)
        assert_int_equal(shared[offset + i], 0);
}

static void rights_hold(void **state)
{
    struct rsm_offer ticket;
    (void)state;
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(RSM_RIGHT_READ), RSM_ST_OK);
    assert_int_equal(accept_it(RSM_RIGHT_READ, &ticket), RSM_ST_OK);
    for (unsigned i = 0; i < ticket.fd_count; i++) {
        void *address = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ticket.fds[i], 0);
        assert_ptr_equal(address, MAP_FAILED);
        close(ticket.fds[i]);
    }
}

static void grants_that_make_no_sense(void **state)
{
    struct rsm_offer ticket;
    (void)state;
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    const struct rsm_offer good = segment.grant;
    for (unsigned byte = 0; byte < good.blob_len; byte++) {
        segment.grant = good;
        segment.grant.blob[byte] ^= 0x80;
        enum rsm_status status = accept_it(READ_WRITE, &ticket);
        if (status == RSM_ST_OK) { /* another range of the pool, or another slot */
            node_ops->imports->close(host[2].port, segment.entry);
            while (ticket.fd_count > 0)
                close(ticket.fds[--ticket.fd_count]);
        }
        assert_int_equal(ticket.fd_count, 0);
        /* A session that is none, a length that is not the segment's: never. */
        assert_true(byte < 24 ? status != RSM_ST_OK : true);
    }
    for (uint32_t length = 0; length < good.blob_len; length++) {
        segment.grant = good;
        segment.grant.blob_len = length;
        assert_int_equal(accept_it(READ_WRITE, &ticket), RSM_ST_PROTOCOL);
    }
    segment.entry = NULL;
}

/* The exporter's daemon is killed: no heartbeat any more, and another one comes with the same pool,
 * while the mapping of before is still there. */
static void the_exporters_host_dies(void **state)
{
    (void)state;
    import_it();
    void *mapped = NULL;
    assert_int_equal(import_ops->map(segment.conn, 0, LENGTH, READ_WRITE, false, &mapped),
                     RSM_ST_OK);
    close_host(1);
    AWAIT(host[2].peer == 0);
    assert_int_equal(put_word(5), RSM_ST_ABORTED);
    open_host(1);
    for (unsigned i = 0; i < 50; i++) {
        look(1);
        look(2);
        usleep(TICK_US);
    }
    /* Nothing is exported that the old mapping reaches, and nobody is connected. */
    struct rsm_extent *extent;
    assert_int_not_equal(node_ops->extent_make(host[1].port, LENGTH, &extent), RSM_ST_OK);
    assert_int_equal(host[1].peer, 0);
    assert_int_equal(host[2].peer, 0);
    assert_int_equal(import_ops->unmap(segment.conn, mapped, LENGTH), RSM_ST_OK);
    node_ops->imports->revoke(host[2].port, segment.entry);
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    await_session();
    import_it();
}

/* The importer's host hangs, and wakes up after it was given up. */
static void the_importers_host_hangs(void **state)
{
    (void)state;
    import_it();
    uint64_t epoch = host[1].epoch;
    int64_t end = rsm_clock_ms() + PATIENCE_MS;
    while (host[1].peer != 0) { /* host 2 does not look */
        assert_true(rsm_clock_ms() < end);
        look(1);
        usleep(TICK_US);
    }
    node_ops->revoke(host[1].port, segment.made);
    /* It knows of nothing, and its process goes on: the canary tells. */
    assert_int_equal(host[2].downs, 0);
    uint64_t word = 9;
    assert_int_equal(import_ops->put(segment.conn, 0, &word, sizeof word), RSM_ST_OK);
    assert_int_equal(import_ops->complete(segment.conn), RSM_ST_ABORTED);
    nothing_lands();
    node_ops->extent_free(host[1].port, segment.extent);
    assert_int_equal(used(1), LENGTH); /* not yet: the other host has not agreed */
    AWAIT(host[2].downs > 0);
    disconnect_it();
    node_ops->imports->close(host[2].port, segment.entry);
    segment.entry = NULL;
    await_session();
    assert_true(host[1].epoch != epoch);
    assert_int_equal(used(1), 0); /* it has */
    node_ops->imports->released(host[1].port, segment.made);
    import_it();
}

/* Somebody on the other host writes over all that this one's session rests on. */
static void a_hostile_host(void **state)
{
    static const uint8_t fill[] = {0x00, 0xff, 0x5a};
    (void)state;
    for (unsigned i = 0; i < sizeof fill; i++) {
        import_it();
        /* The canary, as the importer reads it. */
        uint8_t *pool = shared + segment.extent->offset / (MEMORY / 2) * (MEMORY / 2);
        uint8_t canary[8];
        memcpy(canary, pool + NTB_CANARY_OFFSET, sizeof canary);
        memset(pool + NTB_CANARY_OFFSET, fill[i], sizeof canary);
        enum rsm_status status = put_word(3);
        assert_int_equal(status, fill[i] == 0xff ? RSM_ST_TRANSFER : RSM_ST_ABORTED);
        memcpy(pool + NTB_CANARY_OFFSET, canary, sizeof canary);
        /* The words of the session, of both. */
        unsigned downs = host[2].downs;
        memset(shared + NTB_WORDS_AT, fill[i], 32);
        memset(shared + MEMORY / 2 + NTB_WORDS_AT, fill[i], 32);
        AWAIT(host[2].downs > downs);
        assert_int_equal(put_word(4), RSM_ST_ABORTED);
        nothing_lands();
        disconnect_it();
        node_ops->imports->close(host[2].port, segment.entry);
        segment.entry = NULL;
        node_ops->revoke(host[1].port, segment.made);
        node_ops->imports->released(host[1].port, segment.made);
        node_ops->extent_free(host[1].port, segment.extent);
        AWAIT(used(1) == 0);
        await_session();
    }
}

static void the_server_goes(void **state)
{
    static const uint64_t one = 1;
    (void)state;
    import_it();
    assert_int_equal(write(stop, &one, sizeof one), sizeof one);
    AWAIT(host[1].peer == 0 && host[2].peer == 0);
    nothing_lands();
}

static void offers_of_a_former_session(void **state)
{
    struct rsm_offer ticket;
    (void)state;
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    close_host(2);
    AWAIT(host[1].peer == 0);
    open_host(2);
    await_session();
    assert_int_equal(accept_it(READ_WRITE, &ticket), RSM_ST_UNREACHABLE);
    segment.entry = NULL;
}

static void a_full_pool(void **state)
{
    struct rsm_extent *extent, *large;
    struct rsm_port_attr attr;
    (void)state;
    node_ops->attributes(host[1].port, &attr);
    assert_int_equal(attr.max_segment_size, MEMORY / 2 - NTB_CONTROL_BYTES);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY, &extent), RSM_ST_NO_MEMORY);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY / 4, &large), RSM_ST_OK);
    assert_int_equal(large->offset % NTB_LARGE, 0);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY / 4, &extent), RSM_ST_NO_MEMORY);
    node_ops->extent_free(host[1].port, large);
    assert_int_equal(node_ops->extent_make(host[1].port, MEMORY / 4, &extent), RSM_ST_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(memory_waits_for_the_importers_node),
        TEST(extents_are_zero),
        TEST(rights_hold),
        TEST(grants_that_make_no_sense),
        TEST(the_exporters_host_dies),
        TEST(the_importers_host_hangs),
        TEST(a_hostile_host),
        TEST(the_server_goes),
        TEST(offers_of_a_former_session),
        TEST(a_full_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
