/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The transport interface: the operations that let librsm use a fabric.
 *
 * A transport has two halves because two processes take part:
 *
 *  - the *import half* runs in the importing application. It connects by an offer that the
 *    exporter's node made, and moves data. It must not trust what it receives beyond the access
 *    that the descriptors and keys in that offer grant.
 *  - the *node half* runs in rsmd. It owns the port, makes the memory extents that hold exported
 *    segments, and makes offers of them with exactly the rights that were granted.
 *
 * Neither half ever sees a type of RSMAPI or of SISCI. Every operation is thread-safe unless its
 * comment says otherwise.
 *
 * A table says what a transport can do. An operation or a sub-table marked *optional* may be NULL:
 * the transport cannot, and the core supplies the generic form or does without. Operations that
 * come together are all there or all NULL, and a table that breaks this is refused when it is
 * loaded. Capability bits say only what a table cannot: promises, and which of the table's
 * operations this port or this connection has, where that may differ from one to the next.
 *
 * The transport defines its own structures for ports, connections, extents and offers, each of
 * which embeds the base structure of this header. The core passes pointers to the base;
 * RSM_CONTAINER_OF() converts them to the transport's structure.
 *
 * fork(): a connection with RSM_CAP_FORK works in a forked child, too, at the same time as in the
 * parent. Of any other connection, and of a port without that capability, the child gets
 * RSM_ST_STALE from every operation: the core answers itself and never calls the transport in the
 * child, not even disconnect() or close(). A child opens ports of its own for new connections. So a
 * transport without the capability needs to do nothing about fork() but to set close-on-exec on its
 * descriptors, and to end a stream by more than a last close(2): the child has a copy of each
 * descriptor until it ends.
 *
 * In rsmd one thread, that of the event loop, calls the node half, except for what
 * RSM_NODE_ANY_THREAD and the upcall submit() say. rsmd ignores SIGPIPE and takes SIGTERM, SIGINT,
 * SIGHUP and SIGUSR2 in its loop; a transport changes neither masks nor handlers. It may have
 * threads of its own: it blocks all signals in them, makes no upcall from them, and has ended them
 * when close() returns. The import half runs in threads of the application, with the masks that
 * they have.
 *
 * Compatibility: within one value of RSM_TRANSPORT_ABI a structure that begins with `size`, a table
 * and a base structure grow only at the end. The size is that with which the owner was compiled
 * (of a base structure: in the table), and no one reads or writes beyond it. A structure that says
 * "never grows" has no size.
 *
 * doc/transports.md walks through a complete transport and has a table of the statuses.
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

/** Version of this interface. It increases when a member changes its meaning or is removed. The
 *  core refuses a module of another version. */
#define RSM_TRANSPORT_ABI 1u

/** The structure of type @p type whose member @p member @p pointer points to. */
#define RSM_CONTAINER_OF(pointer, type, member)                                                    \
    ((type *)(void *)((uintptr_t)(pointer)-offsetof(type, member)))

/** Every result of an operation inside librsm, grouped by what is affected. The APIs (RSMAPI,
 *  SISCI) translate them. The numbers are part of the control protocol and never change. */
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

/** Capabilities of a port or of a connection. The first two are about operations that the table
 *  has: this port or connection offers them. The others are promises. */
#define RSM_CAP_MAP           0x01u /**< map() gives memory that plain loads and stores reach */
#define RSM_CAP_REMOTE_SIGNAL 0x02u /**< signals->post() crosses the fabric behind the data */
#define RSM_CAP_ASYNC         0x08u /**< put and get may return before the data has moved */
#define RSM_CAP_FAULT_SAFE    0x10u /**< keeps the promise under "software mappings" below */
#define RSM_CAP_FORK          0x20u /**< works in a forked child, see "fork()" above */

/** The greatest number of descriptors and of bytes in one offer. */
#define RSM_OFFER_MAX_FDS  64u
#define RSM_OFFER_MAX_BLOB 2048u
/** The greatest number of bytes in one request. */
#define RSM_REQUEST_MAX        256u
#define RSM_TRANSPORT_NAME_MAX 32u

/**
 * What the exporter's node gives to one importer for one connection: descriptors, and opaque bytes
 * whose layout only the two halves of the transport know. The descriptors in an offer passed to
 * connect() still belong to the caller; the transport duplicates those that it keeps.
 *
 * The core sets `size`, `node`, `address` and `request` of each offer that it passes to an
 * operation. The importer's daemon vouches for `node` and `address`; an address in the blob is
 * the exporter's word alone.
 */
struct rsm_offer {
    size_t size;       /**< bytes of this structure when the caller was compiled */
    uint32_t node;     /**< the exporter's node */
    uint32_t blob_len; /**< bytes used in blob, at most RSM_OFFER_MAX_BLOB */
    uint32_t fd_count; /**< descriptors used, at most RSM_OFFER_MAX_FDS */
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    int fds[RSM_OFFER_MAX_FDS];
    /** The host of the exporter's node's address, as rsm.conf of the importer's node has it. "":
     *  none is configured, or the exporter is on this host. */
    const char *address;
    /** In connect(): what connect_request() of this port wrote for this connection, and how many
     *  bytes. NULL and 0 elsewhere, and without that operation. */
    const uint8_t *request;
    uint32_t request_len;
};

