/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers. Everything is a vector: put and get are one of one entry, elements are cut into work
 * requests of their width. A vector becomes chains of work requests: small writes carry their bytes
 * with them, registered memory is transferred in place, and the rest goes through the slots of the
 * bounce pool, so that one is copied while others are in flight. */
#include <string.h>

#include "transport/verbs/import/stream.h"

enum { ALIGN = 8 };

bool verbs_stream_next(struct stream *s, struct fragment *fragment)
{
    while (s->entry < s->count && s->at == s->vec[s->entry].length) {
        s->entry++;
        s->at = 0;
    }
    if (s->entry == s->count)
        return false;
    const struct rsm_transfer *entry = &s->vec[s->entry];
    uint64_t remote = entry->remote + s->at;
    uint64_t length = entry->length - s->at;
    uint32_t i = 0;
    while (s->conn->piece[i].end <= remote)
        i++;
    uint64_t start = i == 0 ? 0 : s->conn->piece[i - 1].end;
    if (length > s->conn->piece[i].end - remote)
        length = s->conn->piece[i].end - remote;
    if (length > s->unit)
        length = s->unit;
    *fragment = (struct fragment){.local = (uint8_t *)entry->local + s->at,
                                  .address = s->conn->piece[i].address + (remote - start),
                                  .key = s->conn->piece[i].key,
                                  .length = (uint32_t)length};
    return true;
}

static const struct verbs_region *region_of(const struct stream *s, const struct fragment *f)
{
    if (s->extra != NULL)
        return s->extra;
    return s->locked ? verbs_region_of(s->conn->port, f->local, f->length) : NULL;
}

static void add(struct verbs_wr_list *chain, enum ibv_wr_opcode opcode,
                const struct fragment *fragment, const void *local, uint32_t lkey, unsigned flags)
{
    uint32_t i = chain->count++;
    chain->sge[i] =
        (struct ibv_sge){.addr = (uintptr_t)local, .length = fragment->length, .lkey = lkey};
    chain->wr[i] =
        (struct ibv_send_wr){.opcode = opcode,
                             .send_flags = flags,
                             .sg_list = &chain->sge[i],
                             .num_sge = 1,
                             .wr.rdma = {.remote_addr = fragment->address, .rkey = fragment->key}};
}

static uint8_t *slot_bytes(const struct verbs_conn *conn, int slot)
{
    return conn->bounce->bytes + (size_t)slot * conn->slot_bytes;
}

static bool slot_is_free(const struct verbs_conn *conn, uint64_t unused)
{
    (void)unused;
    return verbs_bounce_slot_find(conn) >= 0;
}

/* Where a thread holds no slot it may wait for one. -1: the connection is dead. */
static int slot_await(struct verbs_conn *conn)
{
    verbs_wait(conn, (struct verbs_wait){.over = slot_is_free});
    return conn->sendq.dead ? -1 : verbs_bounce_slot_find(conn);
}

/* What one access reads another must write. */
#define MOVE_ELEMENT(type, to, from)                                                               \
    (*(volatile type *)(void *)(to) = *(const volatile type *)(const void *)(from))

static void move_bytes(const struct stream *s, uint8_t *to, const uint8_t *from, uint32_t length)
{
    if (!s->elements) {
        memcpy(to, from, length);
        return;
    }
    switch (length) {
    case 1:
        MOVE_ELEMENT(uint8_t, to, from);
        break;
    case 2:
        MOVE_ELEMENT(uint16_t, to, from);
        break;
    case 4:
        MOVE_ELEMENT(uint32_t, to, from);
        break;
    default:
        MOVE_ELEMENT(uint64_t, to, from);
    }
}

/* The caller's memory may be a mapping, whose fault another connection serves. So it is read here,
 * into a slot or into `small`, while the connection's lock is free; posting reads only these. */
