/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Several nodes in one process, linked over loopback addresses of this test's own, and
 *  daemons made by hand that speak to them in raw messages. */
#ifndef TESTS_RSMD_LINKS_H
#define TESTS_RSMD_LINKS_H

#include "base/clock.h"
#include "cases.h"
#include "cluster/internal.h"

enum {
    LINKS_WAIT_MS = 30000,   /* for anything that must happen; never the normal case */
    LINKS_TIMEOUT_MS = 1500, /* of a machine that holds the test up now and then */
};

/** A node and what its user was told. */
struct side {
    uint32_t node;
    struct rsmd_conf conf;
    struct rsmd_cluster *cluster;
    unsigned ups, downs, messages; /* told */
    uint32_t last_from;
    struct rsm_cluster_msg last;
    bool in_call;          /* a function of the links is running: nothing may be told */
    bool echo;             /* send each message back */
    bool busy;             /* with the end of the former link */
    bool used;             /* a link on demand is in use */
    unsigned made, unmade; /* told: a link that was needed can be used, or cannot be made */
    unsigned silences;     /* told: the other end does not answer for now ... ... */
    bool silent;           /* ... and has not been told to do so again */
};

/** The loop, and addresses nobody else uses. Setup and teardown of each test. */
int links_begin(void **state);
int links_end(void **state);

struct event_base *links_base(void);

/** The address of a node in this test. */
const char *links_address(uint32_t node);

/** Configure nodes 1 to @p count. */
void side_configure(struct side *side, uint32_t node, uint32_t count, const char *more);
/** Start; with another library for MUNGE unless that is NULL. */
void side_start(struct side *side, const char *munge);
void side_stop(struct side *side);
/** side_configure() and side_start() without authentication. */
void side_run(struct side *side, uint32_t node, uint32_t count);
enum rsmd_link_state side_state(const struct side *side, uint32_t node);
/** Why the link failed. */
const char *side_text(const struct side *side, uint32_t node);
bool side_send(struct side *side, uint32_t node, const struct rsm_cluster_msg *msg);

/** Let the loop turn once, or for a while. */
void links_turn(void);
void links_turn_for(int ms);

/** Let it turn until something is so. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t until_ = rsm_clock_ms() + LINKS_WAIT_MS;                                           \
        while (!(condition)) {                                                                     \
            if (rsm_clock_ms() > until_)                                                           \
                fail_msg("in vain: %s", #condition);                                               \
            links_turn();                                                                          \
        }                                                                                          \
    } while (0)

#define AWAIT_TEXT(side, node, part) AWAIT(strstr(side_text((side), (node)), (part)) != NULL)

/** A TCP connection to a node, or a listening socket in its stead. */
int raw_call(uint32_t node);
/** raw_call() from an address; NULL: that of the kernel's choice. */
int raw_call_from(const char *from, uint32_t node);
int raw_listen(uint32_t node);
int raw_accept(int listener);
void raw_bytes(int fd, const void *bytes, size_t length);
void raw_send(int fd, const struct rsm_cluster_msg *msg);
/** The next message; false: the node has closed the connection. */
bool raw_next(int fd, struct rsm_cluster_msg *msg);
/** Messages until one of this type; false: closed. */
bool raw_next_of(int fd, uint32_t type, struct rsm_cluster_msg *msg);
void raw_expect_closed(int fd);
struct rsm_cluster_msg raw_hello(uint32_t from, uint32_t to, uint64_t incarnation);
/** Call @p node as @p from, without authentication, until the link is up there. */
int raw_link(struct side *side, uint32_t from, uint64_t incarnation);

#endif
