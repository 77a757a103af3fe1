/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checks that drive both halves of a transport directly, with no daemon and no core in between.
 *
 * The check's own process, the judge, plays the exporter: it maps the extents and looks at the
 * memory. It never loads the transport. The node half runs in processes of its own, which do what
 * rsmd does, and the import half in others. So a transport that crashes, hangs or writes where it
 * should not harms none but the process that is examined.
 */
#ifndef TESTS_CONFORMANCE_DIRECT_H
#define TESTS_CONFORMANCE_DIRECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rsm/transport.h"
#include "suite.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

/** Define a check: DIRECT(01, "what", "the sentence of the contract") { body }. */
#define DIRECT(number, says, sentence)                                                             \
    static void direct_##number(void);                                                             \
    __attribute__((constructor)) static void register_direct_##number(void)                        \
    {                                                                                              \
        static struct conformance_test test = {.name = "D-" #number,                               \
                                               .text = says,                                       \
                                               .rule = sentence,                                   \
                                               .run = direct_##number,                             \
                                               .direct = true};                                    \
        conformance_register(&test);                                                               \
    }                                                                                              \
    static void direct_##number(void)

/* ---------------------------------------------------------------- nodes */

/** A process that runs the node half. */
struct node;

/** What a node's process has. */
struct node_counts {
    uint32_t descriptors;
    uint32_t threads;
    uint32_t threads_with_signals; /**< threads that do not block all signals, but for the first */
    uint64_t reached;              /**< bit n: node n, reported by node_state() and not lost */
    uint32_t ended;                /**< offers whose end revoke_begin() or revoked() has reported */
    bool handlers_changed;         /**< SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGUSR2, or the mask */
};

struct node_facts {
    uint32_t caps;
    uint32_t page; /**< attr.page_size */
    uint32_t atomic_sizes;
    bool imports;    /**< processes of other hosts connect through their node */
    bool ends_later; /**< it has revoke_begin() */
    struct node_counts before_open;
    bool attr_overrun; /**< attributes() wrote beyond what the transport knows, or changed `size` */
};

enum { PIECES_MAX = RSM_OFFER_MAX_FDS, EXTENTS = 2 };

struct piece {
    unsigned extent; /**< as node_make() numbers them */
    uint64_t offset, length;
};

/** The status of the node half's open() in @p status; NULL then. */
struct node *node_open(unsigned number, enum rsm_status *status);
const struct node_facts *node_facts(const struct node *node);
/** An extent; *fd is a copy of its descriptor, which the caller closes. */
enum rsm_status node_make(struct node *node, uint64_t length, unsigned *id,
                          struct rsm_extent *extent);
void node_free(struct node *node, unsigned id);
/** The offer's descriptors are the caller's. @p made: descriptors and threads of the base. */
enum rsm_status node_offer(struct node *node, const struct piece *pieces, unsigned count,
                           uint32_t rights, unsigned importer, struct rsm_offer *offer,
                           unsigned *id, struct rsm_node_offer *made);
void node_revoke(struct node *node, unsigned id);
/** revoke_begin(); node_count() says when the offer has ended. */
void node_revoke_begin(struct node *node, unsigned id);
/** revoke_begin(), and at once, unless it has ended the offer, revoke(). */
void node_revoke_twice(struct node *node, unsigned id);
/** imports->accept() of the importer's node, for an offer of node @p exporter. */
enum rsm_status node_accept(struct node *node, unsigned exporter, uint64_t size, uint32_t rights,
                            const struct rsm_offer *offer, struct rsm_offer *local, unsigned *id);
void node_end_import(struct node *node, unsigned id);
void node_released(struct node *node, unsigned id);
struct node_counts node_count(struct node *node);
/** close() of the port; the process goes on, and node_count() can be asked. */
void node_close_port(struct node *node);
void node_kill(struct node *node);

/* ---------------------------------------------------------------- the stand */

/** A segment of several pieces of two extents, filled with SEGMENT_BYTE, between pages that are
 *  filled with GUARD_WORD and belong to no offer. */
struct stand {
    struct node *node;     /**< the exporter's, number 1 */
    struct node *importer; /**< number 2, if imports go through it; else NULL */
    const struct node_facts *facts;
    uint64_t page;
    struct rsm_extent extents[EXTENTS]; /**< fd is the judge's */
    unsigned ids[EXTENTS];
    uint8_t *memory[EXTENTS];
    uint64_t length; /**< of each extent */
    struct piece pieces[4];
    unsigned piece_count;
    uint64_t size; /**< of the segment */
};

