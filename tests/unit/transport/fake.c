/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENTS_MAX = 16, CALLS_MAX = 256 };

struct delayed_put {
    struct delayed_put *next;
    uint64_t offset;
    size_t length;
    uint8_t bytes[];
};

struct fake_segment {
    pthread_mutex_t lock;
    uint32_t number;
    size_t size;
    uint8_t *memory;
    bool delay;
    uint32_t random;
    struct delayed_put *kept; /* newest first */
    struct {
        bool armed;
        unsigned skip;
        enum rsm_status status;
    } fault[FAKE_OPS];
    struct fake_call calls[CALLS_MAX];
    unsigned call_count;
};

struct fake_conn {
    struct rsm_conn conn;
    struct fake_segment *segment;
};

static pthread_mutex_t segments_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_segment *segments[SEGMENTS_MAX];

/* ------------------------------------------------------------------ control */

struct fake_segment *fake_segment_make(size_t size)
{
    struct fake_segment *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->size = size;
    made->memory = calloc(1, size);
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_lock(&segments_lock);
    while (made->number < SEGMENTS_MAX && segments[made->number] != NULL)
        made->number++;
    bool fits = made->number < SEGMENTS_MAX && made->memory != NULL;
    if (fits)
        segments[made->number] = made;
    pthread_mutex_unlock(&segments_lock);
    if (fits)
        return made;
    free(made->memory);
    free(made);
    return NULL;
}

void fake_segment_free(struct fake_segment *segment)
{
    pthread_mutex_lock(&segments_lock);
    segments[segment->number] = NULL;
    pthread_mutex_unlock(&segments_lock);
    while (segment->kept != NULL) {
        struct delayed_put *put = segment->kept;
        segment->kept = put->next;
        free(put);
    }
    pthread_mutex_destroy(&segment->lock);
    free(segment->memory);
    free(segment);
}

uint8_t *fake_segment_memory(struct fake_segment *segment)
{
    return segment->memory;
}

void fake_segment_offer(const struct fake_segment *segment, struct rsm_offer *offer)
{
    memset(offer, 0, sizeof *offer);
    offer->blob_len = sizeof segment->number;
    memcpy(offer->blob, &segment->number, sizeof segment->number);
}

void fake_segment_delay(struct fake_segment *segment, uint32_t seed)
{
    pthread_mutex_lock(&segment->lock);
    segment->delay = true;
    segment->random = seed;
    pthread_mutex_unlock(&segment->lock);
}

void fake_segment_fail(struct fake_segment *segment, enum fake_op op, unsigned skip,
                       enum rsm_status status)
{
    pthread_mutex_lock(&segment->lock);
    segment->fault[op].armed = true;
    segment->fault[op].skip = skip;
    segment->fault[op].status = status;
    pthread_mutex_unlock(&segment->lock);
}

const struct fake_call *fake_segment_calls(const struct fake_segment *segment, unsigned *count)
{
    *count = segment->call_count;
    return segment->calls;
}

void fake_segment_forget(struct fake_segment *segment)
{
    pthread_mutex_lock(&segment->lock);
    segment->call_count = 0;
    pthread_mutex_unlock(&segment->lock);
}

/* ------------------------------------------------------------------ bookkeeping, lock held */

static void write_down(struct fake_segment *segment, enum fake_op op, uint64_t offset,
                       size_t length)
{
    if (segment->call_count < CALLS_MAX)
        segment->calls[segment->call_count++] =
            (struct fake_call){.op = op, .offset = offset, .length = length};
}

static enum rsm_status fault(struct fake_segment *segment, enum fake_op op)
{
    if (!segment->fault[op].armed)
        return RSM_ST_OK;
    if (segment->fault[op].skip > 0) {
        segment->fault[op].skip--;
        return RSM_ST_OK;
    }
    segment->fault[op].armed = false;
    return segment->fault[op].status;
}

/* Take one of the kept puts, any one. */
static struct delayed_put *take_any(struct fake_segment *segment, unsigned count)
{
    segment->random = segment->random * 1103515245u + 12345u;
    struct delayed_put **link = &segment->kept;
    for (unsigned skip = (segment->random >> 16) % count; skip > 0; skip--)
        link = &(*link)->next;
    struct delayed_put *put = *link;
    *link = put->next;
    return put;
}

