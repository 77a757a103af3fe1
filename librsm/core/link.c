/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/link.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/channel.h"
#include "core/log.h"
#include "core/runtime.h"
#include "core/spawn.h"
#include "core/status.h"
#include "rsm/rsm_common.h"

enum {
    HELLO_TIMEOUT_MS = 3000, /* until another node's rsmd tells its own */
    START_PAUSE_MOST_MS = 1024,
    SILENT_STARTS_MOST = 11, /* with ever longer pauses that is two seconds */
    RETRY_PAUSE_MS = 5,
    TIMEOUT_LEAST_MS = 100,
    TIMEOUT_MOST_MS = 60000,
};

int rsmcore_link_own_most_ms = 10000;

struct rsmcore_link {
    struct rsmcore_link *next; /* in `links` */
    unsigned references;       /* under links_lock; one is the list's own */
    unsigned process_epoch;
    uint32_t node;
    const struct rsm_gentable *gentable;
    struct rsmcore_channel channel;
};

static pthread_mutex_t links_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rsmcore_link *links; /* all links of this process that are not broken */
static uint32_t own_node;          /* of the link to the own node; 0: none yet */
static atomic_uint process_epoch = 1;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---------------------------------------------------------------- fork */

static void before_fork(void)
{
    pthread_mutex_lock(&links_lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&links_lock);
}

/* The daemon must see the parent go when the parent goes, so the child gives its copies of the
 * sockets up. The links stay allocated for handles that still point at them. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&process_epoch, 1);
    for (struct rsmcore_link *link = links; link != NULL; link = link->next)
        close(link->channel.socket);
    links = NULL;
    own_node = 0;
    pthread_mutex_unlock(&links_lock);
}

static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

unsigned rsmcore_process_epoch(void)
{
    return atomic_load_explicit(&process_epoch, memory_order_relaxed);
}

/* ---------------------------------------------------------------- requests */

static bool is_broken(const struct rsmcore_link *link)
{
    return atomic_load(&link->channel.broken);
}

enum rsm_status rsmcore_link_call(struct rsmcore_link *link, struct rsm_msg *msg,
                                  const struct rsm_packet_fds *send, struct rsm_packet_fds *receive)
{
    if (receive != NULL)
        receive->count = 0;
    if (link->process_epoch != rsmcore_process_epoch() || is_broken(link))
        return RSM_ST_STALE;
    return rsmcore_channel_call(&link->channel, msg, send, receive);
}

void rsmcore_link_post(struct rsmcore_link *link, struct rsm_msg *msg)
{
    if (link->process_epoch == rsmcore_process_epoch() && !is_broken(link))
        rsmcore_channel_post(&link->channel, msg);
}

/* ---------------------------------------------------------------- making and ending links */

/* Map the peer's generation table; it must not be able to shrink under us. */
static const struct rsm_gentable *map_gentable(const struct rsm_packet_fds *fds)
{
    struct stat status;
    if (fds->count != 1 || fstat(fds->fds[0], &status) < 0 ||
        status.st_size < (off_t)sizeof(struct rsm_gentable))
        return NULL;
    int seals = fcntl(fds->fds[0], F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return NULL;
    void *mapped = mmap(NULL, sizeof(struct rsm_gentable), PROT_READ, MAP_SHARED, fds->fds[0], 0);
    if (mapped == MAP_FAILED)
        return NULL;
    const struct rsm_gentable *table = mapped;
    if (table->magic == RSM_GENTABLE_MAGIC && table->version == RSM_GENTABLE_VERSION &&
        table->slots == RSM_GENTABLE_SLOTS)
        return table;
    munmap(mapped, sizeof(struct rsm_gentable));
    return NULL;
}

static void free_link(struct rsmcore_link *link)
{
    if (link->gentable != NULL)
        munmap((void *)(uintptr_t)link->gentable, sizeof *link->gentable);
    if (link->process_epoch == rsmcore_process_epoch())
        close(link->channel.socket);
    rsmcore_channel_destroy(&link->channel);
    free(link);
}

static enum rsm_status greet(struct rsmcore_link *link, uint32_t node)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_HELLO,
                          .u.hello = {.api_version = RSM_VERSION, .node = node}};
    enum rsm_status status = rsmcore_link_call(link, &msg, NULL, &fds);
    if (status != RSM_ST_OK)
        return status;
    link->gentable = map_gentable(&fds);
    rsm_packet_fds_close(&fds);
    if (link->gentable == NULL)
        return RSM_ST_PROTOCOL;
    link->node = msg.u.hello_reply.node;
    uint32_t timeout = msg.u.hello_reply.peer_timeout_ms;
    return rsmcore_channel_patience(&link->channel, timeout < TIMEOUT_LEAST_MS  ? TIMEOUT_LEAST_MS
                                                    : timeout > TIMEOUT_MOST_MS ? TIMEOUT_MOST_MS
                                                                                : timeout);
}

