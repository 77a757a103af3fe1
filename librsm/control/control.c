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

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/sealed.h"
#include "control/channel.h"
#include "control/control_find.h"
#include "protocol/trust.h"

enum {
    HELLO_TIMEOUT_MS = 3000, /* time limit for the greeting of another node's rsmd */
    TIMEOUT_MIN_MS = 100,
    TIMEOUT_MAX_MS = 60000,
};

struct rsmcore_control {
    struct rsmcore_control *next; /* in `controls` or `broken_controls` */
    unsigned references;          /* under controls_lock; one is that of `controls` */
    unsigned process_epoch;
    uint32_t node;
    const struct rsm_generation_table *generation_table;
    struct rsmcore_channel channel;
};

/* Held by the thread that makes a control connection, so that no two are made to one node. That may
 * take ten seconds. fork(2) and threads that have their control connections must not wait for it:
 * it is taken before controls_lock, and they take only the latter. */
static pthread_mutex_t making_lock = PTHREAD_MUTEX_INITIALIZER;
/* The socket of the control connection that is being made. It is opened and closed under
 * controls_lock, so that a forked child knows whether it has a copy. */
static atomic_int making_socket = -1;

/* What follows is guarded by controls_lock. */
static struct rsmcore_control *controls;        /* all that are not broken */
static struct rsmcore_control *broken_controls; /* broken ones that a handle still holds */
static uint32_t own_node;                       /* the local node's id; 0: not known yet */
static atomic_uint process_epoch = 1;

static void drop_reference(struct rsmcore_control *control);

/* The child closes its copies of the sockets, so that the daemon notices when the parent ends. A
 * control connection stays allocated while handles point to it. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&process_epoch, 1);
    struct rsmcore_control *control, *next;
    LL_FOREACH(broken_controls, control)
    close(control->channel.socket);
    broken_controls = NULL;
    LL_FOREACH_SAFE(controls, control, next)
    {
        close(control->channel.socket);
        drop_reference(control);
    }
    controls = NULL;
    own_node = 0;
    /* The thread that was making one is the parent's. */
    int socket = atomic_exchange(&making_socket, -1);
    if (socket >= 0)
        close(socket);
    making_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

RSMCORE_FORK_PART(controls_lock, RSMCORE_FORK_CONTROLS, after_fork_in_child);

unsigned rsmcore_process_epoch(void)
{
    return atomic_load_explicit(&process_epoch, memory_order_relaxed);
}

static bool is_broken(const struct rsmcore_control *control)
{
    return atomic_load(&control->channel.broken);
}

bool rsmcore_control_has_successor(const struct rsmcore_control *control)
{
    if (is_broken(control) || !rsm_generation_table_is_owned(control->generation_table))
        return false;
    if (control->process_epoch != rsmcore_process_epoch()) /* the socket is the parent's */
        return true;
    int error = errno;
    struct pollfd end = {.fd = control->channel.socket, .events = POLLRDHUP};
    bool hung_up = poll(&end, 1, 0) == 1;
    errno = error;
    return !hung_up;
}

bool rsmcore_control_is_alive(const struct rsmcore_control *control)
{
    return !is_broken(control) && rsmcore_control_daemon_lives(control, control->generation_table);
}

enum rsm_status rsmcore_control_call(struct rsmcore_control *control, struct rsm_msg *msg,
                                     struct rsm_packet_fds *receive)
{
    if (receive != NULL)
        receive->count = 0;
    if (control->process_epoch != rsmcore_process_epoch() || is_broken(control))
        return RSM_ST_STALE;
    return rsmcore_channel_call(&control->channel, msg, receive);
}

void rsmcore_control_post(struct rsmcore_control *control, struct rsm_msg *msg)
{
    if (control->process_epoch == rsmcore_process_epoch() && !is_broken(control))
        rsmcore_channel_post(&control->channel, msg);
}

void rsmcore_control_try_post(struct rsmcore_control *control, struct rsm_msg *msg)
{
    if (control->process_epoch == rsmcore_process_epoch() && !is_broken(control))
        rsmcore_channel_try_post(&control->channel, msg);
}

