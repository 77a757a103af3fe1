/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How functions of the API are defined. Each is a symbol under its plain name and under the two
 * names that programs have which were compiled for other libraries: one for programs of one thread,
 * one for those of several. Here all three are the same.
 *
 *     SISCI_API(void, SCIOpen)(...)
 *     {
 *         RSM_UNCANCELLABLE;
 *     }
 *
 * The first line says what the cancellation of a thread does there (base/cancel.h). Waits, and what
 * hardware would do without a system call, have RSM_CANCEL_DEFERRED.
 */
#pragma once

#include "base/cancel.h"
#include "sisci_api.h"

#define SISCI_VISIBLE __attribute__((visibility("default")))

/** Stands for type and name in the definition of a function, and makes the other two names. */
#define SISCI_API(type, name)                                                                      \
    extern __typeof__(name) _SISCI_PUBLIC_FUNC_ST_##name __attribute__((alias(#name)))             \
    SISCI_VISIBLE;                                                                                 \
    extern __typeof__(name) _SISCI_PUBLIC_FUNC_MT_##name __attribute__((alias(#name)))             \
    SISCI_VISIBLE;                                                                                 \
    SISCI_VISIBLE type name