/** What an importer asks of the exporter's node before that makes the offer. */
struct rsm_connect_request {
    size_t size;         /**< bytes of this structure when the caller was compiled */
    uint32_t node;       /**< the exporter's node */
    uint32_t length;     /**< bytes used in data, at most RSM_REQUEST_MAX; the core sets 0 */
    const char *address; /**< as in struct rsm_offer */
    uint8_t data[RSM_REQUEST_MAX];
};

/** One piece of a vectored transfer. Never grows. */
struct rsm_transfer {
    void *local;     /**< address in this process */
    uint64_t remote; /**< byte offset from the start of the segment */
    size_t length;   /**< bytes, may be 0 */
};

/** One controller as its node's configuration describes it. */
struct rsm_controller_info {
    size_t size;         /**< bytes of this structure when the caller was compiled */
    const char *name;    /**< the administrator's name, e.g. "sci0" */
    const char *device;  /**< device name, or "" */
    const char *options; /**< the transport's own options, or "" */
    /** Milliseconds after which the node regards a peer that does not answer as dead. A transport
     *  with a time-out of this kind uses this value unless its options set another. 0: unknown. */
    uint32_t peer_timeout_ms;
    /** The node that opens the controller. */
    uint32_t node;
    /** The host of this node's address in rsm.conf, or "" where none is configured: with it the
     *  file can be the same on all nodes. */
    const char *address;
    /** Whether no other host can read or change what the nodes' daemons send each other, as far as
     *  rsm.conf says: their links are encrypted, or stay on one host. Offers travel by them, so a
     *  secret in an offer is one only then. False in applications. */
    bool links_private;
};

/** Limits and abilities of a port, in the units that the APIs report. */
struct rsm_port_attr {
    size_t size;                 /**< bytes of this structure when the caller was compiled */
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

/** Signals from one party to another that are delivered together. Never grows. */
struct rsm_signals {
    uint32_t count; /**< at most RSM_SIGNALS_MAX */
    bool coalesced; /**< one more, before these, unless the receiver has some pending */
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
    /** of accesses whose calls had returned RSM_ST_OK; it only grows, by rsm_conn_failed(); any
     *  thread may read it by rsm_conn_failures() */
    uint32_t failures;
    void *core; /**< for the core alone */
};

/** Count a failure of an access whose call has returned RSM_ST_OK, or will. Any thread. */
static inline void rsm_conn_failed(struct rsm_conn *conn)
{
    __atomic_fetch_add(&conn->failures, 1, __ATOMIC_RELEASE);
}

/** The number of such failures so far. A difference to an earlier value means new ones. */
static inline uint32_t rsm_conn_failures(const struct rsm_conn *conn)
{
    return __atomic_load_n(&conn->failures, __ATOMIC_ACQUIRE);
}

/** Signals between an importer and the exporter's node over the fabric. */
struct rsm_signal_ops {
    size_t size; /**< sizeof(struct rsm_signal_ops) when the transport was compiled */

    /** Signal the exporter after everything that this connection has written. With @p coalesce the
     *  signal does not count while an earlier one has not been consumed. RSM_CAP_REMOTE_SIGNAL.
     *  Optional: without it the daemons carry the core's signals. */
    enum rsm_status (*post)(struct rsm_conn *conn, bool coalesce);

    /* Signals of the exporter: optional, all four or none. Without them the daemons carry these
     * signals. The counterpart in the node half is struct rsm_node_signal_ops. */

    /** A descriptor that is readable exactly while poll() has signals to return, and possibly once
     *  more when the connection has failed. -1: the daemons carry the signals of this connection.
     *  The descriptor belongs to the transport, which keeps it open and unchanged until
     *  disconnect(). */
    int (*fd)(struct rsm_conn *conn);
    /** Let the node signal this importer from now on; it does not before. The caller, who calls
     *  this once, watches the descriptor. On error, signals stay disabled. */
    enum rsm_status (*arm)(struct rsm_conn *conn);
    /** Take the signals that have arrived, without waiting. A get that begins later returns what
     *  the exporter stored before it posted them. RSM_ST_OK, with an empty *taken if there are
     *  none. Any other status means that no more will arrive. */
    enum rsm_status (*poll)(struct rsm_conn *conn, struct rsm_signals *taken);
    /** The signals of the latest poll() have been delivered: the node may send more. */
    void (*acknowledge)(struct rsm_conn *conn);
};

/** A single transfer whose end is reported. Never grows: works of another kind would be another
 *  operation. */
struct rsm_work {
    uint64_t cookie;              /**< chosen by the caller; returned in the completion */
    bool read;                    /**< true: get; false: put */
    struct rsm_transfer transfer; /**< inside the segment, and within the rights */
};

/** The end of a struct rsm_work. Never grows. */
struct rsm_completion {
    uint64_t cookie;
    enum rsm_status status; /**< RSM_ST_OK, or why the transfer failed */
};

/** The greatest number of works of one connection whose completions have not been polled. */
#define RSM_WORK_MAX 256u

/**
 * Asynchronous single transfers. The works of one connection may be executed and completed in any
 * order, also relative to put() and get(). Only its completion reports the status of a work;
 * complete() neither reports it nor waits for works.
 */
struct rsm_completion_ops {
    size_t size; /**< sizeof(struct rsm_completion_ops) when the transport was compiled */

