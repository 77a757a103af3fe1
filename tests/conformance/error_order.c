/* SPDX-License-Identifier: BSD-3-Clause */
#include "error_order.h"

static void check_call(const struct checked_function *function, unsigned mask, int wanted)
{
    expect_code(__FILE__, __LINE__, "the call", function->call(mask), wanted);
}

static void check_pair(const struct checked_function *function, unsigned first, unsigned second)
{
    const struct fault *faults = function->faults;
    if ((faults[first].about & faults[second].about) != 0)
        return;
    about("%s: %s and %s", function->name, faults[first].what, faults[second].what);
    check_call(function, 1u << first | 1u << second, faults[first].code);
}

void check_order(const struct checked_function *function)
{
    about("%s", function->name);
    check_call(function, 0, RSM_SUCCESS);
    for (unsigned first = 0; function->faults[first].what != NULL; first++) {
        about("%s: %s", function->name, function->faults[first].what);
        check_call(function, 1u << first, function->faults[first].code);
        for (unsigned second = first + 1; function->faults[second].what != NULL; second++)
            check_pair(function, first, second);
    }
    about("%s, after all", function->name);
    check_call(function, 0, RSM_SUCCESS);
}
