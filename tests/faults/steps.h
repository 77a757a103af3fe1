/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Calls of the API, one after the other, each of which may fail once.
 *
 * A call that fails although nothing was injected is a defect; so is an error that the manual does
 * not list, memory that is not as it was, a second failure, and anything held at the end of the
 * step that is not held there when nothing fails. What is held is learnt in a first run.
 */
#ifndef TESTS_FAULTS_STEPS_H
#define TESTS_FAULTS_STEPS_H

#include "../system.h"

#include <rsmapi.h>

#include "inject.h"

enum {
    STEPS_MAX = 400,
    STEPS_DAEMONS = 2,
    STEPS_WAITS = 0, /* of another thread, while a call hangs */
    STEPS_SERVED = 1,
    STEPS_REFUSED = 2,
    STEPS_LOST = 3, /* exit status: the daemon has dropped this client, as it may */
};

/** What a process and the daemons that it uses hold. */
struct steps_held {
    int descriptors;
    int objects; /* mappings of memfds */
    int blocks;  /* allocations made inside calls */
    int daemon_descriptors[STEPS_DAEMONS];
    int daemon_blocks[STEPS_DAEMONS];
};

/** What one part holds after each of its steps when nothing fails. In shared memory. */
struct steps_record {
    int count;
    _Atomic int others; /* never.h */
    struct steps_held after[STEPS_MAX];
};

/** How a part is run. */
struct steps_setup {
    const char *part;
    struct fault_shared *faults;
    struct steps_record *record;
    bool learn;                   /* fill the record */
    bool signals;                 /* real ones arrive all the time, nothing is injected */
    bool tell_steps;              /* to the slots: the same place in another step is another one */
    bool daemon_role;             /* a daemon fails, not this process */
    bool may_lose;                /* and may drop this client for that */
    pid_t daemons[STEPS_DAEMONS]; /* 0: none */
};

/** Begin in a process of its own. */
void steps_begin(const struct steps_setup *setup);

/** Look at what is held at the end of the part. Does not return if that is too much. */
void steps_end(void);

/** In a forked child: count steps from here on, for the parent takes the next numbers. */
void steps_branch(int first);

/** Memory that must keep its contents whatever fails: it is filled, and looked at after each
 *  failure and at the end. */
void steps_guard(void *memory, size_t length, unsigned seed);
void steps_unguard(const void *memory);

/** Whether calls of this group are among those that may fail. */
bool steps_group_fails(const char *group);

/** Whether it is a daemon that fails, not this process. */
bool steps_daemon_fails(void);

/** Whether signals arrive so often that no wait gets to its end. */
bool steps_are_interrupted(void);

/** Used by the macros. */
void steps_try(const char *call);
bool steps_again(int result, int wanted);
void steps_fail(const char *file, int line, const char *what);

/** Carry out a call of the API that has to succeed, with one failure on the way at most. */
#define TRY(call) TRY_FOR(RSM_SUCCESS, call)

/** The same for one that has to end with that code. */
#define TRY_FOR(wanted, call) TRY_AS(#call, wanted, call)

/** The same for a function of the test, whose codes are those of the function that is named. */
#define TRY_AS(name, wanted, call)                                                                 \
    do {                                                                                           \
        int result_;                                                                               \
        steps_try(name);                                                                           \
        do {                                                                                       \
            faults_arm_here();                                                                     \
            result_ = (call);                                                                      \
            faults_disarm_here();                                                                  \
        } while (steps_again(result_, (wanted)));                                                  \
    } while (0)

/** What has to hold in between. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            steps_fail(__FILE__, __LINE__, #condition);                                            \
    } while (0)

/** The preloaded library's, looked up once. */
extern void (*faults_arm_here)(void);
extern void (*faults_disarm_here)(void);
extern void (*faults_attach_here)(struct fault_slot *slot);

/** Look the three up; false with a message if the library is not there. */
bool steps_find_library(void);

/** Print where in a process an address lies: "FILE+OFFSET", and by addr2line where that knows. */
void steps_print_address(pid_t pid, uintptr_t address);

/** Print who allocated what a process holds. */
void steps_print_blocks(const struct fault_slot *slot, pid_t pid);

/** Print which call failed, and from where, as far as the process still tells. */
void steps_print_fault(const struct fault_slot *slot, pid_t pid);

#endif