    /** Begin a transfer. Its memory must stay valid until the completion has been polled. On error
     *  nothing has begun. RSM_ST_BUSY: RSM_WORK_MAX works, or as many as the fabric takes, have
     *  completions that have not been polled; RSM_ST_NO_MEMORY; RSM_ST_STALE. */
    enum rsm_status (*submit)(struct rsm_conn *conn, const struct rsm_work *work);
    /** Take at most @p most completions, without waiting. @return the number taken. */
    unsigned (*poll)(struct rsm_conn *conn, struct rsm_completion *completions, unsigned max);
    /** Wait until poll() has a completion, at most @p timeout_ms milliseconds (-1: without limit).
     *  RSM_ST_OK; RSM_ST_TIMEOUT; RSM_ST_INTERRUPTED; RSM_ST_NOT_FOUND: nothing is under way. */
    enum rsm_status (*wait)(struct rsm_conn *conn, int timeout_ms);
};

/*
 * Software mappings: if a transport without RSM_CAP_MAP declares RSM_CAP_FAULT_SAFE, the mapping
 * engine maps its segments. The engine calls the transfers, get_snapshot, order, complete and
 * health from a handler of SIGSEGV and from threads of its own, with all signals blocked, and
 * passes memory of its own, which never faults. The handler runs wherever an instruction of the
 * program has accessed a mapping; the thread may then hold any lock of the program and of the C
 * library. What is needed is that these operations
 *  - hold no lock and nothing else that a transfer of another connection waits for while they
 *    access memory that the program gave them: that access may fault, and what serves the fault may
 *    transfer over another connection of the port. (Mappings of the engine are no such memory: the
 *    core copies what is in them);
 *  - do not allocate memory, call stdio or load anything (no first use of a library, no dynamic
 *    thread-local variables);
 *  - return when the peer has died, within the fabric's time-out;
 *  - are not cancellation points; they may change errno;
 *  - need at most 12 KiB of stack. An operation can detect calls of the engine by SIGSEGV being
 *    blocked. The engine never calls a transport without this promise; its segments cannot be
 *    mapped.
 */
struct rsm_import_ops {
    /* RSM_IMPORT_OPS_HEAD sets the version and the sizes. */
    uint32_t abi_version; /**< RSM_TRANSPORT_ABI */
    size_t size;          /**< sizeof(struct rsm_import_ops) when the transport was compiled */
    const char *name;     /**< e.g. "shm"; at most RSM_TRANSPORT_NAME_MAX - 1 characters */
    size_t port_size;     /**< sizeof(struct rsm_port), likewise */
    size_t conn_size;     /**< sizeof(struct rsm_conn) */

    /* port */

    /** Open the controller for this process; called once per controller and process. Sets the
     *  port's `caps`. The core refuses a port with a capability whose operations are missing. */
    enum rsm_status (*open)(const struct rsm_controller_info *info, struct rsm_port **port);
    void (*close)(struct rsm_port *port);

    /* connection */

    /**
     * Connect to a segment of @p size bytes with the rights of the offer; @p rights may be 0: a
     * connection that carries signals only, and whose transfers the core refuses. The offer comes
     * from another process, so this function must check every length, count and offset in it. Sets
     * the connection's `caps`; the core sets the other members of the base.
     */
    enum rsm_status (*connect)(struct rsm_port *port, const struct rsm_offer *offer, uint64_t size,
                               uint32_t rights, struct rsm_conn **conn);
    /** End the connection. No other operation of it is under way, and none follows. What was
     *  written before and has not been waited for arrives or not; nothing of it arrives after
     *  revoke() of the node half has returned. */
    void (*disconnect)(struct rsm_conn *conn);

    /* transfer: the core has checked rights and range; offset + length is inside the segment. */

    /** Copy to or from the segment, in any access width. A get has load-acquire semantics: what the
     *  caller gets or loads after its return is read later, on all processors. The same is true of
     *  all gets below. */
    enum rsm_status (*put)(struct rsm_conn *conn, uint64_t offset, const void *src, size_t length);
    enum rsm_status (*get)(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length);
    /* ordering */

    /** Make all earlier writes of this connection visible before any later one. */
    enum rsm_status (*order)(struct rsm_conn *conn);
    /** Wait until each earlier access of this connection, by any thread, has been performed or has
     *  failed. Any thread may call this, and failures are sticky and counted: one that no call has
     *  returned is in the connection's `failures` (rsm_conn_failed()) before any complete() that
     *  waits for the access returns, and stays there. @return RSM_ST_OK, also if such failures were
     *  counted; any other status says that this call could not find out. While health() goes on to
     *  return RSM_ST_OK, repeating the accesses repairs a failure; otherwise the connection is
     *  over. One with neither RSM_CAP_ASYNC nor health() has no failures to count. */
    enum rsm_status (*complete)(struct rsm_conn *conn);

    /* single accesses, and vectors: optional, each two together */

    /** Copy @p count elements of @p width (1, 2, 4 or 8) bytes in ascending order, each by a single
     *  access. Offset and address are aligned to the width. Optional: the generic form calls put()
     *  or get() for each element. */
    enum rsm_status (*put_elems)(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 unsigned width, size_t count);
    enum rsm_status (*get_elems)(struct rsm_conn *conn, uint64_t offset, void *dst, unsigned width,
                                 size_t count);
    /** Transfer the entries in order; on failure *done is the number of complete ones. Optional:
     *  the generic form calls put() or get() for each entry. */
    enum rsm_status (*putv)(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done);
    enum rsm_status (*getv)(struct rsm_conn *conn, const struct rsm_transfer *vec, unsigned count,
                            unsigned *done);

