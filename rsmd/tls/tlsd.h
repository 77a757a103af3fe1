/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * rsm-tlsd, which has the TLS of the links between daemons: it ends the encryption of each TCP
 * connection, and passes the plain bytes to rsmd and back over a socket pair. It has no privilege
 * of rsmd; what it decodes before the other end is known is the TLS library's work.
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tls/control.h"

/* certificates.c:
 *
 * Certificates of nodes. The subject alternative name URI:rsm:node:N says which node it is for.
 */

#define TLSD_NAME "rsm:node:" /* before the number of the node */

/** The node that a certificate names; 0: none, or more than one. */
uint32_t tlsd_node_of(X509 *certificate);

/** When it expires, in seconds since 1970. */
uint64_t tlsd_expiry_of(const X509 *certificate);

/** Why a certificate is refused: an X509_V_ERR_* found at a depth of the chain, as a sentence about
 *  the certificate of this host (@p own) or of the other end. */
const char *tlsd_refusal(int error, int depth, bool own);

/** What the TLS library calls for a connection. */
struct tlsd_hooks {
    SSL_verify_cb verify;                             /* for each certificate of the other end */
    int (*confirmed)(SSL *ssl, SSL_SESSION *session); /* the called end has sent its ticket */
};

/** Read CA, certificate and key, from where the descriptors are. NULL: @p text says why. */
SSL_CTX *tlsd_load(const int fds[RSMD_TLS_LOAD_FDS], const struct tlsd_hooks *hooks, uint32_t *node,
                   uint64_t *expires, char text[RSMD_TLS_TEXT_MAX]);

/* session.c:
 *
 * One connection.
 */

struct tlsd_session;

/** One of the two descriptors of a session, as the event loop knows it. */
struct tlsd_end {
    struct tlsd_session *session; /* NULL: the control socket */
    int fd;
    uint32_t awaited; /* events */
};

/** What one side has not taken yet: at most one record. */
struct tlsd_rest {
    uint8_t *bytes;
    size_t at, length;
};

struct tlsd_session {
    uint64_t id;
    struct tlsd_end tcp, plain;
    SSL *ssl;
    bool caller;
    bool shaken;     /* this end's part of the handshake is done */
    bool confirmed;  /* of a caller: so is the other end's */
    bool open;       /* both are, and rsmd knows it */
    bool over;       /* to be freed */
    uint32_t node;   /* what the other end's certificate names, checked or not */
    const char *why; /* its certificate is refused; else NULL */
    struct tlsd_rest out, in;
    struct tlsd_session *prev, *next;
};

struct tlsd {
    int epoll;
    struct tlsd_end control;
    SSL_CTX *context; /* NULL: `text` says why */
    char text[RSMD_TLS_TEXT_MAX];
    struct tlsd_session *sessions;
};

/** Begin the handshake of a connection. Both descriptors are the session's; on failure they are
 *  closed, and the failure is reported. */
void tlsd_session_start(struct tlsd *tlsd, const struct rsmd_tls_control *start, int tcp,
                        int plain);

/** Do what can be done now. @p events: those of an end that has some; else 0. */
void tlsd_session_serve(struct tlsd *tlsd, struct tlsd_session *session, const struct tlsd_end *end,
                        uint32_t events);

/** End it. What rsmd has written goes out as far as the kernel takes it at once. */
void tlsd_session_end(struct tlsd *tlsd, struct tlsd_session *session);

/** For tlsd_load(). */
extern const struct tlsd_hooks tlsd_session_hooks;

/* serve.c */

/** Until rsmd has gone. */
void tlsd_run(struct tlsd *tlsd);

/** Send rsmd a message, and wait until it has read others if there are too many. False: it has
 *  gone. */
bool tlsd_report(const struct tlsd *tlsd, struct rsmd_tls_control *message);
