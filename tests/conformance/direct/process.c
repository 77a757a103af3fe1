/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transport does to the processes that it is in: children, descriptors, threads, signals. */
#include "direct.h"
#include "transport/instance.h"

/* ---------------------------------------------------------------- fork */

enum { FORK_MS = 6000, FORK_ROUNDS = 40000, FORK_BYTES = 500, BLOCK_BYTES = 512 };

/* Each process has every other block of the segment, so both go to all pieces. */
static void move_data(struct importing *self, unsigned half, unsigned rounds)
{
    uint8_t out[FORK_BYTES], in[FORK_BYTES];
    uint64_t blocks = self->size / (2 * BLOCK_BYTES), end = direct_now_ms() + FORK_MS;
    for (unsigned i = 0; i < rounds && direct_now_ms() < end; i++) {
        uint64_t offset = (i * UINT64_C(97) % blocks * 2 + half) * BLOCK_BYTES;
        memset(out, (int)(i * 2 + half + 1), sizeof out);
        NEED_OK(self->ops->put(self->conn, offset, out, sizeof out));
        NEED_OK(self->ops->complete(self->conn));
        memset(in, 0, sizeof in);
        NEED_OK(self->ops->get(self->conn, offset, in, sizeof in));
        NEED(memcmp(in, out, sizeof in) == 0);
    }
}

static void get_stale(struct importing *self)
{
    uint64_t word = 0;
    unsigned done;
    struct rsm_transfer entry = {&word, 0, sizeof word};
    const struct rsm_import_ops *ops = self->ops;
    NEED(ops->put(self->conn, 0, &word, sizeof word) == RSM_ST_STALE);
    NEED(ops->get(self->conn, 0, &word, sizeof word) == RSM_ST_STALE);
    NEED(ops->put_elems(self->conn, 0, &word, 8, 1) == RSM_ST_STALE);
    NEED(ops->get_elems(self->conn, 0, &word, 8, 1) == RSM_ST_STALE);
    NEED(ops->putv(self->conn, &entry, 1, &done) == RSM_ST_STALE && done == 0);
    NEED(ops->getv(self->conn, &entry, 1, &done) == RSM_ST_STALE && done == 0);
    NEED(ops->order(self->conn) == RSM_ST_STALE);
    NEED(ops->complete(self->conn) == RSM_ST_STALE);
    NEED(ops->health(self->conn) == RSM_ST_STALE);
    NEED(ops->put_complete == NULL ||
         ops->put_complete(self->conn, 0, &word, sizeof word) == RSM_ST_STALE);
    bool snapshot = true;
    NEED(ops->get_snapshot == NULL ||
         (ops->get_snapshot(self->conn, 0, &word, sizeof word, &snapshot) == RSM_ST_STALE &&
          !snapshot));
    if (ops->complete_begin != NULL)
        ops->complete_begin(self->conn);
    ops->disconnect(self->conn);
}

static void use_in_both(struct importing *self)
{
    int status;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        atomic_store(&shared->answer, 1);
        if ((self->conn->caps & RSM_CAP_FORK) != 0)
            move_data(self, 1, FORK_ROUNDS);
        else
            get_stale(self);
        _exit(0);
    }
    NEED(await_count(&shared->answer, 1, PATIENCE_MS));
    move_data(self, 0, FORK_ROUNDS);
    NEED(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        _exit(1); /* the child has said why */
    NEED(WIFEXITED(status));
    move_data(self, 0, 1);
}

DIRECT(41, "A forked child and its parent do not disturb each other",
       "Declare the capability only if two processes that use one connection at once do not "
       "disturb each other.")
{
    struct stand *s = stand();
    succeeds(honest(s, offered_to(s, READ_WRITE), use_in_both, NULL));
    HOLDS(guards_are_whole(s));
}

/* The child has a copy of each descriptor for as long as it lives. */
static void leave_a_child(struct importing *self)
{
    uint8_t byte = 1;
    NEED_OK(self->ops->put(self->conn, 0, &byte, 1));
    NEED_OK(self->ops->complete(self->conn));
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        while (!atomic_load(&shared->stop))
            sleep_ms(2);
        _exit(0);
    }
    self->ops->disconnect(self->conn);
    self->port->ops->close(self->port);
}

