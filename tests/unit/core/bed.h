/* SPDX-License-Identifier: BSD-3-Clause */
/** @file An import of the core over a segment of the fake transport, without a daemon. */
#ifndef TESTS_UNIT_CORE_BED_H
#define TESTS_UNIT_CORE_BED_H

#include "core/work.h"
#include "transport/instance.h"
#include "unit/transport/fake.h"

enum { BED_SIZE = 4096, BED_WORKS = 8 };

struct bed {
    struct fake_segment *segment;
    struct rsmcore_import_table table; /* complete: what a transport leaves out is filled in */
    struct rsm_port *port;
    struct rsmcore_import import;
    struct rsmcore_work works[BED_WORKS];
};

/** Make a bed the state of a test. @p completions: what the transport has of them, or NULL. */
int bed_begin(void **state, const struct rsm_completion_ops *completions);
int bed_end(void **state);
/** The connection is at its end, as the generation table says. */
void bed_cut(void);

#endif
