/* SPDX-License-Identifier: BSD-3-Clause */
#include "segments_peer.h"

#include <dirent.h>

static sci_local_segment_t local[S_SLOTS];
static uint8_t *local_bytes[S_SLOTS];
static sci_remote_segment_t remote[S_SLOTS];
static sci_map_t maps[S_SLOTS];
static volatile uint8_t *map_bytes[S_SLOTS];
static sci_local_interrupt_t flags[S_SLOTS];

int s_tell(struct actor *peer, actor_function verb, struct s_order *order)
{
    return actor_run(peer, verb, order, sizeof *order);
}

struct s_order s_ask(struct actor *peer, actor_function verb, struct s_order order)
{
    EXPECT(SCI_ERR_OK, s_tell(peer, verb, &order));
    return order;
}

/* ---------------------------------------------------------------- local segments */

/* Show it to the verbs. */
static int took(const struct s_order *order, sci_error_t error, size_t size)
{
    sci_map_t map;
    if (error != SCI_ERR_OK)
        return (int)error;
    local_bytes[order->slot] =
        SCIMapLocalSegment(local[order->slot], &map, 0, size, NULL, 0, &error);
    return (int)error;
}

int s_create(void *bytes)
{
    struct s_order *order = bytes;
    NEED(desc() != NULL);
    return (int)ERROR_OF(SCICreateSegment, desc(), &local[order->slot], order->id, order->size,
                         NULL, NULL, order->flags);
}

int s_offer(void *bytes)
{
    struct s_order *order = bytes;
    int error = s_create(bytes);
    if (error == SCI_ERR_OK)
        error = took(order, SCI_ERR_OK, order->size);
    if (error == SCI_ERR_OK)
        error = s_prepare(bytes);
    return error == SCI_ERR_OK ? s_available(bytes) : error;
}

int s_prepare(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCIPrepareSegment, local[order->slot], ADAPTER, 0);
}

int s_available(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCISetSegmentAvailable, local[order->slot], ADAPTER, 0);
}

int s_unavailable(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCISetSegmentUnavailable, local[order->slot], ADAPTER, order->flags);
}

int s_remove(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCIRemoveSegment, local[order->slot], order->flags);
}

int s_attach(void *bytes)
{
    struct s_order *order = bytes;
    NEED(desc() != NULL);
    sci_error_t error = ERROR_OF(SCIAttachLocalSegment, desc(), &local[order->slot], order->id,
                                 &order->size, NULL, NULL, order->flags);
    return took(order, error, order->size);
}

int s_load(void *bytes)
{
    struct s_order *order = bytes;
    memcpy(&order->value, local_bytes[order->slot] + order->offset, sizeof order->value);
    return 0;
}

int s_store(void *bytes)
{
    struct s_order *order = bytes;
    memcpy(local_bytes[order->slot] + order->offset, &order->value, sizeof order->value);
    SCIFlush(NULL, 0);
    return 0;
}

int s_flag(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCIRegisterInterruptFlag, ADAPTER, &flags[order->slot], local[order->slot],
                         (unsigned)order->offset, NULL, NULL, order->flags);
}

int s_wait_flag(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCIWaitForInterrupt, flags[order->slot], order->timeout, 0);
}

int s_wait_local(void *bytes)
{
    struct s_order *order = bytes;
    unsigned adapter;
    sci_error_t error;
    order->reason = SCIWaitForLocalSegmentEvent(local[order->slot], &order->node, &adapter,
                                                order->timeout, 0, &error);
    return (int)error;
}

/* ---------------------------------------------------------------- remote segments */

int s_connect(void *bytes)
{
    const struct s_order *order = bytes;
    NEED(desc() != NULL);
    return (int)ERROR_OF(SCIConnectSegment, desc(), &remote[order->slot], order->node, order->id,
                         ADAPTER, NULL, NULL, SCI_INFINITE_TIMEOUT, 0);
}

int s_disconnect(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCIDisconnectSegment, remote[order->slot], 0);
}

int s_map(void *bytes)
{
    const struct s_order *order = bytes;
    sci_error_t error;
    map_bytes[order->map] =
        SCIMapRemoteSegment(remote[order->slot], &maps[order->map], order->offset, order->size,
                            NULL, order->flags, &error);
    return (int)error;
}

int s_unmap(void *bytes)
{
    const struct s_order *order = bytes;
    return (int)ERROR_OF(SCIUnmapSegment, maps[order->map], 0);
}

