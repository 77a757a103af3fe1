/* SPDX-License-Identifier: BSD-3-Clause */
/* What modules of transports log in the daemon: a client can cause it, as often as he likes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "base/log.h"
#include "common/complaints.h"
#include "rsm/transport.h"
#include "server/logging.h"
#include "transport/registry.h"

static const struct rsm_node_ops *ops;
static int log_file, terminal;

static int set_up(void **state)
{
    (void)state;
    log_file = memfd_create("log", MFD_CLOEXEC);
    terminal = dup(STDERR_FILENO);
    if (log_file < 0 || terminal < 0 || setenv("RSM_MODULE_DIR", TEST_MODULES, 1) != 0 ||
        dup2(log_file, STDERR_FILENO) < 0)
        return -1;
    unsetenv("JOURNAL_STREAM");
    rsmd_logging_start(false, RSMCORE_LOG_INFO);
    ops = rsmcore_transport_node("shared");
    return ops != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    close(log_file);
    return 0;
}

/* As if a client connected; the module refuses that, and logs it. */
static void connect_with(uint32_t rights)
{
    assert_int_equal(ops->offer(NULL, NULL, 0, rights, NULL, NULL, NULL), RSM_ST_UNREACHABLE);
}

static unsigned lines_with(const char *text)
{
    static char written[65536];
    unsigned count = 0;
    ssize_t length = pread(log_file, written, sizeof written - 1, 0);
    assert_in_range(length, 0, sizeof written - 2);
    written[length] = '\0';
    for (const char *at = written; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

static void a_sentence_is_logged_ten_times_a_minute(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        connect_with(1);
    /* Should a minute end amid it, they are twice as many. */
    assert_in_range(lines_with("shared: no offer of rights 1"), 1, 2 * RSMD_COMPLAINTS_BURST);
    connect_with(2); /* another one is not hidden by it */
    assert_int_equal(lines_with("shared: no offer of rights 2"), 1);
}

/* Whoever opens a controller hears why that fails, however often it was said. */
static void what_is_kept_is_not_bounded(void **state)
{
    char said[80];
    (void)state;
    for (int i = 0; i < 100; i++)
        connect_with(3);
    for (int i = 0; i < 5; i++) {
        unsigned before = lines_with("shared: no offer of rights 3");
        rsmcore_log_keep(said, sizeof said);
        connect_with(3);
        rsmcore_log_keep(NULL, 0);
        assert_string_equal(said, "shared: no offer of rights 3");
        assert_int_equal(lines_with("shared: no offer of rights 3"), before + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_is_logged_ten_times_a_minute),
        cmocka_unit_test(what_is_kept_is_not_bounded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
