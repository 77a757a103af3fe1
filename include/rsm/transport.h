/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The transport vtable: what a fabric has to do so that librsm runs over it.
 *
 * A transport has two halves because two processes take part:
 *
 *  - the *import half* runs in the importing application. It connects with the offer that the
 *    exporter's node made, and moves data. Nothing it receives may be trusted further than the
 *    descriptors and keys in that offer reach.
 *  - the *node half* runs in rsmd. It owns the port, makes the memory extents that exported
 *    segments live in, and turns them into offers with exactly the rights that were granted.
 *
 * Neither half ever sees a type of RSMAPI or of SISCI. Every operation is thread-safe unless its
 * comment says otherwise. A table may leave any operation or sub-table marked *optional* NULL; the
 * core supplies the generic form, so no caller ever tests for NULL.
 *
 * Ports, connections, extents and offers are structures of the transport's own that embed the base
 * structure of this header. The core hands out and takes pointers to the base; RSM_CONTAINER_OF()
 * leads back.
 *
 * Compatibility: within one value of RSM_TRANSPORT_ABI tables, sub-tables, base structures, struct
 * rsm_node_upcalls and struct rsm_controller_info only grow at the end. Each states the size that
 * its owner was compiled with, and nobody reads or writes beyond that. The other structures do not
 * grow.
 *
 * doc/transports.md walks through a complete transport.
 */
#ifndef RSM_TRANSPORT_H
#define RSM_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface; raised when a member changes its meaning or goes. A module of another
 *  version is refused. */
#define RSM_TRANSPORT_ABI 2u

/** The structure of type @p type whose member @p member @p pointer points to. */
#define RSM_CONTAINER_OF(pointer, type, member)                                                    \
    ((type *)(void *)((uintptr_t)(pointer)-offsetof(type, member)))

/** Every outcome of an operation inside librsm, grouped by what is damaged. The faces (RSMAPI,
 *  SISCI) translate; the numbers travel on the control protocol and never change. */
#define RSM_STATUS_LIST(X)                                                                         \
    X(OK, 0, "success")                                                                            \
    /* the call itself: nothing happened */                                                        \
    X(INVALID, 1, "invalid argument")                                                              \
    X(RANGE, 2, "range lies outside the segment")                                                  \
    X(ALIGNMENT, 3, "address, offset or length is not aligned")                                    \
    X(FAULT, 4, "memory is not mapped or cannot be exported")                                      \
    X(DENIED, 5, "permission denied")                                                              \
    X(NO_MEMORY, 6, "out of memory")                                                               \
    X(NO_RESOURCES, 7, "out of descriptors, table entries or fabric resources")                    \
    X(UNSUPPORTED, 8, "not supported by this transport")                                           \
    X(TIMEOUT, 9, "timed out")                                                                     \
    X(INTERRUPTED, 10, "interrupted by a signal")                                                  \
    X(BUSY, 11, "in use")                                                                          \
    /* the segment */                                                                              \
    X(NOT_FOUND, 20, "no such segment")                                                            \
    X(NOT_TO_NODE, 21, "segment is not published to this node")                                    \
    X(ID_IN_USE, 22, "segment id is in use on this node")                                          \
    X(NOT_CREATOR, 23, "caller did not create the segment")                                        \
    X(BAD_RIGHTS, 24, "invalid list of rights")                                                    \
    X(NOT_PUBLISHED, 25, "segment is not published")                                               \
    X(ALREADY_PUBLISHED, 26, "segment is already published")                                       \
    X(MAP_FAILED, 27, "mapping failed")                                                            \
    X(ABORTED, 28, "connection to the segment was aborted")                                        \
    X(STALE, 29, "handle belongs to a daemon that has gone")                                       \
    /* the peer or the fabric */                                                                   \
    X(NO_CONTROLLER, 40, "no such controller")                                                     \
    X(UNREACHABLE, 41, "node is not reachable")                                                    \
    X(NO_ROUTE, 42, "node is not known on this controller")                                        \
    X(VERSION, 43, "peer speaks another version")                                                  \
    X(PROTOCOL, 44, "peer broke the protocol")                                                     \
    X(TRANSFER, 45, "transfer failed on the fabric")