DIRECT(42, "A connection whose process has left a child ends like any other",
       "It sets close-on-exec on its descriptors, and ends a stream explicitly (`shutdown(2)`), "
       "because a child holds copies of the descriptors until it ends.")
{
    struct stand *s = stand();
    struct node_counts before = node_count(s->node);
    for (unsigned i = 0; i < 4; i++) {
        struct ticket *ticket = offered_to(s, READ_WRITE);
        pid_t pid = honest(s, ticket, leave_a_child, NULL);
        succeeds(pid);
        ticket_sent(ticket);
        revoked(s, ticket);
    }
    struct node_counts after = node_count(s->node);
    atomic_store(&shared->stop, true);
    HOLDS(after.descriptors <= before.descriptors);
    HOLDS(after.threads <= before.threads);
}

/* ---------------------------------------------------------------- signals of the daemon */

DIRECT(43, "In rsmd all threads of the transport block its signals, and handlers stay as they are",
       "Block all signals in them, make no upcall from them but wake `dispatch` by your "
       "descriptor, and end them in `close`.")
{
    struct stand *s = stand();
    pid_t pid = honest(s, offered_to(s, READ_WRITE), leave_a_child, NULL);
    succeeds(pid);
    atomic_store(&shared->stop, true);
    struct node_counts counts = node_count(s->node);
    HOLDS(counts.threads_with_signals == 0);
    HOLDS(!counts.handlers_changed);
}

/* ---------------------------------------------------------------- what is left */

enum { REPEATS = 6 };

struct repeats {
    struct ticket *tickets[REPEATS];
};

static void connect_again(struct importing *self)
{
    const struct repeats *repeats = self->argument;
    const struct rsm_import_ops *ops = self->port->ops;
    unsigned descriptors = 0, threads = 0;
    uint8_t byte = 1;
    for (unsigned i = 1; i < REPEATS; i++) {
        struct rsm_conn *conn;
        NEED_OK(rsmcore_conn_open(self->port, &repeats->tickets[i]->offer, self->size, READ_WRITE,
                                  &conn));
        NEED_OK(conn->ops->put(conn, i, &byte, 1));
        NEED_OK(conn->ops->complete(conn));
        rsmcore_conn_close(conn);
        if (i == 1) { /* whatever is there once for all is there */
            descriptors = descriptors_open();
            threads = threads_running();
        }
    }
    NEED(descriptors_open() <= descriptors);
    NEED(threads_fall_to(threads));
    rsmcore_conn_close(self->conn);
    ops->close(self->port);
    NEED(descriptors_open() <= descriptors);
}

DIRECT(44, "After disconnect() and close() the process has what it had before",
       "End the connection. No other operation of it is under way, and none follows.")
{
    struct stand *s = stand();
    struct repeats repeats;
    for (unsigned i = 0; i < REPEATS; i++)
        repeats.tickets[i] = offered_to(s, READ_WRITE);
    succeeds(honest(s, repeats.tickets[0], connect_again, &repeats));
}

static void put_and_stay(struct importing *self)
{
    uint8_t byte = 1;
    NEED_OK(self->ops->put(self->conn, 0, &byte, 1));
    NEED_OK(self->ops->complete(self->conn));
    atomic_store(&shared->answer, 1);
    while (!atomic_load(&shared->stop))
        sleep_ms(1);
}

static struct node_counts one_cycle(struct stand *s, bool dies)
{
    struct ticket *ticket = offered_to(s, READ_WRITE);
    atomic_store(&shared->answer, 0);
    atomic_store(&shared->stop, false);
    pid_t pid = honest(s, ticket, put_and_stay, NULL);
    reaches(pid, &shared->answer, 1);
    atomic_store(&shared->stop, true);
    if (dies)
        killed(pid);
    else
        succeeds(pid);
    ticket_sent(ticket);
    revoked(s, ticket);
    return node_count(s->node);
}

DIRECT(45, "After revoke(), extent_free() and close() the daemon has what it had before",
       "The order of ends: `revoke` for each offer, then `extent_free` for each extent, then, when "
       "all jobs are done, `close`.")
{
    struct stand *s = stand();
    struct node_counts first = one_cycle(s, false), last = first;
    for (unsigned i = 0; i < REPEATS; i++)
        last = one_cycle(s, i % 2 == 0);
    HOLDS(last.descriptors <= first.descriptors);
    HOLDS(last.threads <= first.threads);
    for (unsigned i = 0; i < EXTENTS; i++)
        node_free(s->node, s->ids[i]);
    HOLDS(node_count(s->node).descriptors <= first.descriptors);
    node_close_port(s->node);
    unsigned threads = s->facts->before_open.threads, tries = 0;
    while (node_count(s->node).threads > threads && tries++ < 200)
        sleep_ms(5); /* one that has been joined is there for a moment longer */
    HOLDS(node_count(s->node).threads <= threads);
    HOLDS(node_count(s->node).descriptors <= s->facts->before_open.descriptors);
}

