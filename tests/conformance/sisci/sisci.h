/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What tests of SISCI are written with, beside suite.h and sides.h. Each check is one function:
 *
 *     CONFORMANCE(I, 84, "connecting to a number that is absent fails at once")
 *     {
 *         act_as_exporter();
 *         GIVES(SCI_ERR_NO_SUCH_INTNO, SCIConnectInterrupt, desc(), ...);
 *     }
 *
 * Numbers are those of the list of checks, 1 to 95; areas are its sections: H headers and linking,
 * L library and nodes, S local segments, R remote segments, E events and callbacks, C copies and
 * sequences, D DMA, I interrupts, B broadcast and the rest; X, numbered by itself, is what goes
 * beyond it. The test's process is A, the exporter's node; peers are B.
 */
#ifndef TESTS_CONFORMANCE_SISCI_H
#define TESTS_CONFORMANCE_SISCI_H

#include <sisci_api.h>

#include "../sides.h"
#include "../suite.h"
#include "process.h"

enum {
    ADAPTER = 0,
    LONG_MS = 60000,  /* of a wait that is for hangs */
    NO_ERROR_YET = 1, /* what no function reports */
};

/** Call a function of the API whose last parameter is the error; the error. */
#define ERROR_OF(function, ...)                                                                    \
    __extension__({                                                                                \
        sci_error_t error_of_ = (sci_error_t)NO_ERROR_YET;                                         \
        (void)function(__VA_ARGS__, &error_of_);                                                   \
        error_of_;                                                                                 \
    })

/** In a test: the function must report this error, or success. */
#define GIVES(wanted, function, ...)                                                               \
    expect_code(__FILE__, __LINE__, #function "(" #__VA_ARGS__ ")",                                \
                (int)ERROR_OF(function, __VA_ARGS__), (int)(wanted))
#define SUCCEEDS(function, ...) GIVES(SCI_ERR_OK, function, __VA_ARGS__)

/** A descriptor of this process, the library being initialised; opened once. NULL: not to be had. */
sci_desc_t desc(void);

/** Begin as A: the side, and desc(), which must be there. */
void begin_as_a(void);
/** A process of B's node. Before begin_as_a(). */
struct actor *b_start(void);

/** A and B's node ids. */
unsigned node_a(void);
unsigned node_b(void);

/** Start SIGALRM every 2 ms in this process, and end it. */
void alarms_begin(void);
void alarms_end(void);

/** Wait until the thread whose id is there, or will be, sleeps and goes on sleeping: in a call that it
 *  was about to make. For LONG_MS at most. */
void await_sleep(_Atomic pid_t *thread);

/** Whether the tests are to take their time, that is, do as much as the list of checks says even if it
 *  takes a minute: the environment has RSM_CONFORMANCE_LONG. */
bool long_run(void);

/** Handles that are none of any kind: NULL, small numbers, addresses of memory, all ones. */
enum { NO_HANDLES = 5 };
void *no_handle(unsigned which);

#endif
