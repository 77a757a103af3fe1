/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The links to the rsmds of other hosts: made, authenticated, watched and made again. Knows nothing
 * of segments; whoever does gives callbacks. All on rsmd's one thread.
 */
#ifndef RSMD_CLUSTER_CLUSTER_H
#define RSMD_CLUSTER_CLUSTER_H

#include <stdbool.h>

#include "conf/conf.h"
#include "cluster/proto.h"

struct event_base;
struct rsmd_cluster;

enum rsmd_link_state {
    RSMD_LINK_NONE,     /* no such node, or it has no address */
    RSMD_LINK_DOWN,     /* not connected; tried again and again */
    RSMD_LINK_STARTING, /* connected, not yet authenticated */
    RSMD_LINK_UP,
};

/** What happens on the links. Called from the event loop, never from within a function below but
 *  rsmd_cluster_proceed(); message() only between up() and down() of that node. */
struct rsmd_cluster_user {
    void *context;
    void (*up)(void *context, uint32_t node);
    void (*down)(void *context, uint32_t node);
    void (*message)(void *context, uint32_t node, const struct rsm_cluster_msg *msg);
    /** Not yet done with what went over the former link: the next one waits, with all that comes
     *  over it, until rsmd_cluster_proceed(). May be NULL: never. */
    bool (*busy)(void *context, uint32_t node);
};

/**
 * Listen where this node's entry says and connect to all nodes with an address. NULL: *why tells.
 * The configuration must stay valid. Without any address in it nothing is opened.
 */
struct rsmd_cluster *rsmd_cluster_start(struct event_base *base, const struct rsmd_conf *conf,
                                        uint32_t own, const struct rsmd_cluster_user *user,
                                        char *why, size_t why_size);
/** Whether a node is on this host, in the same runtime directory: it is not called then. Asked
 *  before each attempt. */
typedef bool rsmd_cluster_is_same_host(void *context, uint32_t node);
void rsmd_cluster_set_same_host(struct rsmd_cluster *cluster,
                                rsmd_cluster_is_same_host *is_neighbour, void *context);

/**
 * Link with one more node, which has come into the configuration (and stays there). It must have an
 * address, and no link yet.
 * @return false: this node has no links, because it had no address when it started, or no memory.
 */
bool rsmd_cluster_add(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node);

/** busy() is not true any more of that node; may call up(). @p cluster may be NULL. */
void rsmd_cluster_proceed(struct rsmd_cluster *cluster, uint32_t node);

/** How many links are wanted, and how many of them are up or not needed. @p cluster may be NULL. */
void rsmd_cluster_count(const struct rsmd_cluster *cluster, uint32_t *wanted, uint32_t *up);

/** Close all links without calling down(). */
void rsmd_cluster_stop(struct rsmd_cluster *cluster);

/** Queue a message. False: the link is not up (or its queue is full, which ends the link), or the
 *  message breaks its bounds, or @p cluster is NULL. */
bool rsmd_cluster_send(struct rsmd_cluster *cluster, uint32_t node,
                       const struct rsm_cluster_msg *msg);

/** Bytes that wait to be sent to a node; who can wait does not send then. 0: the link is not up. */
size_t rsmd_cluster_queued(const struct rsmd_cluster *cluster, uint32_t node);

/** State of a link; with @p text (may be NULL) the reason of the last failure ("" if there was
 *  none). @p cluster may be NULL. */
enum rsmd_link_state rsmd_cluster_state(const struct rsmd_cluster *cluster, uint32_t node,
                                        const char **text);

/** All that is known of a link, or of this node's own end. */
struct rsmd_link_about {
    uint32_t state;   /* enum rsm_link_state of protocol/proto.h */
    uint32_t version; /* of the protocol, while it is up */
    const char *text;
    uint64_t up_ms;      /* for so long it has been up; 0 unless it is up */
    uint64_t failure_ms; /* so long ago was the failure that `text` names; 0: not known */
    uint64_t sent_bytes, received_bytes; /* by all TCP connections that were the link */
};
/** False: no such node, or it has no address. */
bool rsmd_cluster_about(const struct rsmd_cluster *cluster, uint32_t node,
                        struct rsmd_link_about *about);

#endif
