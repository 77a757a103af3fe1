/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The other processes of a test: what they can be told to do with RSMAPI. Orders and answers are
 * plain values, so that nothing but a stream of bytes need connect a test and its peers.
 *
 * A peer keeps exports and imports in numbered slots:
 *
 *     TELL_OK(exporter, OFFER, .pages = 2);
 */
#ifndef TESTS_CONFORMANCE_PEER_H
#define TESTS_CONFORMANCE_PEER_H

#include <rsmapi.h>

#include "harness.h"

enum {
    PEER_SLOTS = 16,
    SEGMENT_ID = 0x400000, /* what most tests publish */
    NO_RIGHTS = 010000,    /* connect or map with perm 0 */
    ANSWER_FAILED = -1,    /* the verb could not be carried out */
};

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

/* clang-format off */
#define EACH_VERB(X) \
    X(USER)            /* become uid and gid, with supplementary group; before any other verb */ \
    X(UMASK)           /* .value */ \
    X(EXIT)            /* at once, without cleaning up */ \
    X(EXEC)            /* a program that waits to be killed */ \
    X(CREATE)          /* .pages zeroed pages with .flags */ \
    X(PUBLISH)         /* SEGMENT_ID or .id; .acl_count 0: no list */ \
    X(OFFER)           /* CREATE and PUBLISH to both nodes for everybody */ \
    X(OFFER_PIECES)    /* OFFER, in two pieces: another segment has the second half of the memory */ \
    X(REPUBLISH) X(UNPUBLISH) X(DESTROY) \
    X(REBIND)          /* to new memory */ \
    X(LOAD) X(STORE)   /* 8 bytes of the memory at .offset */ \
    X(LOAD_OLD)        /* of the memory before the last REBIND */ \
    X(FREE)            /* unmap the memory */ \
    X(POST) X(WAIT) \
    X(CONNECT)         /* to SEGMENT_ID or .id of the exporter's node */ \
    X(MAP)             /* .pages from .offset */ \
    X(UNMAP) X(DISCONNECT) \
    X(PEEK) X(POKE)    /* 8 bytes of the mapping at .offset */ \
    X(STORM)           /* from now on store 1, 2, 3 ... at .offset, in a thread */ \
    X(END_STORM)       /* as soon as it has come to .value; answers the last one stored */ \
    X(BARRIER) X(OPEN) X(CLOSE) \
    X(PUT) X(GET)      /* 8 bytes at .offset of the segment */ \
    X(POST_IMPORT) X(WAIT_IMPORT) \
    X(AWAIT_ABORT)     /* CONN_ABORTED, or what the barrier says after 20 s */ \
    X(ATTACH)          /* CONNECT, MAP and BARRIER */
/* clang-format on */

enum verb {
#define VERB(name) VERB_##name,
    EACH_VERB(VERB)
#undef VERB
        VERBS
};

/** What a verb is told and what it answers. Unused members are 0. */
struct order {
    enum verb verb;
    int result;
    int slot;
    int timeout; /* ms */
    bool loopback;
    uint32_t id;
    uint32_t rights; /* of connect and map; 0 means both */
    uint32_t flags;
    uint32_t uid, gid, group;
    size_t pages;
    int64_t offset;
    uint64_t value;
    unsigned acl_count;
    rsmapi_access_entry_t acl[4];
};

/** Begin an order, and take the answer. */
void peer_begin(struct actor *peer, struct order order);
struct order peer_answer(struct actor *peer);

struct order peer_ask(struct actor *peer, struct order order);

#define BEGIN(peer, name, ...) peer_begin((peer), (struct order){.verb = VERB_##name, __VA_ARGS__})
#define ASK(peer, name, ...)   peer_ask((peer), (struct order){.verb = VERB_##name, __VA_ARGS__})
#define TELL(peer, name, ...)  ASK(peer, name, __VA_ARGS__).result
/** The answer must be success, or this code. */
#define TELL_OK(peer, name, ...)          OK(TELL(peer, name, __VA_ARGS__))
#define TELL_GET(wanted, peer, name, ...) EXPECT(wanted, TELL(peer, name, __VA_ARGS__))

/** An access list that lets both nodes in with that permission: entries, and how many. */
unsigned both_nodes(rsmapi_access_entry_t acl[2], rsm_permission_t permission);

#endif
