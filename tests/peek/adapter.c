/* SPDX-License-Identifier: BSD-3-Clause */
/* The adapter: carries out what importers ask for, as far as their offers reach. */
#include "adapter.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peek_node_offer *peek_find(const struct peek_node_port *port, uint64_t key)
{
    struct peek_node_offer *offer = port->offers;
    while (offer != NULL && offer->key != key)
        offer = offer->next;
    return offer;
}

bool peek_is_open(const struct peek_node_offer *offer)
{
    for (unsigned kind = 0; kind < PEEK_SOCKETS; kind++)
        if (offer->sockets[kind] >= 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------ memory */

/* Both sides of an element access may be read or written by others at the same time. */
static void copy_elements(void *to, const void *from, size_t length, unsigned width)
{
    for (size_t i = 0; i < length; i += width) {
        void *target = (uint8_t *)to + i;
        const void *source = (const uint8_t *)from + i;
        switch (width) {
        case 8:
            __atomic_store_n((uint64_t *)target,
                             __atomic_load_n((const uint64_t *)source, __ATOMIC_RELAXED),
                             __ATOMIC_RELAXED);
            break;
        case 4:
            __atomic_store_n((uint32_t *)target,
                             __atomic_load_n((const uint32_t *)source, __ATOMIC_RELAXED),
                             __ATOMIC_RELAXED);
            break;
        case 2:
            __atomic_store_n((uint16_t *)target,
                             __atomic_load_n((const uint16_t *)source, __ATOMIC_RELAXED),
                             __ATOMIC_RELAXED);
            break;
        default:
            *(volatile uint8_t *)target = *(const volatile uint8_t *)source;
            break;
        }
    }
}

/* The width in which a run can be moved: that asked for, or the most that its place allows, so that
 * aligned words are never torn. `data` is where the other side is. */
static unsigned width_for(unsigned asked, uintptr_t memory, uintptr_t data, size_t length)
{
    if (asked != 0 && (memory | data | length) % asked == 0)
        return asked;
    for (unsigned width = 8; width > 1; width /= 2)
        if ((memory | data | length) % width == 0)
            return width;
    return 1;
}

static void copy(uint8_t *memory, uint8_t *data, size_t length, bool put, unsigned asked)
{
    unsigned width = width_for(asked, (uintptr_t)memory, (uintptr_t)data, length);
    copy_elements(put ? memory : data, put ? data : memory, length, width);
}

/* Under the lock. */
static enum rsm_status transfer(const struct peek_node_offer *offer,
                                const struct peek_request *request, uint8_t *data)
{
    bool put = request->operation == PEEK_PUT;
    uint64_t place = request->offset;
    size_t done = 0;
    if (PEEK_MISTAKE != PEEK_ANY_RIGHTS &&
        (offer->rights & (put ? RSM_RIGHT_WRITE : RSM_RIGHT_READ)) == 0)
        return RSM_ST_DENIED;
    for (unsigned i = 0; i < offer->count && done < request->length; i++) {
        if (place >= offer->pieces[i].length) {
            place -= offer->pieces[i].length;
            continue;
        }
        uint64_t room = offer->pieces[i].length - place;
        if (PEEK_MISTAKE == PEEK_ANY_RANGE && i + 1 == offer->count)
            room = UINT64_MAX;
        size_t part = request->length - done < room ? request->length - done : (size_t)room;
        copy(offer->pieces[i].memory + place, data + done, part, put, request->width);
        done += part;
        place = 0;
    }
    return done == request->length ? RSM_ST_OK : RSM_ST_RANGE;
}

/* PEEK_LATE, PEEK_HASTY: the lock is given back amid the write. */
static enum rsm_status write_late(struct peek_node_port *port, const struct peek_node_offer *offer,
                                  const struct peek_request *request)
{
    enum { STEP_BYTES = 1024, STEP_US = 100 };
    uint8_t *memory = offer->pieces[0].memory;
    uint64_t room = offer->pieces[0].length;
    if (request->offset >= room || request->length > room - request->offset)
        return transfer(offer, request, (uint8_t *)(uintptr_t)request->data);
    pthread_mutex_unlock(&port->lock);
    for (uint32_t done = 0; done < request->length; done += STEP_BYTES) {
        uint32_t left = request->length - done;
        memcpy(memory + request->offset + done, request->data + done,
               left < STEP_BYTES ? left : STEP_BYTES);
        usleep(STEP_US);
    }
    pthread_mutex_lock(&port->lock);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ news */

void peek_tell(struct peek_node_port *port, uint64_t key, enum peek_news_kind kind)
{
    struct peek_news *news = calloc(1, sizeof *news);
    const uint64_t one = 1;
    if (news == NULL || port->news_fd < 0) {
        free(news);
        return;
    }
    *news = (struct peek_news){.key = key, .kind = kind};
    *port->news_end = news;
    port->news_end = &news->next;
    ssize_t ignored = write(port->news_fd, &one, sizeof one);
    (void)ignored;
}

/* ------------------------------------------------------------------ requests */

/* Under the lock. The first request says whose socket it is; an offer has one of each kind. */
static enum rsm_status introduce(struct peek_node_port *port, struct peek_link *link,
                                 const struct peek_request *request)
{
    struct peek_node_offer *offer = peek_find(port, request->offset);
    unsigned kind = request->operation == PEEK_BEGIN  ? PEEK_REQUESTS
                    : request->operation == PEEK_JOIN ? PEEK_SIGNALS_TO_IMPORTER
                                                      : PEEK_SOCKETS;
    if (kind >= PEEK_SOCKETS)
        return RSM_ST_PROTOCOL;
    if (offer == NULL || offer->ending || offer->sockets[kind] >= 0)
        return RSM_ST_ABORTED;
    offer->sockets[kind] = link->socket;
    link->key = offer->key;
    link->listens = kind == PEEK_SIGNALS_TO_IMPORTER;
    return RSM_ST_OK;
}

/* Under the lock. */
static enum rsm_status carry_out(struct peek_node_port *port, struct peek_link *link,
                                 struct peek_request *request, struct peek_reply *reply)
{
    if (link->key == 0)
        return introduce(port, link, request);
    struct peek_node_offer *offer = peek_find(port, link->key);
    if (offer == NULL)
        return RSM_ST_ABORTED;
    if (request->operation == PEEK_LISTEN && link->listens) {
        offer->listening = link->socket;
        return RSM_ST_OK;
    }
    switch (request->operation) {
    case PEEK_PUT:
        if (PEEK_MISTAKE == PEEK_LATE || PEEK_MISTAKE == PEEK_HASTY)
            return write_late(port, offer, request);
        return transfer(offer, request, request->data);
    case PEEK_GET:
        return transfer(offer, request, reply->data);
    case PEEK_SIGNAL:
        peek_tell(port, link->key,
                  request->offset != 0 ? PEEK_SIGNALLED_COALESCED : PEEK_SIGNALLED);
        return RSM_ST_OK;
    case PEEK_TAKEN:
        if (offer->untaken)
            peek_tell(port, link->key, PEEK_HEARD);
        offer->untaken = false;
        return RSM_ST_OK;
    default:
        return RSM_ST_PROTOCOL;
    }
}

/* Whether a packet is as long as it says. */
static bool is_whole(const struct peek_request *request, ssize_t length)
{
    size_t head = offsetof(struct peek_request, data);
    if (length < (ssize_t)head || request->length > PEEK_CHUNK)
        return false;
    return (size_t)length == head + (request->operation == PEEK_PUT ? request->length : 0);
}

/* False: the importer has gone, or talks nonsense. */
static bool serve(struct peek_node_port *port, struct peek_link *link)
{
    static _Thread_local struct peek_request request;
    static _Thread_local struct peek_reply reply;
    ssize_t length = recv(link->socket, &request, sizeof request, MSG_DONTWAIT);
    if (length <= 0 || !is_whole(&request, length))
        return false;
    pthread_mutex_lock(&port->lock);
    reply.status = carry_out(port, link, &request, &reply);
    pthread_mutex_unlock(&port->lock);
    if (request.operation == PEEK_LISTEN || request.operation == PEEK_TAKEN ||
        request.operation == PEEK_JOIN)
        return link->key != 0;
    size_t size = PEEK_REPLY_BYTES;
    if (reply.status == RSM_ST_OK && request.operation == PEEK_GET)
        size += request.length;
    return send(link->socket, &reply, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size &&
           link->key != 0;
}

/* What the importer has sent is read first: else it learns of a broken connection before it reads
 * what was sent to it. */
static void close_socket(int socket)
{
    uint8_t byte;
    shutdown(socket, SHUT_RDWR);
    while (recv(socket, &byte, sizeof byte, MSG_DONTWAIT) > 0)
        continue;
    close(socket);
}

static void end_link(struct peek_node_port *port, unsigned index)
{
    struct peek_link *link = &port->links[index];
    pthread_mutex_lock(&port->lock);
    struct peek_node_offer *offer = link->key != 0 ? peek_find(port, link->key) : NULL;
    if (offer != NULL && link->listens)
        offer->listening = -1;
    else if (offer != NULL)
        peek_tell(port, link->key, PEEK_LOST);
    close_socket(link->socket);
    offer = link->key != 0 ? peek_find(port, link->key) : NULL;
    for (unsigned kind = 0; offer != NULL && kind < PEEK_SOCKETS; kind++)
        if (offer->sockets[kind] == link->socket)
            offer->sockets[kind] = -1;
    if (offer != NULL && offer->ending && !peek_is_open(offer))
        peek_tell(port, link->key, PEEK_ENDED);
    pthread_cond_broadcast(&port->closed);
    pthread_mutex_unlock(&port->lock);
    *link = port->links[--port->link_count];
}

/* The oldest of those that have not said which offer they mean makes room. */
static void limit_strangers(struct peek_node_port *port)
{
    unsigned strangers = 0, oldest = 0;
    for (unsigned i = port->link_count; i-- > 0;)
        if (port->links[i].key == 0) {
            strangers++;
            if (strangers == 1 || port->links[i].since < port->links[oldest].since)
                oldest = i;
        }
    if (strangers > PEEK_STRANGERS_MAX)
        end_link(port, oldest);
}

static void take_importer(struct peek_node_port *port)
{
    int socket = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0)
        return;
    if (port->link_count == PEEK_CONNECTIONS_MAX) {
        close(socket);
        return;
    }
    port->links[port->link_count++] =
        (struct peek_link){.socket = socket, .since = ++port->accepted};
    limit_strangers(port);
}

void *peek_adapter(void *argument)
{
    struct peek_node_port *port = argument;
    struct pollfd ready[PEEK_CONNECTIONS_MAX + 2];
    for (;;) {
        unsigned count = port->link_count;
        for (unsigned i = 0; i < count; i++)
            ready[i] = (struct pollfd){.fd = port->links[i].socket, .events = POLLIN};
        ready[count] = (struct pollfd){.fd = port->listener, .events = POLLIN};
        ready[count + 1] = (struct pollfd){.fd = port->stop, .events = POLLIN};
        poll(ready, count + 2, -1);
        if (ready[count + 1].revents != 0)
            break;
        /* Backwards, for one that ends gives its place to the last. */
        for (unsigned i = count; i-- > 0;)
            if (ready[i].revents != 0 && !serve(port, &port->links[i])) {
                end_link(port, i);
                if (PEEK_MISTAKE == PEEK_FRAGILE)
                    return NULL;
            }
        if (ready[count].revents != 0)
            take_importer(port);
    }
    pthread_mutex_lock(&port->lock); /* by the same sockets signals go out */
    while (port->link_count > 0)
        close(port->links[--port->link_count].socket);
    pthread_mutex_unlock(&port->lock);
    return NULL;
}
