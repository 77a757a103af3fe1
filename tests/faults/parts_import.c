/* SPDX-License-Identifier: BSD-3-Clause */
/* Imports from another node, and events. */
#include "parts.h"

#include "memory.h"
#include "steps.h"

enum {
    EVENT_MS = 4000,  /* for an event that has been posted */
    ORDER_MS = 20000, /* for the peer to do what it was asked */
};

static char sci0[] = "sci0";

/* A connection to the peer with a barrier. */
struct link {
    rsmapi_controller_handle_t controller;
    rsm_memseg_import_handle_t import;
    rsmapi_barrier_t barrier;
};

static void connect_to_peer(struct link *link, rsm_memseg_id_t id)
{
    memset(link, 0, sizeof *link);
    TRY(rsm_get_controller(sci0, &link->controller));
    TRY(rsm_memseg_import_connect(link->controller, PARTS_PEER_NODE, id, RSM_PERM_RDWR,
                                  &link->import));
    TRY(rsm_memseg_import_init_barrier(link->import, RSM_BAR_DEFAULT, &link->barrier));
}

static void disconnect(struct link *link)
{
    TRY(rsm_memseg_import_destroy_barrier(&link->barrier));
    TRY(rsm_memseg_import_disconnect(link->import));
    TRY(rsm_release_controller(link->controller));
}

/* ---------------------------------------------------------------- mappings */

/* Store through the mapping and see at the barrier that all has happened. */
static int store_span(struct link *link, volatile uint32_t *words, uint32_t value)
{
    int error = rsm_memseg_import_open_barrier(&link->barrier);
    for (int i = 0; i < 2 * PARTS_PAGE / 4; i += 37)
        words[i] = value + (uint32_t)i;
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_order_barrier(&link->barrier);
    words[1] = value;
    return error != RSM_SUCCESS ? error : rsm_memseg_import_close_barrier(&link->barrier);
}

/* The words through the mapping, after the barrier that makes them those of now. */
static int load_span(struct link *link, const volatile uint32_t *words, uint32_t value, bool *right)
{
    int error = rsm_memseg_import_open_barrier(&link->barrier);
    *right = words[1] == value;
    for (int i = 0; i < 2 * PARTS_PAGE / 4; i += 37)
        *right &= words[i] == value + (uint32_t)i;
    return error != RSM_SUCCESS ? error : rsm_memseg_import_close_barrier(&link->barrier);
}

void part_import(struct peer_orders *peer)
{
    struct link link, second;
    bool right = false;
    uint32_t first = 0;
    void *address = NULL, *again = NULL;
    connect_to_peer(&link, PEER_ECHO_ID);
    connect_to_peer(&second, PEER_ECHO_ID);
    TRY(rsm_memseg_import_map(link.import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PEER_LENGTH));
    TRY_AS("rsm_memseg_import_close_barrier", RSM_SUCCESS, store_span(&link, address, 1000));
    TRY_AS("rsm_memseg_import_close_barrier", RSM_SUCCESS, load_span(&link, address, 1000, &right));
    EXPECT(right);
    TRY(rsm_memseg_import_map(second.import, &again, RSM_MAP_NONE, RSM_PERM_READ, PARTS_PAGE,
                              2 * PARTS_PAGE));
    TRY(rsm_memseg_import_get32(second.import, PARTS_PAGE, &first, 1));
    EXPECT(((volatile uint32_t *)again)[0] == first);
    TRY(rsm_memseg_import_unmap(second.import));
    TRY(rsm_memseg_import_get32(second.import, 4, &first, 1));
    EXPECT(first == 1000);
    TRY(rsm_memseg_import_unmap(link.import));
    /* Over what is mapped there already. */
    void *place = memory_get(MEMORY_PRIVATE, PEER_LENGTH);
    EXPECT(place != NULL);
    steps_guard(place, PEER_LENGTH, 9);
    /* The mapping engine has to take the place before it can do the last of what may fail. */
    if (getenv("RSM_SHM_DIRECT") != NULL && steps_group_fails("mapping"))
        steps_unguard(place);
    TRY(rsm_memseg_import_map(link.import, &place, RSM_MAP_FIXED, RSM_PERM_RDWR, 0, PEER_LENGTH));
    steps_unguard(place);
    TRY_AS("rsm_memseg_import_close_barrier", RSM_SUCCESS, load_span(&link, place, 1000, &right));
    EXPECT(right);
    TRY(rsm_memseg_import_unmap(link.import));
    disconnect(&second);
    disconnect(&link);
}

