/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The user-space interface of rsm_ntb, the client driver that gives librsm loads and stores to the
 * memory of another host across a PCIe non-transparent bridge (NTB); and, in its last part, what
 * the drivers of the two hosts lay out in each other's memory.
 *
 * The picture. Each host has a pool: memory that the bridge shows to the other host through one
 * memory window. Offset 0 of the pool is offset 0 of the window, and the translation is set once
 * for a link, never for a segment. The first RSM_NTB_CONTROL_SIZE bytes of a pool belong to the
 * drivers; the rest is handed out as extents.
 *
 * Roles. The allocator is in user space (rsmd): it chooses offset and length of each extent. The
 * driver checks: it has a table of the live extents, refuses a range that is in use, zeroes an
 * extent before any process can map it, and keeps it busy while the descriptor, a mapping or its
 * quarantine lasts, whether or not the daemon that asked for it still runs. The next daemon reads
 * the table (RSM_NTB_EXTENTS).
 *
 * Descriptors. Each open() of /dev/rsm_ntbN makes a descriptor without a role, on which only INFO
 * and the four ioctls that give it a role are allowed. It gets a role once: control, export, share
 * or import. Export and import need the control descriptor as proof of authority, and share that of
 * the export; the node itself is 0600, and the daemon passes descriptors with a role to
 * applications.
 *
 * Epochs. A session is what two drivers have agreed on; it is identified by (generation, sequence)
 * of both sides. An epoch is this host's number for a session: from 1 upwards, one more for each
 * session, 0 while there is none. Any change on either side ends the session for both: link down,
 * heartbeat lost, module or host restarted, host that hung and came back. An import belongs to the
 * epoch it was made in and never comes back to life; an export belongs to no epoch.
 *
 * All structures have explicit padding and the same layout for every pointer width. Members called
 * reserved, and flags without a name here, must be 0 (EINVAL) and are returned as 0. Numbers in
 * ioctls and in the status page are in the host's byte order, numbers in the pool little-endian.
 */
#ifndef RSM_NTB_H
#define RSM_NTB_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Version of everything in this header up to "Between hosts". A program compares INFO's abi with
 * the version it was compiled with and refuses another one.
 */
#define RSM_NTB_ABI 1u

/* Bytes at the start of each pool that belong to the drivers. Extents begin behind them. */
#define RSM_NTB_CONTROL_SIZE 0x40000u

/* How many extents a pool, with what is exported in place, can have. */
#define RSM_NTB_EXTENTS_MAX 16384u

/* Counters of connections of a pool: see POST. Numbers are the exporting daemon's to choose. */
#define RSM_NTB_CONNECTIONS 2048u

/* ---- ioctls ------------------------------------------------------------------------------- */

#define RSM_NTB_IOC 0xb7

/*
 * INFO: any descriptor. What the port has and in which state it is; a snapshot.
 *
 * Errors: ENODEV: the hardware driver has gone.
 */
/* Exported memory consists of pages: process_vm_readv(), O_DIRECT and core dumps work. */
#define RSM_NTB_CAP_PAGES 0x1u
/* No IOMMU translates what the other host may access. */
#define RSM_NTB_CAP_UNTRANSLATED 0x2u
/* Memory of applications can be exported in place: see RSM_NTB_IN_PLACE. */
#define RSM_NTB_CAP_PIN 0x4u

/* Of the other side. Its daemon has set the flag of CONTROL of this name. */
#define RSM_NTB_PEER_POSTS 0x1u

