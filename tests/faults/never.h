/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A call that never returns, and the others who must be served meanwhile: another thread of the client,
 * on segments of its own, and in a process of its own, which it forks; and a process of another user.
 */
#ifndef TESTS_FAULTS_NEVER_H
#define TESTS_FAULTS_NEVER_H

#include "inject.h"
#include "steps.h"

/** In the client, before it begins: a thread that works as soon as a call of @p slot hangs. */
void never_begin_thread(struct fault_slot *slot, struct steps_record *record);

/** Wait until a call of @p slot hangs or the client has ended. @return whether one hangs. */
bool never_await(const struct fault_slot *slot, pid_t client);

/** Whether the others are served while it hangs: processes of that node, and, if the call is the client's,
 *  its other thread. Says what is not so. */
bool never_others_are_served(const struct steps_record *record, uint32_t node, bool in_client);

/** Whether the preloaded library knows the calls that wait for others from those that do not. */
bool never_knows_waits(struct fault_slot *slot);

#endif
