/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The links to the rsmds of other hosts: made, authenticated, watched and made again. Messages for
 * the node go to callbacks. All functions run on rsmd's main thread.
 */
#pragma once

#include <stdbool.h>

#include "conf/conf.h"
#include "cluster/proto.h"

struct event_base;
struct rsmd_cluster;

enum rsmd_link_state {
    RSMD_LINK_NONE,     /* no such node, or it has no address */
    RSMD_LINK_IDLE,     /* not connected; made on demand */
    RSMD_LINK_DOWN,     /* not connected; retried, or the last attempt has just failed */
    RSMD_LINK_STARTING, /* connected, not yet authenticated */
    RSMD_LINK_UP,
};

/** Callbacks. Called from the event loop; of the functions below, only rsmd_cluster_proceed() calls
 *  them. message() comes only between up() and down() of that node. */
struct rsmd_cluster_user {
    void *context;
    void (*up)(void *context, uint32_t node);
    void (*down)(void *context, uint32_t node);
    void (*message)(void *context, uint32_t node, const struct rsm_cluster_msg *msg);
    /** Whether connections of the former link have not ended: the next link waits, with all its
     *  messages, until rsmd_cluster_proceed(). NULL: never. */
    bool (*busy)(void *context, uint32_t node);
    /** Whether there is a connection with that node, or what is left of one: a link on demand is
     *  kept, or made again. NULL: never. */
    bool (*in_use)(void *context, uint32_t node);
    /** The link that rsmd_cluster_need() has asked for can be used, or cannot be made. */
    void (*needed)(void *context, uint32_t node, bool made);
    /** The other end has not answered for half of the peer time-out, or answers again. Comes only
     *  between up() and down(), and alternates from true. NULL: not of interest. */
    void (*silent)(void *context, uint32_t node, bool silent);
};

/** The answer of rsmd_cluster_need(). */
enum rsmd_link_use {
    RSMD_LINK_USABLE,
    RSMD_LINK_AWAITED,  /* needed() comes */
    RSMD_LINK_UNUSABLE, /* no such node, or the link is permanent and not up */
};

/**
 * Listen at this node's address and connect to all nodes with an address. NULL: *why has the
 * reason. The configuration must stay valid. Without any address in it nothing is opened.
 * @param library  of MUNGE: RSMD_MUNGE_LIBRARY except in tests.
 */
struct rsmd_cluster *rsmd_cluster_start(struct event_base *base, const struct rsmd_conf *conf,
                                        uint32_t own, const struct rsmd_cluster_user *user,
                                        const char *library, char *why, size_t why_size);
/** Whether a node is on this host, in the same runtime directory: it is not called then. Asked
 *  before each attempt. */
typedef bool rsmd_cluster_is_same_host(void *context, uint32_t node);
void rsmd_cluster_set_same_host(struct rsmd_cluster *cluster,
                                rsmd_cluster_is_same_host *is_neighbour, void *context);

/**
 * Link with a node that was added to the configuration, and stays there. It must have an address,
 * and no link yet.
 * @return false: this node has no links, because it had no address when it started, or no memory.
 */
bool rsmd_cluster_add(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node);

/** The address of a node, whose link is not up, has changed in the configuration. */
void rsmd_cluster_moved(struct rsmd_cluster *cluster, uint32_t node);

/** The configuration was read again: read certificates again, for connections that come from now
 *  on, and decide again whether links are permanent. @p cluster may be NULL. */
void rsmd_cluster_reload(struct rsmd_cluster *cluster);

/** busy() has become false for that node. May call up(). @p cluster may be NULL. */
void rsmd_cluster_proceed(struct rsmd_cluster *cluster, uint32_t node);

/** Use the link to a node for a message that begins something. A link on demand that is not there
 *  is made. Never calls a callback. @p cluster may be NULL. */
enum rsmd_link_use rsmd_cluster_need(struct rsmd_cluster *cluster, uint32_t node);

/** Whether a node can be taken for reachable: its link is up, or made on demand, and no attempt has
 *  failed in the last RSMD_FAILURE_COUNTS_MS. @p cluster may be NULL. */
bool rsmd_cluster_may_reach(const struct rsmd_cluster *cluster, uint32_t node);

/** Whether links are made on demand. @p cluster may be NULL. */
bool rsmd_cluster_is_on_demand(const struct rsmd_cluster *cluster);

/** Count the configured links, and those that are up or not needed. @p cluster may be NULL. */
void rsmd_cluster_count(const struct rsmd_cluster *cluster, uint32_t *wanted, uint32_t *up);

/** Close all links without calling down(). */
void rsmd_cluster_stop(struct rsmd_cluster *cluster);

/** Queue a message. False: the link is not up (or its queue is full, which ends the link), or the
 *  message breaks its bounds, or @p cluster is NULL. */
bool rsmd_cluster_send(struct rsmd_cluster *cluster, uint32_t node,
                       const struct rsm_cluster_msg *msg);

/** Bytes that wait to be sent to a node; messages that can wait are not sent meanwhile. 0: the link
 *  is not up. */
size_t rsmd_cluster_queued(const struct rsmd_cluster *cluster, uint32_t node);

/** The state of a link; @p text, unless NULL, receives the reason of the last failure, or "".
 *  @p cluster may be NULL. */
enum rsmd_link_state rsmd_cluster_state(const struct rsmd_cluster *cluster, uint32_t node,
                                        const char **text);

/** All that is known of a link, or of this node's own end. */
struct rsmd_link_about {
    uint32_t state;   /* enum rsm_link_state of protocol/proto.h */
    uint32_t version; /* of the protocol, while it is up */
    const char *text;
    uint64_t up_ms;                      /* since it came up; 0: it is not up */
    uint64_t failure_ms;                 /* since the failure that `text` describes; 0: not known */
    uint64_t sent_bytes, received_bytes; /* by all TCP connections of the link so far */
    uint64_t expires; /* seconds since 1970: of the certificate of this node, or of the other one
                         while the link is up; 0: there is none */
};
/** False: no such node, or it has no address. */
bool rsmd_cluster_about(const struct rsmd_cluster *cluster, uint32_t node,
                        struct rsmd_link_about *about);