enum rsm_status {
#define RSM_STATUS_ENUM(name, value, text) RSM_ST_##name = (value),
    RSM_STATUS_LIST(RSM_STATUS_ENUM)
#undef RSM_STATUS_ENUM
};

/** Rights over a segment; the bits of an rwx digit so that they need no translation. */
#define RSM_RIGHT_READ  4u
#define RSM_RIGHT_WRITE 2u

/** Capabilities of a port or of a connection. */
#define RSM_CAP_MAP           0x01u /**< map() gives memory that plain loads and stores reach */
#define RSM_CAP_REMOTE_SIGNAL 0x02u /**< signals->post() crosses the fabric behind the data */
#define RSM_CAP_LOCAL_MEMORY  0x04u /**< register_memory() avoids copies */
#define RSM_CAP_ASYNC         0x08u /**< put and get may return before the data has moved */
#define RSM_CAP_FAULT_SAFE    0x10u /**< what is below "software mappings" holds */

/** Most descriptors and bytes that one offer carries. */
#define RSM_OFFER_MAX_FDS      64u
#define RSM_OFFER_MAX_BLOB     2048u
#define RSM_TRANSPORT_NAME_MAX 32u

/**
 * What the exporter's node hands to one importer for one connection: opaque bytes whose layout
 * only the two halves of the transport know, and descriptors. Descriptors in an offer given to
 * connect() stay the caller's; the transport duplicates what it keeps.
 */
struct rsm_offer {
    uint32_t blob_len; /**< bytes used in blob, at most RSM_OFFER_MAX_BLOB */
    uint32_t fd_count; /**< descriptors used, at most RSM_OFFER_MAX_FDS */
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    int fds[RSM_OFFER_MAX_FDS];
};

/** One piece of a vectored transfer. */
struct rsm_transfer {
    void *local;     /**< address in this process */
    uint64_t remote; /**< byte offset from the start of the segment */
    size_t length;   /**< bytes, may be 0 */
};

/** One controller as its node's configuration describes it. */
struct rsm_controller_info {
    size_t size;         /**< bytes of this structure as the caller was compiled */
    const char *name;    /**< the administrator's name, e.g. "sci0" */
    const char *device;  /**< device name, or "" */
    const char *options; /**< the transport's own options, or "" */
    /** Milliseconds after which the node takes a peer that does not answer for dead; a transport
     *  that has such a time itself takes this one unless its options say another. 0: not told. */
    uint32_t peer_timeout_ms;
    /** The node that opens the controller. */
    uint32_t node;
};

/** Limits and abilities of a port, in the units that the APIs report. */
struct rsm_port_attr {
    uint32_t access_sizes;       /**< bits 1, 2, 4, 8: widths of single accesses, in bytes */
    uint32_t atomic_sizes;       /**< the same for accesses that are never torn */
    uint64_t page_size;          /**< bytes */
    uint64_t max_segment_size;   /**< bytes in one exported segment */
    uint64_t total_segment_size; /**< bytes exported together */
    uint64_t max_segments;       /**< exported segments */
    uint64_t max_map_size;       /**< bytes in one mapping */
    uint64_t total_map_size;     /**< bytes mapped together */
    uint64_t max_imports;        /**< connections */
    uint64_t hardware_address;   /**< unique on the fabric, 0 where there is none */
};

/** Signals of one party to another, all that have come together. */
struct rsm_signals {
    uint32_t count; /**< at most RSM_SIGNALS_MAX */
    bool coalesced; /**< before these, one more unless some are pending with their receiver */
};
#define RSM_SIGNALS_MAX 0x7fffffffu

/* ------------------------------------------------------------------ import half */

struct rsm_import_ops;

/** Base of a transport's state for one open controller in one process. */
struct rsm_port {
    const struct rsm_import_ops *ops; /**< the completed table; the core sets it after open() */
    uint32_t caps; /**< RSM_CAP_*: open() sets what connections of this port may have */
};

