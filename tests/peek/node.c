/* SPDX-License-Identifier: BSD-3-Clause */
/* The node half, rsmd's side. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter.h"

/* ------------------------------------------------------------------ port */

/* A listener with a name that the kernel chooses. */
static bool open_listener(struct peek_node_port *port, const struct rsm_controller_info *info)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address.sun_family;
    port->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (port->listener < 0 || bind(port->listener, (const struct sockaddr *)&address, length) < 0 ||
        listen(port->listener, SOMAXCONN) < 0)
        return false;
    length = sizeof address;
    if (getsockname(port->listener, (struct sockaddr *)&address, &length) < 0)
        return false;
    port->self.length = (uint32_t)(length - sizeof address.sun_family);
    memcpy(port->self.name, address.sun_path, port->self.length);
    strncpy(port->self.address, info->address, sizeof port->self.address - 1);
    return true;
}

/* Signals are for rsmd's own thread. */
static bool start_thread(struct peek_node_port *port)
{
    sigset_t all, before;
    sigfillset(&all);
    if (PEEK_MISTAKE == PEEK_UNMASKED)
        sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&port->thread, NULL, peek_adapter, port);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static void close_all(struct peek_node_port *port)
{
    const int fds[] = {port->listener, port->stop, port->news_fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(port);
}

static struct peek_node_port *port_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct peek_node_port, base);
}

static struct peek_node_offer *offer_of(struct rsm_node_offer *offer)
{
    return RSM_CONTAINER_OF(offer, struct peek_node_offer, base);
}

static struct peek_extent *extent_of(struct rsm_extent *extent)
{
    return RSM_CONTAINER_OF(extent, struct peek_extent, base);
}

static enum rsm_status peek_open(const struct rsm_controller_info *info,
                                 struct rsm_node_port **made)
{
    if (info->peer_timeout_ms == 0 || info->address == NULL) /* what every one is to be told */
        return RSM_ST_INVALID;
    struct peek_node_port *port = calloc(1, sizeof *port);
    if (port == NULL)
        return RSM_ST_NO_MEMORY;
    port->base.caps = RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS;
    port->listener = port->news_fd = -1;
    port->news_end = &port->news;
    port->stop = eventfd(0, EFD_CLOEXEC);
#ifdef PEEK_SIGNALS
    port->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
#endif
    pthread_mutex_init(&port->lock, NULL);
    pthread_cond_init(&port->closed, NULL);
    if (port->stop < 0 || !open_listener(port, info) || !start_thread(port)) {
        close_all(port);
        return RSM_ST_NO_RESOURCES;
    }
    *made = &port->base;
    return RSM_ST_OK;
}

static void peek_close(struct rsm_node_port *base)
{
    struct peek_node_port *port = port_of(base);
    const uint64_t one = 1;
    if (write(port->stop, &one, sizeof one) == (ssize_t)sizeof one)
        pthread_join(port->thread, NULL);
    while (port->news != NULL) {
        struct peek_news *news = port->news;
        port->news = news->next;
        free(news);
    }
    pthread_cond_destroy(&port->closed);
    pthread_mutex_destroy(&port->lock);
    close_all(port);
}

static void peek_attributes(struct rsm_node_port *port, struct rsm_port_attr *attr)
{
    (void)port;
    *attr = (struct rsm_port_attr){.size = attr->size,
                                   .access_sizes = 1 | 2 | 4 | 8,
                                   .atomic_sizes = 1 | 2 | 4 | 8,
                                   .page_size = (uint64_t)sysconf(_SC_PAGESIZE),
                                   .max_segment_size = UINT64_MAX,
                                   .total_segment_size = UINT64_MAX,
                                   .max_segments = UINT32_MAX,
                                   .max_imports = PEEK_CONNECTIONS_MAX};
}

/* ------------------------------------------------------------------ extents */

static enum rsm_status give_up(struct peek_extent *extent)
{
    if (extent->base.fd >= 0)
        close(extent->base.fd);
    free(extent);
    return RSM_ST_NO_RESOURCES;
}

