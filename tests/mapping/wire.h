/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A transport made of shared memory and malice: writes arrive late, independent ones in any order
 * unless order() comes between them, reads do not wait for them, and failures can be ordered.
 */
#ifndef TESTS_MAPPING_WIRE_H
#define TESTS_MAPPING_WIRE_H

#include "rsm/transport.h"

/** A connection to @p memory; one a process. */
struct rsm_conn *wire_connect(uint8_t *memory, uint64_t size);
/** The next writes fail on their way, which is counted; or with @p at_once the next call fails. */
void wire_inject(unsigned failures, bool at_once);
/** Nothing arrives any more, and every call says so. */
void wire_cut(void);

#endif
