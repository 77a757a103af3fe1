/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "base/log.h"
#include "protocol/environment.h"
#include "protocol/runtime.h"

static char said[4096];
static unsigned lines;

static void on_log(enum rsmcore_log_level level, const char *text)
{
    assert_int_equal(level, RSMCORE_LOG_WARNING);
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
    lines++;
}

static int begin(void **state)
{
    static char *nothing[] = {NULL};
    environ = nothing;
    said[0] = '\0';
    lines = 0;
    rsmcore_log_to(on_log, RSMCORE_LOG_WARNING);
    return 0;
}

#define TEST(test) TEST_BETWEEN(test, begin, NULL)

TEST(what_is_known_is_not_told)
{
    setenv("RSM_NODE", "3", 1);
    setenv("RSM_RUNTIME_DIR", "/nowhere", 1);
    setenv("RSM_LOG", "debug", 1);
    setenv("RSM_RSMD", "x", 1);
    setenv("RSM_MODULE_DIR", "x", 1);
    setenv("RSM_SEGMENTID_FILE", "x", 1);
    setenv("RSM_SHM_DIRECT", "0", 1);
    setenv("RSM_MAP_MODE", "off", 1);
    setenv("RSM_MAP_FLUSH_US", "1", 1);
    setenv("RSMX", "x", 1);
    setenv("OTHER_RSM_NODE", "x", 1);
    rsmcore_environment_check();
    assert_string_equal(said, "");
}

TEST(what_is_not_known_is_told)
{
    setenv("RSM_NODEE", "3", 1);
    setenv("RSM_", "", 1);
    setenv("RSM_LOG", "bogus", 1);
    setenv("RSM_SHM_DIRECT", "no", 1);
    rsmcore_environment_check();
    assert_int_equal(lines, 4);
    assert_non_null(strstr(said, "variable RSM_NODEE is not"));
    assert_non_null(strstr(said, "variable RSM_ is not"));
    assert_non_null(strstr(said, "RSM_LOG=bogus: expected error, warning, info or debug"));
    assert_non_null(strstr(said, "RSM_SHM_DIRECT=no: expected 0 or 1"));
}

/* By whatever the library does first, and not again. */
TEST(it_is_told_once)
{
    struct rsmcore_runtime runtime;
    setenv("RSM_NODEE", "3", 1);
    setenv("RSM_RUNTIME_DIR", "/nowhere", 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    assert_int_equal(lines, 1);
}