struct writer {
    struct stream s;
    struct verbs_wr_list chain;
    _Alignas(ALIGN) uint8_t small[VERBS_INLINE_MAX]; /* what the chain's requests carry with them */
    size_t small_used;
    int slot; /* being filled, -1: none */
    size_t used;
    uint64_t last;   /* number of the latest request posted */
    uint64_t direct; /* the latest one that reads the caller's memory */
    bool chain_direct;
    unsigned done; /* entries that have been posted in full */
};

/* The lock is held. */
static bool write_post(struct writer *w)
{
    struct verbs_conn *conn = w->s.conn;
    if (w->chain.count == 0)
        return true;
    uint64_t last = verbs_post(conn, &w->chain);
    w->small_used = 0;
    if (last == 0)
        return false;
    w->last = last;
    if (w->chain_direct)
        w->direct = last;
    w->chain_direct = false;
    w->done = w->s.entry;
    if (w->slot >= 0)
        conn->bounce_slot_until[w->slot] = last;
    return true;
}

/* Send off what is in the slot. The lock is held. */
static bool write_slot(struct writer *w)
{
    bool posted = write_post(w);
    if (w->slot >= 0)
        w->s.conn->bounce_slot_held[w->slot] = false;
    w->slot = -1;
    return posted;
}

static bool write_locked(struct writer *w, bool (*step)(struct writer *w))
{
    struct verbs_conn *conn = w->s.conn;
    pthread_mutex_lock(&conn->lock);
    bool done = step(w);
    pthread_mutex_unlock(&conn->lock);
    return done;
}

/* A slot to be filled. The lock is held. */
static bool write_take_slot(struct writer *w)
{
    struct verbs_conn *conn = w->s.conn;
    int slot = verbs_bounce_slot_find(conn);
    if (slot < 0 && write_post(w))
        slot = slot_await(conn);
    if (slot < 0)
        return false;
    conn->bounce_slot_held[slot] = true;
    w->slot = slot;
    w->used = 0;
    return true;
}

static bool write_copy(struct writer *w, struct fragment *fragment)
{
    struct verbs_conn *conn = w->s.conn;
    if (w->slot < 0 && !write_locked(w, write_take_slot))
        return false;
    size_t room = conn->slot_bytes - w->used;
    if (fragment->length > room)
        fragment->length = (uint32_t)room;
    uint8_t *to = slot_bytes(conn, w->slot) + w->used;
    memcpy(to, fragment->local, fragment->length);
    add(&w->chain, IBV_WR_RDMA_WRITE, fragment, to, conn->bounce->lkey, 0);
    w->used += fragment->length;
    w->s.at += fragment->length;
    return w->used < conn->slot_bytes || write_locked(w, write_slot);
}

static bool write_small(struct writer *w, const struct fragment *fragment)
{
    if (fragment->length > VERBS_INLINE_MAX - w->small_used && !write_locked(w, write_post))
        return false;
    uint8_t *bytes = w->small + w->small_used;
    w->small_used += (fragment->length + ALIGN - 1u) / ALIGN * ALIGN;
    move_bytes(&w->s, bytes, fragment->local, fragment->length);
    add(&w->chain, IBV_WR_RDMA_WRITE, fragment, bytes, 0, IBV_SEND_INLINE);
    w->s.at += fragment->length;
    return true;
}

static bool write_one(struct writer *w, struct fragment *fragment)
{
    const struct verbs_region *region;
    if (fragment->length <= w->s.conn->inline_bytes)
        return write_small(w, fragment);
    region = region_of(&w->s, fragment);
    if (region == NULL)
        return write_copy(w, fragment);
    add(&w->chain, IBV_WR_RDMA_WRITE, fragment, fragment->local, region->mr->lkey, 0);
    w->chain_direct = true;
    w->s.at += fragment->length;
    return true;
}

/* What is left in the chain at the end is the caller's to post. */
static bool write_all(struct writer *w)
{
    struct fragment fragment;
    while (verbs_stream_next(&w->s, &fragment)) {
        if (w->chain.count == VERBS_WR_LIST_MAX && !write_locked(w, write_post))
            return false;
        if (!write_one(w, &fragment))
            return false;
    }
    return true;
}

