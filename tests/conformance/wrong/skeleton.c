/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The skeleton with one mistake in it, which MISTAKE names: rsm-transport-check has to find each.
 * With NONE it is right, and the mapping engine may map. The mistakes of a transport whose node half serves importers are in tests/peek.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rsm/transport.h>

enum {
    NONE,
    GRANTED,    /* the descriptor of an offer for reading can write */
    LEAK,       /* a connect that is refused keeps a descriptor */
    STATUS,     /* and returns a status of its own */
    INHERITED,  /* descriptors are not close-on-exec */
    SHORT,      /* a long put moves less than it should */
    TORN,       /* an element moves byte by byte */
    FENCE,      /* writes take place in another order, whatever order() says */
    EARLY,      /* complete() returns before the data is there */
    STALE,      /* a get returns what it returned the last time */
    FORKED,     /* a child and its parent share the place in the file */
    UNSEALED,   /* whoever has an extent's descriptor can shrink it */
    LONGER,     /* writes as much as the caller's structure is long */
    BELIEVING,  /* connects by an offer that makes no sense */
    SWAPPED,    /* an element arrives in another byte order */
    CUT_VECTOR, /* a vector ends at its first empty entry */
    BOUNCED,    /* threads share a buffer */
    FEW_PIECES, /* a segment has at most 16 */
    IDLE,       /* a work ends before its data has moved */
    MAPPED,     /* a mapping can be stored to, whatever its rights */
    KEPT,       /* disconnect() keeps a descriptor */
    PILED_UP,   /* revoke() keeps one of the daemon's */
    MOMENTS,    /* a read that is said to be of one moment is of two */
};

/* Of the skeleton's own calls. */
#if MISTAKE == 4
#undef F_DUPFD_CLOEXEC
#define F_DUPFD_CLOEXEC F_DUPFD
#elif MISTAKE == 11
#undef F_SEAL_SHRINK
#define F_SEAL_SHRINK 0
#elif MISTAKE == 10
static pthread_mutex_t place = PTHREAD_MUTEX_INITIALIZER;

static ssize_t seek_and_write(int fd, const void *bytes, size_t length, off_t at)
{
    pthread_mutex_lock(&place);
    ssize_t moved = lseek(fd, at, SEEK_SET) < 0 ? -1 : write(fd, bytes, length);
    pthread_mutex_unlock(&place);
    return moved;
}

static ssize_t seek_and_read(int fd, void *bytes, size_t length, off_t at)
{
    pthread_mutex_lock(&place);
    ssize_t moved = lseek(fd, at, SEEK_SET) < 0 ? -1 : read(fd, bytes, length);
    pthread_mutex_unlock(&place);
    return moved;
}
#define pwrite seek_and_write
#define pread  seek_and_read
#endif

#define rsm_transport_import_ops_v1 skeleton_import_ops
#define rsm_transport_node_ops_v1   skeleton_node_ops
#include "../../../examples/transport/skeleton.c" /* NOLINT(bugprone-suspicious-include) */
#undef rsm_transport_import_ops_v1
#undef rsm_transport_node_ops_v1

#define VISIBLE __attribute__((visibility("default")))

/* ------------------------------------------------------------------ connections */

static enum rsm_status wrong_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    enum rsm_status status = skeleton_open(info, port);
    if (status == RSM_ST_OK && (MISTAKE == EARLY || MISTAKE == FENCE))
        (*port)->caps = RSM_CAP_ASYNC;
    if (status == RSM_ST_OK && MISTAKE == NONE)
        (*port)->caps = RSM_CAP_FAULT_SAFE;
    if (status == RSM_ST_OK && MISTAKE == FORKED)
        (*port)->caps = RSM_CAP_FORK;
    if (status == RSM_ST_OK && MISTAKE == MAPPED)
        (*port)->caps = RSM_CAP_MAP;
    return status;
}

static enum rsm_status wrong_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                     uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    int copy = -1;
    if (MISTAKE == LEAK && offer->fd_count > 0)
        copy = fcntl(offer->fds[0], F_DUPFD_CLOEXEC, 3);
    enum rsm_status status = skeleton_connect(port, offer, size, rights, conn);
    if (status == RSM_ST_OK && copy >= 0)
        close(copy);
    if (MISTAKE == STATUS && status == RSM_ST_PROTOCOL)
        return RSM_ST_NOT_FOUND;
    if (MISTAKE == BELIEVING && status == RSM_ST_PROTOCOL) {
        const struct rsm_offer nothing = {.size = sizeof nothing, .fd_count = 0};
        return skeleton_connect(port, &nothing, 0, 0, conn);
    }
    return status;
}

static void wrong_disconnect(struct rsm_conn *conn)
{
    if (MISTAKE == KEPT && skeleton_of(conn)->count > 0)
        skeleton_of(conn)->count--;
    skeleton_disconnect(conn);
}

/* ------------------------------------------------------------------ writes that wait */

enum { PENDING = 4, LONG_PUT = 65536, STEP_US = 150, LATE_US = 2000 };

