/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The node half's two sides: rsmd's thread, which makes and revokes offers, and the thread
 *  that plays the adapter. */
#ifndef TESTS_PEEK_ADAPTER_H
#define TESTS_PEEK_ADAPTER_H

#include <pthread.h>

#include "peek.h"

enum {
    PEEK_CONNECTIONS_MAX = 1024,
    PEEK_PIECES_MAX = 64,
    PEEK_STRANGERS_MAX = 4, /* sockets of which no offer is known yet */
#ifdef PEEK_SIGNALS
    PEEK_SOCKETS = 2, /* of an offer: for requests, and for the exporter's signals */
#else
    PEEK_SOCKETS = 1,
#endif
};

struct peek_extent {
    struct rsm_extent base;
    uint8_t *memory;
};

enum peek_socket { PEEK_REQUESTS, PEEK_SIGNALS_TO_IMPORTER };

struct peek_node_offer {
    struct rsm_node_offer base;
    uint64_t key;
    uint32_t rights;
    int sockets[PEEK_SOCKETS]; /* of its importer, by enum peek_socket; -1: none */
    int listening;             /* socket for the exporter's signals; -1: the importer takes none */
    bool untaken;              /* one is there */
    bool ending;               /* by revoke_begin() */
    unsigned count;
    struct {
        uint8_t *memory;
        uint64_t length;
    } pieces[PEEK_PIECES_MAX];
    struct peek_node_offer *next;
};

enum peek_news_kind {
    PEEK_SIGNALLED, /* by the offer's importer */
    PEEK_SIGNALLED_COALESCED,
    PEEK_LOST,
    PEEK_HEARD, /* it has taken the exporter's signals */
    PEEK_ENDED, /* no socket of the offer is open any more */
};

/** What dispatch() is to tell. */
struct peek_news {
    uint64_t key;
    enum peek_news_kind kind;
    struct peek_news *next;
};

/** One importer's socket. The offer may have been revoked meanwhile. */
struct peek_link {
    int socket;
    uint64_t since; /* ascending */
    uint64_t key;   /* 0: has not said it yet */
    bool listens;   /* it is for signals */
};

struct peek_node_port {
    struct rsm_node_port base;
    struct peek_blob self; /* without key */
    int listener;
    int stop; /* eventfd: the thread is to end */
    int news_fd;
    pthread_t thread;
    unsigned link_count; /* the thread's */
    uint64_t accepted;
    struct peek_link links[PEEK_CONNECTIONS_MAX];
    pthread_cond_t closed; /* a socket of an offer */
    pthread_mutex_t lock;  /* guards what follows, held while memory is accessed */
    struct peek_node_offer *offers;
    struct peek_news *news, **news_end;
    uint64_t last_key;
    struct rsm_node_offer *ended_twice; /* PEEK_TWICE: dispatch() is to tell of it */
};

/** The thread: serves until `stop` is readable. */
void *peek_adapter(void *port);

/** Under the lock: dispatch() has to tell of this. */
void peek_tell(struct peek_node_port *port, uint64_t key, enum peek_news_kind kind);
/** Under the lock: whether a socket of the offer is open. */
bool peek_is_open(const struct peek_node_offer *offer);

/** Under the lock: the offer of that key, NULL if it was revoked. */
struct peek_node_offer *peek_find(const struct peek_node_port *port, uint64_t key);

#endif
