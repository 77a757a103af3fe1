/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * More verbs for actors (party.h): transfers that go on until something happens to them.
 *
 * A round puts one block, every word of which is the number of the round, at the beginning of the
 * segment, in implicit barrier mode: it is over when the block has arrived.
 */
#ifndef TESTS_VM_FAULTS_TRANSFER_H
#define TESTS_VM_FAULTS_TRANSFER_H

#include "party.h"

enum {
    BLOCK = 256 * 1024, /* several packets, several work requests */
    WITHIN_MS = 25000,  /* in which every fault must have been noticed; below CALL_TIMEOUT_MS */
};

/** Import side: put .length bytes a round until a round fails, and answer with its error; -1 if
 *  that takes more than WITHIN_MS. */
int party_put_rounds(void *order);

/** Import side: put the round .value and get it back; 1: it came back different. */
int party_there_and_back(void *order);

/** Export side: wait until .value more rounds have begun to arrive. */
int party_await_rounds(void *order);

/** Export side: answer with the sum of the first .length bytes of the memory, in .value. */
int party_sum(void *order);

/** Open the controller while this process may lock .value bytes of memory (RLIMIT_MEMLOCK). Before
 *  anything else of RSMAPI; answers in .flags whether the log names the limit. */
int party_open_short_of_memory(void *order);

/** Register .length bytes of local memory, with that limit, and give them back; .flags as above. */
int party_register_short_of_memory(void *order);

/** Import side: connect until that works, for WITHIN_MS at most, and init_barrier. */
int party_join(void *order);

#endif