/* ---------------------------------------------------------------- put and get */

static void put_and_get(rsm_memseg_import_handle_t import)
{
    uint8_t bytes[24], seen8[24];
    uint16_t halves[12], seen16[12];
    uint32_t words[6], seen32[6];
    uint64_t longs[3] = {0x0123456789abcdef, 42, ~0ull}, seen64[3];
    uint8_t many[3 * PARTS_PAGE], seen[3 * PARTS_PAGE];
    memset(bytes, 0x5a, sizeof bytes);
    memset(halves, 0x6b, sizeof halves);
    memset(words, 0x7c, sizeof words);
    memset(many, 0x8d, sizeof many);
    TRY(rsm_memseg_import_put8(import, 0, bytes, 24));
    TRY(rsm_memseg_import_get8(import, 0, seen8, 24));
    TRY(rsm_memseg_import_put16(import, 32, halves, 12));
    TRY(rsm_memseg_import_get16(import, 32, seen16, 12));
    TRY(rsm_memseg_import_put32(import, 64, words, 6));
    TRY(rsm_memseg_import_get32(import, 64, seen32, 6));
    TRY(rsm_memseg_import_put64(import, 96, longs, 3));
    TRY(rsm_memseg_import_get64(import, 96, seen64, 3));
    TRY(rsm_memseg_import_put(import, 4001, many, sizeof many));
    TRY(rsm_memseg_import_get(import, 4001, seen, sizeof seen));
    EXPECT(memcmp(bytes, seen8, sizeof bytes) == 0 && memcmp(halves, seen16, sizeof halves) == 0 &&
           memcmp(words, seen32, sizeof words) == 0 && memcmp(longs, seen64, sizeof longs) == 0 &&
           memcmp(many, seen, sizeof many) == 0);
}

/* Explicit mode: the barrier tells. */
static int put_span(struct link *link, const uint64_t *from)
{
    int error = rsm_memseg_import_open_barrier(&link->barrier);
    for (int i = 0; i < 4 && error == RSM_SUCCESS; i++)
        error = rsm_memseg_import_put64(link->import, i * PARTS_PAGE,
                                        (uint64_t *)(uintptr_t)&from[i], 1);
    int told = rsm_memseg_import_close_barrier(&link->barrier);
    return error != RSM_SUCCESS ? error : told;
}

static void scatter(struct link *link)
{
    rsm_localmemory_handle_t local;
    uint8_t *memory = memory_get(MEMORY_PRIVATE, 2 * PARTS_PAGE);
    EXPECT(memory != NULL);
    memset(memory, 0x3c, PARTS_PAGE);
    TRY(rsm_create_localmemory_handle(link->controller, &local, (caddr_t)memory, 2 * PARTS_PAGE));
    rsm_iovec_t out[] = {{RSM_HANDLE_TYPE, {.handle = local}, 8, 0, 1000},
                         {RSM_VA_TYPE, {.vaddr = (caddr_t)memory}, 0, 2000, 96}};
    rsm_iovec_t in[] = {{RSM_HANDLE_TYPE, {.handle = local}, PARTS_PAGE, 0, 1000},
                        {RSM_VA_TYPE, {.vaddr = (caddr_t)memory}, PARTS_PAGE + 1000, 2000, 96}};
    rsm_scat_gath_t put = {
        .io_request_count = 2, .remote_handle = link->import, .iovec = out, .flags = 0};
    rsm_scat_gath_t get = {.io_request_count = 2, .remote_handle = link->import, .iovec = in};
    TRY(rsm_memseg_import_putv(&put));
    TRY(rsm_memseg_import_getv(&get));
    EXPECT(put.io_residual_count == 0 && get.io_residual_count == 0);
    EXPECT(memcmp(memory, memory + PARTS_PAGE, 1000) == 0);
    TRY(rsm_free_localmemory_handle(link->controller, local));
    EXPECT(memory_put(MEMORY_PRIVATE, memory, 2 * PARTS_PAGE) == 0);
}

