/* SPDX-License-Identifier: BSD-3-Clause */
/* Built with a swap that does not freeze: the hammer must notice. */
#include "support.h"

#include "hammer.h"

TEST_ALONE(noticed)
{
    struct hammer_result result;
    int found = 0;
    for (int attempt = 0; attempt < 100 && !found; attempt++) {
        hammer(HAMMER_PRIVATE, 256, 200, &result);
        hammer_print("naive", 256, &result);
        found = hammer_found_errors(&result);
    }
    assert_true(found);
}
