/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Actors in surroundings where the kernel grants less, as in many containers. */
#ifndef TESTS_INTEGRATION_SANDBOX_H
#define TESTS_INTEGRATION_SANDBOX_H

#include "harness.h"

enum sandbox {
    SANDBOX_NONE,
    SANDBOX_USER_FAULTS, /* userfaultfd for faults of user mode alone, as unprivileged users have */
    SANDBOX_NO_FAULTFD,  /* no userfaultfd at all */
    SANDBOXES,
};

/** What a test calls it. */
const char *sandbox_name(enum sandbox sandbox);

/** Put an actor and all that it starts into it. Skips the test, saying so, where this process has
 * no more than that itself. */
void sandbox_enter(struct actor *actor, enum sandbox sandbox);

#endif