struct rsm_ntb_info {
	__u32 abi;		/* RSM_NTB_ABI of the module */
	__u32 caps;		/* RSM_NTB_CAP_* */
	__u32 epoch;		/* of the present session; 0: none */
	__u32 link_seq;		/* how often a session has ended */
	__u32 err_seq;		/* how often the device has reported errors of the link */
	__u32 generation;	/* of this side: random for each time the driver is bound */
	__u32 sequence;		/* of this side */
	__u32 peer_generation;	/* of the other side; 0 without a session */
	__u32 peer_sequence;	/* likewise */
	__u32 node;		/* what CONTROL said here; 0: no daemon has */
	__u32 peer_node;	/* likewise on the other side; 0 also without a session */
	__u32 extents_max;	/* RSM_NTB_EXTENTS_MAX */
	__u64 pool_size;	/* bytes of this host's pool, the drivers' part included */
	__u64 window_size;	/* bytes of the other host's pool in reach; 0 without a session */
	__u64 granule;		/* page size: offsets and lengths are multiples of it */
	__u64 peer_granule;	/* likewise on the other side; 0 without a session */
	__u32 link_up;		/* 1: the hardware reports a link, with or without a session */
	__u32 reserved0;
	__u64 pin_size;		/* bytes behind the pool for extents in place; 0: none */
	__u32 peer_caps;	/* RSM_NTB_PEER_*; 0 without a session */
	__u32 reserved1;
	char device[32];	/* the NTB device, for messages, e.g. "0000:00:04.0" */
};
#define RSM_NTB_INFO _IOR(RSM_NTB_IOC, 1, struct rsm_ntb_info)

/*
 * CONTROL: gives the descriptor the control role. One descriptor of a port has it at a time; it
 * ends with the last close. Neither extents nor imports end with it.
 * Errors: EBUSY: another one has it. EINVAL: this one has a role. ENODEV.
 */
struct rsm_ntb_control {
	__u32 abi;	/* RSM_NTB_ABI of the program; EPROTO if the module has another */
	__u32 node;	/* node id of the daemon, shown to the other side; not 0 */
	__u32 flags;	/* RSM_NTB_CONTROL_* */
	__u32 reserved[5];
};
/* The daemon reads the counters of connections, and gets EVENT_POSTED. The other side sees this
 * flag. */
#define RSM_NTB_CONTROL_POSTS 0x1u
#define RSM_NTB_CONTROL _IOW(RSM_NTB_IOC, 2, struct rsm_ntb_control)

/*
 * EXPORT: gives the descriptor the export role, for the extent [offset, offset + length) of the
 * pool. The extent is zeroed before the call returns. It is live until the last descriptor and the
 * last mapping have gone; what comes then is described at struct rsm_ntb_extent. An extent IN_PLACE
 * lies behind the pool, in [pool_size, pool_size + pin_size). It has no memory, and cannot be
 * mapped, until PIN lends it pages of a process; before that the IOMMU refuses what the other host
 * sends there.
 * Errors: EINVAL: range or flags impossible, or the descriptor has a role. EOPNOTSUPP: IN_PLACE
 * without the capability PIN. EBADF, EPERM: control_fd is no control descriptor of this port.
 * EBUSY: part of the range is in use. ENOSPC: there are RSM_NTB_EXTENTS_MAX. ENOMEM. ENODEV.
 */
struct rsm_ntb_export {
	__s32 control_fd;
	__u32 flags;	/* RSM_NTB_IN_PLACE */
	__u64 offset;	/* multiple of the granule, at least RSM_NTB_CONTROL_SIZE */
	__u64 length;	/* multiple of the granule, not 0 */
	__u64 id;	/* out: of the extent; never used again while the module is loaded */
	__u64 map;	/* out: of mmap(): where the descriptor's own range begins, see there */
	__u32 reserved[4];
};
#define RSM_NTB_IN_PLACE 0x1u
#define RSM_NTB_EXPORT _IOWR(RSM_NTB_IOC, 3, struct rsm_ntb_export)

/*
 * IMPORT: gives the descriptor the import role, for [offset, offset + length) of the other host's
 * pool, in the present session.
 *
 * Errors: EINVAL: range or flags impossible, or the descriptor has a role. EBADF, EPERM: as EXPORT.
 * ENOTCONN: no session. ESTALE: there is a session, but it is not the one with that epoch.
 * ENOSPC: 2^20 descriptors are open. ENOMEM. ENODEV.
 */
