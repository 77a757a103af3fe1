/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/tables.h"
#include "tls/tlsd.h"

enum {
    RECORD_BYTES = 16384, /* plain, of one record of TLS */
    RECORDS_PER_TURN = 16,
};

/* ------------------------------------------------------------------ its end */

static void free_session(struct tlsd *tlsd, struct tlsd_session *session)
{
    DL_DELETE(tlsd->sessions, session);
    SSL_free(session->ssl);
    close(session->tcp.fd);
    close(session->plain.fd);
    free(session->out.bytes);
    free(session->in.bytes);
    free(session);
}

/* The report is there before rsmd sees the end of its descriptor. rsmd reads it, or has ended. */
static void report_failure(const struct tlsd *tlsd, uint64_t id, uint32_t node, const char *why)
{
    struct rsmd_tls_control failed = {.type = RSMD_TLS_FAILED, .id = id, .node = node};
    snprintf(failed.text, sizeof failed.text, "%s", why);
    (void)tlsd_report(tlsd, &failed);
}

static void fail(const struct tlsd *tlsd, struct tlsd_session *session, const char *why)
{
    if (session->over)
        return;
    session->over = true;
    report_failure(tlsd, session->id, session->node, why);
}

/* ------------------------------------------------------------------ whose certificate it is */

/* Called by the TLS library for each certificate of the chain. The name is part of the check, so
 * that the other end learns of a refusal. */
static int verify(int well, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tlsd_session *session = SSL_get_app_data(ssl);
    int depth = X509_STORE_CTX_get_error_depth(store);
    X509 *leaf = X509_STORE_CTX_get0_cert(store);
    session->node = leaf != NULL ? tlsd_node_of(leaf) : 0;
    /* That the other end has another CA of the same name: it learns of an unknown CA. */
    if (!well && X509_STORE_CTX_get_error(store) == X509_V_ERR_CERT_SIGNATURE_FAILURE)
        X509_STORE_CTX_set_error(store, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
    if (well && depth == 0 && session->node == 0) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
        well = 0;
    }
    if (!well && session->why == NULL)
        session->why = tlsd_refusal(X509_STORE_CTX_get_error(store), depth, false);
    return well;
}

static int confirmed(SSL *ssl, SSL_SESSION *ticket)
{
    struct tlsd_session *session = SSL_get_app_data(ssl);
    (void)ticket;
    session->confirmed = true;
    return 0; /* it is not kept */
}

const struct tlsd_hooks tlsd_session_hooks = {verify, confirmed};

/* What the other end has said of this node's certificate, and what it sends if it is no TLS. */
static const char *explain(int reason)
{
    switch (reason) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "it does not accept this node's certificate: its tls-ca has another CA";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "it does not accept this node's certificate: it has expired, or is not valid yet";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "it does not accept this node's certificate: the log there says why";
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return "it closed the connection during the TLS handshake: has its node auth = tls?";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_UNEXPECTED_MESSAGE:
        return "it does not speak TLS: has its node auth = tls?";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return "it speaks no TLS 1.3";
    default:
        return NULL;
    }
}

/* The latest error of the library. @p result: what SSL_get_error() has said. */
static void fail_by_library(const struct tlsd *tlsd, struct tlsd_session *session, int result)
{
    char text[RSMD_TLS_TEXT_MAX];
    int error = errno;
    unsigned long code = ERR_peek_last_error();
    const char *known = ERR_GET_LIB(code) == ERR_LIB_SSL ? explain(ERR_GET_REASON(code)) : NULL;
    const char *reason = ERR_reason_error_string(code);
    if (session->why != NULL)
        fail(tlsd, session, session->why);
    else if (result == SSL_ERROR_SYSCALL || result == SSL_ERROR_ZERO_RETURN)
        fail(tlsd, session,
             result == SSL_ERROR_SYSCALL && error != 0
                 ? strerror(error)
                 : explain(SSL_R_UNEXPECTED_EOF_WHILE_READING));
    else if (known != NULL)
        fail(tlsd, session, known);
    else {
        snprintf(text, sizeof text, "TLS: %s", reason != NULL ? reason : "unknown error");
        fail(tlsd, session, text);
    }
}

/* ------------------------------------------------------------------ events */

static void await(const struct tlsd *tlsd, struct tlsd_end *end, uint32_t events)
{
    struct epoll_event wanted = {.events = events, .data.ptr = end};
    if (end->awaited != events && epoll_ctl(tlsd->epoll, EPOLL_CTL_MOD, end->fd, &wanted) == 0)
        end->awaited = events;
}

static bool keep(struct tlsd_rest *rest, const void *bytes, size_t length)
{
    rest->bytes = malloc(length);
    if (rest->bytes == NULL)
        return false;
    memcpy(rest->bytes, bytes, length);
    rest->at = 0;
    rest->length = length;
    return true;
}