bool rsmcore_control_knows(const struct rsmcore_control *control, uint32_t type)
{
    return rsm_generation_table_knows(control->generation_table, type);
}

/* Under controls_lock. */
static void free_control(struct rsmcore_control *control)
{
    if (broken_controls != NULL) /* it may be one of them */
        LL_DELETE(broken_controls, control);
    if (control->generation_table != NULL)
        munmap((void *)(uintptr_t)control->generation_table, sizeof *control->generation_table);
    if (control->process_epoch == rsmcore_process_epoch())
        close(control->channel.socket);
    rsmcore_channel_destroy(&control->channel);
    free(control);
}

static enum rsm_status greet(struct rsmcore_control *control, uint32_t node)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg;
    rsm_msg_begin(&msg, RSM_MSG_HELLO);
    msg.u.hello = (struct rsm_hello_request){.node = node};
    enum rsm_status status = rsmcore_control_call(control, &msg, &fds);
    if (status != RSM_ST_OK)
        return status;
    control->generation_table = fds.count == 1 ? rsm_generation_table_map(fds.fds[0]) : NULL;
    rsm_packet_fds_close(&fds);
    if (control->generation_table == NULL)
        return RSM_ST_PROTOCOL;
    control->node = msg.u.hello_reply.node;
    uint32_t timeout = msg.u.hello_reply.peer_timeout_ms;
    return rsmcore_channel_set_timeout(&control->channel, timeout < TIMEOUT_MIN_MS ? TIMEOUT_MIN_MS
                                                          : timeout > TIMEOUT_MAX_MS
                                                              ? TIMEOUT_MAX_MS
                                                              : timeout);
}

/* The fork handler knows the socket as soon as it exists. The socket is non-blocking. */
static int open_making_socket(const char *path)
{
    rsmcore_fork_lock(&controls_lock);
    int socket = rsm_packet_connect(path);
    int error = errno;
    atomic_store(&making_socket, socket);
    rsmcore_fork_unlock(&controls_lock);
    errno = error;
    return socket;
}

static void close_making_socket(int socket)
{
    rsmcore_fork_lock(&controls_lock);
    atomic_store(&making_socket, -1);
    close(socket);
    rsmcore_fork_unlock(&controls_lock);
}

/* Give up a control connection that is being made. */
static void abandon_control(struct rsmcore_control *control)
{
    rsmcore_fork_lock(&controls_lock);
    atomic_store(&making_socket, -1);
    free_control(control);
    rsmcore_fork_unlock(&controls_lock);
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
    struct rsmcore_control *control = trusted ? calloc(1, sizeof *control) : NULL;
    if (control == NULL) {
        close_making_socket(socket);
        return trusted ? RSM_ST_NO_MEMORY : RSM_ST_DENIED;
    }
    rsmcore_channel_init(&control->channel, socket);
    control->process_epoch = rsmcore_process_epoch();
    enum rsm_status status = rsmcore_channel_set_timeout(&control->channel, max_ms);
    if (status == RSM_ST_OK)
        status = greet(control, node);
    if (status != RSM_ST_OK) {
        abandon_control(control);
        return status;
    }
    control->references = 2; /* the list's and the caller's */
    *made = control;
    return RSM_ST_OK;
}

/* Under controls_lock. */
static void drop_reference(struct rsmcore_control *control)
{
    if (--control->references == 0)
        free_control(control);
}

/* Find a usable control connection to the node, and take broken ones off the list. Under
 * controls_lock. */
static struct rsmcore_control *find_control(uint32_t node)
{
    struct rsmcore_control *control, *next;
    LL_FOREACH_SAFE(controls, control, next)
    {
        if (!rsmcore_control_is_alive(control)) {
            atomic_store(&control->channel.broken, true);
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the list */
            LL_DELETE(controls, control);
            LL_PREPEND(broken_controls, control);
            drop_reference(control);
        } else if (control->node == node) {
            control->references++;
            return control;
        }
    }
    return NULL;
}

