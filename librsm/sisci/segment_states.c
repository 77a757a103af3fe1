/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment_states.h"

const struct sisci_local_edge sisci_local_edges[SISCI_LOCAL_STATES][SISCI_LOCAL_ACTIONS] = {
    [SISCI_NOT_PREPARED] =
        {
            [SISCI_PREPARE] = {SCI_ERR_OK, SISCI_PREPARED},
            [SISCI_SET_AVAILABLE] = {SCI_ERR_SEGMENT_NOT_PREPARED, SISCI_NOT_PREPARED},
            [SISCI_SET_UNAVAILABLE] = {SCI_ERR_ILLEGAL_OPERATION, SISCI_NOT_PREPARED},
            [SISCI_REMOVE] = {SCI_ERR_OK, SISCI_LOCAL_STATES},
        },
    [SISCI_PREPARED] =
        {
            [SISCI_PREPARE] = {SCI_ERR_OK, SISCI_PREPARED},
            [SISCI_SET_AVAILABLE] = {SCI_ERR_OK, SISCI_AVAILABLE},
            [SISCI_SET_UNAVAILABLE] = {SCI_ERR_ILLEGAL_OPERATION, SISCI_PREPARED},
            [SISCI_REMOVE] = {SCI_ERR_OK, SISCI_LOCAL_STATES},
        },
    [SISCI_AVAILABLE] =
        {
            [SISCI_PREPARE] = {SCI_ERR_OK, SISCI_AVAILABLE},
            [SISCI_SET_AVAILABLE] = {SCI_ERR_OK, SISCI_AVAILABLE},
            [SISCI_SET_UNAVAILABLE] = {SCI_ERR_OK, SISCI_PREPARED},
            [SISCI_REMOVE] = {SCI_ERR_OK, SISCI_LOCAL_STATES},
        },
};

#define NO SISCI_REMOTE_STATES

/* Indexed by reasons, of which 0 is none. */
const enum sisci_remote_state sisci_remote_edges[SISCI_REMOTE_STATES][MAX_CB_REASON + 1] = {
    [SISCI_CONNECTING] =
        {
            NO,
            [SCI_CB_CONNECT] = NO,
            [SCI_CB_DISCONNECT] = NO,
            [SCI_CB_NOT_OPERATIONAL] = NO,
            [SCI_CB_OPERATIONAL] = SISCI_OPERATIONAL,
            [SCI_CB_LOST] = SISCI_LOST,
        },
    [SISCI_OPERATIONAL] =
        {
            NO,
            [SCI_CB_CONNECT] = NO,
            [SCI_CB_DISCONNECT] = SISCI_DISCONNECTING_OPERATIONAL,
            [SCI_CB_NOT_OPERATIONAL] = SISCI_NOT_OPERATIONAL,
            [SCI_CB_OPERATIONAL] = NO,
            [SCI_CB_LOST] = SISCI_LOST,
        },
    [SISCI_NOT_OPERATIONAL] =
        {
            NO,
            [SCI_CB_CONNECT] = NO,
            [SCI_CB_DISCONNECT] = SISCI_DISCONNECTING_NOT_OPERATIONAL,
            [SCI_CB_NOT_OPERATIONAL] = NO,
            [SCI_CB_OPERATIONAL] = SISCI_OPERATIONAL,
            [SCI_CB_LOST] = SISCI_LOST,
        },
    [SISCI_DISCONNECTING_OPERATIONAL] =
        {
            NO,
            [SCI_CB_CONNECT] = NO,
            [SCI_CB_DISCONNECT] = NO,
            [SCI_CB_NOT_OPERATIONAL] = NO,
            [SCI_CB_OPERATIONAL] = NO,
            [SCI_CB_LOST] = SISCI_LOST,
        },
    [SISCI_DISCONNECTING_NOT_OPERATIONAL] =
        {
            NO,
            [SCI_CB_CONNECT] = NO,
            [SCI_CB_DISCONNECT] = NO,
            [SCI_CB_NOT_OPERATIONAL] = NO,
            [SCI_CB_OPERATIONAL] = SISCI_DISCONNECTING_OPERATIONAL,
            [SCI_CB_LOST] = SISCI_LOST,
        },
    [SISCI_LOST] = {NO, NO, NO, NO, NO, NO},
};