/** Base of a connection. */
struct rsm_conn {
    const struct rsm_import_ops *ops; /**< the completed table; the core sets it after connect() */
    struct rsm_port *port;            /**< the core sets it after connect() */
    uint32_t caps;                    /**< RSM_CAP_*: connect() sets those that this connection has,
                                           a subset of the port's; they never change */
    void *core;                       /**< the core's own */
};

/** Signals between an importer and the exporter's node over the fabric. */
struct rsm_signal_ops {
    size_t size; /**< sizeof(struct rsm_signal_ops) as the transport was compiled */

    /** Signal the exporter, behind all that this connection has written. With @p coalesce the
     *  signal counts for nothing while an earlier one is unconsumed. RSM_CAP_REMOTE_SIGNAL;
     *  optional: without it the core signals by the daemons. */
    enum rsm_status (*post)(struct rsm_conn *conn, bool coalesce);

    /* signals of the exporter: optional, without them they come by the daemons; all four or none.
     * The node half's part is struct rsm_node_signal_ops. */

    /** A descriptor that polls readable exactly while poll() has signals to give; it may do so once
     *  more when the connection has failed. -1: on this connection they come by the daemons. It
     *  stays the transport's, open and the same until disconnect(). */
    int (*fd)(struct rsm_conn *conn);
    /** Let the node signal this importer from now on, which it does not do before. Whoever calls
     *  this, once, watches the descriptor. On error, signals stay disabled. */
    enum rsm_status (*arm)(struct rsm_conn *conn);
    /** Take the signals that have arrived, without waiting. A get that begins later finds what the
     *  exporter stored before it posted them. RSM_ST_OK, with nothing in *taken if there are none;
     *  any other status says that no more will come. */
    enum rsm_status (*poll)(struct rsm_conn *conn, struct rsm_signals *taken);
    /** The signals of the latest poll() have been delivered: more may come. */
    void (*acknowledge)(struct rsm_conn *conn);
};

/** A single transfer whose end is reported. */
struct rsm_work {
    uint64_t cookie;              /**< the caller's; comes back in the completion */
    bool read;                    /**< true: get; false: put */
    struct rsm_transfer transfer; /**< inside the segment, and within the rights */
};

/** The end of a struct rsm_work. */
struct rsm_completion {
    uint64_t cookie;
    enum rsm_status status; /**< what became of it: RSM_ST_OK, or why it failed */
};

/** Most works of one connection whose completion has not been polled. */
#define RSM_WORK_MAX 256u

/**
 * Asynchronous single transfers. Works of one connection may be executed and completed in any
 * order, also relative to put() and get(). The status of a work is told by its completion alone and
 * not by complete(), which does not wait for works either.
 */
struct rsm_completion_ops {
    size_t size; /**< sizeof(struct rsm_completion_ops) as the transport was compiled */

    /** Begin a transfer. Its memory must stay valid until the completion has been polled. On error
     *  nothing has begun: RSM_ST_BUSY says that there are RSM_WORK_MAX, or as many as the fabric
     *  takes, whose completion has not been polled; RSM_ST_NO_MEMORY, RSM_ST_STALE. */
    enum rsm_status (*submit)(struct rsm_conn *conn, const struct rsm_work *work);
    /** Take at most @p most completions, without waiting. @return how many were taken. */
    unsigned (*poll)(struct rsm_conn *conn, struct rsm_completion *completions, unsigned most);
    /** Wait until poll() has something, at most @p timeout_ms milliseconds (-1: without limit).
     *  RSM_ST_OK; RSM_ST_TIMEOUT; RSM_ST_INTERRUPTED; RSM_ST_NOT_FOUND: nothing is under way. */
    enum rsm_status (*wait)(struct rsm_conn *conn, int timeout_ms);
};

