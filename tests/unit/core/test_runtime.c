/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/runtime.h"

static char scratch[] = "/tmp/rsm-runtime-XXXXXX";

static int clear_environment(void **state)
{
    (void)state;
    unsetenv("RSM_NODE");
    unsetenv("RSM_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    return 0;
}

static void node_ids_are_one_to_sixty_four(void **state)
{
    (void)state;
    assert_int_equal(rsmcore_node_id_parse("1"), 1);
    assert_int_equal(rsmcore_node_id_parse("64"), 64);
    static const char *const wrong[] = {"",   "0",  "65", "-1",  "+1",
                                        " 1", "1 ", "1x", "0x1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rsmcore_node_id_parse(wrong[i]), 0);
}

static void directory_follows_the_documented_order(void **state)
{
    (void)state;
    struct rsmcore_runtime runtime;
    char expected[64];
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    snprintf(expected, sizeof expected, "/tmp/rsm-%u", (unsigned)geteuid());
    if (!runtime.system)
        assert_string_equal(runtime.directory, expected);
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    if (!runtime.system)
        assert_string_equal(runtime.directory, "/run/user/7/rsm");
    setenv("RSM_RUNTIME_DIR", "/somewhere", 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    assert_string_equal(runtime.directory, "/somewhere");
    assert_false(runtime.system);
    assert_int_equal(runtime.node, 1);
}

static void node_and_names(void **state)
{
    (void)state;
    struct rsmcore_runtime runtime;
    char path[RSM_PROTO_PATH_MAX];
    setenv("RSM_RUNTIME_DIR", "/d", 1);
    setenv("RSM_NODE", "2", 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    assert_int_equal(runtime.node, 2);
    rsmcore_runtime_socket(&runtime, 17, path);
    assert_string_equal(path, "/d/node-17.sock");
    rsmcore_runtime_lock(&runtime, 2, path);
    assert_string_equal(path, "/d/node-2.lock");
    setenv("RSM_NODE", "two", 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_INVALID);
}

static void long_directories_are_refused(void **state)
{
    (void)state;
    struct rsmcore_runtime runtime;
    char name[200];
    memset(name, 'd', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    setenv("RSM_RUNTIME_DIR", name, 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_INVALID);
}

static void unsafe_directories_are_refused(void **state)
{
    (void)state;
    struct rsmcore_runtime runtime = {.node = 1};
    char link_name[64];
    assert_non_null(mkdtemp(scratch));
    snprintf(runtime.directory, sizeof runtime.directory, "%s/new", scratch);
    assert_int_equal(rsmcore_runtime_prepare(&runtime), RSM_ST_OK);
    struct stat status;
    assert_int_equal(stat(runtime.directory, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(rsmcore_runtime_prepare(&runtime), RSM_ST_OK);

    chmod(runtime.directory, 0777);
    assert_int_equal(rsmcore_runtime_prepare(&runtime), RSM_ST_DENIED);
    chmod(runtime.directory, 0700);

    snprintf(link_name, sizeof link_name, "%s/link", scratch);
    assert_int_equal(symlink(runtime.directory, link_name), 0);
    struct rsmcore_runtime linked = {.node = 1};
    strcpy(linked.directory, link_name);
    assert_int_equal(rsmcore_runtime_prepare(&linked), RSM_ST_DENIED);

    unlink(link_name);
    rmdir(runtime.directory);
    rmdir(scratch);
}

int main(void)
{
#define CLEAN(test) cmocka_unit_test_setup(test, clear_environment)
    const struct CMUnitTest tests[] = {
        CLEAN(node_ids_are_one_to_sixty_four),
        CLEAN(directory_follows_the_documented_order),
        CLEAN(node_and_names),
        CLEAN(long_directories_are_refused),
        CLEAN(unsafe_directories_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