static void deliver_all(struct fake_segment *segment, struct rsm_conn *conn)
{
    unsigned count = 0;
    for (const struct delayed_put *put = segment->kept; put != NULL; put = put->next)
        count++;
    for (; count > 0; count--) {
        struct delayed_put *put = take_any(segment, count);
        enum rsm_status status = fault(segment, FAKE_DELIVERY);
        if (status == RSM_ST_OK)
            memcpy(segment->memory + put->offset, put->bytes, put->length);
        else
            rsm_conn_failed(conn);
        write_down(segment, FAKE_DELIVERY, put->offset, put->length);
        free(put);
    }
}

static enum rsm_status keep_back(struct fake_segment *segment, uint64_t offset, const void *src,
                                 size_t length)
{
    struct delayed_put *put = malloc(sizeof *put + length);
    if (put == NULL)
        return RSM_ST_NO_MEMORY;
    *put = (struct delayed_put){.next = segment->kept, .offset = offset, .length = length};
    memcpy(put->bytes, src, length);
    segment->kept = put;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ operations */

static enum rsm_status fake_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    static struct rsm_port only = {.caps = RSM_CAP_ASYNC};
    *port = &only;
    return RSM_ST_OK;
}

static void fake_close(struct rsm_port *port)
{
}

static enum rsm_status fake_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                    uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    uint32_t number;
    if (offer->blob_len != sizeof number)
        return RSM_ST_PROTOCOL;
    memcpy(&number, offer->blob, sizeof number);
    pthread_mutex_lock(&segments_lock);
    struct fake_segment *segment = number < SEGMENTS_MAX ? segments[number] : NULL;
    pthread_mutex_unlock(&segments_lock);
    if (segment == NULL || segment->size != size)
        return RSM_ST_PROTOCOL;
    pthread_mutex_lock(&segment->lock);
    write_down(segment, FAKE_CONNECT, 0, size);
    enum rsm_status status = fault(segment, FAKE_CONNECT);
    pthread_mutex_unlock(&segment->lock);
    struct fake_conn *made = status == RSM_ST_OK ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return status == RSM_ST_OK ? RSM_ST_NO_MEMORY : status;
    made->conn.caps = port->caps;
    made->segment = segment;
    *conn = &made->conn;
    return RSM_ST_OK;
}

static struct fake_segment *segment_of(struct rsm_conn *conn)
{
    return ((struct fake_conn *)conn)->segment;
}

static void fake_disconnect(struct rsm_conn *conn)
{
    struct fake_segment *segment = segment_of(conn);
    pthread_mutex_lock(&segment->lock);
    write_down(segment, FAKE_DISCONNECT, 0, 0);
    deliver_all(segment, conn);
    pthread_mutex_unlock(&segment->lock);
    free(conn);
}

static enum rsm_status fake_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    struct fake_segment *segment = segment_of(conn);
    pthread_mutex_lock(&segment->lock);
    write_down(segment, FAKE_PUT, offset, length);
    enum rsm_status status = fault(segment, FAKE_PUT);
    if (status == RSM_ST_OK && segment->delay)
        status = keep_back(segment, offset, src, length);
    else if (status == RSM_ST_OK)
        memcpy(segment->memory + offset, src, length);
    pthread_mutex_unlock(&segment->lock);
    return status;
}

static enum rsm_status fake_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    struct fake_segment *segment = segment_of(conn);
    pthread_mutex_lock(&segment->lock);
    write_down(segment, FAKE_GET, offset, length);
    enum rsm_status status = fault(segment, FAKE_GET);
    if (status == RSM_ST_OK)
        memcpy(dst, segment->memory + offset, length);
    pthread_mutex_unlock(&segment->lock);
    return status;
}

static enum rsm_status fake_order(struct rsm_conn *conn)
{
    struct fake_segment *segment = segment_of(conn);
    pthread_mutex_lock(&segment->lock);
    write_down(segment, FAKE_ORDER, 0, 0);
    enum rsm_status status = fault(segment, FAKE_ORDER);
    deliver_all(segment, conn);
    pthread_mutex_unlock(&segment->lock);
    return status;
}

static enum rsm_status fake_complete(struct rsm_conn *conn)
{
    struct fake_segment *segment = segment_of(conn);
    pthread_mutex_lock(&segment->lock);
    write_down(segment, FAKE_COMPLETE, 0, 0);
    enum rsm_status status = fault(segment, FAKE_COMPLETE);
    deliver_all(segment, conn);
    pthread_mutex_unlock(&segment->lock);
    return status;
}

const struct rsm_import_ops fake_import_ops = {
    RSM_IMPORT_OPS_HEAD, /* version and sizes */
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .connect = fake_connect,
    .disconnect = fake_disconnect,
    .put = fake_put,
    .get = fake_get,
    .order = fake_order,
    .complete = fake_complete,
};