struct rsm_import_ops {
    /* RSM_IMPORT_OPS_HEAD sets the version and the sizes. */
    uint32_t abi_version; /**< RSM_TRANSPORT_ABI */
    size_t size;          /**< sizeof(struct rsm_import_ops) as the transport was compiled */
    const char *name;     /**< e.g. "shm"; at most RSM_TRANSPORT_NAME_MAX - 1 characters */
    size_t port_size;     /**< sizeof(struct rsm_port), likewise */
    size_t conn_size;     /**< sizeof(struct rsm_conn) */

    /* port */

    /** Open the controller for this process. Called once per controller and process. Sets the
     *  port's `caps`; the core refuses a port with a capability whose operations are missing. */
    enum rsm_status (*open)(const struct rsm_controller_info *info, struct rsm_port **port);
    void (*close)(struct rsm_port *port);

    /* connection */

    /**
     * Connect to a segment of @p size bytes with the rights of the offer. The offer comes from
     * another process: every length, count and offset in it is checked here. Sets the connection's
     * `caps`; the other members of the base are the core's to set.
     */
    enum rsm_status (*connect)(struct rsm_port *port, const struct rsm_offer *offer, uint64_t size,
                               uint32_t rights, struct rsm_conn **conn);
    void (*disconnect)(struct rsm_conn *conn);

    /* transfer: the core has checked rights and range; offset + length is inside the segment.
     *
     * Software mappings: a transport without RSM_CAP_MAP that declares RSM_CAP_FAULT_SAFE gets
     * mappings from the mapping engine, which calls the transfers, order, complete and health from
     * a handler of SIGSEGV or SIGBUS and from threads of its own. That handler runs where some
     * instruction of the process has touched a mapping, with any lock of the process held but those
     * that this excludes. The promise is that these operations
     *  - hold no lock, no place in a queue and no other scarce thing while they touch memory that
     *    they were handed: it may be a mapping, and its fault is served by another connection of
     *    the same port before the access goes on. (A lock for reading that the thread may take for
     *    reading again, even when a writer waits, does no harm.) The engine's own transfers go from
     *    and to memory of its own;
     *  - allocate nothing, call no stdio and load nothing (no first use of a library, no dynamic
     *    thread-local variables). The engine is recognised, if need be, by SIGSEGV being blocked;
     *  - end by themselves when the peer has died, within the fabric's own time-out: no signal ends
     *    them, for all are blocked;
     *  - are no cancellation points; they may change errno;
     *  - get along with 12 KiB of stack;
     *  - leave the error of a put that nobody waited for to the next complete(), as always.
     * A transport without the promise is never called so, and its segments cannot be mapped. */