    /* a write that is waited for: optional; NULL: the core calls put(), then complete() */

    /** The same as put(), then complete() unless that failed, in one message to the fabric if it
     *  can: the core calls it for a write in implicit barrier mode. @return as put(), else as
     *  complete(). What failed is counted as by complete(), this write included if the call returns
     *  RSM_ST_OK. */
    enum rsm_status (*put_complete)(struct rsm_conn *conn, uint64_t offset, const void *src,
                                    size_t length);

    /* mapping: RSM_CAP_MAP; optional, both or neither; else RSM_ST_UNSUPPORTED */

    /**
     * Map [offset, offset + length) of the segment. The offset is a multiple of the page size; so
     * is the length, unless the range ends in the last page. @p rights determines the protection
     * and is a subset of the granted rights. *address is a hint, or with @p fixed the exact
     * address, where the mapping replaces what is there. A connection may have several mappings.
     */
    enum rsm_status (*map)(struct rsm_conn *conn, uint64_t offset, size_t length, uint32_t rights,
                           bool fixed, void **address);
    enum rsm_status (*unmap)(struct rsm_conn *conn, void *address, size_t length);

    /* incoherent memory: optional; NULL: loads find what has arrived */

    /** What this process loads from mappings of this connection, or gets, after the call is what
     *  the segment has at this moment or later: drop what is cached. The core calls this when a
     *  barrier is opened, and when an event of the exporter has been taken. Loads and stores of
     *  other threads go on meanwhile. The counterpart for stores is complete(). */
    void (*acquire)(struct rsm_conn *conn);

    /* health: optional, generic form returns RSM_ST_OK */

    /** RSM_ST_OK while the fabric still carries this connection; makes no system call. */
    enum rsm_status (*health)(struct rsm_conn *conn);

    /* local memory: optional, both or neither; NULL: transfers copy */

    /** Prepare memory of the program, so that transfers need not copy it. On success *cookie is for
     *  unregister_memory(); NULL: this port cannot, and nothing is to be undone. */
    enum rsm_status (*register_memory)(struct rsm_port *port, void *address, size_t length,
                                       void **cookie);
    void (*unregister_memory)(struct rsm_port *port, void *cookie);

    /* memory of exported segments that is not a memfd: optional, generic form refuses */

    /**
     * Check the descriptor of an RSM_EXTENT_DEVICE extent of this port's node. It came from a
     * daemon, and the exporting application is about to map it. RSM_ST_OK promises that loads and
     * stores in mappings of [@p offset, @p offset + @p length) of it never raise a signal, whatever
     * its maker does, and that this process may map it for both. Any other status refuses the
     * extent. Must not block, whatever @p fd is.
     */
    enum rsm_status (*extent_check)(struct rsm_port *port, int fd, uint64_t offset,
                                    uint64_t length);

    /* sub-tables: optional */

    const struct rsm_signal_ops *signals;         /**< NULL: the daemons carry signals */
    const struct rsm_completion_ops *completions; /**< NULL: submit() calls put() or get(), then
                                                       complete(), before it returns */

    /* a request to the exporter's node: optional; NULL: there is none */

    /**
     * A process is to connect to a segment of request->node by this port. Write what the node half
     * there needs for its offer, such as a public key, and set the length. The daemons carry the
     * bytes; on the way they are what any process of any node may have sent. The core calls
     * connect() with the same bytes if an offer of this transport comes; an importer on the
     * exporter's host may get one of another transport, and a refusal is followed by nothing. So
     * what is kept for a request belongs to the port. @return RSM_ST_OK; otherwise the program's
     * connect fails with this status.
     */
    enum rsm_status (*connect_request)(struct rsm_port *port, struct rsm_connect_request *request);

    /* completing several connections at once: optional; NULL: complete() begins when it is called,
     * or has nothing to begin */

    /** Ask the fabric what complete() has to wait for, and do not wait. The core calls this for
     *  each of several connections before it calls complete() for the first of them, so that the
     *  answers are under way together. complete() then waits for this answer, and for accesses that
     *  came later. What fails here, complete() reports. */
    void (*complete_begin)(struct rsm_conn *conn);

    /* a read of one moment: optional; NULL: there is none */

    /** The same as get(). *snapshot becomes true if all bytes are what the segment had at one
     *  moment between the call and its return; false if they may be of several, because they change
     *  all the time or for any other reason. The mapping engine reads pages by this, which it would
     *  else get twice and compare. */
    enum rsm_status (*get_snapshot)(struct rsm_conn *conn, uint64_t offset, void *dst,
                                    size_t length, bool *snapshot);
};

/** Initialises the version and the sizes at the beginning of a table. */
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
    /** A memfd of ordinary pages, sealed against shrinking (F_SEAL_SHRINK), with `offset` 0. The
     *  exporter's library checks this itself. */
    RSM_EXTENT_MEMFD = 1,
    /** Anything else that can be mapped, such as memory of a device. fstat(2) shows neither its
     *  size nor which extent it is. Before the exporter's library maps it, it calls extent_check()
     *  of the import half. */
    RSM_EXTENT_DEVICE = 2,
};

