/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of rsmd, and reports to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/view.h"
#include "transport/tcp/server/server.h"

enum { MESSAGES = 64 /* in one turn */ };

/* ------------------------------------------------------------------ memory */

static void unmap(struct tcp_grant *grant)
{
    if (grant->base != NULL)
        munmap(grant->base, grant->size);
    grant->base = NULL;
}

/* All pieces in one range of addresses, so that a request's range is checked in one place. */
static bool map(struct tcp_grant *grant, const struct tcp_control *message, const int *fds)
{
    struct rsm_view view;
    struct rsm_view_piece pieces[RSM_OFFER_MAX_FDS];
    for (uint32_t i = 0; i < message->pieces; i++) {
        pieces[i] = (struct rsm_view_piece){message->piece[i].offset, message->piece[i].length};
        grant->size += message->piece[i].length;
    }
    if (rsm_view_make(&view, fds, pieces, message->pieces, grant->size,
                      rsm_view_protection(grant->rights), true) != RSM_ST_OK)
        return false;
    for (unsigned i = 0; i < view.count; i++)
        if (view.pieces[i].fd >= 0)
            close(view.pieces[i].fd);
    grant->base = view.base;
    return true;
}

/* ------------------------------------------------------------------ grants */

static struct tcp_grant *find(const struct tcp_server *server, uint64_t id)
{
    struct tcp_grant *grant;
    HASH_FIND(hh, server->grants, &id, sizeof id, grant);
    return grant;
}

struct tcp_grant *tcp_grant_open(struct tcp_server *server, uint64_t id, enum tcp_stream stream,
                                 const uint8_t token[TCP_TOKEN_BYTES])
{
    struct tcp_grant *grant = find(server, id);
    if (grant == NULL || grant->used[stream] || !tcp_token_equals(grant->token[stream], token))
        return NULL;
    grant->used[stream] = true;
    return grant;
}

const uint8_t *tcp_grant_token(const struct tcp_server *server, uint64_t id, enum tcp_stream stream)
{
    const struct tcp_grant *grant = find(server, id);
    return grant != NULL && !grant->used[stream] ? grant->token[stream] : NULL;
}

static void free_grant(struct tcp_server *server, struct tcp_grant *grant)
{
    HASH_DELETE(hh, server->grants, grant);
    for (unsigned i = 0; i < TCP_STREAMS; i++)
        if (grant->link[i] != NULL)
            tcp_link_end(server, grant->link[i]);
    if (grant->unreported)
        DL_DELETE(server->unreported, grant);
    unmap(grant);
    explicit_bzero(grant->token, sizeof grant->token);
    free(grant);
}

void tcp_server_end(struct tcp_server *server)
{
    while (server->strangers != NULL)
        tcp_link_end(server, server->strangers);
    while (server->grants != NULL)
        free_grant(server, server->grants);
    tcp_snapshots_end(server);
    free(server->revoked);
    server->revoked = NULL;
}

/* A grant that cannot be mapped is lost at once: its importer finds none. */
static void add_grant(struct tcp_server *server, const struct tcp_control *message,
                      const struct rsm_packet_fds *fds)
{
    struct tcp_grant *grant = calloc(1, sizeof *grant);
    if (grant == NULL || find(server, message->grant) != NULL) {
        free(grant);
        return;
    }
    grant->id = message->grant;
    grant->rights = message->rights;
    grant->node = message->node;
    grant->uid = message->uid;
    memcpy(grant->token, message->token, sizeof grant->token);
    HASH_ADD(hh, server->grants, id, sizeof grant->id, grant);
    if (grant->hh.tbl == NULL) {
        free(grant);
        return;
    }
    bool well = message->rights == 0 ||
                (fds->count == message->pieces && fds->count > 0 && map(grant, message, fds->fds));
    if (well)
        return;
    memset(grant->used, true, sizeof grant->used);
    grant->lost = true;
    tcp_grant_note(server, grant);
}

static void add_answer(struct tcp_server *server, uint64_t id)
{
    if (server->revoked_count == server->revoked_room) {
        unsigned room = server->revoked_room == 0 ? MESSAGES : 2 * server->revoked_room;
        uint64_t *more = realloc(server->revoked, room * sizeof *more);
        if (more == NULL)
            _exit(EXIT_FAILURE); /* rsmd then knows that all has ended */
        server->revoked = more;
        server->revoked_room = room;
    }
    server->revoked[server->revoked_count++] = id;
}