#define RSM_NTB_READ_ONLY 0x1u /* see RSM_NTB_SHARE; of the range's data */
#define RSM_NTB_POSTER 0x2u /* the import may POST, by the counter `connection` */

struct rsm_ntb_import {
	__s32 control_fd;
	__u32 flags;	/* RSM_NTB_READ_ONLY, RSM_NTB_POSTER */
	__u64 offset;	/* multiple of the granule, at least RSM_NTB_CONTROL_SIZE */
	__u64 length;	/* multiple of the granule, not 0; its end is at most INFO's window_size */
	__u64 id;	/* out: for REVOKE; never used again while the module is loaded */
	__u32 epoch;	/* in which the grant was made */
	__u32 connection; /* below RSM_NTB_CONNECTIONS; 0 without POSTER */
	__u32 reserved[4];
};
#define RSM_NTB_IMPORT _IOWR(RSM_NTB_IOC, 4, struct rsm_ntb_import)

/*
 * REVOKE: control descriptors. Ends an import of this host: when the call returns no store of any
 * process reaches the other host by it, and those that were made before have been sent. Its status
 * page says so, and its mappings show a page of their own instead. ALL_IMPORTS ends every import;
 * a new daemon does so, unless it knows those of its predecessor.
 *
 * Errors: ENOENT: no such import (any more). Revoking twice succeeds.
 */
#define RSM_NTB_ALL_IMPORTS 0u

struct rsm_ntb_revoke {
	__u64 id; /* of IMPORT, or RSM_NTB_ALL_IMPORTS */
	__u32 reserved[2];
};
#define RSM_NTB_REVOKE _IOW(RSM_NTB_IOC, 5, struct rsm_ntb_revoke)

/*
 * RELEASE: control descriptors. Ends the quarantine of an extent: the caller has learned that no
 * importer of the other host can store into it any more.
 * Errors: ENOENT: no such extent. EBUSY: it is live, or its pages are pinned in the kernel (for a
 * device that still writes into them): try again later.
 */
struct rsm_ntb_release {
	__u64 id; /* of EXPORT */
	__u32 reserved[2];
};
#define RSM_NTB_RELEASE _IOW(RSM_NTB_IOC, 6, struct rsm_ntb_release)

/*
 * EXTENTS: control descriptors. The table of extents, sorted by offset: those with an offset of at
 * least `from`, up to `capacity`. `count` is how many were stored; to go on, ask again with `from`
 * one above the last one's offset. Less than `capacity`: these were the last.
 *
 * Errors: EFAULT, ENOMEM. EINVAL: capacity is 0 or above RSM_NTB_EXTENTS_MAX.
 */
/* A descriptor or a mapping exists. */
#define RSM_NTB_EXTENT_LIVE 1u
/*
 * None does, but importers of the other host may still have it: until RELEASE, or until the two
 * drivers agree on a new session, which the other one does only after it has ended all imports of
 * the session before. An extent that was never live during a session has no quarantine.
 */
#define RSM_NTB_EXTENT_QUARANTINED 2u

struct rsm_ntb_extent {
	__u64 id;
	__u64 offset;
	__u64 length;
	__u32 state; /* RSM_NTB_EXTENT_* */
	__u32 reserved;
};

struct rsm_ntb_extents {
	__u64 from;	/* lowest offset of interest */
	__u64 array;	/* address of struct rsm_ntb_extent[capacity] */
	__u32 capacity;
	__u32 count;	/* out */
	__u32 reserved[2];
};
#define RSM_NTB_EXTENTS _IOWR(RSM_NTB_IOC, 7, struct rsm_ntb_extents)

/*
 * SHARE: gives the descriptor the share role: it maps the memory of an extent that another
 * descriptor has exported, and keeps the extent live as that one does. It maps, and does nothing
 * else: PIN and SHARE are for the export descriptor, which therefore stays the exporter's. With
 * RSM_NTB_READ_ONLY the data cannot be mapped for writing, nor be made writable later.
 * Errors: EINVAL: flags, or the descriptor has a role. EBADF, EPERM: export_fd is no export
 * descriptor of this port.
 */