void part_transfer(struct peer_orders *peer)
{
    struct link link;
    rsm_barrier_mode_t mode;
    const uint64_t values[] = {11, 22, 33, 44};
    uint64_t seen = 0;
    void *address = NULL;
    connect_to_peer(&link, PEER_ECHO_ID);
    TRY(rsm_memseg_import_get_mode(link.import, &mode));
    EXPECT(mode == RSM_BARRIER_MODE_IMPLICIT);
    put_and_get(link.import);
    scatter(&link);
    TRY(rsm_memseg_import_set_mode(link.import, RSM_BARRIER_MODE_EXPLICIT));
    TRY_AS("rsm_memseg_import_put64", RSM_SUCCESS, put_span(&link, values));
    TRY(rsm_memseg_import_set_mode(link.import, RSM_BARRIER_MODE_IMPLICIT));
    TRY(rsm_memseg_import_get64(link.import, 3 * PARTS_PAGE, &seen, 1));
    EXPECT(seen == 44);
    /* With a mapping there may be an engine in between. */
    TRY(rsm_memseg_import_map(link.import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PEER_LENGTH));
    put_and_get(link.import);
    scatter(&link);
    /* From one mapping into itself. */
    TRY(rsm_memseg_import_get(link.import, 0, (uint8_t *)address + 4 * PARTS_PAGE, 64));
    TRY(rsm_memseg_import_unmap(link.import));
    disconnect(&link);
}

/* ---------------------------------------------------------------- the exporter takes it back */

static void pause_ms(int ms)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

static void have_it_taken_back(struct peer_orders *peer)
{
    unsigned wanted = atomic_fetch_add(&peer->take_back, 1) + 1;
    for (int i = 0; i < ORDER_MS && atomic_load(&peer->taken_back) != wanted; i++)
        pause_ms(1);
    EXPECT(atomic_load(&peer->taken_back) == wanted);
}

void part_taken(struct peer_orders *peer)
{
    struct link link, mapped;
    uint32_t word = 7;
    void *address = NULL;
    connect_to_peer(&link, PEER_TAKEN_ID);
    connect_to_peer(&mapped, PEER_TAKEN_ID);
    TRY(rsm_memseg_import_map(mapped.import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
                              PEER_LENGTH));
    TRY(rsm_memseg_import_open_barrier(&mapped.barrier));
    ((volatile uint32_t *)address)[5] = 1;
    have_it_taken_back(peer);
    ((volatile uint32_t *)address)[6] = 2;
    TRY_FOR(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(&mapped.barrier));
    TRY_FOR(RSMERR_CONN_ABORTED, rsm_memseg_import_put32(link.import, 0, &word, 1));
    TRY_FOR(RSMERR_CONN_ABORTED, rsm_memseg_import_map(link.import, &address, RSM_MAP_NONE,
                                                       RSM_PERM_RDWR, 0, PEER_LENGTH));
    TRY(rsm_intr_signal_post(link.import, 0)); /* to nobody */
    TRY(rsm_memseg_import_unmap(mapped.import));
    disconnect(&mapped);
    disconnect(&link);
}

/* ---------------------------------------------------------------- events */

/* What was posted although the post failed comes back, too. */
static void drain(void *segment)
{
    while (rsm_intr_signal_wait(segment, 0) == RSM_SUCCESS)
        continue;
}

/* Wait for an event that was posted already. A daemon that cannot make the counter of one importer
 * tells that importer, by an error, and the others get theirs: where a daemon fails, the second
 * attempt posts once more. */
