/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/common/options.h"

#include <stdio.h>

#include "base/options.h"

#define OPTION(name_, member, expected_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .expected = (expected_), RSM_OPTION(struct ntb_options, member),          \
        __VA_ARGS__                                                                                \
    }
#define NUMBERS(min_, max_) .min = (min_), .max = (max_)
#define BYTES_MAX           (UINT64_C(1) << 50)

static const struct rsm_option known[] = {
    OPTION("pool", pool, "at least 4096 bytes, or a number with K, M or G",
           NUMBERS(4096, BYTES_MAX)),
    OPTION("pin", pin, "yes, no, at least 4096 bytes, or a number with K, M or G",
           NUMBERS(4096, BYTES_MAX), .words = {{"yes", UINT64_MAX}, {"no", 0}}),
    OPTION("pin_from", pin_from, "bytes, or a number with K, M or G", NUMBERS(0, BYTES_MAX)),
    OPTION("doorbell", doorbell, "yes or no", .words = {{"yes", true}, {"no", false}}),
};

bool ntb_options_parse(const char *text, struct ntb_options *options, char *why, size_t why_size)
{
    *options = (struct ntb_options){.pin_from = UINT64_MAX, .doorbell = true};
    if (!rsm_options_parse(known, sizeof known / sizeof known[0], "the ntb transport", text,
                           options, why, why_size))
        return false;
    if (options->pin != 0 || options->pin_from == UINT64_MAX)
        return true;
    snprintf(why, why_size, "option pin_from: expected option pin with it");
    return false;
}