struct rsm_ntb_share {
	__s32 export_fd;
	__u32 flags;	/* 0 or RSM_NTB_READ_ONLY */
	__u64 map;	/* out: as EXPORT */
	__u32 reserved[4];
};
#define RSM_NTB_SHARE _IOWR(RSM_NTB_IOC, 8, struct rsm_ntb_share)

/*
 * TROUBLE: why there is no session although there is a link, in one line of English that says what
 * to do: another version of the driver on the other host, say, or an alignment that the hardware
 * cannot give. Empty: nothing is known. Any descriptor, with a role or without. What the driver
 * found wrong with a device that it did not take is in /sys/module/rsm_ntb/parameters/refused, in
 * the same form; it has no character device.
 */
struct rsm_ntb_trouble {
	char text[240]; /* out: ends with a zero */
};
#define RSM_NTB_TROUBLE _IOR(RSM_NTB_IOC, 9, struct rsm_ntb_trouble)

/*
 * PIN: export descriptors of extents IN_PLACE. Shows the memory of the calling process at
 * `address`, as long as the extent, to the other host, which reads and writes it from now on;
 * nothing is copied. The pages stay what they are for the process, and stay in place whatever
 * becomes of its mapping: after munmap() the other host still reaches the pages that were there,
 * fork() gives the child a copy of them. They are pinned until the last close of the extent's
 * descriptors or the end of the device: when that has happened nothing that the other host sends
 * reaches them. They count in VmPin of the process, up to its RLIMIT_MEMLOCK. Only memory that is
 * no file's: private, shared, memfd, huge pages.
 * Errors: EINVAL: address is no multiple of the granule, or the extent is not IN_PLACE. EBUSY: it
 * has pages. EDQUOT: RLIMIT_MEMLOCK. EFAULT: part of the memory cannot be written. EOPNOTSUPP: part
 * of it is a file's. EINTR: the process was killed. ENOMEM. ENODEV.
 */
struct rsm_ntb_pin {
	__u64 address;
	__u32 reserved[2];
};
#define RSM_NTB_PIN _IOW(RSM_NTB_IOC, 10, struct rsm_ntb_pin)

/*
 * POST: import descriptors with POSTER. Signals the other host's daemon by the counter of a
 * connection, and rings. The argument is 0 or RSM_NTB_POST_COALESCE: the signal does not count
 * while an earlier one has not been taken. Stores that the calling thread made through a mapping
 * before are there first. "Between hosts" describes the counter.
 * Errors: EINVAL: no POSTER, or unknown flags. ESTALE: the import has ended. ENODEV.
 */
#define RSM_NTB_POST _IO(RSM_NTB_IOC, 11)
#define RSM_NTB_POST_COALESCE 0x1u

/*
 * POSTS: control descriptors. The counters of `count` connections of this host's pool, as the other
 * host has written them: their reader must trust no more than plausible differences.
 * Errors: EINVAL: the range is impossible. EFAULT, ENOMEM. ENODEV.
 */
#define RSM_NTB_POSTS_AT_ONCE 256u

struct rsm_ntb_posts {
	__u32 first;
	__u32 count;	/* 1 to RSM_NTB_POSTS_AT_ONCE */
	__u64 array;	/* address of __u64[count] */
	__u32 reserved[2];
};
#define RSM_NTB_POSTS _IOW(RSM_NTB_IOC, 12, struct rsm_ntb_posts)

/* ---- mmap() ------------------------------------------------------------------------------- */

