/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How functions of the API are defined. Each is a symbol under its plain name and under the two
 * names that programs have which were compiled for other libraries: one for programs of one thread,
 * one for those of several. Here all three are the same.
 *
 *     SISCI_API void SCIOpen(...)
 *     {
 *     }
 *     SISCI_EXPORT(SCIOpen);
 */
#ifndef SISCI_EXPORT_H
#define SISCI_EXPORT_H

#include "sisci_api.h"

#define SISCI_API __attribute__((visibility("default")))

/** Stands behind the definition, in the same file: the other two names. */
#define SISCI_EXPORT(name)                                                                         \
    extern __typeof__(name) _SISCI_PUBLIC_FUNC_ST_##name                                           \
        __attribute__((alias(#name), visibility("default")));                                      \
    extern __typeof__(name) _SISCI_PUBLIC_FUNC_MT_##name                                           \
        __attribute__((alias(#name), visibility("default")))

#endif