/* A usable control connection to @p node, or NULL. 0: to the local node. */
static struct rsmcore_control *known_control(uint32_t node)
{
    rsmcore_fork_lock(&controls_lock);
    uint32_t wanted = node != 0 ? node : own_node;
    struct rsmcore_control *control = wanted != 0 ? find_control(wanted) : NULL;
    rsmcore_fork_unlock(&controls_lock);
    return control;
}

static void remember(struct rsmcore_control *control, bool own)
{
    rsmcore_fork_lock(&controls_lock);
    atomic_store(&making_socket, -1);
    if (own)
        own_node = control->node;
    LL_PREPEND(controls, control);
    rsmcore_fork_unlock(&controls_lock);
}

/* A thread that is cancelled while it looks for a daemon must not keep a lock. */
static int begin_making(void)
{
    int cancellable = rsm_cancel_disable();
    pthread_mutex_lock(&making_lock);
    return cancellable;
}

static void end_making(int cancellable)
{
    pthread_mutex_unlock(&making_lock);
    rsm_cancel_enable(cancellable);
}

/* Under making_lock. A thread that waited while another one searched for the daemon in vain has
 * waited long enough, and shares the failure. */
static enum rsm_status local_control_since(int64_t asked, struct rsmcore_control **control)
{
    static int64_t failed_at = -1;
    static enum rsm_status failure;
    *control = known_control(0);
    if (*control != NULL)
        return RSM_ST_OK;
    if (failed_at > asked)
        return failure;
    failure = rsmcore_control_find(control);
    if (failure == RSM_ST_OK)
        remember(*control, true);
    else
        failed_at = rsm_clock_ms();
    return failure;
}

enum rsm_status rsmcore_control_local(struct rsmcore_control **control)
{
    if (!rsmcore_fork_is_watched())
        return RSM_ST_NO_MEMORY;
    *control = known_control(0);
    if (*control != NULL)
        return RSM_ST_OK;
    int64_t asked = rsm_clock_ms();
    int cancellable = begin_making();
    enum rsm_status status = local_control_since(asked, control);
    end_making(cancellable);
    return status;
}

/* Under making_lock. */
static enum rsm_status make_control_to(uint32_t node, const char *path,
                                       struct rsmcore_control **control)
{
    enum rsm_status status = rsmcore_control_make(path, own_node, HELLO_TIMEOUT_MS, control);
    if (status == RSM_ST_OK && (*control)->node != node) {
        abandon_control(*control);
        status = RSM_ST_PROTOCOL;
    }
    if (status == RSM_ST_OK)
        remember(*control, false);
    return status;
}

enum rsm_status rsmcore_control_to(uint32_t node, const char *path,
                                   struct rsmcore_control **control)
{
    *control = known_control(node);
    if (*control != NULL)
        return RSM_ST_OK;
    int cancellable = begin_making();
    *control = known_control(node);
    enum rsm_status status = *control != NULL ? RSM_ST_OK : make_control_to(node, path, control);
    end_making(cancellable);
    return status;
}

struct rsmcore_control *rsmcore_control_known(uint32_t node)
{
    return known_control(node);
}

struct rsmcore_control *rsmcore_control_hold(struct rsmcore_control *control)
{
    rsmcore_fork_lock(&controls_lock);
    control->references++;
    rsmcore_fork_unlock(&controls_lock);
    return control;
}

void rsmcore_control_release(struct rsmcore_control *control)
{
    if (control == NULL)
        return;
    rsmcore_fork_lock(&controls_lock);
    drop_reference(control);
    rsmcore_fork_unlock(&controls_lock);
}

uint32_t rsmcore_control_node(const struct rsmcore_control *control)
{
    return control->node;
}

uint32_t rsmcore_control_timeout(const struct rsmcore_control *control)
{
    return control->channel.timeout_ms;
}

const struct rsm_generation_table *
rsmcore_control_generation_table(const struct rsmcore_control *control)
{
    return control->generation_table;
}