/*
 * The offset of mmap() is a kind plus an offset within it. MAP_SHARED only (EINVAL). A mapping
 * keeps its descriptor's role alive, across close(), fork() and mremap(); it cannot grow.
 *
 * /proc/PID/maps shows another offset: each descriptor has its own range of offsets there. EXPORT
 * and SHARE return where it begins, and mmap() also accepts offsets in it, so that the mapped and
 * the shown offset can be the same.
 *
 * kind      descriptor  what
 * DATA      export      [0, length) of the extent, ordinary cached memory. ENODEV: it is IN_PLACE.
 * DATA      share       The same; with READ_ONLY for reading alone (EACCES).
 * DATA      import      [0, length) of the range, write combining: sfence (arm64: dsb st) orders
 *                       stores. When the import has ended, the mapping shows one private page again
 *                       and again: loads and stores work without a signal, and have no effect.
 * CANARY    import      PROT_READ: the page with the other side's struct rsm_ntb_hello, uncached.
 *                       When the import has ended it reads as zeroes.
 * STATUS    import      PROT_READ: one page with struct rsm_ntb_status.
 */
#define RSM_NTB_MAP_DATA 0x00000000000ull
#define RSM_NTB_MAP_CANARY 0x10000000000ull
#define RSM_NTB_MAP_STATUS 0x20000000000ull

/*
 * The status page of an import. The driver writes it, processes map it read-only. All words are
 * single aligned accesses. An import is good as long as
 *      epoch == import_epoch && !revoked
 * and a barrier may trust it only together with the canary, because a dead link is noticed by a
 * read before the driver learns of it:
 *
 *   open:   e = err_seq; not good: the import has ended
 *   close:  sfence; c = *(__u64 *)(CANARY mapping + canary_offset); lfence (arm64: dsb ld);
 *           c == canary, good, err_seq == e: all stores since open have arrived
 *           c is all ones, or err_seq != e: some may be lost; if the session goes on, repeating
 *           them repairs it
 *           any other c, or not good: the import has ended
 *
 * The order of the driver's writes when a session ends: epoch, then link_seq, then the mappings. So
 * a barrier that finds an import good has not missed a store, and stores made right after one that
 * did not may still arrive: in the session that ends, never in another. After REVOKE none does.
 *
 * epoch is 0 or import_epoch: an import whose session has ended does not see the next one.
 */
struct rsm_ntb_status {
	__u32 abi;		/* RSM_NTB_ABI */
	__u32 import_epoch;	/* constant: of the session it was made in */
	__u32 epoch;		/* import_epoch until that session ends, then 0 */
	__u32 link_seq;		/* how often a session of the port has ended */
	__u32 err_seq;		/* how often the device has reported errors of the link */
	__u32 revoked;		/* 1: by REVOKE */
	__u64 canary;		/* constant: value of the other side's canary in this session */
	__u64 canary_offset;	/* constant: where, in the CANARY mapping */
	__u64 length;		/* constant: of the import */
	__u32 flags;		/* constant: of IMPORT */
	__u32 reserved[3];
};

/* ---- read() and poll() -------------------------------------------------------------------- */

/*
 * Control descriptors: read() gives whole events, as many as fit and are there; poll(): POLLIN
 * while there are some, POLLHUP when the hardware driver has gone (read() then fails with ENODEV
 * after the last event). At most 1024 wait; after that, one event OVERFLOW stands for those that
 * were lost, and the reader asks INFO and EXTENTS.
 */
#define RSM_NTB_EVENT_UP 1u	     /* a session began; epoch: its number */
#define RSM_NTB_EVENT_DOWN 2u	     /* it ended; epoch: its number */
#define RSM_NTB_EVENT_QUARANTINED 3u /* the last use of the extent `id` on this host has gone */
#define RSM_NTB_EVENT_FREE 4u	     /* the range of the extent `id` may be used again */
#define RSM_NTB_EVENT_ERROR 5u	     /* err_seq has moved; id: its value */
#define RSM_NTB_EVENT_PEER 6u	     /* INFO's peer_node or peer_caps has changed; id: the node */
#define RSM_NTB_EVENT_OVERFLOW 7u    /* events were lost */
#define RSM_NTB_EVENT_TROUBLE 8u     /* TROUBLE has something new */
#define RSM_NTB_EVENT_POSTED 9u	     /* CONTROL_POSTS: counters may have changed; never lost */

struct rsm_ntb_event {
	__u32 type;	/* RSM_NTB_EVENT_* */
	__u32 epoch;	/* of the port when it happened */
	__u64 id;	/* see there; else 0 */
};

