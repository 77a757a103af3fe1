/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The window layer: extents in the pool, grants to importers of the other host, imports from
 *  there, and the epochs in which they hold. The port deals with the hardware.
 *
 *  The memory of an extent is a range of the pool; or, if the port can pin and rsm.conf enables it,
 *  a memfd whose pages the port shows at a range behind the pool: in place. The other host sees no
 *  difference.
 *
 *  The life of an extent's range: made; given up by rsmd; quarantined until every grant of it has
 *  been released, which means that the importer's node has ended the import, and until the port
 *  reports that no process of this host has it; then zeroed by the port and free. Until then its
 *  user's share is charged.
 *
 *  Any thread makes and frees extents; all else runs on rsmd's main thread. */
#pragma once

#include <pthread.h>

/* A table that cannot grow must not end the daemon: after an addition, check hh.tbl. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "transport/ntb/node/allocator.h"
#include "transport/ntb/node/port.h"
#include "transport/ntb/node/shares.h"

struct ntb_extent {
    struct rsm_extent base;
    struct ntb_port_memory memory;
    bool in_place;           /**< base.fd is a memfd and belongs to the window; else to the port */
    struct ntb_range *range; /**< NULL: the port has freed it */
    uint32_t grants;         /**< not released */
    bool given_up;           /**< by rsmd, or by a daemon before this one */
    bool quarantined;        /**< the port waits for its release */
    bool inherited;          /**< of an earlier daemon: its importers are not known */
    bool waiting;            /**< in the window's list `waiting` */
    struct ntb_extent *prev, *next;
    struct ntb_extent *waiting_prev, *waiting_next;
    UT_hash_handle hh; /**< by memory.id; no tbl: there was no memory for it */
};

struct ntb_offer {
    struct rsm_node_offer base;
    uint32_t node; /**< the importer's */
    uint32_t uid;  /**< likewise */
    bool local;    /**< to a process of this host: it holds nothing */
    bool revoked;
    bool complained;     /**< of its counter */
    uint32_t connection; /**< its counter; NTB_NO_CONNECTION: the daemons carry its signals */
    uint64_t counted;    /**< of that */
    uint32_t count;
    struct ntb_offer *prev, *next;
    struct ntb_extent *extents[]; /**< held */
};

struct ntb_import {
    struct rsm_node_import base;
    uint32_t count;
    uint64_t ids[]; /**< of the port */
};

struct ntb_window {
    struct rsm_node_port base;
    struct ntb_port *port;
    struct ntb_port_info limits; /**< as the port was opened */
    uint32_t port_number;        /**< in ntb_port_kinds, for the tickets */
    uint32_t node;
    pthread_mutex_t lock;           /* of the allocator, the shares, the extents and the events */
    struct ntb_allocator allocator; /* of the pool */
    struct ntb_allocator in_place;  /* of what lies behind it; empty: the port cannot pin */
    struct ntb_shares shares;       /* of both, and of the counters */
    bool pins;                      /* new extents may be made in place */
    uint64_t pin_from;              /* bytes: as option pin_from */
    bool pin_refusal_logged;        /* the log has it, and no pin has succeeded since */
    struct ntb_extent *extents;     /* all of them */
    struct ntb_extent *by_id;       /* by memory.id */
    struct ntb_extent *waiting;     /* those that the next ntb_extents_settle() has to look at */
    bool lost;      /* events about extents were lost: what the port has must be read again */
    uint64_t looks; /* how often one extent was looked at because something had happened */
    /* not reported to rsmd yet */
    bool ended;   /* a session, or the node on the other side is another one */
    bool changed; /* anything */
    bool gone;
    /* last reported; used only by rsmd's thread */
    uint32_t reported_node;                         /* 0: no node is in reach */
    uint64_t reported_epoch;                        /* as node_state() means it */
    struct ntb_offer *offers;                       /* to importers of the other host */
    struct ntb_offer *connections[NTB_CONNECTIONS]; /* those that have a counter, by its number */
    uint32_t connections_end;                       /* no number from here on is in use */
    uint32_t connections_free;                      /* all numbers below are in use */
};

