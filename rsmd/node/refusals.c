/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/refusals.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

enum { SENTENCE_BYTES = 256 };

void rsmd_refused(struct rsmd_node *node, const char *format, ...)
{
    char text[SENTENCE_BYTES];
    unsigned dropped;
    va_list arguments;
    if (!rsmd_bucket_take(&node->refusals, rsm_clock_ns() / 1000000, &dropped))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rsm_log_info("%s", text);
    if (dropped > 0)
        rsm_log_info("%u other refusals are not shown", dropped);
}