/* ---- Between hosts -------------------------------------------------------------------------- */

/*
 * Version of what follows. Two drivers with different versions never agree on a session; both say
 * so in their log, once for each time the link comes up.
 */
#define RSM_NTB_WIRE 1u
#define RSM_NTB_MAGIC 0x4e4d5352u /* "RSMN" */

/*
 * The drivers' part of a pool. Its pieces are 64 KiB apart, so that each is whole pages whatever
 * the page size. Every word has a single writer; nothing is read and modified across the bridge.
 *
 * offset     written by       what
 * 0          this host        struct rsm_ntb_hello
 * 0x10000    the other host   struct rsm_ntb_heartbeat
 * 0x1c000    the other host   __le64 counters[RSM_NTB_CONNECTIONS], of POST; from 0 in each session
 * 0x30000    neither          room for control rings, for a later version of the hello page
 */
#define RSM_NTB_HELLO 0x00000u
#define RSM_NTB_HEARTBEAT 0x10000u
#define RSM_NTB_POST_COUNTERS 0x1c000u
#define RSM_NTB_RINGS 0x30000u

/*
 * The counter of a connection. The difference of two values shows what was posted in between.
 * From the lowest bit:
 *
 * 32 bits posts without COALESCE 8 bits the lowest bits of that number at the latest post with
 *    COALESCE 8 bits how many of these there were at that number, at most 255 16 bits posts with
 *    COALESCE
 */

/*
 * The hello page: the other host reads it through the window, once when a session begins, and the
 * canary at each barrier. canary is (generation << 32 | sequence), which changes when a session
 * ends, and 0 once the driver has left; generation is neither 0 nor all ones, so that no dead link
 * reads like a canary.
 */
struct rsm_ntb_hello {
	__le32 magic;		/* RSM_NTB_MAGIC */
	__le32 wire;		/* RSM_NTB_WIRE */
	__le32 generation;
	__le32 sequence;
	__le64 canary;		/* offset 16: fixed in all versions */
	__le64 pool_size;	/* bytes, extents in place among them; multiple of the granule */
	__le64 granule;		/* page size */
	__le32 reserved0;
	__le32 node;		/* see CONTROL */
	__le32 ring_offset;	/* of control rings, from the start of the pool; 0: none */
	__le32 ring_size;	/* bytes */
	__le32 caps;		/* RSM_NTB_PEER_* */
	__le32 reserved[49];
};

/* Where the other host counts, every heartbeat interval while it has a session. */
struct rsm_ntb_heartbeat {
	__le32 count;
	__le32 reserved[15];
};

/*
 * Scratchpads, which each side writes at the other one. They carry a session's handshake; the
 * window is accessed only after they have shown that there is memory behind it. A side acknowledges
 * the (generation, sequence) it reads there after it has ended everything of the session before.
 * Both are in session when each reads that its own present pair is acknowledged.
 */
#define RSM_NTB_SPAD_MAGIC 0	/* RSM_NTB_MAGIC, 0 while the others are being written */
#define RSM_NTB_SPAD_WIRE 1	/* RSM_NTB_WIRE */
#define RSM_NTB_SPAD_GENERATION 2
#define RSM_NTB_SPAD_SEQUENCE 3
#define RSM_NTB_SPAD_ACK_GENERATION 4 /* 0: nothing seen yet */
#define RSM_NTB_SPAD_ACK_SEQUENCE 5
/* CRC-32 (IEEE) of words 1 to 5 as little-endian bytes; begins with ~0, not inverted at the end. */
#define RSM_NTB_SPAD_CHECK 6
#define RSM_NTB_SPADS 7

/* Doorbells. */
#define RSM_NTB_DB_POSTED 0	/* counters of connections have changed */
#define RSM_NTB_DB_SESSION 1	/* scratchpads or hello page have changed */
#define RSM_NTB_DB_RINGS 2	/* room for control rings; not used by this version */

#endif /* RSM_NTB_H */
