/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A world whose node 1 several users share, for cmocka. Without root the program is skipped. */
#ifndef TESTS_INTEGRATION_SHARED_NODE_H
#define TESTS_INTEGRATION_SHARED_NODE_H

#include "harness.h"

/** world_setup(), and a daemon of the system's kind on node 1 with this configuration (text of an
 *  rsm.conf; NULL: none). */
int shared_node_setup_with(void **state, const char *configuration);
int shared_node_setup(void **state);
/** End idle actors and the daemon; world_teardown(). */
int shared_node_teardown(void **state);

#define SHARED_NODE_TEST(test)                                                                     \
    TEST_WITH(struct world *world, test, shared_node_setup, shared_node_teardown)

#endif
