/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What functions of the API report, and what the core's status is there. */
#pragma once

#include "rsm/transport.h"
#include "sisci_error.h"

/** Which functions ask: the same outcome has different names in the API. */
enum sisci_family {
    SISCI_LOCAL,    /**< local resources: a failure is the local daemon's */
    SISCI_CONNECT,  /**< to a segment or an interrupt, of any node */
    SISCI_TRANSFER, /**< what goes over a connection that there is */
    SISCI_WAIT,
};

/** SCI_ERR_OK for RSM_ST_OK. */
sci_error_t sisci_error(enum sisci_family family, enum rsm_status status);

/** Store a function's result. Programs may pass NULL. Returns @p result. */
static inline sci_error_t sisci_report(sci_error_t *error, sci_error_t result)
{
    if (error != NULL)
        *error = result;
    return result;
}
