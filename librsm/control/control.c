/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/sealed.h"
#include "control/channel.h"
#include "control/control_find.h"
#include "protocol/trust.h"
#include "rsm/rsm_common.h"

enum {
    HELLO_TIMEOUT_MS = 3000, /* until another node's rsmd tells its own */
    TIMEOUT_MIN_MS = 100,
    TIMEOUT_MAX_MS = 60000,
};

struct rsmcore_control {
    struct rsmcore_control *next; /* in `links` or `broken_links` */
    unsigned references;          /* under links_lock; one is that of `links` */
    unsigned process_epoch;
    uint32_t node;
    const struct rsm_generation_table *generation_table;
    struct rsmcore_channel channel;
};

/* Held by the thread that makes a link, so that no two are made to one node. That may take ten
 * seconds, during which fork(2) and all that have their links already must go on: it is taken
 * before links_lock, and never by those. */
static pthread_mutex_t making_lock = PTHREAD_MUTEX_INITIALIZER;
/* Of the link that is being made. It is opened and closed under links_lock, so that a forked child
 * knows whether it has a copy. */
static atomic_int making_socket = -1;

/* What follows is guarded by links_lock. */
static struct rsmcore_control *links;        /* all links of this process that are not broken */
static struct rsmcore_control *broken_links; /* those that somebody holds; the list does not */
static uint32_t own_node;                    /* of the link to the own node; 0: none yet */
static atomic_uint process_epoch = 1;

/* ---------------------------------------------------------------- fork */

static void drop_reference(struct rsmcore_control *link);

/* The daemon must see the parent go when the parent goes, so the child gives its copies of the
 * sockets up. A link stays allocated for as long as handles point at it. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&process_epoch, 1);
    struct rsmcore_control *link, *next;
    LL_FOREACH(broken_links, link)
    close(link->channel.socket);
    broken_links = NULL;
    LL_FOREACH_SAFE(links, link, next)
    {
        close(link->channel.socket);
        drop_reference(link);
    }
    links = NULL;
    own_node = 0;
    /* Whoever makes one is a thread of the parent. */
    int socket = atomic_exchange(&making_socket, -1);
    if (socket >= 0)
        close(socket);
    making_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

RSMCORE_FORK_PART(links_lock, RSMCORE_FORK_LINKS, after_fork_in_child);

unsigned rsmcore_process_epoch(void)
{
    return atomic_load_explicit(&process_epoch, memory_order_relaxed);
}

/* ---------------------------------------------------------------- requests */

static bool is_broken(const struct rsmcore_control *link)
{
    return atomic_load(&link->channel.broken);
}

bool rsmcore_control_has_successor(const struct rsmcore_control *link)
{
    if (is_broken(link) || !rsm_generation_table_is_owned(link->generation_table))
        return false;
    if (link->process_epoch != rsmcore_process_epoch()) /* the socket is the parent's */
        return true;
    int error = errno;
    struct pollfd end = {.fd = link->channel.socket, .events = POLLRDHUP};
    bool hung_up = poll(&end, 1, 0) == 1;
    errno = error;
    return !hung_up;
}

bool rsmcore_control_is_alive(const struct rsmcore_control *link)
{
    return !is_broken(link) && rsmcore_control_daemon_lives(link, link->generation_table);
}

enum rsm_status rsmcore_control_call(struct rsmcore_control *link, struct rsm_msg *msg,
                                     const struct rsm_packet_fds *send,
                                     struct rsm_packet_fds *receive)
{
    if (receive != NULL)
        receive->count = 0;
    if (link->process_epoch != rsmcore_process_epoch() || is_broken(link))
        return RSM_ST_STALE;
    return rsmcore_channel_call(&link->channel, msg, send, receive);
}

void rsmcore_control_post(struct rsmcore_control *link, struct rsm_msg *msg)
{
    if (link->process_epoch == rsmcore_process_epoch() && !is_broken(link))
        rsmcore_channel_post(&link->channel, msg);
}

void rsmcore_control_try_post(struct rsmcore_control *link, struct rsm_msg *msg)
{
    if (link->process_epoch == rsmcore_process_epoch() && !is_broken(link))
        rsmcore_channel_try_post(&link->channel, msg);
}

/* ---------------------------------------------------------------- making and ending links */

