/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the tests of the API share: cmocka, a controller, and the check of error orders. */
#ifndef RSMAPI_TEST_H
#define RSMAPI_TEST_H

#include "cases.h"
#include "rsm/rsmapi.h"
#include "unit/rsmapi/fake_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define TEST(name)   TEST_BETWEEN(name, set_up, tear_down)

/** One way to spoil a correct call, and the code that it deserves. */
struct spoiler {
    const char *what;
    void (*spoil)(void *call);
    int error;
};

/** SPOIL(struct call, name, call->handle = NULL): a spoiler of calls of that type. */
#define SPOIL(type, name, change)                                                                  \
    static void name(void *spoiled)                                                                \
    {                                                                                              \
        type *call __attribute__((unused)) = spoiled;                                              \
        change;                                                                                    \
    }

/**
 * Check the documented order of checks: spoil the call in every combination of ways, and expect
 * the code of the first of them. @p spoilers are in the documented order.
 * @param prepare  set up a call that would succeed.
 * @param perform  make the call and return its code; called on spoiled calls only.
 */
void check_order(const struct spoiler *spoilers, size_t count, void *call,
                 void (*prepare)(void *call), int (*perform)(void *call));

/** cmocka fixtures: a clean fake core; what the test made must be gone again. */
int set_up(void **state);
int tear_down(void **state);

rsmapi_controller_handle_t open_controller(const char *name);
void close_controller(rsmapi_controller_handle_t controller);
/** Page-aligned memory that is never freed, of some pages. */
void *test_memory(void);
size_t page_size(void);

/** An import handle with these permissions, through a controller of its own. */
rsm_memseg_import_handle_t connect_import(rsm_permission_t permission);
void disconnect_import(rsm_memseg_import_handle_t import);
/** An export handle of one page, through sci0. */
rsm_memseg_export_handle_t create_export(void);
/** Publish it; returns it. */
rsm_memseg_export_handle_t publish_one(rsm_memseg_export_handle_t handle);
void destroy_export(rsm_memseg_export_handle_t export_handle);
struct rsmcore_event *event_of(void *handle);

#endif