static void drop(struct tlsd_rest *rest)
{
    free(rest->bytes);
    *rest = (struct tlsd_rest){.bytes = NULL};
}

/* ------------------------------------------------------------------ the handshake */

static void report_ready(const struct tlsd *tlsd, struct tlsd_session *session)
{
    X509 *theirs = SSL_get0_peer_certificate(session->ssl);
    if (theirs == NULL || SSL_get_verify_result(session->ssl) != X509_V_OK) {
        fail(tlsd, session, "it has shown no certificate");
        return;
    }
    struct rsmd_tls_control ready = {.type = RSMD_TLS_READY,
                                     .id = session->id,
                                     .node = tlsd_node_of(theirs),
                                     .expires = tlsd_expiry_of(theirs)};
    session->open = true;
    if (!tlsd_report(tlsd, &ready))
        session->over = true;
}

/* What the called end says of the caller's certificate comes when the caller's part is done. */
static void await_ticket(const struct tlsd *tlsd, struct tlsd_session *session)
{
    uint8_t bytes[RECORD_BYTES];
    ERR_clear_error();
    errno = 0;
    int got = SSL_read(session->ssl, bytes, sizeof bytes);
    int error = got > 0 ? SSL_ERROR_NONE : SSL_get_error(session->ssl, got);
    if (got > 0 && session->confirmed && keep(&session->in, bytes, (size_t)got))
        return;
    if (got > 0)
        fail(tlsd, session, "it sends data before the handshake is done");
    else if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        fail_by_library(tlsd, session, error);
    else if (!session->confirmed)
        await(tlsd, &session->tcp, EPOLLIN);
}

static void shake_hands(const struct tlsd *tlsd, struct tlsd_session *session)
{
    if (!session->shaken) {
        ERR_clear_error();
        errno = 0;
        int result = SSL_do_handshake(session->ssl);
        int error = SSL_get_error(session->ssl, result);
        session->shaken = result == 1;
        if (!session->shaken) {
            if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
                await(tlsd, &session->tcp, error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT);
            else
                fail_by_library(tlsd, session, error);
            return;
        }
    }
    if (session->caller && !session->confirmed)
        await_ticket(tlsd, session);
    if (!session->over && (!session->caller || session->confirmed))
        report_ready(tlsd, session);
}

/* ------------------------------------------------------------------ rsmd to network */

/* False: the network takes no more now. */
static bool encrypt(struct tlsd_session *session, const uint8_t *bytes, size_t length,
                    size_t *taken)
{
    while (*taken < length) {
        ERR_clear_error();
        errno = 0;
        int done = SSL_write(session->ssl, bytes + *taken, (int)(length - *taken));
        if (done > 0) {
            *taken += (size_t)done;
            continue;
        }
        int error = SSL_get_error(session->ssl, done);
        if (error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ)
            return false;
        /* The other end may have said why before: reading comes to that, and then to the end. */
        *taken = length;
    }
    return true;
}

/* One record. True: there may be more. */
static bool send_one(const struct tlsd *tlsd, struct tlsd_session *session)
{
    uint8_t bytes[RECORD_BYTES];
    struct tlsd_rest *rest = &session->out;
    if (rest->bytes != NULL) {
        if (!encrypt(session, rest->bytes, rest->length, &rest->at))
            return false;
        drop(rest);
    }
    ssize_t got = recv(session->plain.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        session->over = true; /* rsmd has closed it */
        return false;
    }
    size_t taken = 0;
    if (encrypt(session, bytes, (size_t)got, &taken))
        return true;
    /* A repeated SSL_write() must have the bytes of the first one; more of them do no harm. */
    if (!keep(rest, bytes + taken, (size_t)got - taken))
        fail(tlsd, session, "out of memory");
    return false;
}

/* ------------------------------------------------------------------ network to rsmd */

