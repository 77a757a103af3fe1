/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Local interrupts: what other processes trigger, and what stores raise. */
#pragma once

#include <stdint.h>

#include "core/interrupt.h"
#include "object.h"
#include "sisci_api.h"

struct sisci_flag;

/** A callback of either kind; neither: the program waits. */
struct sisci_interrupt_callback {
    sci_cb_interrupt_t plain;
    sci_cb_data_interrupt_t data;
    void *argument;
};

struct sisci_local_interrupt {
    struct sisci_object object;
    struct rsmcore_interrupt *core;
    struct sisci_interrupt_source *source; /**< NULL: no callback */
    struct sisci_listener *listener;
    struct sisci_flag *flag; /**< NULL: other processes trigger it */
};

struct sisci_interrupt_wanted {
    enum sisci_kind kind;
    uint32_t number;                                 /**< receives the one that it has got */
    uint32_t flags;                                  /**< RSM_INTERRUPT_* */
    unsigned mode;                                   /**< permission bits: who may trigger it */
    const struct sisci_interrupt_callback *callback; /**< NULL: none */
    struct sisci_flag *flag; /**< what raises it; belongs to the interrupt from the call on, and has
                                  ended on error. NULL: other processes trigger it */
};

/** Make one whose owner the caller holds. @p handle is set before the callback is called; on error
 *  it means nothing. */
sci_error_t sisci_interrupt_make(struct sisci_object *owner, struct sisci_interrupt_wanted *wanted,
                                 void **handle);