int s_peek(void *bytes)
{
    struct s_order *order = bytes;
    memcpy(&order->value, (const void *)(map_bytes[order->map] + order->offset),
           sizeof order->value);
    return 0;
}

int s_poke(void *bytes)
{
    const struct s_order *order = bytes;
    memcpy((void *)(map_bytes[order->map] + order->offset), &order->value, sizeof order->value);
    if (order->flags == 0)
        SCIFlush(NULL, 0);
    return 0;
}

int s_wait_remote(void *bytes)
{
    struct s_order *order = bytes;
    sci_error_t error, status;
    order->reason =
        SCIWaitForRemoteSegmentEvent(remote[order->slot], &status, order->timeout, 0, &error);
    return (int)error;
}

static size_t lines_of(const char *path)
{
    FILE *file = fopen(path, "re");
    size_t lines = 0;
    int c;
    while (file != NULL && (c = getc(file)) != EOF)
        lines += c == '\n';
    if (file != NULL)
        fclose(file);
    return lines;
}

/* Sanitizers clear the shadow of each new stack by mappings, which the mapping engine's threads have
 * elsewhere with each connection. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAPPINGS_ARE_COUNTED = 0 };
#else
enum { MAPPINGS_ARE_COUNTED = 1 };
#endif

size_t resources_now(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = MAPPINGS_ARE_COUNTED ? lines_of("/proc/self/maps") : 0;
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

int s_rounds(void *bytes)
{
    struct s_order *order = bytes;
    int64_t end = now_ms() + order->timeout;
    uint64_t tenth = order->value / 10;
    size_t before = 0;
    for (uint64_t i = 0; i < order->value; i++) {
        if (i == tenth)
            before = resources_now();
        if (order->timeout != 0 && i >= 2 * tenth && now_ms() >= end)
            break;
        int error = s_connect(bytes);
        if (error == SCI_ERR_OK)
            error = s_map(bytes);
        if (error == SCI_ERR_OK)
            error = s_unmap(bytes);
        if (error == SCI_ERR_OK)
            error = s_disconnect(bytes);
        if (error != SCI_ERR_OK)
            return error;
    }
    size_t after = resources_now();
    order->size = after > before ? after - before : 0;
    return 0;
}

int s_reads_order(void *bytes)
{
    struct s_order *order = bytes;
    const _Atomic uint64_t *flag = (const void *)local_bytes[order->slot];
    const volatile uint64_t *data = (const volatile uint64_t *)local_bytes[order->slot];
    int64_t deadline = now_ms() + LONG_MS; /* of the next step */
    uint64_t seen = 0;
    order->size = 0;
    while (seen < order->value && now_ms() < deadline) {
        uint64_t before = seen;
        for (int i = 0; i < 1000; i++) {
            seen = atomic_load_explicit(flag, memory_order_acquire);
            order->size += data[8] < seen || data[500] < seen;
        }
        if (seen != before)
            deadline = now_ms() + LONG_MS;
    }
    return seen < order->value ? -1 : 0;
}

int s_exit(void *bytes)
{
    _exit(0);
}

/* ---------------------------------------------------------------- in the test's own process */

void await_connect(unsigned node, unsigned id, sci_error_t wanted)
{
    int64_t deadline = now_ms() + LONG_MS;
    sci_error_t error;
    do {
        sci_remote_segment_t segment;
        error = ERROR_OF(SCIConnectSegment, desc(), &segment, node, id, ADAPTER, NULL, NULL,
                         SCI_INFINITE_TIMEOUT, 0);
        if (error == SCI_ERR_OK)
            SUCCEEDS(SCIDisconnectSegment, segment, 0);
    } while (error != wanted && now_ms() < deadline);
    EXPECT(wanted, error);
}

struct offered offer(unsigned id, size_t size)
{
    struct offered made;
    sci_error_t error;
    SUCCEEDS(SCICreateSegment, desc(), &made.segment, id, size, NULL, NULL, 0);
    made.bytes = SCIMapLocalSegment(made.segment, &made.map, 0, size, NULL, 0, &error);
    EXPECT(SCI_ERR_OK, error);
    SUCCEEDS(SCIPrepareSegment, made.segment, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, made.segment, ADAPTER, 0);
    return made;
}

sci_remote_segment_t connected(unsigned node, unsigned id)
{
    sci_remote_segment_t segment = NULL;
    SUCCEEDS(SCIConnectSegment, desc(), &segment, node, id, ADAPTER, NULL, NULL,
             SCI_INFINITE_TIMEOUT, 0);
    return segment;
}