static enum rsm_status write_stream(const struct stream *stream, unsigned *done)
{
    struct writer w;
    struct verbs_conn *conn = stream->conn;
    /* The chain is not cleared: requests are filled as they are added. */
    w.s = *stream;
    w.chain.count = 0;
    w.small_used = 0;
    w.slot = -1;
    w.used = 0;
    w.last = w.direct = 0;
    w.chain_direct = false;
    w.done = 0;
    bool sound = !atomic_load(&conn->failed) && write_all(&w);
    pthread_mutex_lock(&conn->lock);
    sound = sound && write_slot(&w);
    if (w.slot >= 0)
        conn->bounce_slot_held[w.slot] = false;
    /* The caller may reuse its memory when this returns. */
    sound = sound && (w.direct == 0 || verbs_wait_for(conn, w.direct));
    verbs_poll(conn);
    pthread_mutex_unlock(&conn->lock);
    *done = sound ? stream->count : w.done;
    return sound ? RSM_ST_OK : RSM_ST_TRANSFER;
}

/* A request whose data has not been delivered. */
struct fetch {
    uint8_t *to;
    const uint8_t *from; /* in a slot; NULL: lands at its place */
    uint32_t length;
    unsigned entry;
    int slot; /* to be freed behind it, -1: none */
    uint64_t number;
};

struct reader {
    struct stream s;
    struct verbs_wr_list chain;
    struct fetch fetch[VERBS_READS_MAX];
    unsigned first;  /* of the fetches, they go round */
    unsigned count;  /* not delivered */
    unsigned posted; /* of these: posted */
    uint64_t bytes;  /* of these */
    int slot;
    size_t used;
};

static struct fetch *fetch_at(struct reader *r, unsigned index)
{
    return &r->fetch[(r->first + index) % VERBS_READS_MAX];
}

static bool read_post(struct reader *r)
{
    if (r->chain.count == 0)
        return true;
    uint64_t last = verbs_post(r->s.conn, &r->chain);
    for (; last != 0 && r->posted < r->count; r->posted++)
        fetch_at(r, r->posted)->number = last;
    return last != 0;
}

/* Nothing more goes into the slot: it is freed behind the latest fetch. */
static void read_close_slot(struct reader *r)
{
    if (r->slot >= 0)
        fetch_at(r, r->count - 1)->slot = r->slot;
    r->slot = -1;
}

/* Find room for the fragment to land in; NULL: there is none at the moment. */
static uint8_t *read_room(struct reader *r, struct fragment *fragment)
{
    struct verbs_conn *conn = r->s.conn;
    if (r->slot < 0) {
        r->slot = verbs_bounce_slot_find(conn);
        if (r->slot < 0)
            return NULL;
        conn->bounce_slot_held[r->slot] = true;
        r->used = 0;
    }
    size_t room = conn->slot_bytes - r->used;
    if (fragment->length > room)
        fragment->length = (uint32_t)room;
    uint8_t *to = slot_bytes(conn, r->slot) + r->used;
    r->used += (fragment->length + ALIGN - 1u) / ALIGN * ALIGN;
    return to;
}

static bool read_one(struct reader *r, struct fragment *fragment)
{
    const struct verbs_region *region = region_of(&r->s, fragment);
    uint8_t *bounce = region != NULL ? fragment->local : read_room(r, fragment);
    if (bounce == NULL)
        return false;
    add(&r->chain, IBV_WR_RDMA_READ, fragment, bounce,
        region != NULL ? region->mr->lkey : r->s.conn->bounce->lkey, 0);
    *fetch_at(r, r->count++) = (struct fetch){.to = fragment->local,
                                              .from = region != NULL ? NULL : bounce,
                                              .length = fragment->length,
                                              .entry = r->s.entry,
                                              .slot = -1};
    r->bytes += fragment->length;
    r->s.at += fragment->length;
    if (region == NULL && r->used >= r->s.conn->slot_bytes)
        read_close_slot(r);
    return true;
}

