/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"
#include "cases.h"

#include <unistd.h>

#include "transport/tcp/common/options.h"

static char logged[512];

static void to_test(enum rsmcore_log_level level, const char *text)
{
    (void)level;
    strncpy(logged, text, sizeof logged - 1);
}

static bool reads(const char *text, struct tcp_options *options)
{
    const struct rsm_controller_info info = {
        .size = sizeof info, .name = "sci0", .options = text, .peer_timeout_ms = 1234};
    logged[0] = '\0';
    return tcp_options_read(&info, options);
}

static void what_is_left_out(void **state)
{
    struct tcp_options options;
    (void)state;
    assert_true(reads(NULL, &options));
    assert_true(options.address[0] == '\0' && options.port == 0 && options.server[0] == '\0');
    assert_int_equal(options.timeout_ms, 1234);
    bool several = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    assert_int_equal(options.spin_us, several ? 50 : 0);
    assert_int_equal(options.serve_spin_us, several ? 20 : 0);
}

static void all_of_them(void **state)
{
    struct tcp_options options;
    (void)state;
    assert_true(reads("address=192.0.2.1,port=4711 timeout=50,spin-us=7,serve-spin-us=8,"
                      "encrypt=tls,server=/opt/rsm-tcpd",
                      &options));
    assert_string_equal(options.address, "192.0.2.1");
    assert_string_equal(options.server, "/opt/rsm-tcpd");
    assert_true(options.port == 4711 && options.timeout_ms == 50);
    assert_true(options.spin_us == 7 && options.serve_spin_us == 8);
    assert_true(options.tls);
    assert_true(reads("encrypt=none", &options) && !options.tls);
    assert_true(reads("address=2001:db8::1", &options));
}

static void what_is_wrong_is_named(void **state)
{
    static const char *const wrong[] = {"address=here", "port=65536",       "timeout=9",
                                        "spin-us=-1",   "serve-spin-us=1K", "server=rsm-tcpd",
                                        "encrypt=yes"};
    struct tcp_options options;
    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char name[32] = "";
        memcpy(name, wrong[i], strcspn(wrong[i], "="));
        assert_false(reads(wrong[i], &options));
        assert_non_null(strstr(logged, name));
    }
}

static void there_is_no_device(void **state)
{
    const struct rsm_controller_info info = {.size = sizeof info, .name = "sci0", .device = "eth0"};
    struct tcp_options options;
    (void)state;
    assert_false(tcp_options_read(&info, &options));
    assert_non_null(strstr(logged, "eth0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out),
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(there_is_no_device),
    };
    rsmcore_log_to(to_test, RSMCORE_LOG_DEBUG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
