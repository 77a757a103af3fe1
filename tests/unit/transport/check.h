/* SPDX-License-Identifier: BSD-3-Clause */
/** @file cmocka, and the one assertion that all tests here make. */
#ifndef RSM_TESTS_TRANSPORT_CHECK_H
#define RSM_TESTS_TRANSPORT_CHECK_H

#include "cases.h"
#include "base/status.h"

/* Fails with both texts, which say more than two numbers. */
#define assert_status(actual, expected)                                                            \
    assert_string_equal(rsmcore_status_text(actual), rsmcore_status_text(expected))

#endif