/**
 * Base of an extent: shareable memory that holds segments. extent_make() sets all members, which
 * never change. The file and the offset in it, as a process finds them in its list of mappings,
 * identify an extent: no two extents of a node that exist at the same time share both.
 */
struct rsm_extent {
    uint32_t kind;   /**< enum rsm_extent_kind */
    int fd;          /**< the exporting process maps it; it belongs to the transport, unless
                          `flags` has RSM_EXTENT_ADOPTED */
    uint64_t offset; /**< bytes: where the extent begins in what the descriptor maps; a multiple of
                          the page size */
    uint64_t length; /**< bytes, at least as many as requested */
    uint32_t flags;  /**< RSM_EXTENT_*, or 0 */
};

/** An extent that is not pinned, although its port has RSM_NODE_EXTENTS_PINNED. */
#define RSM_EXTENT_NOT_PINNED 0x1u
/** An extent that extent_adopt() has made: its descriptor belongs to that call's caller. */
#define RSM_EXTENT_ADOPTED 0x2u

/**
 * Base of an offer that has been made and can be revoked. offer() and offer_take() set all members,
 * which never change.
 *
 * `descriptors` and `threads` are the most that rsmd's process has for this connection at a time,
 * whatever the importer does, until the offer has ended: revoke() has returned, or the transport
 * has reported the end by revoked(). rsmd charges them to the importer's user before the importer
 * gets the offer, and refuses the connection if that exceeds the share. So a transport that accepts
 * a socket for each connection counts it here, closes sockets beyond that number, and closes the
 * rest in revoke(). A resource of no connection, such as a socket whose sender has not named an
 * offer yet, is not charged: the transport limits it to a small number.
 */
struct rsm_node_offer {
    struct rsm_node_port *port;
    uint32_t descriptors;
    uint32_t threads;
};

/** A run of bytes of one extent; a segment is a list of these in ascending order. Never grows. */
struct rsm_extent_piece {
    struct rsm_extent *extent;
    uint64_t offset; /**< bytes into the extent, a multiple of the page size */
    uint64_t length; /**< bytes, a multiple of the page size */
};

/** Who will use an offer. The kernel or the importer's node vouches for these values, but for those
 *  of the request. */
struct rsm_importer {
    size_t size; /**< bytes of this structure when rsmd was compiled */
    uint32_t node;
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool local; /**< it is on this host: its offer may have descriptors */
    /** In offer(): the bytes that connect_request() of the importer wrote, valid during the call.
     *  They are a stranger's. NULL and 0: none came, or from another transport. */
    const uint8_t *request;
    uint32_t request_len; /**< at most RSM_REQUEST_MAX */
};

/** Abilities of a port of the node half: what its operations promise. */

/** Processes of this host may map the descriptor of an extent: a memfd of ordinary (not huge)
 *  pages, sealed against shrinking, of mode 0400, so that a process with a descriptor for reading
 *  cannot open another one for writing. */
#define RSM_NODE_EXTENTS_SHAREABLE 0x01u
/** Importers on other hosts can connect by offers of this transport, so no offer contains a
 *  descriptor. Without this ability a controller reaches only nodes of its own host, and shows no
 *  others. */
#define RSM_NODE_REACHES_HOSTS 0x02u
/** All memory of an extent is pinned for as long as the extent exists, unless the extent says
 *  RSM_EXTENT_NOT_PINNED. rsmd charges it to the user, within the amount that the daemon may pin
 *  (RLIMIT_MEMLOCK), before it calls extent_make(), and gives back what was not pinned. */
#define RSM_NODE_EXTENTS_PINNED 0x04u
/** Any thread may call extent_make(), extent_adopt() and extent_free() at any time, also while
 *  another thread calls one of them or any other operation on the same port. rsmd then calls
 *  extent_free() from a thread for all extents but small ones, and extent_make() if
 *  extent_make_now() would take long. Without this ability rsmd calls everything from one thread. A
 *  call that takes long then delays the whole node: its clients, and its links to other hosts,
 *  which are lost if it takes too long. */
#define RSM_NODE_ANY_THREAD 0x08u

/** The port reports by the upcall node_state() which nodes it reaches. A node that it has not
 *  reported cannot be reached over this controller, whatever the state of the daemons' link.
 *  Without this ability only the link decides. */
#define RSM_NODE_REPORTS_NODES 0x10u

/** Bytes. Making or freeing an extent of up to this size takes microseconds. */
#define RSM_EXTENT_SMALL (256u * 1024u)

/** What extent_make_for() is to make. */
struct rsm_extent_request {
    size_t size;     /**< bytes of this structure when rsmd was compiled */
    uint64_t length; /**< bytes, a multiple of the page size */
    uid_t uid;       /**< the user of this host whose extent it will be */
    uint32_t flags;  /**< RSM_EXTENT_REQUEST_*; not both */
};

/** As extent_make_now(): RSM_ST_BUSY if it would take long. */
#define RSM_EXTENT_REQUEST_NOW 0x1u
/** As extent_make_not_pinned(). */
#define RSM_EXTENT_REQUEST_NOT_PINNED 0x2u

/** How much each user may have of what a port has little of. Root and the daemon's own user are
 *  bound by the total alone. */
struct rsm_user_share {
    size_t size;              /**< bytes of this structure when rsmd was compiled */
    uint32_t one_percent;     /**< 1 to 100: of each total, what one user may have */
    uint32_t reserve_percent; /**< of each total, what all these users together leave */
};