/* Map the peer's generation table. */
static const struct rsm_generation_table *map_generation_table(const struct rsm_packet_fds *fds)
{
    if (fds->count != 1 || !rsm_is_sealed_memory(fds->fds[0], sizeof(struct rsm_generation_table)))
        return NULL;
    void *mapped =
        mmap(NULL, sizeof(struct rsm_generation_table), PROT_READ, MAP_SHARED, fds->fds[0], 0);
    if (mapped == MAP_FAILED)
        return NULL;
    const struct rsm_generation_table *table = mapped;
    if (table->magic == RSM_GENERATION_TABLE_MAGIC &&
        table->version == RSM_GENERATION_TABLE_VERSION &&
        table->slots == RSM_GENERATION_TABLE_SLOTS)
        return table;
    munmap(mapped, sizeof(struct rsm_generation_table));
    return NULL;
}

/* Under links_lock. */
static void free_link(struct rsmcore_control *link)
{
    if (broken_links != NULL) /* it may be one of them */
        LL_DELETE(broken_links, link);
    if (link->generation_table != NULL)
        munmap((void *)(uintptr_t)link->generation_table, sizeof *link->generation_table);
    if (link->process_epoch == rsmcore_process_epoch())
        close(link->channel.socket);
    rsmcore_channel_destroy(&link->channel);
    free(link);
}

static enum rsm_status greet(struct rsmcore_control *link, uint32_t node)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_HELLO);
    msg.u.hello = (struct rsm_hello_request){.node = node};
    enum rsm_status status = rsmcore_control_call(link, &msg, NULL, &fds);
    if (status != RSM_ST_OK)
        return status;
    link->generation_table = map_generation_table(&fds);
    rsm_packet_fds_close(&fds);
    if (link->generation_table == NULL)
        return RSM_ST_PROTOCOL;
    link->node = msg.u.hello_reply.node;
    uint32_t timeout = msg.u.hello_reply.peer_timeout_ms;
    return rsmcore_channel_set_timeout(&link->channel, timeout < TIMEOUT_MIN_MS   ? TIMEOUT_MIN_MS
                                                       : timeout > TIMEOUT_MAX_MS ? TIMEOUT_MAX_MS
                                                                                  : timeout);
}

/* The fork handler knows the socket from its first moment on. Nothing waits here: the socket does
 * not block. */
static int open_making_socket(const char *path)
{
    rsmcore_fork_lock(&links_lock);
    int socket = rsm_packet_connect(path);
    int error = errno;
    atomic_store(&making_socket, socket);
    rsmcore_fork_unlock(&links_lock);
    errno = error;
    return socket;
}

static void close_making_socket(int socket)
{
    rsmcore_fork_lock(&links_lock);
    atomic_store(&making_socket, -1);
    close(socket);
    rsmcore_fork_unlock(&links_lock);
}

/* Give up a link that is being made. */
static void abandon_link(struct rsmcore_control *link)
{
    rsmcore_fork_lock(&links_lock);
    atomic_store(&making_socket, -1);
    free_link(link);
    rsmcore_fork_unlock(&links_lock);
}