struct write {
    struct rsm_conn *conn;
    uint64_t offset;
    size_t length;
    char *bytes;
};

static void carry_out(struct write *write)
{
    if (skeleton_put(write->conn, write->offset, write->bytes, write->length) != RSM_ST_OK)
        rsm_conn_failed(write->conn);
    free(write->bytes);
}

static struct write copy_of(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length)
{
    struct write write = {conn, offset, length, malloc(length + 1)};
    if (write.bytes == NULL)
        abort();
    memcpy(write.bytes, src, length);
    return write;
}

static struct write pending[PENDING];
static unsigned pending_count;
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;

/* The latest first. Lock held. */
static void flush(void)
{
    while (pending_count > 0) {
        carry_out(&pending[--pending_count]);
        usleep(STEP_US);
    }
}

static enum rsm_status put_later(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length)
{
    pthread_mutex_lock(&pending_lock);
    pending[pending_count++] = copy_of(conn, offset, src, length);
    if (pending_count == PENDING)
        flush();
    pthread_mutex_unlock(&pending_lock);
    return RSM_ST_OK;
}

static enum rsm_status flush_all(struct rsm_conn *conn)
{
    pthread_mutex_lock(&pending_lock);
    flush();
    pthread_mutex_unlock(&pending_lock);
    return skeleton_complete(conn);
}

static void *write_late(void *argument)
{
    usleep(LATE_US);
    carry_out(argument);
    free(argument);
    return NULL;
}

static enum rsm_status put_by_thread(struct rsm_conn *conn, uint64_t offset, const void *src,
                                     size_t length)
{
    pthread_t thread;
    struct write *write = malloc(sizeof *write);
    if (write == NULL)
        return RSM_ST_NO_MEMORY;
    *write = copy_of(conn, offset, src, length);
    if (pthread_create(&thread, NULL, write_late, write) != 0)
        abort();
    pthread_detach(thread);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ other transfers */

static enum rsm_status put_less(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    return skeleton_put(conn, offset, src, length < LONG_PUT ? length : LONG_PUT);
}

static enum rsm_status put_bounced(struct rsm_conn *conn, uint64_t offset, const void *src,
                                   size_t length)
{
    static char bounce[1 << 12];
    if (length > sizeof bounce)
        return skeleton_put(conn, offset, src, length);
    memcpy(bounce, src, length);
    sched_yield();
    return skeleton_put(conn, offset, bounce, length);
}

/* The first that it has written is the last byte of the element. */
static enum rsm_status put_swapped(struct rsm_conn *conn, uint64_t offset, const void *src,
                                   unsigned width, size_t count)
{
    const char *from = src;
    char element[8];
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++) {
        for (unsigned k = 0; k < width; k++)
            element[k] = from[i * width + width - 1 - k];
        status = skeleton_put(conn, offset + i * width, element, width);
    }
    return status;
}

static enum rsm_status put_vector(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && vec[*done].length > 0 && status == RSM_ST_OK; ++*done)
        status = skeleton_put(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

static enum rsm_status get_vector(struct rsm_conn *conn, const struct rsm_transfer *vec,
                                  unsigned count, unsigned *done)
{
    enum rsm_status status = RSM_ST_OK;
    for (*done = 0; *done < count && status == RSM_ST_OK; ++*done)
        status = skeleton_get(conn, vec[*done].remote, vec[*done].local, vec[*done].length);
    return status;
}

static enum rsm_status put_bytes(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t count)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < width * count && status == RSM_ST_OK; i++)
        status = skeleton_put(conn, offset + i, (const char *)src + i, 1);
    return status;
}

static enum rsm_status get_elements(struct rsm_conn *conn, uint64_t offset, void *dst,
                                    unsigned width, size_t count)
{
    enum rsm_status status = RSM_ST_OK;
    for (size_t i = 0; i < count && status == RSM_ST_OK; i++)
        status = skeleton_get(conn, offset + i * width, (char *)dst + i * width, width);
    return status;
}

static struct rsm_work works[RSM_WORK_MAX];
static unsigned work_count;

static enum rsm_status submit_nothing(struct rsm_conn *conn, const struct rsm_work *work)
{
    if (work_count == RSM_WORK_MAX)
        return RSM_ST_BUSY;
    works[work_count++] = *work;
    return RSM_ST_OK;
}

static unsigned poll_works(struct rsm_conn *conn, struct rsm_completion *taken, unsigned most)
{
    unsigned count = 0;
    for (; count < most && work_count > 0; count++)
        taken[count] = (struct rsm_completion){works[--work_count].cookie, RSM_ST_OK};
    return count;
}