struct rsm_node_upcalls;

/**
 * A job of the node half that takes long, such as the registration of an importer's memory. The
 * transport embeds it in a structure of its own and passes it to the upcall submit(). Never grows.
 */
struct rsm_node_job {
    /** Runs in a thread of rsmd, at the same time as other jobs and all operations of the port. */
    void (*run)(struct rsm_node_job *job);
    /** run() has returned. Called like dispatch(), and like it may make upcalls; the job is the
     *  transport's again. */
    void (*done)(struct rsm_node_job *job, const struct rsm_node_upcalls *up, void *context);
};

/**
 * What a node half reports to rsmd from within dispatch() and the done() of a job, and only there.
 * rsmd passes the same table and context each time. `made` is an offer that has not been revoked,
 * and in revoked() one that is ending.
 * Within lost() rsmd may revoke it, and within any upcall it may revoke other offers; the transport
 * must therefore not rely on its lists being unchanged after an upcall. rsmd ignores an offer that
 * it does not know.
 */
struct rsm_node_upcalls {
    size_t size; /**< sizeof(struct rsm_node_upcalls) when rsmd was compiled; members may follow */
    /** The importer has signalled @p count times (not 0); every write that it made before has
     *  arrived. @p coalesced: these signals together count as one, or not at all while an earlier
     *  one has not been consumed. */
    void (*signalled)(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced);
    /** The fabric has lost the importer permanently: it has ended, or cannot be reached. */
    void (*lost)(void *context, struct rsm_node_offer *made);
    /** The importer has taken the signals of the latest signals->send(). rsmd may call send() again
     *  within this upcall. */
    void (*taken)(void *context, struct rsm_node_offer *made);
    /** The port's own link to the fabric has gone down or come up; rsmd regards it as up until the
     *  first report. While it is down rsmd connects nothing over the port, and it aborts the port's
     *  connections to and from other hosts at once. */
    void (*link_state)(void *context, struct rsm_node_port *port, bool up);
    /** The port reaches @p node, or no longer does. @p epoch changes each time that the node comes
     *  back without the state of its former connections (it was restarted); rsmd ignores it when
     *  @p up is false. rsmd aborts the connections between the two nodes over this port when the
     *  node goes and when it comes with another epoch. It ignores reports of the local node. */
    void (*node_state)(void *context, struct rsm_node_port *port, uint32_t node, bool up,
                       uint64_t epoch);
    /**
     * Run a job for this offer in a thread. The extents of the offer exist until its done() has
     * returned. The offer may be revoked before that, even before run() begins; rsmd still calls
     * run() and then done(), each once, and the transport ends there what revoke() had to leave.
     * The importers of a node share a few threads, so they delay only each other. A daemon that
     * ends and has waited too long for a job exits without calling done() or close().
     * @return RSM_ST_OK. On error nothing will be called: RSM_ST_UNSUPPORTED (rsmd has no threads,
     *         the transport may do the work at once), RSM_ST_NO_MEMORY, RSM_ST_NOT_FOUND (rsmd does
     *         not know the offer).
     */
    enum rsm_status (*submit)(void *context, struct rsm_node_offer *made, struct rsm_node_job *job);
    /** The offer, for which revoke_begin() has returned false, has ended: no access by it can
     *  arrive any more. When this returns, rsmd does not know the offer any more, and the transport
     *  frees it; rsmd may have freed the offer's extents meanwhile. An rsmd that calls
     *  revoke_begin() has this upcall. */
    void (*revoked)(void *context, struct rsm_node_offer *made);
};

/** The exporter's signals over the fabric; for ports with event_fd() and dispatch(). */
struct rsm_node_signal_ops {
    size_t size; /**< sizeof(struct rsm_node_signal_ops) when the transport was compiled */

    /**
     * Signal the importer of this offer; @p signals is not empty. After the importer has taken the
     * signals, it reads at least what the exporter stored before it posted them. Returns without
     * waiting; the upcall taken() reports when the importer, which may be stopped for long, has
     * taken them. rsmd does not call send() for this offer again before that, so that an importer
     * never occupies the fabric with more than one signal.
     * @return RSM_ST_OK. On error nothing was sent, and rsmd uses the daemons' link instead:
     *         RSM_ST_UNSUPPORTED (this importer takes none, or not yet), RSM_ST_BUSY (an earlier
     *         call is under way), RSM_ST_UNREACHABLE (the importer has gone).
     */
    enum rsm_status (*send)(struct rsm_node_port *port, struct rsm_node_offer *made,
                            const struct rsm_signals *signals);
    /** Whether the importer, which has not taken the signals of the latest send() yet, will find
     *  them although the offer is about to be revoked. rsmd calls this right before revoke(); if
     *  the answer is false, it sends the signals by the daemons' link. In doubt return false: a
     *  signal too many at the end of a connection does less harm than one for which the importer
     *  waits in vain. */
    bool (*arrived)(struct rsm_node_port *port, struct rsm_node_offer *made);
    /** Take the signals of the importer by this offer that the upcall signalled() has not reported.
     *  rsmd calls this right before revoke(): a signal sent before the importer disconnected may
     *  have reached this host without a report yet. Optional: without it nothing is taken. */
    void (*collect)(struct rsm_node_port *port, struct rsm_node_offer *made,
                    struct rsm_signals *posted);
};

