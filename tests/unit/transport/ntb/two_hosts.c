/* SPDX-License-Identifier: BSD-3-Clause */
#include "two_hosts.h"

#include <sys/eventfd.h>

#include "server.h"

static char directory[64], device[192], path[96];
static int listener, memory;
int stop;
static pthread_t server;
uint8_t *shared;

struct host host[3];
struct rsm_port *importer;
struct segment segment;
struct settings settings;

static void *serve(void *argument)
{
    (void)ivshmem_server_run(listener, memory, settings.vectors, stop);
    return NULL;
}

/* ------------------------------------------------------------------ hosts */

static void on_node_state(void *context, struct rsm_node_port *port, uint32_t node, bool up,
                          uint64_t epoch)
{
    struct host *of = context;
    of->peer = up ? node : 0;
    of->epoch = up ? epoch : of->epoch;
    of->downs += !up;
}

static void on_signalled(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced)
{
    struct host *of = context;
    of->largest = count > of->largest ? count : of->largest;
    of->posts += coalesced ? 0 : count;
    of->coalesced += coalesced;
    of->last = made;
}

static const struct rsm_node_upcalls upcalls = {
    .size = sizeof upcalls, .signalled = on_signalled, .node_state = on_node_state};

void look(unsigned node)
{
    if (host[node].port != NULL)
        node_ops->dispatch(host[node].port, &upcalls, &host[node]);
}

void open_host(unsigned node)
{
    const struct rsm_controller_info info = {.size = sizeof info,
                                             .name = "ntb0",
                                             .device = device,
                                             .options = settings.plain == node ? "doorbell=no" : "",
                                             .node = node};
    host[node] = (struct host){.peer = 0};
    assert_true(node < sizeof host / sizeof host[0]);
    assert_int_equal(node_ops->open(&info, &host[node].port), RSM_ST_OK);
}

void close_host(unsigned node)
{
    if (host[node].port != NULL)
        node_ops->close(host[node].port);
    host[node].port = NULL;
}

void await_session(void)
{
    AWAIT(host[1].peer == 2 && host[2].peer == 1);
}

uint64_t used(unsigned node)
{
    look(node);
    return ntb_window_of(host[node].port)->allocator.used;
}

/* ------------------------------------------------------------------ a segment and its import */

enum rsm_status offer_it(uint32_t rights)
{
    const struct rsm_importer who = {.node = 2};
    const struct rsm_extent_piece piece = {.extent = segment.extent, .length = LENGTH};
    return node_ops->offer(host[1].port, &piece, 1, rights, &who, &segment.grant, &segment.made);
}

enum rsm_status accept_it(uint32_t rights, struct rsm_offer *ticket)
{
    const struct rsm_importer who = {.node = 2, .local = true};
    return node_ops->imports->accept(host[2].port, 1, LENGTH, rights, &who, &segment.grant, ticket,
                                     &segment.entry);
}

void connect_it(uint32_t rights)
{
    struct rsm_offer ticket;
    assert_int_equal(accept_it(rights, &ticket), RSM_ST_OK);
    assert_int_equal(import_ops->connect(importer, &ticket, LENGTH, rights, &segment.conn),
                     RSM_ST_OK);
    while (ticket.fd_count > 0)
        close(ticket.fds[--ticket.fd_count]);
}

void disconnect_it(void)
{
    import_ops->disconnect(segment.conn);
    segment.conn = NULL;
}

uint64_t exported_word(void)
{
    uint64_t word;
    memcpy(&word, shared + segment.extent->offset, sizeof word);
    return word;
}

enum rsm_status put_word(uint64_t word)
{
    assert_int_equal(import_ops->put(segment.conn, 0, &word, sizeof word), RSM_ST_OK);
    return import_ops->complete(segment.conn);
}

void import_it(void)
{
    assert_int_equal(node_ops->extent_make(host[1].port, LENGTH, &segment.extent), RSM_ST_OK);
    assert_int_equal(offer_it(READ_WRITE), RSM_ST_OK);
    connect_it(READ_WRITE);
    assert_int_equal(put_word(77), RSM_ST_OK);
    assert_int_equal(exported_word(), 77);
}

/* What the exporter had when it ended the import must not change any more. */
void nothing_lands(void)
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

int begin(void **state)
{
    const struct settings *given = *state;
    settings = given != NULL ? *given : (struct settings){.vectors = 0};
    settings.vectors = settings.vectors != 0 ? settings.vectors : IVSHMEM_SERVER_VECTORS;
    settings.timing = settings.timing != NULL ? settings.timing : "timeout=300,wait=0";
    memset(&segment, 0, sizeof segment);
    strcpy(directory, "/tmp/rsm-ntb-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(device, sizeof device, "ivshmem:%s,%s", path, settings.timing);
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

int end(void **state)
{
    static const uint64_t one = 1;
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
