/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Copies element by element, for transports whose segments are mapped. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rsm/transport.h"

/** Of a function that accesses what others store to at the same time, as shared memory is meant to
 *  be used. */
#define RACES_BY_DESIGN __attribute__((no_sanitize_thread))

/* Volatile: each element is one access, in ascending order, and no two are merged. */
#define COPY_ELEMENTS(type, to, from, count)                                                       \
    do {                                                                                           \
        volatile type *target_ = (void *)(to);                                                     \
        const volatile type *source_ = (const void *)(from);                                       \
        for (size_t i_ = 0; i_ < (count); i_++)                                                    \
            target_[i_] = source_[i_];                                                             \
    } while (0)

/** Copy @p count elements of @p width bytes between a segment and memory of the process, each
 *  aligned to its width. RSM_ST_OK; RSM_ST_INVALID: no such width. */
RACES_BY_DESIGN static inline enum rsm_status rsm_copy_elements(void *to, const void *from,
                                                                unsigned width, size_t count)
{
    switch (width) {
    case 1:
        COPY_ELEMENTS(uint8_t, to, from, count);
        return RSM_ST_OK;
    case 2:
        COPY_ELEMENTS(uint16_t, to, from, count);
        return RSM_ST_OK;
    case 4:
        COPY_ELEMENTS(uint32_t, to, from, count);
        return RSM_ST_OK;
    case 8:
        COPY_ELEMENTS(uint64_t, to, from, count);
        return RSM_ST_OK;
    default:
        return RSM_ST_INVALID;
    }
}

#undef COPY_ELEMENTS