/* False: rsmd takes no more now, or the session is over. */
static bool pass_on(struct tlsd_session *session, const uint8_t *bytes, size_t length,
                    size_t *taken)
{
    while (*taken < length) {
        ssize_t sent =
            send(session->plain.fd, bytes + *taken, length - *taken, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        if (sent < 0) {
            session->over = true;
            return false;
        }
        *taken += (size_t)sent;
    }
    return true;
}

static bool receive_one(const struct tlsd *tlsd, struct tlsd_session *session)
{
    uint8_t bytes[RECORD_BYTES];
    struct tlsd_rest *rest = &session->in;
    if (rest->bytes != NULL) {
        if (!pass_on(session, rest->bytes, rest->length, &rest->at))
            return false;
        drop(rest);
    }
    ERR_clear_error();
    errno = 0;
    int got = SSL_read(session->ssl, bytes, sizeof bytes);
    if (got <= 0) {
        int error = SSL_get_error(session->ssl, got);
        if (error == SSL_ERROR_SSL)
            fail_by_library(tlsd, session, error);
        else if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            session->over = true; /* the other end has closed it: so has this one */
        return false;
    }
    size_t taken = 0;
    if (pass_on(session, bytes, (size_t)got, &taken))
        return true;
    if (!session->over && !keep(rest, bytes + taken, (size_t)got - taken))
        fail(tlsd, session, "out of memory");
    return false;
}

/* ------------------------------------------------------------------ turns */

static void carry(const struct tlsd *tlsd, struct tlsd_session *session)
{
    for (int i = 0; i < RECORDS_PER_TURN && !session->over && receive_one(tlsd, session); i++)
        continue;
    for (int i = 0; i < RECORDS_PER_TURN && !session->over && send_one(tlsd, session); i++)
        continue;
    bool to_rsmd = session->in.bytes != NULL, to_network = session->out.bytes != NULL;
    await(tlsd, &session->tcp, (to_rsmd ? 0 : EPOLLIN) | (to_network ? EPOLLOUT : 0));
    await(tlsd, &session->plain, (to_network ? 0 : EPOLLIN) | (to_rsmd ? EPOLLOUT : 0));
}

void tlsd_session_end(struct tlsd *tlsd, struct tlsd_session *session)
{
    while (session->open && send_one(tlsd, session))
        continue;
    if (session->open)
        (void)SSL_shutdown(session->ssl);
    ERR_clear_error();
    (void)shutdown(session->tcp.fd, SHUT_WR);
    /* To close a connection from which not everything was read resets it, and what was sent last,
     * such as the reason of a refusal, may be lost. */
    char ignored[RECORD_BYTES];
    for (int i = 0; i < RECORDS_PER_TURN; i++)
        if (recv(session->tcp.fd, ignored, sizeof ignored, MSG_DONTWAIT) <= 0)
            break;
    free_session(tlsd, session);
}

/* Whether the loop would see the same event again and again, because nothing can be read there
 * while the other side takes nothing. */
static bool is_stuck(const struct tlsd_session *session, const struct tlsd_end *end,
                     uint32_t events)
{
    bool gone = (events & (EPOLLERR | EPOLLHUP)) != 0;
    return gone && ((end == &session->tcp && session->in.bytes != NULL) ||
                    (end == &session->plain && session->out.bytes != NULL));
}

void tlsd_session_serve(struct tlsd *tlsd, struct tlsd_session *session, const struct tlsd_end *end,
                        uint32_t events)
{
    /* rsmd's time-out has expired, or the handshake is not what it wanted. */
    if (!session->open && end == &session->plain)
        session->over = true;
    if (!session->over && !session->open)
        shake_hands(tlsd, session);
    if (!session->over && session->open)
        carry(tlsd, session);
    if (!session->over && is_stuck(session, end, events))
        session->over = true;
    if (session->over)
        tlsd_session_end(tlsd, session);
}

/* ------------------------------------------------------------------ its start */

static bool watch(const struct tlsd *tlsd, struct tlsd_session *session)
{
    struct epoll_event tcp = {.events = EPOLLIN, .data.ptr = &session->tcp};
    struct epoll_event plain = {.events = EPOLLRDHUP, .data.ptr = &session->plain};
    session->tcp.awaited = tcp.events;
    session->plain.awaited = plain.events;
    return epoll_ctl(tlsd->epoll, EPOLL_CTL_ADD, session->tcp.fd, &tcp) == 0 &&
           epoll_ctl(tlsd->epoll, EPOLL_CTL_ADD, session->plain.fd, &plain) == 0;
}

void tlsd_session_start(struct tlsd *tlsd, const struct rsmd_tls_control *start, int tcp, int plain)
{
    struct tlsd_session *session = tlsd->context != NULL ? calloc(1, sizeof *session) : NULL;
    if (session == NULL) {
        report_failure(tlsd, start->id, 0, tlsd->context != NULL ? "out of memory" : tlsd->text);
        close(tcp);
        close(plain);
        return;
    }
    session->id = start->id;
    session->caller = start->caller != 0;
    session->tcp = (struct tlsd_end){.session = session, .fd = tcp};
    session->plain = (struct tlsd_end){.session = session, .fd = plain};
    session->ssl = SSL_new(tlsd->context);
    DL_APPEND(tlsd->sessions, session);
    if (session->ssl == NULL || SSL_set_fd(session->ssl, tcp) != 1 || !watch(tlsd, session)) {
        fail(tlsd, session, "out of memory");
        free_session(tlsd, session);
        return;
    }
    SSL_set_app_data(session->ssl, session);
    if (session->caller)
        SSL_set_connect_state(session->ssl);
    else
        SSL_set_accept_state(session->ssl);
    tlsd_session_serve(tlsd, session, NULL, 0);
}
