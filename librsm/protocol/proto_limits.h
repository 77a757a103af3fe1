/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Bounds of the control protocol (protocol/proto.h). */
#pragma once

enum {
    RSM_PROTO_MESSAGE_MAX = 16384, /* bytes in one packet */
    RSM_PROTO_HEADER = 20,         /* bytes that begin each */
    RSM_PROTO_GREETING_MS = 5000,  /* within which HELLO comes */
    RSM_PROTO_NAME_MAX = 256,      /* controller names; MAXNAMELEN of the original */
    RSM_PROTO_PATH_MAX = 108,      /* a unix socket path */
    RSM_PROTO_ACL_MAX = 64,
    RSM_PROTO_SHOWN_MAX = 28,      /* a transport's name in INSPECT; a longer one is cut */
    RSM_PROTO_ACL_SHOWN_MAX = 16,  /* of these, with an export in an INSPECT reply */
    RSM_PROTO_PIECES_MAX = 64,     /* extents behind one segment */
    RSM_PROTO_REMOTES_MAX = 32,    /* remote controllers in one TOPOLOGY reply */
    RSM_PROTO_COUNTERS_MAX = 60,   /* receivers in one EVENT_RECEIVERS reply */
    RSM_PROTO_ITEMS_MAX = 32,      /* exports or imports in one INSPECT reply */
    RSM_PROTO_INTERRUPTS_MAX = 64, /* interrupts in one INTERRUPTS reply */
    RSM_PROTO_COUNTS_MAX = 64,     /* imports in one COUNTS reply */
    RSM_PROTO_GROUPS_MAX = 64,     /* imports in one GROUPS reply */
    RSM_PROTO_LINKS_MAX = 16,      /* links in one LINKS reply */
    RSM_PROTO_FAILED_MAX = 12,     /* controllers in one FAILED reply */
    RSM_PROTO_USERS_MAX = 64,      /* users in one SHARES reply */
    RSM_PROTO_NAMED_MAX = 15,      /* nodes in one NAMED reply */
    RSM_PROTO_TUNABLES_MAX = 32,   /* values in one TUNABLES reply */
    RSM_PROTO_ENTRIES_MAX = 8,     /* entries in one MAILBOX_TAKE reply */
    RSM_INTERRUPT_DATA_MAX = 1024, /* bytes of one message */
    RSM_MAILBOX_MAX = 256,         /* entries that rsmd keeps for one handle */
    RSM_PROTO_UNITS_MAX = 64,      /* adapters that a segment has a state on */
    RSM_NODE_ID_MAX = 65535,       /* node ids are 1 to this; 0 is none. No array has this size */
};
