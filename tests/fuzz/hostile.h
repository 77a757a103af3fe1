/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A daemon that lies, on the thread of the program that asks it. What rsmd itself would answer (its
 * dispatch is asked) is changed as the fuzzer's bytes say: fields, descriptors, form, order, or it does
 * not come. An input of zeros, or none, makes it honest.
 *
 * It works while the program waits for it (hostile_waits.c). When it has nothing to do there either, the
 * program would wait in vain, and its clock goes to the end of the wait at once. So an input takes the
 * same steps each time, and none of them takes time for waiting.
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

/** Begin and end to answer. From the end on the daemon is gone. */
void hostile_start(const struct input *script);
void hostile_stop(void);

/** The calls of this thread are those of the program, from now on. */
void hostile_waits_begin(void);

/** Answer what has come. False: nothing had. */
bool hostile_turn(void);

#endif
