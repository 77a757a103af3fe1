/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A connection to a segment of the fake transport, by a completed table. */
#ifndef RSM_TESTS_TRANSPORT_FIXTURE_H
#define RSM_TESTS_TRANSPORT_FIXTURE_H

#include "fake.h"
#include "transport/instance.h"

struct fixture {
    struct rsmcore_import_table table; /* completed */
    const struct rsm_import_ops *ops;  /* in it */
    struct fake_segment *segment;
    struct rsm_port *port;
    struct rsm_conn *conn;
};

/** For cmocka: make a fixture the state of a test, and free it. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

#define FIXTURE_TEST(test) TEST_WITH(struct fixture *f, test, fixture_setup, fixture_teardown)

#endif