/* Post as much as there is room for. */
static bool read_issue(struct reader *r)
{
    struct fragment fragment;
    while (r->count < VERBS_READS_MAX && r->bytes < VERBS_READ_WINDOW &&
           verbs_stream_next(&r->s, &fragment)) {
        if (!read_one(r, &fragment))
            break;
        if (r->chain.count == VERBS_WR_LIST_MAX && !read_post(r))
            return false;
    }
    read_close_slot(r);
    return read_post(r);
}

static void deliver(const struct reader *r, const struct fetch *fetch)
{
    if (fetch->from != NULL)
        move_bytes(&r->s, fetch->to, fetch->from, fetch->length);
}

/* Copy what has arrived to where it belongs; others may use the connection meanwhile. */
static void read_deliver(struct reader *r)
{
    struct verbs_conn *conn = r->s.conn;
    uint64_t completed = conn->sendq.completed;
    unsigned ready = 0;
    pthread_mutex_unlock(&conn->lock);
    for (; ready < r->count && fetch_at(r, ready)->number <= completed; ready++)
        deliver(r, fetch_at(r, ready));
    pthread_mutex_lock(&conn->lock);
    for (unsigned i = 0; i < ready; i++) {
        r->bytes -= fetch_at(r, i)->length;
        if (fetch_at(r, i)->slot >= 0)
            conn->bounce_slot_held[fetch_at(r, i)->slot] = false;
    }
    r->first += ready;
    r->count -= ready;
    r->posted -= ready;
    if (conn->has_sleeper)
        pthread_cond_broadcast(&conn->progress); /* another thread may wait for a slot */
}

static bool read_all(struct reader *r)
{
    struct fragment unused;
    for (;;) {
        if (!read_issue(r))
            return false;
        if (r->count == 0) {
            if (!verbs_stream_next(&r->s, &unused))
                return true;
            if (slot_await(r->s.conn) < 0)
                return false;
            continue;
        }
        if (!verbs_wait_for(r->s.conn, fetch_at(r, 0)->number))
            return false;
        read_deliver(r);
    }
}

/* A dead connection's slots are never used again, but another thread may still wait for one. */
static void read_abandon(struct reader *r)
{
    struct verbs_conn *conn = r->s.conn;
    if (r->slot >= 0)
        conn->bounce_slot_held[r->slot] = false;
    for (unsigned i = 0; i < r->count; i++)
        if (fetch_at(r, i)->slot >= 0)
            conn->bounce_slot_held[fetch_at(r, i)->slot] = false;
}

static enum rsm_status read_stream(const struct stream *stream, unsigned *done)
{
    struct reader r;
    struct verbs_conn *conn = stream->conn;
    r.s = *stream;
    r.chain.count = 0;
    r.first = r.count = r.posted = 0;
    r.slot = -1;
    r.used = 0;
    r.bytes = 0;
    if (r.s.unit > VERBS_READ_MAX)
        r.s.unit = VERBS_READ_MAX;
    pthread_mutex_lock(&conn->lock);
    bool sound = !conn->sendq.dead && read_all(&r);
    if (!sound)
        read_abandon(&r);
    pthread_mutex_unlock(&conn->lock);
    *done = sound ? stream->count : r.count > 0 ? fetch_at(&r, 0)->entry : r.s.entry;
    return sound ? RSM_ST_OK : RSM_ST_TRANSFER;
}

enum rsm_status verbs_stream_run(struct stream *stream, enum direction direction, unsigned *done)
{
    struct verbs_port *port = stream->conn->port;
    *done = 0;
    int cancel = verbs_cancel_hold();
    stream->locked = atomic_load(&port->region_count) > 0;
    /* The only lock that is held while the caller's memory is accessed: a fault in it takes this
     * lock for reading again, which succeeds at once even if a writer waits. */
    if (stream->locked)
        pthread_rwlock_rdlock(&port->regions_lock);
    enum rsm_status status =
        direction == WRITING ? write_stream(stream, done) : read_stream(stream, done);
    if (stream->locked)
        pthread_rwlock_unlock(&port->regions_lock);
    verbs_cancel_let_go(cancel);
    return status;
}