enum rsm_status rsmcore_control_make(const char *path, uint32_t node, uint32_t max_ms,
                                     struct rsmcore_control **made)
{
    int socket = open_making_socket(path);
    if (socket < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? RSM_ST_NOT_FOUND
               : errno == EAGAIN                        ? RSM_ST_BUSY
               : errno == EMFILE || errno == ENFILE     ? RSM_ST_NO_RESOURCES
                                                        : RSM_ST_DENIED;
    bool trusted = rsmcore_trust_listener(socket, path);
    struct rsmcore_control *link = trusted ? calloc(1, sizeof *link) : NULL;
    if (link == NULL) {
        close_making_socket(socket);
        return trusted ? RSM_ST_NO_MEMORY : RSM_ST_DENIED;
    }
    rsmcore_channel_init(&link->channel, socket);
    link->process_epoch = rsmcore_process_epoch();
    enum rsm_status status = rsmcore_channel_set_timeout(&link->channel, max_ms);
    if (status == RSM_ST_OK)
        status = greet(link, node);
    if (status != RSM_ST_OK) {
        abandon_link(link);
        return status;
    }
    link->references = 2; /* the list's and the caller's */
    *made = link;
    return RSM_ST_OK;
}

/* Under links_lock. */
static void drop_reference(struct rsmcore_control *link)
{
    if (--link->references == 0)
        free_link(link);
}

/* Under links_lock: a usable link to the node; links that broke leave the list. */
static struct rsmcore_control *find_link(uint32_t node)
{
    struct rsmcore_control *link, *next;
    LL_FOREACH_SAFE(links, link, next)
    {
        if (!rsmcore_control_is_alive(link)) {
            atomic_store(&link->channel.broken, true);
            LL_DELETE(links, link);
            LL_PREPEND(broken_links, link);
            drop_reference(link);
        } else if (link->node == node) {
            link->references++;
            return link;
        }
    }
    return NULL;
}

/* A usable link to the node, 0: to the own one, or NULL. */
static struct rsmcore_control *known_link(uint32_t node)
{
    rsmcore_fork_lock(&links_lock);
    uint32_t wanted = node != 0 ? node : own_node;
    struct rsmcore_control *link = wanted != 0 ? find_link(wanted) : NULL;
    rsmcore_fork_unlock(&links_lock);
    return link;
}

static void remember(struct rsmcore_control *link, bool own)
{
    rsmcore_fork_lock(&links_lock);
    atomic_store(&making_socket, -1);
    if (own)
        own_node = link->node;
    LL_PREPEND(links, link);
    rsmcore_fork_unlock(&links_lock);
}

/* A thread that is cancelled while it looks for a daemon must not keep a lock. */
static int begin_making(void)
{
    int cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    pthread_mutex_lock(&making_lock);
    return cancellable;
}

static void end_making(int cancellable)
{
    pthread_mutex_unlock(&making_lock);
    pthread_setcancelstate(cancellable, NULL);
}

/* Under making_lock. Threads that waited while another one looked for the daemon in vain have
 * waited as long as that takes, and share the outcome. */
static enum rsm_status own_link_since(int64_t asked, struct rsmcore_control **link)
{
    static int64_t failed_at = -1;
    static enum rsm_status failure;
    *link = known_link(0);
    if (*link != NULL)
        return RSM_ST_OK;
    if (failed_at > asked)
        return failure;
    failure = rsmcore_control_find(link);
    if (failure == RSM_ST_OK)
        remember(*link, true);
    else
        failed_at = rsm_clock_ms();
    return failure;
}

enum rsm_status rsmcore_control_local(struct rsmcore_control **link)
{
    if (!rsmcore_fork_is_watched())
        return RSM_ST_NO_MEMORY;
    *link = known_link(0);
    if (*link != NULL)
        return RSM_ST_OK;
    int64_t asked = rsm_clock_ms();
    int cancellable = begin_making();
    enum rsm_status status = own_link_since(asked, link);
    end_making(cancellable);
    return status;
}

/* Under making_lock. */
static enum rsm_status make_link_to(uint32_t node, const char *path, struct rsmcore_control **link)
{
    enum rsm_status status = rsmcore_control_make(path, own_node, HELLO_TIMEOUT_MS, link);
    if (status == RSM_ST_OK && (*link)->node != node) {
        abandon_link(*link);
        status = RSM_ST_PROTOCOL;
    }
    if (status == RSM_ST_OK)
        remember(*link, false);
    return status;
}

enum rsm_status rsmcore_control_to(uint32_t node, const char *path, struct rsmcore_control **link)
{
    *link = known_link(node);
    if (*link != NULL)
        return RSM_ST_OK;
    int cancellable = begin_making();
    *link = known_link(node);
    enum rsm_status status = *link != NULL ? RSM_ST_OK : make_link_to(node, path, link);
    end_making(cancellable);
    return status;
}

struct rsmcore_control *rsmcore_control_known(uint32_t node)
{
    return known_link(node);
}

struct rsmcore_control *rsmcore_control_hold(struct rsmcore_control *link)
{
    rsmcore_fork_lock(&links_lock);
    link->references++;
    rsmcore_fork_unlock(&links_lock);
    return link;
}

void rsmcore_control_release(struct rsmcore_control *link)
{
    if (link == NULL)
        return;
    rsmcore_fork_lock(&links_lock);
    drop_reference(link);
    rsmcore_fork_unlock(&links_lock);
}

uint32_t rsmcore_control_node(const struct rsmcore_control *link)
{
    return link->node;
}

uint32_t rsmcore_control_timeout(const struct rsmcore_control *link)
{
    return link->channel.timeout_ms;
}

const struct rsm_generation_table *
rsmcore_control_generation_table(const struct rsmcore_control *link)
{
    return link->generation_table;
}
