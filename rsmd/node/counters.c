/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/status.h"
#include "protocol/event_counter.h"
#include "node/memfd.h"

/* A process may have 65530 mappings by default, and rsmd must not run out of them. Further counters
 * are mapped for each post. */
enum { KEPT_MAX = 16384 };

static unsigned kept_count; /* of this process */

void rsmd_events_init(struct rsmd_events *events)
{
    *events = (struct rsmd_events){.counter = -1, .doorbell = -1};
}

static void close_one(struct rsmd_account *account, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
    *fd = -1;
}

void rsmd_events_close(struct rsmd_account *account, struct rsmd_events *events)
{
    if (events->kept != NULL) {
        rsm_event_counter_unmap(events->kept);
        events->kept = NULL;
        kept_count--;
    }
    close_one(account, &events->counter);
    close_one(account, &events->doorbell);
}

/* ------------------------------------------------------------------ counters */

/* A new event counter, sealed. */
static enum rsm_status create(int *counter)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = rsmd_memfd_make("rsm-event", page, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int error = errno;
        close(fd);
        return rsmcore_status_from_errno(error);
    }
    *counter = fd;
    return RSM_ST_OK;
}

/* Make it at first use: no process can have posted before. */
enum rsm_status rsmd_events_need_counter(struct rsmd_account *account, struct rsmd_events *events)
{
    if (events->counter >= 0)
        return RSM_ST_OK;
    if (!rsmd_share_take(account, RSMD_DESCRIPTORS, 1))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = create(&events->counter);
    if (status != RSM_ST_OK)
        rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
    return status;
}

struct rsm_event_counter *rsmd_events_map(struct rsmd_events *events)
{
    if (events->kept != NULL)
        return events->kept;
    struct rsm_event_counter *counter = rsm_event_counter_map(events->counter);
    if (counter != NULL && kept_count < KEPT_MAX) {
        events->kept = counter;
        kept_count++;
    }
    return counter;
}

void rsmd_events_unmap(const struct rsmd_events *events, struct rsm_event_counter *counter)
{
    if (counter != NULL && counter != events->kept)
        rsm_event_counter_unmap(counter);
}

bool rsmd_events_post(struct rsmd_events *events, uint32_t count, bool coalesce)
{
    struct rsm_event_counter *counter = rsmd_events_map(events);
    if (counter == NULL)
        return false;
    if (rsm_event_counter_post(counter, count, coalesce))
        (void)rsmd_events_ring(events);
    rsmd_events_unmap(events, counter);
    return true;
}

bool rsmd_events_set_direct(struct rsmd_events *events, bool direct)
{
    struct rsm_event_counter *counter = events->counter >= 0 ? rsmd_events_map(events) : NULL;
    bool set = counter != NULL && (!direct || events->kept != NULL);
    if (set)
        atomic_store(&counter->direct, direct);
    rsmd_events_unmap(events, counter);
    return set;
}

/* Inspection alone does not keep a mapping. */
struct rsmd_events_seen rsmd_events_see(const struct rsmd_events *events)
{
    struct rsmd_events_seen seen = {.pending = 0};
    struct rsm_event_counter *counter = events->kept;
    if (counter == NULL && events->counter >= 0)
        counter = rsm_event_counter_map(events->counter);
    if (counter != NULL)
        seen = (struct rsmd_events_seen){.pending = atomic_load(&counter->pending),
                                         .waiters = atomic_load(&counter->waiters)};
    rsmd_events_unmap(events, counter);
    return seen;
}

/* ------------------------------------------------------------------ delivery */

void rsmd_events_miss(struct rsmd_node *node, const struct rsmd_client *owner,
                      struct rsmd_events *events)
{
    unsigned dropped;
    events->missed = true;
    if (rsmd_bucket_take(&node->missed_log, rsm_clock_ns() / 1000000, &dropped))
        rsm_log_error("process %d misses an event: its counter cannot be made",
                      (int)owner->peer.pid);
}

void rsmd_events_deliver(struct rsmd_node *node, const struct rsmd_client *owner,
                         struct rsmd_account *account, struct rsmd_events *events, uint32_t count,
                         bool coalesced)
{
    node->events += count;
    if (rsmd_events_need_counter(account, events) != RSM_ST_OK ||
        !rsmd_events_post(events, count, coalesced))
        rsmd_events_miss(node, owner, events);
}

void rsmd_events_deliver_batch(struct rsmd_node *node, const struct rsmd_client *owner,
                               struct rsmd_account *account, struct rsmd_events *events,
                               uint32_t count, bool coalesced)
{
    if (coalesced)
        rsmd_events_deliver(node, owner, account, events, 1, true);
    if (count > 0)
        rsmd_events_deliver(node, owner, account, events, count, false);
}

/* ------------------------------------------------------------------ doorbells */

static void close_both(const int ends[2])
{
    for (unsigned i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* ends[0] is polled, ends[1] is written to. Only the holder of ends[1] can send to ends[0], and no
 * process can send to ends[1], not even descriptors: the two stay connected to each other, unlike
 * datagram sockets. The kernel rounds the buffer up to its minimum, which holds a few packets of
 * one byte. */
static enum rsm_status make_pair(int ends[2])
{
    static const int smallest = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return rsmcore_status_from_errno(errno);
    for (unsigned i = 0; i < 2; i++)
        ends[i] = rsmcore_fd_above_stdio(ends[i]);
    if (ends[0] >= 0 && ends[1] >= 0 && shutdown(ends[1], SHUT_RD) == 0 &&
        setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest) == 0)
        return RSM_ST_OK;
    enum rsm_status status = rsmcore_status_from_errno(errno);
    close_both(ends);
    return status;
}

enum rsm_status rsmd_events_arm(struct rsmd_account *account, struct rsmd_events *events,
                                int *polled)
{
    int ends[2];
    bool has_one = events->doorbell >= 0; /* the charge for the old one covers the new one */
    if (!has_one && !rsmd_share_take(account, RSMD_DESCRIPTORS, 1))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = make_pair(ends);
    if (status != RSM_ST_OK) {
        if (!has_one)
            rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
        return status;
    }
    if (has_one)
        close(events->doorbell);
    events->doorbell = ends[1];
    *polled = ends[0];
    return RSM_ST_OK;
}

bool rsmd_events_ring(const struct rsmd_events *events)
{
    if (events->doorbell < 0)
        return false;
    /* A full one is readable, too. */
    return send(events->doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EAGAIN;
}