static int wait_for(void *waiter, void *poster, int *before)
{
    if (*before != RSM_SUCCESS && steps_daemon_fails())
        (void)rsm_intr_signal_post(poster, 0);
    *before = rsm_intr_signal_wait(waiter, EVENT_MS);
    return *before;
}

static int poll_for(struct pollfd *fds, nfds_t count, int *ready, void *poster, int *before)
{
    if (*before != RSM_SUCCESS && steps_daemon_fails())
        (void)rsm_intr_signal_post(poster, 0);
    *before = rsm_intr_signal_wait_pollfd(fds, count, EVENT_MS, ready);
    return *before;
}

#define WAIT_FOR(waiter, poster)                                                                   \
    do {                                                                                           \
        int before_ = RSM_SUCCESS;                                                                 \
        TRY_AS("rsm_intr_signal_wait", RSM_SUCCESS, wait_for((waiter), (poster), &before_));       \
    } while (0)

#define POLL_FOR(fds, count, ready, poster)                                                        \
    do {                                                                                           \
        int before_ = RSM_SUCCESS;                                                                 \
        TRY_AS("rsm_intr_signal_wait_pollfd", RSM_SUCCESS,                                         \
               poll_for((fds), (count), (ready), (poster), &before_));                             \
    } while (0)

static void own_events(rsmapi_controller_handle_t controller)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t import;
    struct pollfd fds[2] = {{.fd = -1}, {.fd = -1}};
    rsm_memseg_id_t id = 0x440000;
    int ready = 0, moment = steps_are_interrupted() ? 0 : 2;
    void *memory = memory_get(MEMORY_PRIVATE, PARTS_PAGE);
    EXPECT(memory != NULL);
    steps_guard(memory, PARTS_PAGE, 6);
    TRY(rsm_memseg_export_create(controller, &segment, memory, PARTS_PAGE, 0));
    TRY(rsm_memseg_export_publish(segment, &id, NULL, 0));
    TRY(rsm_memseg_import_connect(controller, PARTS_OWN_NODE, id, RSM_PERM_RDWR, &import));
    TRY(rsm_memseg_get_pollfd(segment, &fds[0]));
    TRY(rsm_memseg_get_pollfd(import, &fds[1]));
    TRY(rsm_intr_signal_post(import, 0));
    POLL_FOR(fds, 2, &ready, import);
    EXPECT(ready == 1 && fds[0].revents == POLLRDNORM);
    TRY(rsm_intr_signal_post(segment, RSM_SIGPOST_NO_ACCUMULATE));
    POLL_FOR(fds, 2, &ready, segment);
    EXPECT(ready == 1 && fds[1].revents == POLLRDNORM);
    drain(segment);
    drain(import);
    TRY_FOR(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(fds, 2, moment, &ready));
    TRY_FOR(RSMERR_TIMEOUT, rsm_intr_signal_wait(segment, moment));
    TRY_FOR(RSMERR_POLLFD_IN_USE, rsm_memseg_export_unpublish(segment));
    TRY(rsm_memseg_release_pollfd(import));
    TRY(rsm_memseg_release_pollfd(segment));
    TRY(rsm_memseg_export_destroy(segment));
    TRY(rsm_memseg_import_disconnect(import));
    steps_unguard(memory);
    EXPECT(memory_put(MEMORY_PRIVATE, memory, PARTS_PAGE) == 0);
}

void part_events(struct peer_orders *peer)
{
    struct link link;
    struct pollfd fd = {.fd = -1};
    connect_to_peer(&link, PEER_ECHO_ID);
    TRY(rsm_intr_signal_post(link.import, 0));
    WAIT_FOR(link.import, link.import);
    drain(link.import);
    TRY(rsm_memseg_get_pollfd(link.import, &fd));
    TRY(rsm_intr_signal_post(link.import, 0));
    POLL_FOR(&fd, 1, NULL, link.import);
    TRY(rsm_memseg_release_pollfd(link.import));
    own_events(link.controller);
    disconnect(&link);
}
