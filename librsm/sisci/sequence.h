/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Sequences: whether what was stored through a map has arrived. */
#pragma once

#include "core/barrier.h"
#include "map.h"

struct sisci_sequence {
    struct sisci_object object;
    struct rsmcore_import *import; /**< of its map; NULL: of a local segment */
    _Atomic uint32_t failures;     /**< the span's barrier */
};

/** Begin a span. */
void sisci_span_begin(struct sisci_sequence *sequence);
/** End it and begin another: what came of it. */
sci_sequence_status_t sisci_span_end(struct sisci_sequence *sequence);
