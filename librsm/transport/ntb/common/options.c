/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/common/options.h"

#include <stdio.h>

#include "base/options.h"

enum { TIMEOUT_DEFAULT_MS = 3000, WAIT_DEFAULT_MS = 500, BEATS = 6 };

#define OPTION(name_, member, expected_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .expected = (expected_), RSM_OPTION(struct ntb_options, member),          \
        __VA_ARGS__                                                                                \
    }
#define NUMBERS(least_, most_) .least = (least_), .most = (most_)
#define BYTES_MAX              (UINT64_C(1) << 50)

static const struct rsm_option known[] = {
    OPTION("pool", pool, "at least 4096 bytes, or a number with K, M or G",
           NUMBERS(4096, BYTES_MAX)),
    OPTION("pin", pin, "yes, no, at least 4096 bytes, or a number with K, M or G",
           NUMBERS(4096, BYTES_MAX), .words = {{"yes", UINT64_MAX}, {"no", 0}}),
    OPTION("pin_from", pin_from, "bytes, or a number with K, M or G", NUMBERS(0, BYTES_MAX)),
    OPTION("doorbell", doorbell, "yes or no", .words = {{"yes", true}, {"no", false}}),
    OPTION("timeout", timeout_ms, "10 to 600000 milliseconds", NUMBERS(10, 600000)),
    OPTION("heartbeat", heartbeat_ms, "1 to 600000 milliseconds", NUMBERS(1, 600000)),
    OPTION("wait", wait_ms, "0 to 600000 milliseconds", NUMBERS(0, 600000)),
};

bool ntb_options_parse(const char *text, uint32_t timeout_ms, struct ntb_options *options,
                       char *why, size_t why_size)
{
    enum { HEARTBEAT_MOST_MS = 100 };
    *options = (struct ntb_options){.timeout_ms = timeout_ms != 0 ? timeout_ms : TIMEOUT_DEFAULT_MS,
                                    .wait_ms = WAIT_DEFAULT_MS,
                                    .pin_from = UINT64_MAX,
                                    .doorbell = true};
    if (!rsm_options_parse(known, sizeof known / sizeof known[0], "the ntb transport", text,
                           options, why, why_size))
        return false;
    if (options->pin == 0 && options->pin_from != UINT64_MAX) {
        snprintf(why, why_size, "option pin_from: expected option pin with it");
        return false;
    }
    if (options->heartbeat_ms == 0) {
        options->heartbeat_ms = options->timeout_ms / BEATS;
        if (options->heartbeat_ms > HEARTBEAT_MOST_MS)
            options->heartbeat_ms = HEARTBEAT_MOST_MS;
        if (options->heartbeat_ms == 0)
            options->heartbeat_ms = 1;
    }
    if (options->heartbeat_ms < options->timeout_ms)
        return true;
    snprintf(why, why_size, "option heartbeat: expected less than timeout, %u milliseconds",
             (unsigned)options->timeout_ms);
    return false;
}
