/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/options.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/options.h"

static struct verbs_options defaults(uint32_t timeout_ms)
{
    return (struct verbs_options){
        .gid = VERBS_GID_AUTO,
        .timeout_ms = timeout_ms != 0 ? timeout_ms : 3000,
        .retry = VERBS_RETRY_MAX,
        .spin_us = VERBS_SPIN_AUTO,
        .inline_bytes = 220,
        .pool = UINT64_C(16) << 20,
        .bounce = UINT64_C(512) << 10,
        .register_from = VERBS_REGISTER_AUTO,
        .windows = true,
    };
}

static bool set_address(void *settings, const char *text)
{
    struct verbs_options *o = settings;
    unsigned char bytes[16];
    if (strlen(text) >= sizeof o->address ||
        (inet_pton(AF_INET, text, bytes) != 1 && inet_pton(AF_INET6, text, bytes) != 1))
        return false;
    strcpy(o->address, text);
    return true;
}

static bool set_mtu(void *settings, const char *text)
{
    struct verbs_options *o = settings;
    uint64_t value;
    if (!rsm_number_bytes(text, 256, 4096, &value) || (value & (value - 1)) != 0)
        return false;
    o->mtu = (uint32_t)value;
    return true;
}

#define OPTION(name_, member, expected_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .expected = (expected_), RSM_OPTION(struct verbs_options, member),        \
        __VA_ARGS__                                                                                \
    }
#define NUMBERS(min_, max_) .min = (min_), .max = (max_)

static const struct rsm_option known[] = {
    OPTION("gid", gid, "an index into the port's table of GIDs", NUMBERS(0, 65535)),
    OPTION("port", port, "a port number", NUMBERS(0, 65535)),
    OPTION("address", address, "an IPv4 or IPv6 address of the device", .set = set_address),
    OPTION("timeout", timeout_ms, "10 to 600000 milliseconds", NUMBERS(10, 600000)),
    OPTION("retry", retry, "0 to 6 retries", NUMBERS(0, VERBS_RETRY_MAX)),
    OPTION("spin-us", spin_us, "0 to 1000000 microseconds", NUMBERS(0, 1000000)),
    OPTION("inline", inline_bytes, "0 to 2048 bytes", NUMBERS(0, VERBS_INLINE_MAX)),
    OPTION("mtu", mtu, "256, 512, 1024, 2048 or 4096 bytes", .set = set_mtu),
    OPTION("pool", pool, "bytes, or a number with K, M or G", NUMBERS(0, UINT64_C(1) << 50)),
    OPTION("bounce", bounce, "64K to 1G", NUMBERS(UINT64_C(64) << 10, UINT64_C(1) << 30)),
    OPTION("register", register_from, "auto, no, or bytes, with K, M or G",
           NUMBERS(1, VERBS_REGISTER_NEVER - 1),
           .words = {{"auto", VERBS_REGISTER_AUTO}, {"no", VERBS_REGISTER_NEVER}}),
    OPTION("windows", windows, "yes or no", .words = {{"yes", true}, {"no", false}}),
};

bool verbs_options_parse(const char *text, uint32_t timeout_ms, struct verbs_options *options,
                         char *why, size_t why_size)
{
    *options = defaults(timeout_ms);
    return rsm_options_parse(known, sizeof known / sizeof known[0], "the verbs transport", text,
                             options, why, why_size);
}

uint64_t verbs_register_threshold(const struct verbs_options *options, bool fork_copies)
{
    if (options->register_from != VERBS_REGISTER_AUTO)
        return options->register_from;
    return fork_copies ? VERBS_REGISTER_DEFAULT : VERBS_REGISTER_NEVER;
}

uint8_t verbs_ack_timeout(uint32_t timeout_ms, uint32_t retry)
{
    uint64_t each_ns = timeout_ms * (uint64_t)RSM_NS_PER_MS / (retry + 1);
    uint8_t exponent = 1;
    while (exponent < 31 && (UINT64_C(4096) << (exponent + 1)) <= each_ns)
        exponent++;
    return exponent;
}
