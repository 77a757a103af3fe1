/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Interrupts with and without data, which differ in little but their callbacks. */
#pragma once

#include "core/interrupt.h"
#include "export.h"
#include "object.h"

/** A callback of either kind. */
struct sisci_interrupt_callback {
    sci_cb_interrupt_t plain;
    sci_cb_data_interrupt_t data;
    void *argument;
};

/**
 * Make a local interrupt, for SCICreateInterrupt() and SCICreateDataInterrupt().
 * @param[in,out] number unchanged on error.
 * @param[out] handle the program's variable, maybe NULL; it is set before the callback is called.
 * NULL on error.
 */
sci_error_t sisci_interrupt_create(sci_desc_t sd, enum sisci_kind kind, unsigned adapter,
                                   unsigned *number,
                                   const struct sisci_interrupt_callback *callback, unsigned flags,
                                   void **handle);
sci_error_t sisci_interrupt_remove(const void *handle, enum sisci_kind kind, unsigned flags);
/** @p length is NULL for a plain one. */
sci_error_t sisci_interrupt_wait(const void *handle, enum sisci_kind kind, void *data,
                                 unsigned *length, unsigned timeout, unsigned flags);

/** Find one of any node. @p known: the flags that the function has. */
sci_error_t sisci_interrupt_connect(sci_desc_t sd, enum sisci_kind kind, unsigned node,
                                    unsigned adapter, unsigned number, unsigned flags,
                                    unsigned known, void **handle);
sci_error_t sisci_interrupt_disconnect(const void *handle, enum sisci_kind kind, unsigned flags);
sci_error_t sisci_interrupt_trigger(const void *handle, enum sisci_kind kind, const void *data,
                                    size_t length, unsigned flags);
