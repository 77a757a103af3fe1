/* SPDX-License-Identifier: BSD-3-Clause */
/* What administrators and users choose by words: options of the verbs transport, and those of the
 * mapping engine from the configuration and the environment. A text is refused with a reason, or
 * what it says is within the bounds that the manual states. */
#include "check.h"
#include "protocol/map_settings.h"
#include "mapping/options.h"
#include "fuzz.h"
#include "input.h"
#include "transport/verbs/common/options.h"

enum { TEXT_MAX = 512 };

static void try_verbs(const char *text, uint32_t timeout_ms)
{
    struct verbs_options o;
    char why[96];
    memset(why, 0x5a, sizeof why);
    if (!verbs_options_parse(text, timeout_ms, &o, why, sizeof why)) {
        CHECK(memchr(why, '\0', sizeof why) != NULL && why[0] != '\0');
        return;
    }
    CHECK(o.gid >= VERBS_GID_AUTO && o.gid <= 65535 && o.port <= 65535);
    CHECK(memchr(o.address, '\0', sizeof o.address) != NULL);
    CHECK(o.retry <= VERBS_RETRY_MAX && o.spin_us >= VERBS_SPIN_AUTO && o.spin_us <= 1000000);
    CHECK(o.inline_bytes <= VERBS_INLINE_MAX && o.pool <= UINT64_C(1) << 50);
    CHECK(o.mtu == 0 || (o.mtu >= 256 && o.mtu <= 4096 && (o.mtu & (o.mtu - 1)) == 0));
    CHECK(o.bounce >= 65536 && o.bounce <= UINT64_C(1) << 30);
    CHECK(o.timeout_ms == timeout_ms || (o.timeout_ms >= 10 && o.timeout_ms <= 600000));
    uint8_t exponent = verbs_ack_timeout(o.timeout_ms, o.retry);
    uint64_t each_ns = (uint64_t)o.timeout_ms * 1000000 / (o.retry + 1);
    CHECK(exponent >= 1 && exponent <= 31);
    CHECK(exponent == 1 || UINT64_C(4096) << exponent <= each_ns);
}

static void try_knob(enum mapping_tunable tunable, const char *text)
{
    struct mapping_settings settings = {.given = 0};
    bool taken = rsmcore_map_settings_parse(&settings, tunable, text);
    CHECK(rsmcore_map_tunable_by_name(rsmcore_map_tunable_name(tunable)) == tunable);
    CHECK(settings.given == (taken ? 1u << tunable : 0));
    CHECK(rsmcore_map_settings_are_valid(&settings));
}

/* One variable, in memory of its own: setenv() keeps all that it was ever given. */
static void set_variable(const char *name, const char *text)
{
    static char variable[TEXT_MAX + 64];
    snprintf(variable, sizeof variable, "%s=%s", name, text);
    putenv(variable);
}

/* What the protocol or the configuration has brought, and a variable on top of it. */
static void try_reading(struct input *in, enum mapping_tunable tunable, const char *text)
{
    struct mapping_settings settings = {.given = input_u8(in)};
    struct mapping_options options;
    for (unsigned i = 0; i < MAPPING_TUNABLES; i++)
        settings.value[i] = (uint32_t)input_number(in);
    if (!rsmcore_map_settings_are_valid(&settings))
        return;
    set_variable(rsmcore_map_tunable_variable(tunable), text);
    enum rsm_status status = mapping_options_read(&options, &settings);
    unsetenv(rsmcore_map_tunable_variable(tunable));
    if (status != RSM_ST_OK) {
        CHECK(status == RSM_ST_INVALID || status == RSM_ST_UNSUPPORTED);
        return;
    }
    CHECK(options.flush_us >= 1 && options.flush_us <= 1000000 && options.refresh_us <= 1000000);
    CHECK(options.grain >= 1 && options.grain <= 64);
    CHECK((options.grain & (options.grain - 1)) == 0);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    char text[TEXT_MAX];
    unsigned what = input_below(&in, MAPPING_TUNABLES + 2);
    uint32_t timeout_ms = input_u8(&in) * 250u;
    struct input rest = in;
    text[input_bytes(&in, text, sizeof text - 1)] = '\0';
    if (what >= MAPPING_TUNABLES) {
        try_verbs(text, timeout_ms);
        return;
    }
    try_knob((enum mapping_tunable)what, text);
    if (input_u8(&rest) & 1)
        try_reading(&rest, (enum mapping_tunable)what, text);
}