static inline struct ntb_window *ntb_window_of(struct rsm_node_port *port)
{
    return RSM_CONTAINER_OF(port, struct ntb_window, base);
}

/** Over an open port, which is then the window's. Of @p options, those about memory hold here.
 *  NULL: no memory, and the port is the caller's. */
struct ntb_window *ntb_window_begin(struct ntb_port *port, uint32_t node,
                                    const struct ntb_options *options);
/** Close it, and the port. */
void ntb_window_end(struct ntb_window *window);

/** Take the port's events. What concerns extents is dealt with; the rest is left for
 *  ntb_window_report(). Any thread. */
void ntb_window_pump(struct ntb_window *window);
void ntb_window_limit_users(struct rsm_node_port *port, const struct rsm_user_share *share);
/** Report to rsmd which node is in reach, if that has changed. On rsmd's thread. */
void ntb_window_report(struct ntb_window *window, const struct rsm_node_upcalls *up, void *context);

/* extents.c */

enum rsm_status ntb_extent_make(struct rsm_node_port *port, uint64_t length,
                                struct rsm_extent **extent);
/** Of the pool alone. */
enum rsm_status ntb_extent_make_not_pinned(struct rsm_node_port *port, uint64_t length,
                                           struct rsm_extent **extent);
enum rsm_status ntb_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                    struct rsm_extent **extent);
/** One of these, for the user. */
enum rsm_status ntb_extent_make_for(struct rsm_node_port *port,
                                    const struct rsm_extent_request *request,
                                    struct rsm_extent **extent);
void ntb_extent_free(struct rsm_node_port *port, struct rsm_extent *extent);
/** Lock held. Take over what a daemon before this one has left. */
void ntb_extents_inherit(struct ntb_window *window);
/** Lock held. An event of the port about an extent. */
void ntb_extent_event(struct ntb_window *window, const struct ntb_port_event *event);
/** Lock held. Something has happened to the extent after which it may be released or forgotten. */
void ntb_extent_changed(struct ntb_window *window, struct ntb_extent *extent);
/** Lock held. Extents that have changed, and those whose release the port has refused: what
 *  waits for nothing any more is released, and forgotten. True: something was released, which
 *  may be another event. */
bool ntb_extents_settle(struct ntb_window *window);
/** Lock held. Events were lost: take what has become of the extents from the port's own table.
 *  If it cannot be had, nothing changes, and the window stays `lost`. */
void ntb_extents_resync(struct ntb_window *window);

/* grants.c */

enum rsm_status ntb_offer_make(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                               unsigned count, uint32_t rights, const struct rsm_importer *importer,
                               struct rsm_offer *offer, struct rsm_node_offer **made);
void ntb_offer_revoke(struct rsm_node_port *port, struct rsm_node_offer *made);
/** The importer's node has released it. */
void ntb_offer_released(struct rsm_node_port *port, struct rsm_node_offer *made);
/** All that was revoked and offered to that node is released, and so is what daemons before this
 *  one offered. False: that is not known. */
bool ntb_offers_released(struct rsm_node_port *port, uint32_t node);

/* posts.c */

/** Give an offer to an importer of the other host a counter, if both hosts can do with one,
 *  there is one, and the importer's user may have one more. */
void ntb_posts_claim(struct ntb_window *window, struct ntb_offer *offer,
                     const struct ntb_port_info *info);
/** Free the counter of an offer, which the other host does not write any more. */
void ntb_posts_drop(struct ntb_window *window, struct ntb_offer *offer);
/** Report to rsmd what importers have posted since the last call. */
void ntb_posts_report(struct ntb_window *window, const struct rsm_node_upcalls *up, void *context);
extern const struct rsm_node_signal_ops ntb_node_signal_ops;

/* imports.c */

extern const struct rsm_node_import_ops ntb_node_import_ops;
