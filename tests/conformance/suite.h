/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a conformance test is written with. Each numbered assertion is one function, registered by
 * CONFORMANCE() where it is defined, and runs in a process of its own, which is a program that uses
 * RSMAPI like any other; other processes are those of peer.h. A test ends by returning, or where an
 * expectation fails, or by doesn't-apply. Expectations may be used on the test's main thread only.
 */
#ifndef TESTS_CONFORMANCE_SUITE_H
#define TESTS_CONFORMANCE_SUITE_H

#include "system.h"

#include <rsmapi.h>

/** One assertion. */
struct conformance_test {
    const char *name; /* "C-01": area and number */
    const char *text;
    const char *rule; /* the sentence of the contract that it holds; NULL: the assertion is one */
    void (*run)(void);
    bool direct; /* it drives the halves of a transport itself, without daemons */
    struct conformance_test *next;
};

/** Define the test of an assertion: CONFORMANCE(C, 01, "...") { body }. Areas are one letter. */
#define CONFORMANCE(area, number, says)                                                            \
    static void test_##area##_##number(void);                                                      \
    __attribute__((constructor)) static void register_##area##_##number(void)                      \
    {                                                                                              \
        static struct conformance_test test = {                                                    \
            .name = #area "-" #number, .text = says, .run = test_##area##_##number};               \
        conformance_register(&test);                                                               \
    }                                                                                              \
    static void test_##area##_##number(void)

void conformance_register(struct conformance_test *test);

enum side { SIDE_EXPORTER, SIDE_IMPORTER };

/** What the program was told on its command line. */
struct conformance_options {
    const char *controller;
    unsigned exporter_node;
    unsigned importer_node;
    /* Two hosts, if not NULL: what the exporter's and the importer's rsm.conf say beside nodes. */
    const char *configurations[2];
    /* These are two machines, if not NULL: their addresses. The tests whose own process is on `side` run here,
     * and an agent (agent.h) on the other machine. */
    const char *machines[2];
    enum side side;
    bool no_map; /* the controller has no load and store */
};
extern struct conformance_options options;

/** What the assertions are about. */
extern const char conformance_api[];

/** "RSMERR_BAD_ADDR" for 16; unknown ones by number, in a buffer that the next call reuses. */
const char *code_name(int code);

/** What the following expectations are about, for the message; as printf(). */
void about(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** What a call to map has answered. If that is because the controller cannot, the test does not
 *  apply. */
int judge_map(int error);

/** The test does not apply over a controller that cannot map; said before it makes what it would
 *  then leave behind. */
void needs_map(void);

/* Behind the macros below. */
void expect_code(const char *file, int line, const char *call, int got, int wanted);
void expect_either(const char *file, int line, const char *call, int got, int first, int second);
void expect_holds(const char *file, int line, const char *what, bool holds);
void does_not_apply(const char *reason) __attribute__((noreturn));

/** The call must return this code. */
#define EXPECT(wanted, call) expect_code(__FILE__, __LINE__, #call, (call), (wanted))
#define OK(call)             EXPECT(RSM_SUCCESS, call)
/** ... one of these. */
#define EXPECT_EITHER(first, second, call)                                                         \
    expect_either(__FILE__, __LINE__, #call, (call), (first), (second))
#define HOLDS(condition) expect_holds(__FILE__, __LINE__, #condition, (condition))

/** The assertion says nothing of this controller, these nodes or this user. */
#define APPLIES_IF(condition, otherwise)                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            does_not_apply(otherwise);                                                             \
    } while (0)

#endif