/* Connect to a socket and say hello as a process of `node`; the answer may take `most_ms`. */
static enum rsm_status make_link(const char *path, uint32_t node, uint32_t most_ms,
                                 struct rsmcore_link **made)
{
    int socket = rsm_packet_connect(path);
    if (socket < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? RSM_ST_NOT_FOUND
               : errno == EAGAIN                        ? RSM_ST_BUSY
               : errno == EMFILE || errno == ENFILE     ? RSM_ST_NO_RESOURCES
                                                        : RSM_ST_DENIED;
    struct rsmcore_link *link = calloc(1, sizeof *link);
    if (link == NULL) {
        close(socket);
        return RSM_ST_NO_MEMORY;
    }
    rsmcore_channel_init(&link->channel, socket);
    link->process_epoch = rsmcore_process_epoch();
    enum rsm_status status = rsmcore_channel_patience(&link->channel, most_ms);
    if (status == RSM_ST_OK)
        status = greet(link, node);
    if (status != RSM_ST_OK) {
        free_link(link);
        return status;
    }
    link->references = 2; /* the list's and the caller's */
    *made = link;
    return RSM_ST_OK;
}

/* Under links_lock. */
static void drop_reference(struct rsmcore_link *link)
{
    if (--link->references == 0)
        free_link(link);
}

/* Under links_lock: a usable link to the node; links that broke leave the list. */
static struct rsmcore_link *find_link(uint32_t node)
{
    struct rsmcore_link **place = &links;
    while (*place != NULL) {
        struct rsmcore_link *link = *place;
        if (is_broken(link) || !rsmcore_gentable_alive(link->gentable)) {
            atomic_store(&link->channel.broken, true);
            *place = link->next;
            drop_reference(link);
            continue;
        }
        if (link->node == node) {
            link->references++;
            return link;
        }
        place = &link->next;
    }
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(int ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

/* Looking for the own node's daemon. */
struct search {
    struct rsmcore_runtime runtime;
    char path[RSM_PROTO_PATH_MAX];
    int64_t deadline;
    int64_t next_start; /* no daemon is started before that */
    int start_pause_ms;
    int silent_starts; /* in a row */
};

static uint32_t time_left(const struct search *search)
{
    int64_t left = search->deadline - now_ms();
    return left > 0 ? (uint32_t)left : 0;
}

/* Start a daemon if it is time to. RSM_ST_OK: it listened; RSM_ST_BUSY: there will be one, or will
 * not, later. */
static enum rsm_status start_daemon(struct search *search)
{
    if (now_ms() < search->next_start)
        return RSM_ST_BUSY;
    enum rsm_status status = rsmcore_runtime_prepare(&search->runtime);
    if (status == RSM_ST_OK)
        status = rsmcore_daemon_start(&search->runtime, time_left(search));
    if (status == RSM_ST_OK) /* should it have gone again, it was used meanwhile */
        search->start_pause_ms = 1;
    if (status != RSM_ST_STALE)
        search->silent_starts = 0;
    else if (++search->silent_starts < SILENT_STARTS_MOST)
        status = RSM_ST_BUSY; /* killed, or what was started is no daemon */
    if (status == RSM_ST_BUSY) {
        search->next_start = now_ms() + search->start_pause_ms;
        if (search->start_pause_ms < START_PAUSE_MOST_MS)
            search->start_pause_ms *= 2;
    }
    return status;
}

/* Find or start the own node's daemon. A daemon that is just ending accepts and hangs up, one that
 * lost the race to start leaves it to the winner, a crowded one has no room for another connection
 * yet: all mean another attempt. One that takes connections and does not answer may have much to do
 * and is waited for, on the one connection. */
static enum rsm_status search_daemon(struct search *search, struct rsmcore_link **link)
{
    for (;;) {
        uint32_t left = time_left(search);
        if (left == 0)
            return RSM_ST_TIMEOUT;
        enum rsm_status status = make_link(search->path, search->runtime.node, left, link);
        if (status == RSM_ST_OK)
            return RSM_ST_OK;
        if (status == RSM_ST_NOT_FOUND && !search->runtime.system) {
            status = start_daemon(search);
            if (status == RSM_ST_OK)
                continue;
        } else if (status == RSM_ST_STALE) {
            status = RSM_ST_BUSY;
        }
        if (status != RSM_ST_BUSY)
            return status;
        pause_ms(RETRY_PAUSE_MS);
    }
}

static enum rsm_status make_own_link(struct rsmcore_link **link)
{
    struct search search = {.deadline = now_ms() + rsmcore_link_own_most_ms, .start_pause_ms = 1};
    enum rsm_status status = rsmcore_runtime_find(&search.runtime);
    if (status != RSM_ST_OK)
        return status;
    rsmcore_runtime_socket(&search.runtime, search.runtime.node, search.path);
    status = search_daemon(&search, link);
    if (status == RSM_ST_OK)
        return RSM_ST_OK;
    rsm_log_error("no daemon for node %u at %s: %s", (unsigned)search.runtime.node, search.path,
                  rsmcore_status_text(status));
    return status == RSM_ST_VERSION || status == RSM_ST_NO_RESOURCES ? status : RSM_ST_UNREACHABLE;
}

/* Under links_lock. */
static void remember(struct rsmcore_link *link)
{
    link->next = links;
    links = link;
}

/* A thread that is cancelled while it looks for a daemon must not keep the lock. */
static int lock_links(void)
{
    int cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    pthread_mutex_lock(&links_lock);
    return cancellable;
}

static void unlock_links(int cancellable)
{
    pthread_mutex_unlock(&links_lock);
    pthread_setcancelstate(cancellable, NULL);
}

enum rsm_status rsmcore_link_own(struct rsmcore_link **link)
{
    pthread_once(&fork_once, watch_fork);
    int cancellable = lock_links();
    enum rsm_status status = RSM_ST_OK;
    *link = own_node != 0 ? find_link(own_node) : NULL;
    if (*link == NULL) {
        status = make_own_link(link);
        if (status == RSM_ST_OK) {
            own_node = (*link)->node;
            remember(*link);
        }
    }
    unlock_links(cancellable);
    return status;
}

enum rsm_status rsmcore_link_to(uint32_t node, const char *path, struct rsmcore_link **link)
{
    int cancellable = lock_links();
    enum rsm_status status = RSM_ST_OK;
    *link = find_link(node);
    if (*link == NULL) {
        status = make_link(path, own_node, HELLO_TIMEOUT_MS, link);
        if (status == RSM_ST_OK && (*link)->node != node) {
            free_link(*link);
            status = RSM_ST_PROTOCOL;
        }
        if (status == RSM_ST_OK)
            remember(*link);
    }
    unlock_links(cancellable);
    return status;
}

struct rsmcore_link *rsmcore_link_known(uint32_t node)
{
    int cancellable = lock_links();
    struct rsmcore_link *link = find_link(node);
    unlock_links(cancellable);
    return link;
}

struct rsmcore_link *rsmcore_link_hold(struct rsmcore_link *link)
{
    pthread_mutex_lock(&links_lock);
    link->references++;
    pthread_mutex_unlock(&links_lock);
    return link;
}

void rsmcore_link_release(struct rsmcore_link *link)
{
    if (link == NULL)
        return;
    int cancellable = lock_links();
    drop_reference(link);
    unlock_links(cancellable);
}

uint32_t rsmcore_link_node(const struct rsmcore_link *link)
{
    return link->node;
}

uint32_t rsmcore_link_timeout(const struct rsmcore_link *link)
{
    return link->channel.timeout_ms;
}

const struct rsm_gentable *rsmcore_link_gentable(const struct rsmcore_link *link)
{
    return link->gentable;
}
