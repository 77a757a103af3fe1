/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/options.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { WORD_MAX = 128 };

struct verbs_options verbs_options_default(uint32_t timeout_ms)
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

static bool set_gid(struct verbs_options *o, const char *text)
{
    uint64_t value;
    if (!rsm_number_bytes(text, 0, 65535, &value))
        return false;
    o->gid = (int)value;
    return true;
}

static bool set_address(struct verbs_options *o, const char *text)
{
    unsigned char bytes[16];
    if (strlen(text) >= sizeof o->address ||
        (inet_pton(AF_INET, text, bytes) != 1 && inet_pton(AF_INET6, text, bytes) != 1))
        return false;
    strcpy(o->address, text);
    return true;
}

static bool set_spin(struct verbs_options *o, const char *text)
{
    uint64_t value;
    if (!rsm_number_bytes(text, 0, 1000000, &value))
        return false;
    o->spin_us = (int32_t)value;
    return true;
}

static bool set_windows(struct verbs_options *o, const char *text)
{
    o->windows = strcmp(text, "yes") == 0;
    return o->windows || strcmp(text, "no") == 0;
}

static bool set_mtu(struct verbs_options *o, const char *text)
{
    uint64_t value;
    if (!rsm_number_bytes(text, 256, 4096, &value) || (value & (value - 1)) != 0)
        return false;
    o->mtu = (uint32_t)value;
    return true;
}

#define SET_NUMBER(name, member, type, least, most)                                                \
    static bool set_##name(struct verbs_options *o, const char *text)                              \
    {                                                                                              \
        uint64_t value;                                                                            \
        if (!rsm_number_bytes(text, least, most, &value))                                          \
            return false;                                                                          \
        o->member = (type)value;                                                                   \
        return true;                                                                               \
    }

SET_NUMBER(port, port, uint32_t, 0, 65535)
SET_NUMBER(timeout, timeout_ms, uint32_t, 10, 600000)
SET_NUMBER(retry, retry, uint32_t, 0, VERBS_RETRY_MAX)
SET_NUMBER(inline, inline_bytes, uint32_t, 0, VERBS_INLINE_MAX)
SET_NUMBER(pool, pool, uint64_t, 0, UINT64_C(1) << 50)
SET_NUMBER(bounce, bounce, uint64_t, UINT64_C(64) << 10, UINT64_C(1) << 30)

static bool set_register(struct verbs_options *o, const char *text)
{
    o->register_from = strcmp(text, "no") == 0 ? VERBS_REGISTER_NEVER : VERBS_REGISTER_AUTO;
    return strcmp(text, "no") == 0 || strcmp(text, "auto") == 0 ||
           rsm_number_bytes(text, 1, VERBS_REGISTER_NEVER - 1, &o->register_from);
}

static const struct {
    const char *name;
    bool (*set)(struct verbs_options *o, const char *text);
    const char *expected;
} known[] = {
    {"gid", set_gid, "an index into the port's table of GIDs"},
    {"port", set_port, "a port number"},
    {"address", set_address, "an IPv4 or IPv6 address of the device"},
    {"timeout", set_timeout, "10 to 600000 milliseconds"},
    {"retry", set_retry, "0 to 6 retries"},
    {"spin-us", set_spin, "0 to 1000000 microseconds"},
    {"inline", set_inline, "0 to 2048 bytes"},
    {"mtu", set_mtu, "256, 512, 1024, 2048 or 4096 bytes"},
    {"pool", set_pool, "bytes, or a number with K, M or G"},
    {"bounce", set_bounce, "64K to 1G"},
    {"register", set_register, "auto, no, or bytes, with K, M or G"},
    {"windows", set_windows, "yes or no"},
};

/* One word, which is the caller's copy. */
static bool apply(char *word, struct verbs_options *options, char *why, size_t why_size)
{
    char *value = strchr(word, '=');
    if (value == NULL) {
        snprintf(why, why_size, "option \"%s\": expected NAME=VALUE", word);
        return false;
    }
    *value++ = '\0';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, word) != 0)
            continue;
        if (known[i].set(options, value))
            return true;
        snprintf(why, why_size, "option %s: expected %s, not \"%s\"", word, known[i].expected,
                 value);
        return false;
    }
    snprintf(why, why_size, "option \"%s\" is not one of the verbs transport", word);
    return false;
}

bool verbs_options_parse(const char *text, uint32_t timeout_ms, struct verbs_options *options,
                         char *why, size_t why_size)
{
    static const char separators[] = ", \t";
    *options = verbs_options_default(timeout_ms);
    for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
        char word[WORD_MAX];
        size_t length = strcspn(text, separators);
        if (length >= sizeof word) {
            snprintf(why, why_size, "an option is longer than %d characters", WORD_MAX - 1);
            return false;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        if (!apply(word, options, why, why_size))
            return false;
        text += length;
    }
    return true;
}

uint64_t verbs_register_threshold(const struct verbs_options *options, bool fork_copies)
{
    if (options->register_from != VERBS_REGISTER_AUTO)
        return options->register_from;
    return fork_copies ? VERBS_REGISTER_DEFAULT : VERBS_REGISTER_NEVER;
}

uint8_t verbs_ack_timeout(uint32_t timeout_ms, uint32_t retry)
{
    uint64_t each_ns = (uint64_t)timeout_ms * 1000000 / (retry + 1);
    uint8_t exponent = 1;
    while (exponent < 31 && (UINT64_C(4096) << (exponent + 1)) <= each_ns)
        exponent++;
    return exponent;
}