DIRECT(46, "A connection takes no more of the daemon than its offer says",
       "Set the most that an importer can bring about, and hold him to it.")
{
    struct stand *s = stand();
    (void)one_cycle(s, false);
    struct node_counts before = node_count(s->node);
    struct ticket *ticket = offered_to(s, READ_WRITE);
    atomic_store(&shared->answer, 0);
    atomic_store(&shared->stop, false);
    pid_t pid = honest(s, ticket, put_and_stay, NULL);
    reaches(pid, &shared->answer, 1);
    struct node_counts after = node_count(s->node);
    atomic_store(&shared->stop, true);
    succeeds(pid);
    HOLDS(after.descriptors <= before.descriptors + ticket->descriptors);
    HOLDS(after.threads <= before.threads + ticket->threads);
}

/* ---------------------------------------------------------------- extents */

static bool is_zero(const uint8_t *memory, uint64_t length)
{
    for (uint64_t i = 0; i < length; i++)
        if (memory[i] != 0)
            return false;
    return true;
}

/* A fresh one, which is written to before it is freed. */
static void examine_extent(struct stand *s)
{
    struct rsm_extent extent;
    unsigned id;
    HOLDS(node_make(s->node, 3 * s->page, &id, &extent) == RSM_ST_OK);
    HOLDS(rsmcore_extent_flaw(&(struct rsm_node_port){.caps = s->facts->caps}, &extent,
                              3 * s->page) == NULL);
    uint8_t *memory = mmap(NULL, 3 * s->page, PROT_READ | PROT_WRITE, MAP_SHARED, extent.fd,
                           (off_t)extent.offset);
    HOLDS(memory != MAP_FAILED);
    HOLDS(is_zero(memory, 3 * s->page));
    memset(memory, 0xee, 3 * s->page);
    if (extent.kind == RSM_EXTENT_MEMFD)
        HOLDS((fcntl(extent.fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0);
    struct stat stat;
    HOLDS(fstat(extent.fd, &stat) == 0);
    if ((s->facts->caps & RSM_NODE_EXTENTS_SHAREABLE) != 0)
        HOLDS((stat.st_mode & 0777) == 0400);
    munmap(memory, 3 * s->page);
    close(extent.fd);
    node_free(s->node, id);
}

/* No two extents are at one place. */
static bool are_apart(const struct rsm_extent *one, const struct rsm_extent *two)
{
    struct stat first = {0}, second = {0};
    HOLDS(fstat(one->fd, &first) == 0 && fstat(two->fd, &second) == 0);
    return first.st_dev != second.st_dev || first.st_ino != second.st_ino ||
           one->offset + one->length <= two->offset || two->offset + two->length <= one->offset;
}

DIRECT(47, "An extent is zeros, sealed if it is a memfd, and nobody else's",
       "A memfd must be sealed: a process with the descriptor must not be able to shrink the "
       "memory under the others.")
{
    struct stand *s = stand();
    HOLDS(are_apart(&s->extents[0], &s->extents[1]));
    for (unsigned i = 0; i < 3; i++)
        examine_extent(s);
    unsigned id;
    struct rsm_extent extent;
    HOLDS(node_make(s->node, UINT64_MAX - s->page + 1, &id, &extent) != RSM_ST_OK);
}

/* ---------------------------------------------------------------- versions */

static void put_once(struct importing *self)
{
    uint8_t byte = 0x21;
    NEED_OK(self->ops->put(self->conn, 3, &byte, 1));
    NEED_OK(self->ops->complete(self->conn));
}

DIRECT(48, "Structures of a later version, which are longer, are taken as far as they are known",
       "no one reads or writes beyond it")
{
    direct_later = true;
    struct stand *s = stand();
    HOLDS(!s->facts->attr_overrun);
    succeeds(honest(s, offered_to(s, READ_WRITE), put_once, NULL));
    HOLDS(*at(s, 3) == 0x21);
}
