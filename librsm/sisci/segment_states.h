/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The states of segments, as tables. They know nothing of what a state means to the core. */
#pragma once

#include "sisci_error.h"
#include "sisci_types.h"

/** Of a local segment, on one adapter. */
enum sisci_local_state {
    SISCI_NOT_PREPARED,
    SISCI_PREPARED,
    SISCI_AVAILABLE,
    SISCI_LOCAL_STATES, /**< how many there are; as a next state: the segment has gone */
};

enum sisci_local_action {
    SISCI_PREPARE,
    SISCI_SET_AVAILABLE,
    SISCI_SET_UNAVAILABLE,
    SISCI_REMOVE,
    SISCI_LOCAL_ACTIONS, /**< how many there are */
};

/** Where an action leads. With an error: nowhere, and `next` is the same state. */
struct sisci_local_edge {
    sci_error_t error;
    enum sisci_local_state next;
};
extern const struct sisci_local_edge sisci_local_edges[SISCI_LOCAL_STATES][SISCI_LOCAL_ACTIONS];

enum sisci_remote_state {
    SISCI_CONNECTING,
    SISCI_OPERATIONAL,
    SISCI_NOT_OPERATIONAL,
    SISCI_DISCONNECTING_OPERATIONAL,
    SISCI_DISCONNECTING_NOT_OPERATIONAL,
    SISCI_LOST,
    SISCI_REMOTE_STATES, /**< how many there are; as a next state: the event does not happen */
};

/** Where an event leads. SCIDisconnectSegment() leads out of every state. */
extern const enum sisci_remote_state sisci_remote_edges[SISCI_REMOTE_STATES][MAX_CB_REASON + 1];
