/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A runtime directory with two daemons that count, and the peer. */
#ifndef TESTS_FAULTS_WORLD_H
#define TESTS_FAULTS_WORLD_H

#include "inject.h"
#include "parts.h"
#include "steps.h"

struct world {
    struct fault_shared *faults;
    struct peer_orders *orders;
    char directory[64];
    pid_t daemons[STEPS_DAEMONS];
    pid_t peer;
};

/** Make a runtime directory and what else the environment of the subjects names. */
bool world_open(struct world *world);
/** Remove it; false with a message: something was left there. */
bool world_close(struct world *world);

/** Start daemons and peer. False with a message. */
bool world_start(struct world *world);
/** End them; false with a message: one did not end as it should, or had ended before. */
bool world_end(struct world *world);
/** Kill what there is, whatever state it is in. */
void world_kill(struct world *world);
/** Whether all of them are running. */
bool world_runs(struct world *world);

#endif