/* Nothing is under way: requests are carried out between messages. Behind this the memory is not
 * mapped any more. */
static void end_grant(struct tcp_server *server, uint64_t id)
{
    struct tcp_grant *grant = find(server, id);
    if (grant != NULL)
        free_grant(server, grant);
    add_answer(server, id);
}

static void notify(struct tcp_server *server, const struct tcp_control *message)
{
    const struct rsm_signals signals = {message->count, message->coalesced != 0};
    struct tcp_grant *grant = find(server, message->grant);
    if (grant == NULL)
        return;
    if (grant->link[TCP_STREAM_SIGNALS] != NULL) {
        tcp_link_notify(server, grant->link[TCP_STREAM_SIGNALS], &signals);
        return;
    }
    grant->lost = true; /* no importer will take them */
    tcp_grant_note(server, grant);
}

/* The first message has the listening socket. */
static void listen_at(struct tcp_server *server, const struct tcp_control *message,
                      struct rsm_packet_fds *fds)
{
    if (server->listener >= 0 || fds->count != 1)
        return;
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = &server->listener};
    server->listener = fds->fds[0];
    fds->count = 0;
    server->timeout_ms = message->timeout_ms;
    server->timeout_ns = message->timeout_ms * (int64_t)1000000;
    server->spin_ns = message->spin_us * (int64_t)1000;
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &readable) != 0)
        _exit(EXIT_FAILURE);
}

bool tcp_server_take_messages(struct tcp_server *server)
{
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct rsm_packet_fds fds;
        struct tcp_control message;
        int got = tcp_control_receive(server->control, &message, &fds);
        if (got <= 0)
            return got == 0;
        if (message.type == TCP_CONTROL_LISTEN)
            listen_at(server, &message, &fds);
        else if (message.type == TCP_CONTROL_GRANT)
            add_grant(server, &message, &fds);
        else if (message.type == TCP_CONTROL_REVOKE)
            end_grant(server, message.grant);
        else if (message.type == TCP_CONTROL_NOTIFY)
            notify(server, &message);
        explicit_bzero(message.token, sizeof message.token);
        rsm_packet_fds_close(&fds);
    }
    return true;
}

/* ------------------------------------------------------------------ reports to rsmd */

void tcp_grant_note(struct tcp_server *server, struct tcp_grant *grant)
{
    if (!grant->unreported)
        DL_APPEND(server->unreported, grant);
    grant->unreported = true;
}

static bool send_report(struct tcp_server *server, uint64_t id, uint32_t type,
                        const struct rsm_signals *signals)
{
    struct tcp_control message = {.type = type, .grant = id};
    if (signals != NULL) {
        message.count = signals->count;
        message.coalesced = signals->coalesced;
    }
    return tcp_control_send(server->control, &message, NULL) == 0;
}

/* Signals first: behind LOST rsmd revokes. */
static bool report_grant(struct tcp_server *server, struct tcp_grant *grant)
{
    if (grant->listens && !send_report(server, grant->id, TCP_CONTROL_LISTENS, NULL))
        return false;
    grant->listens = false;
    if ((grant->posted.count > 0 || grant->posted.coalesced) &&
        !send_report(server, grant->id, TCP_CONTROL_SIGNALLED, &grant->posted))
        return false;
    grant->posted = (struct rsm_signals){0, false};
    if (grant->taken && !send_report(server, grant->id, TCP_CONTROL_TAKEN, NULL))
        return false;
    grant->taken = false;
    if (grant->lost && !send_report(server, grant->id, TCP_CONTROL_LOST, NULL))
        return false;
    grant->lost = false;
    return true;
}

void tcp_server_report(struct tcp_server *server)
{
    bool takes = true;
    server->reported = server->reported || server->unreported != NULL;
    while (takes && server->revoked_count > 0) {
        takes = send_report(server, server->revoked[server->revoked_count - 1], TCP_CONTROL_REVOKED,
                            NULL);
        server->revoked_count -= takes;
    }
    while (takes && server->unreported != NULL) {
        struct tcp_grant *grant = server->unreported;
        takes = report_grant(server, grant);
        if (!takes)
            break;
        DL_DELETE(server->unreported, grant);
        grant->unreported = false;
    }
    struct epoll_event events = {.events = takes ? EPOLLIN : EPOLLIN | EPOLLOUT,
                                 .data.ptr = &server->control};
    if (server->report_waits == takes)
        (void)epoll_ctl(server->epoll, EPOLL_CTL_MOD, server->control, &events);
    server->report_waits = !takes;
}