/** Base of an import that goes through the importer's node. Never grows. */
struct rsm_node_import {
    struct rsm_node_port *port; /**< accept() sets it */
};

/**
 * For fabrics whose importers get what they map from their local node, such as descriptors of a
 * device: a process then needs no privilege, and its node can revoke what it gave.
 *
 * An offer to a process of another host is passed to accept() on that host, and the process
 * connects with the offer that accept() makes of it. The exporter's node learns when the import has
 * ended: until released(), an offer to another host that has been revoked still holds its memory.
 * As revoke() does not reach the other host, the exporter leaves the extent before another segment
 * gets that memory.
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
    /** The daemons' link to @p node has come up again: that node has cut all earlier connections.
     *  True: that suffices, and all revoked offers to it are gone on return. False: released()
     *  reports each. */
    bool (*all_released)(struct rsm_node_port *port, uint32_t node);
};

struct rsm_node_ops {
    /* RSM_NODE_OPS_HEAD sets the version and the sizes. */
    uint32_t abi_version; /**< RSM_TRANSPORT_ABI */
    size_t size;          /**< sizeof(struct rsm_node_ops) when the transport was compiled */
    const char *name;     /**< the same as the import half's */
    size_t port_size;     /**< sizeof(struct rsm_node_port), likewise */
    size_t extent_size;   /**< sizeof(struct rsm_extent) */
    size_t offer_size;    /**< sizeof(struct rsm_node_offer) */

    /* port */

    /** Open the controller. Sets the port's `caps`. rsmd has gone into the background before, so
     *  threads made here stay. */
    enum rsm_status (*open)(const struct rsm_controller_info *info, struct rsm_node_port **port);
    /** All offers have been revoked, all extents freed and all jobs done before. */
    void (*close)(struct rsm_node_port *port);
    void (*attributes)(struct rsm_node_port *port, struct rsm_port_attr *attr);

    /* extents */

    /**
     * Make an extent of @p length bytes (a multiple of the page size) of zeros and set its base.
     * Must not take long unless the port has RSM_NODE_ANY_THREAD; the exporter populates the
     * memory.
     */
    enum rsm_status (*extent_make)(struct rsm_node_port *port, uint64_t length,
                                   struct rsm_extent **extent);
    /** Give up the extent. The memory stays valid for importers that still hold it. Memory that no
     *  one else holds must be free when this returns, because rsmd then credits it to the user. */
    void (*extent_free)(struct rsm_node_port *port, struct rsm_extent *extent);

    /* offers */

    /**
     * Fill in *offer so that this one importer reaches these pieces with exactly these rights; 0:
     * it reaches nothing, and may signal. There is at least one piece and at most
     * RSM_OFFER_MAX_FDS. The descriptors in the offer belong to the caller, which closes them after
     * sending. Must not take long: what does, such as registering the memory, waits until the
     * importer connects, and goes to the upcall submit() then.
     */
    enum rsm_status (*offer)(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                             unsigned count, uint32_t rights, const struct rsm_importer *importer,
                             struct rsm_offer *offer, struct rsm_node_offer **made);
    /** End the offer. After this returns, the fabric carries no further access by it, if the fabric
     *  can prevent it; if it cannot (shared memory), the exporter leaves the extent. It always
     *  succeeds, and does not wait for the importer's host. A fabric where that takes long has
     *  revoke_begin(), too. */
    void (*revoke)(struct rsm_node_port *port, struct rsm_node_offer *made);

    /* rsmd --check: optional; NULL: nothing is known before open() */

    /** Check whether open() would find what it needs, without changing anything: a daemon may be
     *  using the device. @p info has no node. On failure the log has one line with the cause and
     *  the remedy. */
    enum rsm_status (*check)(const struct rsm_controller_info *info);

    /* what keeps an open port from other hosts: optional */

    /** Why no other host is in reach by the port, if the transport knows: one line without newline
     *  that says what is wrong and what to do, cut to @p size bytes with its zero; or "", if it
     *  knows of nothing. rsmd passes it to programs that open the controller, and to rsmstat. It
     *  must not wait. */
    void (*trouble)(struct rsm_node_port *port, char *text, size_t size);

    /* extents that take long to make: optional, generic form is extent_make(); with
     * RSM_NODE_ANY_THREAD only */

    /** The same as extent_make(), but for the thread that serves all clients: if it would take
     *  long, it does nothing and returns RSM_ST_BUSY, and rsmd calls extent_make() from another
     *  thread. */
    enum rsm_status (*extent_make_now)(struct rsm_node_port *port, uint64_t length,
                                       struct rsm_extent **extent);

    /* With RSM_NODE_EXTENTS_PINNED: optional; NULL: all extents are pinned, and rsmd refuses one
     * that its user must not pin. */

    /** The same as extent_make(), but of memory that is not pinned. */
    enum rsm_status (*extent_make_not_pinned)(struct rsm_node_port *port, uint64_t length,
                                              struct rsm_extent **extent);

    /* shares of what the port itself has little of, such as a pool: optional, both or neither */