    /** Copy to or from the segment, in any access width. */
    enum rsm_status (*put)(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length);
    enum rsm_status (*get)(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
    /** @p count elements of @p width (1, 2, 4 or 8) bytes, ascending, each one single access.
     *  Offset and address are aligned to the width. Optional: generic form is put() per element. */
    enum rsm_status (*put_elems)(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t count);
    enum rsm_status (*get_elems)(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                                 size_t count);
    /** In order; on failure *done says how many entries are complete. Optional: generic form is
     *  put() or get() per entry. */
    enum rsm_status (*putv)(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done);
    enum rsm_status (*getv)(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done);

    /* mapping: RSM_CAP_MAP; optional, generic form refuses with RSM_ST_UNSUPPORTED */

    /**
     * Map [offset, offset + length) of the segment, offset a multiple of the page size, length a
     * multiple or reaching into the last page. @p rights chooses the protection and is a subset of
     * the granted ones. *address is a hint, or with @p fixed the exact place, replacing what is
     * there. Independent mappings of one connection may coexist.
     */
    enum rsm_status (*map)(struct rsm_conn *conn, uint64_t offset, size_t length, uint32_t rights,
                           bool fixed, void **address);
    enum rsm_status (*unmap)(struct rsm_conn *conn, void *address, size_t length);

    /* ordering */

    /** All earlier writes of this connection are visible before any later one. */
    enum rsm_status (*order)(struct rsm_conn *conn);
    /** All earlier accesses have happened, or an error that occurred since the last complete() is
     *  returned; it is never lost. While health() goes on to say RSM_ST_OK the error can be repaired
     *  by repeating the accesses; otherwise the connection is over. */
    enum rsm_status (*complete)(struct rsm_conn *conn);

    /* health: optional, generic form says RSM_ST_OK */

    /** RSM_ST_OK while the fabric still carries this connection; makes no system call. */
    enum rsm_status (*health)(struct rsm_conn *conn);

    /* local memory: RSM_CAP_LOCAL_MEMORY; optional, generic form accepts and does nothing */

    enum rsm_status (*register_memory)(struct rsm_port *port, void *address, size_t length,
                                       void **cookie);
    void (*unregister_memory)(struct rsm_port *port, void *cookie);

    /* memory of exported segments that is not a memfd: optional, generic form refuses */

    /**
     * Vouch for the descriptor of an extent of this port's node, of RSM_EXTENT_DEVICE: it came
     * from a daemon and is about to be mapped into the exporting application. RSM_ST_OK promises
     * that loads and stores in mappings of [@p offset, @p offset + @p length) of it never raise a
     * signal, whatever its maker does, and that this process may map it for both. Must not block,
     * whatever @p fd is. Any other status refuses it.
     */
    enum rsm_status (*extent_check)(struct rsm_port *port, int fd, uint64_t offset,
                                    uint64_t length);

    /* sub-tables: optional */

    const struct rsm_signal_ops *signals;         /**< NULL: signals go by the daemons */
    const struct rsm_completion_ops *completions; /**< NULL: submit() does put or get, then
                                                       complete(), before it returns */
};

/** The version and the sizes that a table begins with. */
#define RSM_IMPORT_OPS_HEAD                                                                        \
    .abi_version = RSM_TRANSPORT_ABI, .size = sizeof(struct rsm_import_ops),                       \
    .port_size = sizeof(struct rsm_port), .conn_size = sizeof(struct rsm_conn)

/* ------------------------------------------------------------------ node half */

struct rsm_node_ops;

/** Base of a transport's state for one controller in rsmd. */
struct rsm_node_port {
    const struct rsm_node_ops *ops; /**< the completed table; rsmd sets it after open() */
    uint32_t caps;                  /**< RSM_NODE_*: open() sets them; they never change */
};

/** What the descriptor of an extent is. */
enum rsm_extent_kind {
    /** A memfd of ordinary pages that is sealed against shrinking (F_SEAL_SHRINK), with `offset` 0.
     *  The exporter's library checks that by itself. */
    RSM_EXTENT_MEMFD = 1,
    /** Anything else that can be mapped, such as memory of a device. fstat(2) tells nothing of it:
     *  neither its size nor which extent it is. The exporter's library asks the import half, by
     *  extent_check(), before it maps it. */
    RSM_EXTENT_DEVICE = 2,
};

/**
 * Base of an extent: shareable memory that segments live in. extent_make() sets all members; they
 * never change. What a process finds in its list of mappings, the file and the offset in it, tells
 * one extent from all others: no two extents of a node that exist at the same time share both.
 */
struct rsm_extent {
    uint32_t kind;   /**< enum rsm_extent_kind */
    int fd;          /**< the exporting process maps it; it stays the transport's */
    uint64_t offset; /**< bytes: where the extent begins in what the descriptor maps; a multiple of
                          the page size */
    uint64_t length; /**< bytes, at least as many as were asked for */
};

/** Base of an offer that has been made and can be revoked. */
struct rsm_node_offer {
    struct rsm_node_port *port; /**< offer() sets it */
};

/** A run of bytes of one extent; a segment is a list of these in ascending order. */
struct rsm_extent_piece {
    struct rsm_extent *extent;
    uint64_t offset; /**< bytes into the extent, a multiple of the page size */
    uint64_t length; /**< bytes, a multiple of the page size */
};

/** Who will use an offer, as the kernel and the cluster vouch for it. */
struct rsm_importer {
    uint32_t node;
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool local; /**< it is on this host: its offer may have descriptors */
};

/** Abilities of a port of the node half. */

/** The descriptor of an extent is that of memory which processes of this host may map: a memfd of
 *  ordinary (not huge) pages, sealed against shrinking, of mode 0400, so that who is given a
 *  descriptor for reading can open no other. */
#define RSM_NODE_EXTENTS_SHAREABLE 0x01u
/** Importers on other hosts connect with offers of this transport, so none of those carries a
 *  descriptor. Without it a controller reaches the nodes of its own host alone, and shows no
 *  other. */
#define RSM_NODE_REACHES_HOSTS 0x02u
/** The memory of an extent is pinned, all of it, for as long as the extent is there: rsmd charges
 * it to the user, within what the daemon may pin (RLIMIT_MEMLOCK). */
#define RSM_NODE_EXTENTS_PINNED 0x04u
/** Any thread may call extent_make(), extent_adopt() and extent_free(), at any time, also while
 *  others do, or anything else on the same port is under way. rsmd then calls extent_free() from
 *  a thread for all extents but small ones, and extent_make() where extent_make_now() would take
 *  long. Without it rsmd calls everything from one thread, and whoever takes long holds up the
 * whole node: its clients, and its links to other hosts, which are lost when it takes too long. */
#define RSM_NODE_ANY_THREAD 0x08u

/** The port tells by the upcall node_state() which nodes it reaches. One that it has not told of
 *  cannot be reached over this controller, whatever the daemons' link says; without this ability
 *  the link alone decides. */
#define RSM_NODE_REPORTS_NODES 0x10u

/** Bytes. An extent that is not larger is made and freed in microseconds. */
#define RSM_EXTENT_SMALL (256u * 1024u)

/**
 * What a node half tells rsmd from within dispatch(), and from nowhere else. rsmd passes the same
 * table and context each time. `made` names an offer that has not been revoked; from within lost()
 * rsmd may revoke it, and any other offer from within either, so that a transport looks its lists
 * up anew after an upcall. An offer that rsmd does not know is ignored.
 */
struct rsm_node_upcalls {
    size_t size; /**< sizeof(struct rsm_node_upcalls) as rsmd was compiled; members may follow */
    /** The importer has signalled @p count times (not 0); every write that it made before has
     *  arrived. @p coalesced: these count for nothing while an earlier one is unconsumed, and for
     *  one otherwise. */
    void (*signalled)(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced);
    /** The fabric has lost the importer, for good: it ended, or cannot be reached. */
    void (*lost)(void *context, struct rsm_node_offer *made);
    /** The importer has taken the signals of the latest signals->send(); rsmd may call that again
     *  from within. */
    void (*taken)(void *context, struct rsm_node_offer *made);
    /** The port's own link to the fabric has gone down or come up; it is up until it is told. While
     *  it is down nothing is connected over the port, and connections to and from other hosts that
     *  it had are aborted at once. */
    void (*link_state)(void *context, struct rsm_node_port *port, bool up);
    /** The port reaches @p node, or does not any more. @p epoch is another one each time that the
     *  node has come back with nothing left of what connections had there (it was restarted); it is
     *  not looked at when @p up is false. Connections between the two nodes over this port are
     *  aborted when the node goes and when it comes with another epoch. The own node is ignored. */
    void (*node_state)(void *context, struct rsm_node_port *port, uint32_t node, bool up,
                       uint64_t epoch);
};

/** The exporter's signals over the fabric; for ports that have news. */
struct rsm_node_signal_ops {
    size_t size; /**< sizeof(struct rsm_node_signal_ops) as the transport was compiled */

