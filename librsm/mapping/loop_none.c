/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is known of this processor's loops. */
#include "mapping/loop.h"

size_t mapping_loop_bytes(void)
{
    return 0;
}

struct mapping_loop_run mapping_loop_run(struct mapping_loop *loop, ucontext_t *context,
                                         struct mapping_loop_sink *sink)
{
    (void)loop, (void)context, (void)sink;
    return (struct mapping_loop_run){.stores = 0};
}
