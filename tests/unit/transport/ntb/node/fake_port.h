/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A port of the NTB transport without a bridge: it notes the state of each extent, and does, refuses
 * or loses what the test says. An extent's id is its index; the memory of one in place is what was
 * mapped when it was pinned.
 */
#ifndef TESTS_UNIT_NTB_FAKE_PORT_H
#define TESTS_UNIT_NTB_FAKE_PORT_H

#include "cases.h"
#include "transport/ntb/node/window.h"

#define PAGE UINT64_C(4096)

enum { FAKE_EXTENTS_MAX = 4096, FAKE_EVENTS = 4 * FAKE_EXTENTS_MAX, PEER = 2 };

extern struct fake_port {
    struct ntb_port base;
    struct ntb_port_info info;
    struct {
        bool live, quarantined, pinned;
        uint64_t offset, length;
    } extents[FAKE_EXTENTS_MAX];
    uint64_t last_id;
    struct ntb_port_event events[FAKE_EVENTS];
    unsigned first, count;
    enum rsm_status make, make_in_place, pin; /* what becomes of these */
    unsigned pins;
    bool kept;  /* some process keeps each extent's descriptor */
    bool loses; /* events */
    bool has_no_table;
    bool refuses; /* to release */
    bool closed;
} port;

/** A port in session, as new. @p info: its pool and window; the rest is filled in. */
void fake_port_begin(struct ntb_port_info info);
/** The port says this. */
void fake_port_tell(enum ntb_port_event_type type, uint64_t id);
/** The last descriptor of an extent goes. */
void fake_port_let_go(uint64_t id);

#endif