    /**
     * Signal the importer of this offer; @p signals are some. The exporter stored before it called:
     * what the importer reads after it has taken them is at least that. Returns without waiting;
     * the upcall taken() tells when the importer, which may be stopped for long, has taken them.
     * Until then there is no second call, so that one importer takes no more of the
     * fabric than one signal whatever it does.
     * @return RSM_ST_OK; on error nothing was sent, and rsmd sends by the daemons' link instead:
     *         RSM_ST_UNSUPPORTED (this importer takes none, or not yet), RSM_ST_BUSY (not the only
     *         call), RSM_ST_UNREACHABLE (it has gone).
     */
    enum rsm_status (*send)(struct rsm_node_port *port, struct rsm_node_offer *made,
                            const struct rsm_signals *signals);
    /** Whether the importer will find the signals of the latest send(), which it has not taken yet,
     *  though the offer is revoked now: the call right before revoke(). If not, rsmd sends them by
     *  the daemons' link. In doubt no: a signal too many at the end of a connection does less harm
     *  than one that its importer waits for in vain. */
    bool (*arrived)(struct rsm_node_port *port, struct rsm_node_offer *made);
};

/** Base of an import that goes through the importer's node. */
struct rsm_node_import {
    struct rsm_node_port *port; /**< accept() sets it */
};

/**
 * For fabrics whose importers get what they map from their own node, such as descriptors of a
 * device: a process needs no privilege then, and its node can take back what it gave.
 *
 * An offer to a process of another host is given to accept() there, and the process connects with
 * the offer that accept() makes of it. The exporter's node learns when the import has ended: until
 * released(), an offer to another host that has been revoked still holds its memory. As revoke()
 * cannot reach across, the exporter leaves the extent before anybody else gets that memory.
 */
struct rsm_node_import_ops {
    size_t size; /**< sizeof(struct rsm_node_import_ops) as the transport was compiled */