    /** From now on one user may have so much of it; who has more keeps it. Before the first call
     *  nothing is bounded. rsmd calls this after open(), and again when its configuration has
     *  changed. */
    void (*limit_users)(struct rsm_node_port *port, const struct rsm_user_share *share);
    /** The same as extent_make(), extent_make_now() or extent_make_not_pinned(), whatever the
     *  request's flags say, for a user whose share the transport charges. It gives the share back
     *  when the extent's part of the port can be used again, which may be long after extent_free():
     *  when no process has a descriptor of it and no importer can reach it any more.
     *  RSM_ST_NO_MEMORY: it exceeds the user's share. The generic form calls these operations. */
    enum rsm_status (*extent_make_for)(struct rsm_node_port *port,
                                       const struct rsm_extent_request *request,
                                       struct rsm_extent **extent);

    /* memory that several transports use: optional */

    /**
     * Make an extent of memory that another transport has made. @p fd is a memfd as described at
     * RSM_NODE_EXTENTS_SHAREABLE, of @p length bytes (a multiple of the page size). It belongs to
     * the caller, who keeps it open until extent_free() for this extent has been called; so the
     * transport copies no descriptor. It sets RSM_EXTENT_ADOPTED, and extent_free() does not close
     * the descriptor, nor use it. The generic form refuses with RSM_ST_UNSUPPORTED. RSM_ST_INVALID:
     * @p fd is no such memfd.
     */
    enum rsm_status (*extent_adopt)(struct rsm_node_port *port, int fd, uint64_t length,
                                    struct rsm_extent **extent);

    /* events of the fabric: optional, both or neither; the generic form has none */

    /**
     * A descriptor that is readable as long as dispatch() has something to do; -1: this port has no
     * events. It belongs to the transport, which keeps it open and unchanged from open() to
     * close(). rsmd identifies an offer of such a port by its address, so offer() must return a
     * different *made each time.
     */
    int (*event_fd)(struct rsm_node_port *port);
    /** Handle what has happened and return without waiting for more. rsmd calls this when the
     *  descriptor is readable, from the thread that calls the rest of the node half and serves all
     *  clients. What takes long goes to the upcall submit(). */
    void (*dispatch)(struct rsm_node_port *port, const struct rsm_node_upcalls *up, void *context);

    /* handover: optional, both or neither. When rsmd is replaced by a successor without an end to
     * what its clients have, the successor opens the port anew and passes it what the predecessor's
     * port had made. Without these operations the connections and extents of the port end with the
     * predecessor, as when rsmd stops. */

    /** Make an extent of what extent_make() of the predecessor's port has made: its descriptor and
     *  length. On success @p fd is the transport's. RSM_ST_INVALID: it is no such descriptor. */
    enum rsm_status (*extent_take)(struct rsm_node_port *port, int fd, uint64_t length,
                                   struct rsm_extent **extent);
    /** Make the state of an offer that the predecessor's port has made and that is in use. Nothing
     *  is sent to the importer. */
    enum rsm_status (*offer_take)(struct rsm_node_port *port, const struct rsm_extent_piece *pieces,
                                  unsigned count, uint32_t rights,
                                  const struct rsm_importer *importer,
                                  struct rsm_node_offer **made);

    /* sub-tables: optional */

    const struct rsm_node_signal_ops *signals; /**< NULL: the daemons carry signals */
    const struct rsm_node_import_ops *imports; /**< NULL: processes of other hosts connect with an
                                                    offer as the exporter's node made it */

    /* a revoke that ends later: optional; with dispatch() only, and not with `imports` */

    /**
     * Begin what revoke() does, and return without waiting. True: the offer has ended, as after
     * revoke(), and no more follows. False: it is ending, and the transport calls the upcall
     * revoked() when no access by it can arrive any more, but not from here. In between the
     * transport names the offer in no other upcall, and its extents and its charge stay. done() of
     * a job that was submitted before still comes.
     *
     * rsmd calls nothing for an offer that is ending but revoke(), and that only if revoked() has
     * not come within half of the peer time-out, or if rsmd ends or is replaced. revoke() then ends
     * the offer at once, by whatever means, and no revoked() follows. An rsmd that does not know
     * this operation calls revoke() alone, for every offer.
     */
    bool (*revoke_begin)(struct rsm_node_port *port, struct rsm_node_offer *made);
};

/** Initialises the version and the sizes at the beginning of a table. */
#define RSM_NODE_OPS_HEAD                                                                          \
    .abi_version = RSM_TRANSPORT_ABI, .size = sizeof(struct rsm_node_ops),                         \
    .port_size = sizeof(struct rsm_node_port), .extent_size = sizeof(struct rsm_extent),           \
    .offer_size = sizeof(struct rsm_node_offer)

/** Symbols that a transport module (librsm_NAME.so in <libdir>/rsm/) defines. The version in the
 *  names prevents a module of another ABI from being mistaken for one of this ABI. */
#define RSM_IMPORT_OPS_SYMBOL "rsm_transport_import_ops_v1"
#define RSM_NODE_OPS_SYMBOL   "rsm_transport_node_ops_v1"

/** A function that logs a module's messages: @p text is one line without newline; @p level is 0 for
 *  an error, 1 for a warning, 2 for information, 3 for debugging. Any thread may call it. */
typedef void (*rsm_transport_log)(int level, const char *text);

/** A module may define a function of this name and of type void (rsm_transport_log log). librsm and
 *  rsmd call it before any operation of the module, perhaps more than once with the same value. */
#define RSM_MODULE_LOG_SYMBOL "rsm_transport_log_v1"

#ifdef __cplusplus
}
#endif

#endif /* RSM_TRANSPORT_H */
