/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the window layer needs of a bridge. port_chardev.c has it of the kernel module;
 *  common/ports.h names the ports of this module.
 *
 *  A port shows a pool of memory to the other host and the other host's pool to this one. It says
 *  which session there is; it makes memory of ranges that the window layer has chosen, and keeps
 *  them busy after their end for as long as importers of the other host may still have them.
 *
 *  extent_*() and info() may be called by any thread; everything else by one at a time. */
#pragma once

#include "rsm/transport.h"
#include "transport/ntb/common/options.h"
#include "transport/ntb/common/posts.h"
#include "transport/ntb/common/wire.h"

struct ntb_port_ops;

struct ntb_port {
    const struct ntb_port_ops *ops;
};

struct ntb_port_info {
    uint64_t pool_size;   /**< bytes, with what belongs to the session */
    uint64_t pin_size;    /**< bytes behind the pool for extents in place; 0: none */
    uint64_t pool_first;  /**< offset of the first byte that extents may have */
    uint64_t granule;     /**< extents begin and end at multiples of it */
    uint64_t window_size; /**< bytes of the other pool that can be reached; 0 without a session */
    uint32_t extents_max;
    uint32_t epoch; /**< 0: no session */
    uint32_t generation, sequence;
    uint32_t peer_generation, peer_sequence;
    uint32_t peer_node; /**< 0: not known */
    bool posts;         /**< posts() gives the counters of connections */
    bool peer_posts;    /**< the other side can post by those */
    bool cuts;          /**< import_revoke() ends the mappings of other processes, too */
};

/** An extent that was there before the port was opened. */
struct ntb_port_extent {
    uint64_t id;
    uint64_t offset, length;
    bool quarantined; /**< only importers of the other host may still have it */
};

/** Memory of an extent. */
struct ntb_port_memory {
    uint64_t id;
    int fd;          /**< the port's, until extent_close() */
    uint64_t offset; /**< where the descriptor maps it */
};

/** Descriptors of an import: the receiver closes them. */
struct ntb_port_import {
    uint64_t id;
    int status, canary, data;
    uint64_t status_offset, canary_offset, data_offset;
    bool posts;             /**< the process can post, by the port's half there (import/poster.h) */
    unsigned post_fd_count; /**< of descriptors that it needs for that beside `data` */
    int post_fds[NTB_POST_FDS_MAX];
    uint64_t post_word; /**< its counter */
};

enum ntb_port_event_type {
    NTB_PORT_UP,   /**< a session began */
    NTB_PORT_DOWN, /**< it ended; imports made in it reach nothing any more if the port cuts */
    NTB_PORT_PEER, /**< the other host's node is another one */
    NTB_PORT_QUARANTINED, /**< extent `id` has no user on this host; extent_release() frees it */
    NTB_PORT_FREE,        /**< the range of extent `id` may be used again */
    NTB_PORT_LOST,        /**< events were lost: ask info() and extents() */
    NTB_PORT_GONE,        /**< the bridge has gone, for good */
};

struct ntb_port_event {
    enum ntb_port_event_type type;
    uint32_t epoch;
    uint64_t id;
};

struct ntb_port_ops {
    /** A failure is explained in the log, in one line that says what to do; so is why there can be
     *  no extents in place although @p options ask for them, which is no failure. */
    enum rsm_status (*open)(const struct rsm_controller_info *info,
                            const struct ntb_options *options, struct ntb_port **port);
    /** Whether open() would find a bridge that it can use, without taking it; explained
     *  likewise. */
    enum rsm_status (*check)(const struct rsm_controller_info *info,
                             const struct ntb_options *options);
    void (*close)(struct ntb_port *port);
    void (*info)(struct ntb_port *port, struct ntb_port_info *info);
    /** Why there is no session although there is a link, or ""; as trouble() of struct
     *  rsm_node_ops. */
    void (*trouble)(struct ntb_port *port, char *text, size_t size);

    /** Polls readable when service() has something to do. */
    int (*fd)(struct ntb_port *port);
    /** Look what has happened, without waiting. */
    void (*service)(struct ntb_port *port);
    /** The next event, oldest first; false: there is none. Any thread. */
    bool (*next)(struct ntb_port *port, struct ntb_port_event *event);

    /** All extents that the port has, of this daemon and of earlier ones, as many as fit; -1: they
     *  cannot be listed. */
    int (*extents)(struct ntb_port *port, struct ntb_port_extent *extents, unsigned capacity);
    /** Make an extent of zeros. */
    enum rsm_status (*extent_make)(struct ntb_port *port, uint64_t offset, uint64_t length,
                                   struct ntb_port_memory *memory);
    /** Extents in place, if info() has pin_size. The first makes an extent behind the pool,
     *  which has no memory and cannot be shared. The other one gives it that of this process at
     *  @p address: from then on until extent_close() returns the other host reads and writes
     *  these pages, whatever becomes of the mapping. RSM_ST_NO_RESOURCES: the process must not
     *  pin so much. */
    enum rsm_status (*extent_make_in_place)(struct ntb_port *port, uint64_t offset, uint64_t length,
                                            struct ntb_port_memory *memory);
    enum rsm_status (*extent_pin)(struct ntb_port *port, const struct ntb_port_memory *memory,
                                  void *address);
    /** The daemon needs it no more. Ends with NTB_PORT_FREE, perhaps after NTB_PORT_QUARANTINED. */
    void (*extent_close)(struct ntb_port *port, const struct ntb_port_memory *memory);
    /** No importer of the other host has it any more. False: not yet possible, try again. */
    bool (*extent_release)(struct ntb_port *port, uint64_t id);
    /** A descriptor of the extent for a process of this host; -1 with errno. @p offset: where it
     *  maps the extent. Without @p writable it can neither be mapped for writing nor made so. */
    int (*extent_share)(struct ntb_port *port, const struct ntb_port_memory *memory, bool writable,
                        uint64_t *offset);

    /** @p connection: the counter of the other side by which the process posts; NTB_NO_CONNECTION:
     *  none. RSM_ST_UNREACHABLE: @p epoch is not the present one. */
    enum rsm_status (*import_make)(struct ntb_port *port, const struct ntb_grant_piece *piece,
                                   uint32_t epoch, bool writable, uint32_t connection,
                                   struct ntb_port_import *import);
    /** End it; what a port that cannot cut does is to say so on the status page. */
    void (*import_revoke)(struct ntb_port *port, uint64_t id);
    /** The process that had it has gone or let go of it. */
    void (*import_close)(struct ntb_port *port, uint64_t id);

    /** Read the counters of @p count connections of this host's pool, from @p first on. False: they
     *  cannot be read. Called if info() has `posts`. */
    bool (*posts)(struct ntb_port *port, uint32_t first, uint32_t count, uint64_t *words);
};