static enum rsm_status wait_for_works(struct rsm_conn *conn, int timeout_ms)
{
    (void)conn, (void)timeout_ms;
    return work_count > 0 ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

static const struct rsm_completion_ops idle_ops = {
    .size = sizeof(struct rsm_completion_ops),
    .submit = submit_nothing,
    .poll = poll_works,
    .wait = wait_for_works,
};

/* The whole segment alone, for loads and stores. */
static enum rsm_status map_writable(struct rsm_conn *conn, uint64_t offset, size_t length,
                                    uint32_t rights, bool fixed, void **address)
{
    const struct skeleton_conn *skeleton = skeleton_of(conn);
    char *at = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *next = at;
    if (at == MAP_FAILED || offset != 0 || fixed)
        return RSM_ST_MAP_FAILED;
    for (unsigned i = 0; i < skeleton->count; i++) {
        const struct offered_piece *piece = &skeleton->pieces[i];
        if (mmap(next, piece->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 skeleton->fds[i], (off_t)piece->offset) == MAP_FAILED)
            return RSM_ST_MAP_FAILED;
        next += piece->length;
    }
    *address = at;
    return RSM_ST_OK;
}

static enum rsm_status unmap(struct rsm_conn *conn, void *address, size_t length)
{
    return munmap(address, length) == 0 ? RSM_ST_OK : RSM_ST_INVALID;
}

enum { CACHED = 4, CACHED_BYTES = 8 };

/* The first that it has read of a place is what it goes on to return. */
static enum rsm_status get_cached(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    static struct {
        uint64_t offset;
        size_t length;
        char bytes[CACHED_BYTES];
    } cache[CACHED];
    static unsigned count;
    for (unsigned i = 0; i < count; i++)
        if (cache[i].offset == offset && cache[i].length == length) {
            memcpy(dst, cache[i].bytes, length);
            return RSM_ST_OK;
        }
    enum rsm_status status = skeleton_get(conn, offset, dst, length);
    if (status == RSM_ST_OK && length <= CACHED_BYTES && count < CACHED) {
        cache[count].offset = offset;
        cache[count].length = length;
        memcpy(cache[count++].bytes, dst, length);
    }
    return status;
}

static enum rsm_status get_halves(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length,
                                  bool *snapshot)
{
    size_t half = length / 2;
    enum rsm_status status = skeleton_get(conn, offset, dst, half);
    usleep(20);
    *snapshot = true;
    return status == RSM_ST_OK
               ? skeleton_get(conn, offset + half, (uint8_t *)dst + half, length - half)
               : status;
}

VISIBLE extern const struct rsm_import_ops rsm_transport_import_ops_v1;
const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD,
    .name = MISTAKE_NAME,
    .open = wrong_open,
    .close = skeleton_close,
    .connect = wrong_connect,
    .disconnect = wrong_disconnect,
    .put = MISTAKE == FENCE     ? put_later
           : MISTAKE == EARLY   ? put_by_thread
           : MISTAKE == SHORT   ? put_less
           : MISTAKE == BOUNCED ? put_bounced
                                : skeleton_put,
    .get = MISTAKE == STALE ? get_cached : skeleton_get,
    .put_elems = MISTAKE == TORN      ? put_bytes
                 : MISTAKE == SWAPPED ? put_swapped
                                      : NULL,
    .get_elems = MISTAKE == TORN || MISTAKE == SWAPPED ? get_elements : NULL,
    .putv = MISTAKE == CUT_VECTOR ? put_vector : NULL,
    .getv = MISTAKE == CUT_VECTOR ? get_vector : NULL,
    .put_complete = MISTAKE == EARLY ? put_by_thread : NULL,
    .map = MISTAKE == MAPPED ? map_writable : NULL,
    .unmap = MISTAKE == MAPPED ? unmap : NULL,
    .completions = MISTAKE == IDLE ? &idle_ops : NULL,
    .get_snapshot = MISTAKE == MOMENTS ? get_halves : NULL,
    .order = skeleton_order,
    .complete = MISTAKE == FENCE ? flush_all : skeleton_complete,
};

/* ------------------------------------------------------------------ node half */

static enum rsm_status wrong_offer(struct rsm_node_port *port,
                                   const struct rsm_extent_piece *pieces, unsigned count,
                                   uint32_t rights, const struct rsm_importer *importer,
                                   struct rsm_offer *offer, struct rsm_node_offer **made)
{
    if (MISTAKE == FEW_PIECES && count > 16)
        return RSM_ST_NO_RESOURCES;
    uint32_t granted = MISTAKE == GRANTED ? RSM_RIGHT_READ | RSM_RIGHT_WRITE : rights;
    return node_offer(port, pieces, count, granted, importer, offer, made);
}

static void wrong_revoke(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    if (MISTAKE == PILED_UP && dup(STDIN_FILENO) < 0)
        abort();
    node_revoke(port, made);
}

static void wrong_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    size_t size = attr->size;
    if (MISTAKE == LONGER)
        memset(attr, 0, size);
    attr->size = size;
    node_attributes(port, attr);
    if (MISTAKE == TORN)
        attr->atomic_sizes = 1 | 2 | 4 | 8;
}

VISIBLE extern const struct rsm_node_ops rsm_transport_node_ops_v1;
const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = MISTAKE_NAME,
    .open = node_open,
    .close = node_close,
    .attributes = wrong_attributes,
    .extent_make = node_extent_make,
    .extent_free = node_extent_free,
    .offer = wrong_offer,
    .revoke = wrong_revoke,
};
