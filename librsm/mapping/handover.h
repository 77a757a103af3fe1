/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How the engine's thread makes a thread that stored to a refused page carry out its store
 *  itself: by a signal, whose handler decodes the instruction. Only threads that wait for a page
 *  in code of their own get one; system calls are not disturbed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAPPING_HANDS = 16 };

/** A thread that has faulted. */
struct mapping_hand {
    pid_t thread;   /* 0: none */
    int fd;         /* of the file that says where it is, or -1 */
    bool blocks;    /* it may block the signal: look that up first */
    bool pending;   /* a signal was sent, and it is not known whether the handler ran */
    bool suspected; /* it still was where it waited when the time-out was over */
    unsigned fruitless;
    unsigned timeouts; /* since its last signal */
    unsigned progress; /* as it was with the last signal */
    uintptr_t address; /* of the last fault */
    uint64_t pc;
    int64_t since; /* ns */
    uint64_t used;
};

/** What a thread of the engine knows about those that fault; of that thread alone. */
struct mapping_hands {
    struct mapping_hand hand[MAPPING_HANDS];
    unsigned pending;
    uint64_t turn;
};

enum mapping_handed {
    MAPPING_HANDED_OVER,      /**< it does its store itself, or has gone on */
    MAPPING_HANDED_TO_CALL,   /**< a system call stores */
    MAPPING_HANDED_TO_DEAF,   /**< it blocks the signal */
    MAPPING_HANDED_TO_NOBODY, /**< there is no signal for it, or none helped */
};

void mapping_hands_init(struct mapping_hands *hands);
void mapping_hands_end(struct mapping_hands *hands);

/** A message of @p thread has been read: it has left the fault before. */
void mapping_hands_seen(struct mapping_hands *hands, pid_t thread);
/** Have @p thread carry out its store to @p address, for which it waits. All other results: give it
 *  the page. */
enum mapping_handed mapping_hand_over(struct mapping_hands *hands, pid_t thread, uintptr_t address);

/** Milliseconds after which to read messages and call the next three again, -1: no need. */
int mapping_hands_timeout(const struct mapping_hands *hands);
/** Look which threads have not moved since they were sent their signals. They are suspected. */
void mapping_hands_look(struct mapping_hands *hands);
/** One that is suspected, and now no longer; NULL: none. All messages have been read since the
 *  look: a thread that has had its signal and waits in its next fault has left one. */
struct mapping_hand *mapping_hands_suspect(struct mapping_hands *hands);
/** Whether its thread still waits to store to @p hand->address; if it may yet get its signal, it is
 *  awaited again (#MAPPING_HANDED_OVER). The caller holds what the signal's
 *  handler needs, so that the thread cannot have gone on by the time the page is given to it. */
enum mapping_handed mapping_hand_judge(struct mapping_hands *hands, struct mapping_hand *hand);

/** Whether this build and machine can do that. Takes a signal for the engine. */
bool mapping_handover_is_possible(void);
