/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A daemon that lies, in a thread of this process. What rsmd itself would answer (its dispatch is
 * asked) is changed as the fuzzer's bytes say: fields, descriptors, form, order, or it does not
 * come. An input of zeros, or none, makes it honest.
 */
#ifndef TESTS_FUZZ_HOSTILE_H
#define TESTS_FUZZ_HOSTILE_H

#include "input.h"

enum {
    HOSTILE_TIMEOUT_MS = 100, /* the least that a client believes */
    HOSTILE_NODES = 2,        /* ids 1 and 2, both on this host */
};

/** Listen as nodes 1 and 2 in a runtime directory of this process's own, which is put into the
 *  environment. Once. */
void hostile_prepare(void);

/** Begin and end to answer. From the end on the daemon is as dead as if it had been killed. */
void hostile_start(const struct input *script);
void hostile_stop(void);

#endif