    /**
     * A process of this host is to connect to a segment of @p size bytes of node @p exporter, whose
     * node half made @p offer; every length and offset in it is checked here. Fill *local for
     * connect(); descriptors in it belong to the caller, who closes them after sending. @return
     * RSM_ST_OK; RSM_ST_UNREACHABLE: the fabric does not reach that node any more, or the offer is
     * of a time before it was lost; RSM_ST_PROTOCOL: it makes no sense.
     */
    enum rsm_status (*accept)(struct rsm_node_port *port, uint32_t exporter, uint64_t size,
                              uint32_t rights, const struct rsm_importer *importer,
                              const struct rsm_offer *offer, struct rsm_offer *local,
                              struct rsm_node_import **made);
    /** The connection was cut. True: no access of the process reaches the exporter any more. False:
     *  that holds only after close(). */
    bool (*revoke)(struct rsm_node_port *port, struct rsm_node_import *made);
    /** The process has disconnected or ended; with or without revoke() before. */
    void (*close)(struct rsm_node_port *port, struct rsm_node_import *made);

    /** The exporter's side: the importer's node has ended the import of this offer, which was
     *  revoked before. The offer is gone when it returns. */
    void (*released)(struct rsm_node_port *port, struct rsm_node_offer *made);
    /** The daemons' link to @p node has come up anew: that node has cut all connections that there
     *  were before. True: that is enough, and all offers to it that were revoked are gone when it
     *  returns. False: released() will tell of each. */
    bool (*all_released)(struct rsm_node_port *port, uint32_t node);
};

struct rsm_node_ops {
    /* RSM_NODE_OPS_HEAD sets the version and the sizes. */
    uint32_t abi_version; /**< RSM_TRANSPORT_ABI */
    size_t size;          /**< sizeof(struct rsm_node_ops) as the transport was compiled */
    const char *name;     /**< the same as the import half's */
    size_t port_size;     /**< sizeof(struct rsm_node_port), likewise */
    size_t extent_size;   /**< sizeof(struct rsm_extent) */
    size_t offer_size;    /**< sizeof(struct rsm_node_offer) */

    /* port */

    /** Open the controller. Sets the port's `caps`. */
    enum rsm_status (*open)(const struct rsm_controller_info *info, struct rsm_node_port **port);
    void (*close)(struct rsm_node_port *port);
    void (*attributes)(struct rsm_node_port *port, struct rsm_port_attr *attr);

    /* extents */

    /**
     * Make an extent of @p length bytes (a multiple of the page size) of zeros and fill in its
     * base. Must not take long unless RSM_NODE_ANY_THREAD says that a thread may do it; memory is
     * populated by the exporter.
     */
    enum rsm_status (*extent_make)(struct rsm_node_port *port, uint64_t length,
                                   struct rsm_extent **extent);
    /** Give the extent up. Importers that still hold it keep valid memory that is nobody's. When it
     *  returns, memory that nobody else holds is free: the user's account is credited then. */
    void (*extent_free)(struct rsm_node_port *port, struct rsm_extent *extent);