#define GUARD_WORD UINT64_C(0xc3a596e1d2b48778)
enum { SEGMENT_BYTE = 0x5a, PATIENCE_MS = 20000 };

/** Made at each call anew; fails the check if it cannot be. */
struct stand *stand(void);
/** The exporter's address of a byte of the segment, and how far its run goes. */
uint8_t *at(const struct stand *stand, uint64_t offset);
void fill(const struct stand *stand, uint64_t offset, uint64_t length, int byte);
/** Whether every byte of the range is this one. */
bool all_are(const struct stand *stand, uint64_t offset, uint64_t length, int byte);
/** Whether the pages around the segment are as they were. */
bool guards_are_whole(const struct stand *stand);
/** Whether the offer's holder can be cut off: see D-31. */
bool can_be_cut(const struct stand *stand);

/** A connection that has been offered. */
struct ticket {
    struct rsm_offer offer; /**< for connect() */
    unsigned id;            /**< of the offer at the exporter's node */
    unsigned import;        /**< at the importer's node, if there is one */
    uint32_t descriptors, threads;
};

struct ticket *offered_to(struct stand *stand, uint32_t rights);
/** Close the offer's descriptors, as rsmd does after it has sent them. */
void ticket_sent(struct ticket *ticket);
/** revoke(), and with imports what follows from it. */
void revoked(struct stand *stand, struct ticket *ticket);

/* ---------------------------------------------------------------- importers */

/** What the judge and all importers share. */
struct shared {
    atomic_uint phase;      /**< the check's own meaning */
    atomic_uint answer;     /**< likewise */
    atomic_uint connected;  /**< importers whose connect() has returned */
    atomic_bool stop;       /**< importers that loop end */
    atomic_uint counts[16]; /**< likewise */
    _Atomic uint64_t words[16];
    int status; /**< of connect() */
    char text[160];
};
extern struct shared *shared;

/** An importer's own state. */
struct importing {
    const struct rsm_import_ops *ops; /**< the completed table, as of `conn` */
    struct rsm_port *port;
    struct rsm_conn *conn;
    uint64_t size;
    unsigned number; /**< 0, 1, ... in the order in which they were started */
    void *argument;
};

/** What a connect() says to the transport: of the offer or, falsely, something else. */
struct claim {
    uint32_t rights;
    uint64_t size;
};

typedef void (*importer_body)(struct importing *self);

/** Start a process that connects with the ticket and runs @p body, which succeeds by returning. */
pid_t importer(const struct stand *stand, const struct ticket *ticket, struct claim claim,
               importer_body body, void *argument);
/** The honest claim of READ_WRITE. */
pid_t honest(const struct stand *stand, const struct ticket *ticket, importer_body body,
             void *argument);

enum ending { ENDED_WELL, ENDED_NO_CONNECTION, ENDED_BADLY, ENDED_BY_SIGNAL, ENDED_HANGING };

/** Wait for it; a hanging one is killed. *status is of connect(), or the signal. */
enum ending ending_of(pid_t pid, int timeout_ms);
/** It must end well within PATIENCE_MS. */
void succeeds(pid_t pid);
void killed(pid_t pid);
/** An importer brings a counter to at least that, before it ends; else the check fails. */
void reaches(pid_t pid, atomic_uint *counter, unsigned least);
/** Wait until a counter is at least that. */
bool await_count(atomic_uint *counter, unsigned least, int timeout_ms);

/** In an importer: it must hold, or the importer, and by it the check, fails. */
#define NEED(condition) need((condition), __FILE__, __LINE__, #condition)
#define NEED_OK(call)   need_status(__FILE__, __LINE__, #call, (call), RSM_ST_OK)
void need(bool holds, const char *file, int line, const char *what);
void need_status(const char *file, int line, const char *call, enum rsm_status got,
                 enum rsm_status wanted);
/** What a process has open, and its threads. */
unsigned descriptors_open(void);
unsigned threads_running(void);
/** One that has been joined is there for a moment longer. */
bool threads_fall_to(unsigned most);
void sleep_ms(unsigned ms);
uint64_t direct_now_ms(void);

/** From now on the structures that are passed to the transport are longer, as of a later version. */
extern bool direct_later;

#endif
