/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop of rsm-tlsd. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "tls/tlsd.h"

enum {
    EVENTS = 64,
    MESSAGES_PER_TURN = 8, /* most of them are handshakes, which take time */
};

bool tlsd_report(const struct tlsd *tlsd, struct rsmd_tls_control *message)
{
    struct pollfd rsmd = {.fd = tlsd->control.fd, .events = POLLOUT};
    int error;
    while ((error = rsmd_tls_control_send(tlsd->control.fd, message, NULL)) == EAGAIN)
        (void)poll(&rsmd, 1, -1);
    return error == 0;
}

/* New files hold for new connections; if they are wrong the former ones stay. */
static void load(struct tlsd *tlsd, uint32_t node, const struct rsm_packet_fds *fds)
{
    struct rsmd_tls_control loaded = {.type = RSMD_TLS_LOADED};
    SSL_CTX *fresh = NULL;
    if (fds->count == RSMD_TLS_LOAD_FDS)
        fresh =
            tlsd_load(fds->fds, &tlsd_session_hooks, &loaded.node, &loaded.expires, loaded.text);
    else
        snprintf(loaded.text, sizeof loaded.text, "too many open descriptors");
    if (fresh != NULL && loaded.node != node) {
        snprintf(loaded.text, sizeof loaded.text,
                 "tls-certificate is that of node %u, and this is node %u", (unsigned)loaded.node,
                 (unsigned)node);
        SSL_CTX_free(fresh);
        fresh = NULL;
    }
    if (fresh != NULL) {
        SSL_CTX_free(tlsd->context);
        tlsd->context = fresh;
    } else if (tlsd->context == NULL) {
        snprintf(tlsd->text, sizeof tlsd->text, "%s", loaded.text);
    }
    (void)tlsd_report(tlsd, &loaded);
}

/* The descriptors become the session's. */
static void start(struct tlsd *tlsd, const struct rsmd_tls_control *message,
                  struct rsm_packet_fds *fds)
{
    enum { TCP, PLAIN };
    struct rsmd_tls_control failed = {.type = RSMD_TLS_FAILED, .id = message->id};
    if (fds->count == RSMD_TLS_START_FDS) {
        tlsd_session_start(tlsd, message, fds->fds[TCP], fds->fds[PLAIN]);
        fds->count = 0;
        return;
    }
    snprintf(failed.text, sizeof failed.text, "rsm-tlsd has too many connections");
    (void)tlsd_report(tlsd, &failed);
}

/* False: rsmd has gone. */
static bool take_messages(struct tlsd *tlsd)
{
    struct rsmd_tls_control message;
    struct rsm_packet_fds fds;
    int result = 1;
    for (int i = 0; i < MESSAGES_PER_TURN && result > 0; i++) {
        result = rsmd_tls_control_receive(tlsd->control.fd, &message, &fds);
        if (result > 0 && message.type == RSMD_TLS_LOAD)
            load(tlsd, message.node, &fds);
        else if (result > 0 && message.type == RSMD_TLS_START)
            start(tlsd, &message, &fds);
        else if (result > 0)
            return false; /* not what rsmd says */
        if (result > 0)
            rsm_packet_fds_close(&fds);
    }
    return result >= 0;
}

/* Whether an end is still one of a session: another event of the same turn may have ended it. */
static bool is_there(const struct tlsd *tlsd, const struct tlsd_end *end)
{
    for (const struct tlsd_session *session = tlsd->sessions; session != NULL;
         session = session->next)
        if (end == &session->tcp || end == &session->plain)
            return true;
    return false;
}

/* Connections that are open go first, so that many handshakes do not end them. */
static void serve(struct tlsd *tlsd, const struct epoll_event *events, int count)
{
    for (int open = 1; open >= 0; open--)
        for (int i = 0; i < count; i++) {
            struct tlsd_end *end = events[i].data.ptr;
            if (end != &tlsd->control && is_there(tlsd, end) && end->session->open == (open != 0))
                tlsd_session_serve(tlsd, end->session, end, events[i].events);
        }
}

void tlsd_run(struct tlsd *tlsd)
{
    struct epoll_event events[EVENTS];
    bool goes_on = true;
    while (goes_on) {
        int count = epoll_wait(tlsd->epoll, events, EVENTS, -1);
        if (count < 0 && errno != EINTR)
            break;
        serve(tlsd, events, count);
        for (int i = 0; i < count && goes_on; i++)
            if (events[i].data.ptr == &tlsd->control)
                goes_on = take_messages(tlsd);
    }
    while (tlsd->sessions != NULL)
        tlsd_session_end(tlsd, tlsd->sessions);
    SSL_CTX_free(tlsd->context);
}