    /* offers */

    /**
     * Fill *offer so that this one importer reaches these pieces with exactly these rights. The
     * descriptors put into the offer belong to the caller, who closes them after sending.
     */
    enum rsm_status (*offer)(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                             unsigned count, uint32_t rights, const struct rsm_importer *importer,
                             struct rsm_offer *offer, struct rsm_node_offer **made);
    /** End the offer. From the return on the fabric carries no further access by it where the
     *  fabric can do that; where it cannot (shared memory), the exporter leaves the extent. */
    void (*revoke)(struct rsm_node_port *port, struct rsm_node_offer *made);

    /* news of the fabric: optional, generic form has none; both or neither */

    /**
     * A descriptor that polls readable whenever dispatch() has something to do, for as long as it
     * has; -1: nothing ever happens on this port. It stays the transport's, open and the same from
     * open() to close(). An offer of a port that has one is told apart by its address: offer()
     * returns another *made each time.
     */
    int (*event_fd)(struct rsm_node_port *port);
    /** Deal with what has happened and return without waiting for more. rsmd calls it from the
     *  thread that calls everything else of the node half, when the descriptor polls readable. */
    void (*dispatch)(struct rsm_node_port *port, const struct rsm_node_upcalls *up, void *context);

    /* memory that several transports know: optional */

    /**
     * Make an extent of memory that another transport has made: @p fd is as
     * RSM_NODE_EXTENTS_SHAREABLE says, of @p length bytes (a multiple of the page size), and stays
     * the caller's. The extent is given up by extent_free() like any other. Generic form refuses
     * with RSM_ST_UNSUPPORTED. RSM_ST_INVALID: it is not such memory.
     */
    enum rsm_status (*extent_adopt)(struct rsm_node_port *port, int fd, uint64_t length,
                                    struct rsm_extent **extent);

    /* extents that take long to make: optional, generic form is extent_make(); with
     * RSM_NODE_ANY_THREAD only */

    /** The same as extent_make(), for the thread that serves everybody: RSM_ST_BUSY if it would
     * take long, with nothing done. rsmd then calls extent_make() from another thread. */
    enum rsm_status (*extent_make_now)(struct rsm_node_port *port, uint64_t length,
                                       struct rsm_extent **extent);

    /* sub-tables: optional */

    const struct rsm_node_signal_ops *signals; /**< NULL: they go by the daemons */
    const struct rsm_node_import_ops *imports; /**< NULL: processes of other hosts connect with an
                                                    offer as it was made */
};

/** The version and the sizes that a table begins with. */
#define RSM_NODE_OPS_HEAD                                                                          \
    .abi_version = RSM_TRANSPORT_ABI, .size = sizeof(struct rsm_node_ops),                         \
    .port_size = sizeof(struct rsm_node_port), .extent_size = sizeof(struct rsm_extent),           \
    .offer_size = sizeof(struct rsm_node_offer)

/** Symbols that a transport module (librsm_NAME.so in <libdir>/rsm/) defines; the version in the
 *  name keeps a module of another ABI from being taken for one of this. */
#define RSM_IMPORT_OPS_SYMBOL "rsm_transport_import_ops_v2"
#define RSM_NODE_OPS_SYMBOL   "rsm_transport_node_ops_v2"

/** Where a module's messages go: one line of text without newline; @p level 0 error, 1 warning, 2
 *  information, 3 debugging. Any thread may call it. */
typedef void (*rsm_transport_log)(int level, const char *text);

/** A module may define a function of this name and of type void (rsm_transport_log log): it is
 * called before any of its operations, perhaps more than once with the same value. */
#define RSM_MODULE_LOG_SYMBOL "rsm_transport_log_v1"

#ifdef __cplusplus
}
#endif

#endif /* RSM_TRANSPORT_H */