static enum rsm_status peek_extent_make(struct rsm_node_port *port, uint64_t length,
                                        struct rsm_extent **made)
{
    (void)port;
    struct peek_extent *extent = calloc(1, sizeof *extent);
    if (extent == NULL)
        return RSM_ST_NO_MEMORY;
    int fd = memfd_create("rsm-peek", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    extent->base = (struct rsm_extent){.kind = RSM_EXTENT_MEMFD, .fd = fd, .length = length};
    if (fd < 0 || ftruncate(fd, (off_t)length) < 0 || fchmod(fd, S_IRUSR) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return give_up(extent);
    extent->memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (extent->memory == MAP_FAILED)
        return give_up(extent);
    *made = &extent->base;
    return RSM_ST_OK;
}

static void peek_extent_free(struct rsm_node_port *port, struct rsm_extent *base)
{
    struct peek_extent *extent = extent_of(base);
    (void)port; /* no offer reaches it any more */
    munmap(extent->memory, base->length);
    close(extent->base.fd);
    free(extent);
}

/* ------------------------------------------------------------------ offers */

static enum rsm_status peek_offer(struct rsm_node_port *base, const struct rsm_extent_piece *pieces,
                                  unsigned count, uint32_t rights,
                                  const struct rsm_importer *importer, struct rsm_offer *offer,
                                  struct rsm_node_offer **made)
{
    struct peek_node_port *port = port_of(base);
    struct peek_blob blob = port->self;
    if (count > PEEK_PIECES_MAX)
        return RSM_ST_RANGE;
    if (importer->request_len > sizeof blob.request) /* any process can have written it */
        return RSM_ST_INVALID;
    blob.request_len = importer->request_len;
    if (importer->request_len > 0)
        memcpy(blob.request, importer->request, importer->request_len);
    struct peek_node_offer *granted = calloc(1, sizeof *granted);
    if (granted == NULL)
        return RSM_ST_NO_MEMORY;
    if (getrandom(&granted->key, sizeof granted->key, 0) != (ssize_t)sizeof granted->key) {
        free(granted);
        return RSM_ST_NO_RESOURCES;
    }
    granted->base.port = base;
    granted->base.descriptors = PEEK_MISTAKE == PEEK_FREE ? 0 : PEEK_SOCKETS;
    for (unsigned i = 0; i < PEEK_SOCKETS; i++)
        granted->sockets[i] = -1;
    granted->key |= 1; /* never 0 */
    granted->rights = rights;
    granted->listening = -1;
    granted->count = count;
    for (unsigned i = 0; i < count; i++) {
        granted->pieces[i].memory = extent_of(pieces[i].extent)->memory + pieces[i].offset;
        granted->pieces[i].length = pieces[i].length;
    }
    blob.key = granted->key;
    memcpy(offer->blob, &blob, sizeof blob);
    offer->blob_len = sizeof blob;
    pthread_mutex_lock(&port->lock);
    granted->next = port->offers;
    port->offers = granted;
    pthread_mutex_unlock(&port->lock);
    *made = &granted->base;
    return RSM_ST_OK;
}

/* The importer's sockets are closed by the thread that reads them. Lock held. */
static void close_sockets(struct peek_node_port *port, const struct peek_node_offer *granted)
{
    for (unsigned i = 0; i < PEEK_SOCKETS; i++) {
        if (granted->sockets[i] >= 0)
            shutdown(granted->sockets[i], PEEK_MISTAKE == PEEK_HELD_UP ? SHUT_WR : SHUT_RDWR);
        while (granted->sockets[i] >= 0 && PEEK_MISTAKE != PEEK_LATE)
            pthread_cond_wait(&port->closed, &port->lock);
    }
}

/* Lock held. */
static void remove_offer(struct peek_node_port *port, const struct peek_node_offer *granted)
{
    struct peek_node_offer **place = &port->offers;
    while (*place != granted)
        place = &(*place)->next;
    *place = granted->next;
}

/* Whoever accesses the memory holds the lock: behind this nobody does by that offer. */
static void peek_revoke(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    struct peek_node_port *port = port_of(base);
    struct peek_node_offer *granted = offer_of(made);
    if (PEEK_MISTAKE == PEEK_NEVER)
        return;
    pthread_mutex_lock(&port->lock);
    close_sockets(port, granted);
    for (struct peek_node_offer *other = port->offers; other != NULL; other = other->next)
        if (PEEK_MISTAKE == PEEK_ALL)
            close_sockets(port, other);
    remove_offer(port, granted);
    if (PEEK_MISTAKE == PEEK_TWICE && granted->ending) {
        port->ended_twice = made;
        peek_tell(port, granted->key, PEEK_ENDED);
    }
    pthread_mutex_unlock(&port->lock);
    free(granted);
}

#ifdef PEEK_LATER
/* The adapter closes the sockets, and has it told when the last is closed. */
static bool peek_revoke_begin(struct rsm_node_port *base, struct rsm_node_offer *made)
{
    struct peek_node_port *port = port_of(base);
    struct peek_node_offer *granted = offer_of(made);
    pthread_mutex_lock(&port->lock);
    granted->ending = true;
    for (unsigned i = 0; i < PEEK_SOCKETS; i++)
        if (granted->sockets[i] >= 0)
            shutdown(granted->sockets[i], SHUT_RDWR);
    if (PEEK_MISTAKE == PEEK_HASTY || !peek_is_open(granted))
        peek_tell(port, granted->key, PEEK_ENDED);
    pthread_mutex_unlock(&port->lock);
    return false;
}
#endif

/* ------------------------------------------------------------------ news */

#ifdef PEEK_SIGNALS
static int peek_event_fd(struct rsm_node_port *port)
{
    return port_of(port)->news_fd;
}

static void tell_rsmd(const struct peek_news *news, struct peek_node_offer *offer,
                      const struct rsm_node_upcalls *up, void *context)
{
    switch (news->kind) {
    case PEEK_LOST:
        up->lost(context, &offer->base);
        break;
    case PEEK_HEARD:
        up->taken(context, &offer->base);
        break;
    case PEEK_ENDED:
        up->revoked(context, &offer->base);
        free(offer);
        break;
    default:
        up->signalled(context, &offer->base, 1, news->kind == PEEK_SIGNALLED_COALESCED);
        break;
    }
}

static void peek_dispatch(struct rsm_node_port *base, const struct rsm_node_upcalls *up,
                          void *context)
{
    struct peek_node_port *port = port_of(base);
    uint64_t count;
    ssize_t ignored = read(port->news_fd, &count, sizeof count);
    (void)ignored;
    for (;;) {
        pthread_mutex_lock(&port->lock);
        struct peek_news *news = port->news;
        struct peek_node_offer *offer = news != NULL ? peek_find(port, news->key) : NULL;
        if (offer != NULL && offer->ending && news->kind != PEEK_ENDED)
            offer = NULL; /* nothing else is told of it */
        if (offer != NULL && offer->ending)
            remove_offer(port, offer);
        if (news != NULL)
            port->news = news->next;
        if (port->news == NULL)
            port->news_end = &port->news;
        pthread_mutex_unlock(&port->lock);
        if (news == NULL)
            return;
        if (offer != NULL)
            tell_rsmd(news, offer, up, context);
        else if (port->ended_twice != NULL)
            up->revoked(context, port->ended_twice);
        port->ended_twice = NULL;
        free(news);
    }
}

/* ------------------------------------------------------------------ signals of the exporter */

static enum rsm_status peek_send_signals(struct rsm_node_port *base, struct rsm_node_offer *made,
                                         const struct rsm_signals *signals)
{
    struct peek_node_port *port = port_of(base);
    struct peek_node_offer *offer = offer_of(made);
    const struct peek_signals packet = {.count = signals->count, .coalesced = signals->coalesced};
    enum rsm_status status = RSM_ST_OK;
    pthread_mutex_lock(&port->lock);
    if (offer->listening < 0)
        status = RSM_ST_UNSUPPORTED;
    else if (offer->untaken)
        status = RSM_ST_BUSY;
    else if (send(offer->listening, &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL) !=
             (ssize_t)sizeof packet)
        status = RSM_ST_UNREACHABLE;
    else
        offer->untaken = true;
    pthread_mutex_unlock(&port->lock);
    return status;
}

/* What is in the socket is read though the offer has gone. */
static bool peek_signals_arrived(struct rsm_node_port *port, struct rsm_node_offer *offer)
{
    (void)port, (void)offer;
    return true;
}

static const struct rsm_node_signal_ops signal_ops = {
    .size = sizeof(struct rsm_node_signal_ops),
    .send = peek_send_signals,
    .arrived = peek_signals_arrived,
};
#endif

PEEK_VISIBLE extern const struct rsm_node_ops rsm_transport_node_ops_v1;
const struct rsm_node_ops rsm_transport_node_ops_v1 = {
    RSM_NODE_OPS_HEAD,
    .name = PEEK_NAME,
    .open = peek_open,
    .close = peek_close,
    .attributes = peek_attributes,
    .extent_make = peek_extent_make,
    .extent_free = peek_extent_free,
    .offer = peek_offer,
    .revoke = peek_revoke,
#ifdef PEEK_SIGNALS
    .event_fd = peek_event_fd,
    .dispatch = peek_dispatch,
    .signals = &signal_ops,
#endif
#ifdef PEEK_LATER
    .revoke_begin = peek_revoke_begin,
#endif
};
