/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * cmocka with the headers that it wants before it, and the cases of a program. Each case is
 * registered where it is defined, and they run in the order of the file. With an argument the
 * program runs the cases whose names match it, in which * and ? stand for anything.
 */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "system.h"

#include <setjmp.h>

#include <cmocka.h>

/** TEST_BETWEEN(name, set_up, tear_down) { body }: a case, and the functions of cmocka before and
 *  after it, or NULL. */
#define TEST_BETWEEN(name, set_up, tear_down)                                                      \
    static void name(void **state);                                                                \
    TEST_ADDED(name, name, set_up, tear_down)                                                      \
    static void name(void **state __attribute__((unused)))

/** The same for a body with a parameter, `struct world *world` for instance: @p set_up sets *state
 *  to it. */
#define TEST_WITH(parameter, name, set_up, tear_down)                                              \
    static void name(parameter);                                                                   \
    static void name##_case(void **state)                                                          \
    {                                                                                              \
        name(*state);                                                                              \
    }                                                                                              \
    TEST_ADDED(name, name##_case, set_up, tear_down)                                               \
    static void name(parameter __attribute__((unused)))

/** The same without anything before and after it. */
#define TEST_ALONE(name) TEST_BETWEEN(name, NULL, NULL)

/** What runs before the first case and after the last one. */
#define TESTS_BETWEEN(set_up, tear_down)                                                           \
    __attribute__((constructor)) static void add_group(void)                                       \
    {                                                                                              \
        cases_between((set_up), (tear_down));                                                      \
    }

#define TEST_ADDED(name, body, set_up, tear_down)                                                  \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        cases_add(__LINE__, &(struct CMUnitTest){#name, body, set_up, tear_down, NULL});           \
    }

void cases_add(int line, const struct CMUnitTest *test);
void cases_between(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/** For programs that have a main() of their own: run all cases; how many failed. */
int cases_run(void);

/** For several users: without root, the program ends as one that was skipped, or the case is skipped. */
void program_needs_root(void);
void case_needs_root(void);

#endif
