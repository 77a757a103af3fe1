/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Transports by name: built in, added, and in modules of a directory made for the test. */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "fake.h"
#include "transport/registry.h"

/* Names in the test's directory, and what was built for them. */
static const struct {
    const char *name;
    const char *built;
} modules[] = {
    {"skeleton", "skeleton"},     {"misnamed", "skeleton"},   {"bad_abi", "bad_abi"},
    {"bad_symbol", "bad_symbol"}, {"bad_table", "bad_table"}, {"bad_later", "bad_later"},
};
enum { MODULES = sizeof modules / sizeof *modules };

static char directory[] = "/tmp/rsm-modules-XXXXXX";
static unsigned complaints;
static char complaint[1024];

static void count_complaint(enum rsmcore_log_level level, const char *text)
{
    assert_int_equal(level, RSMCORE_LOG_ERROR);
    complaints++;
    snprintf(complaint, sizeof complaint, "%s", text);
}

static int setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(directory));
    for (unsigned i = 0; i < MODULES; i++) {
        char target[PATH_MAX], name[PATH_MAX];
        snprintf(target, sizeof target, "%s/librsm_%s.so", TEST_MODULES, modules[i].built);
        snprintf(name, sizeof name, "%s/librsm_%s.so", directory, modules[i].name);
        assert_int_equal(symlink(target, name), 0);
    }
    assert_int_equal(setenv("RSM_MODULE_DIR", directory, 1), 0);
    rsmcore_log_to(count_complaint, RSMCORE_LOG_DEBUG);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MODULES; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/librsm_%s.so", directory, modules[i].name);
        unlink(name);
    }
    return rmdir(directory);
}

static void shm_is_built_in(void **state)
{
    (void)state;
    complaints = 0;
    const struct rsm_import_ops *ops = rsmcore_transport_import("shm");
    assert_non_null(ops);
    assert_string_equal(ops->name, "shm");
    assert_non_null(ops->signals->post); /* completed */
    assert_ptr_equal(rsmcore_transport_import("shm"), ops);
    assert_non_null(rsmcore_transport_node("shm"));
    assert_int_equal(complaints, 0);
}

static void a_module_is_loaded_once(void **state)
{
    (void)state;
    complaints = 0;
    const struct rsm_import_ops *import = rsmcore_transport_import("skeleton");
    assert_non_null(import);
    assert_string_equal(import->name, "skeleton");
    assert_non_null(import->putv);
    assert_ptr_equal(rsmcore_transport_import("skeleton"), import);
    const struct rsm_node_ops *node = rsmcore_transport_node("skeleton");
    assert_non_null(node);
    assert_string_equal(node->name, "skeleton");
    assert_int_equal(complaints, 0);
}

/* Refused, with one message that names the transport and the matter. */
static void refused(const char *name, const char *matter)
{
    complaints = 0;
    assert_null(rsmcore_transport_import(name));
    assert_int_equal(complaints, 1);
    if (strstr(complaint, name) == NULL || strstr(complaint, matter) == NULL)
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", complaint, name, matter);
    assert_null(rsmcore_transport_import(name));
    assert_int_equal(complaints, 1);
}

static void bad_modules_are_refused(void **state)
{
    (void)state;
    refused("bad_abi", "another version");
    refused("bad_symbol", RSM_IMPORT_OPS_SYMBOL);
    refused("bad_table", "missing");
    refused("bad_later", "built for version 2 of the interface, and this is version 1");
    refused("misnamed", "another name");
    refused("absent", "librsm_absent.so");
}

static void a_module_may_lack_the_other_half(void **state)
{
    (void)state;
    complaints = 0;
    assert_null(rsmcore_transport_node("bad_table"));
    assert_int_equal(complaints, 1);
    assert_non_null(strstr(complaint, RSM_NODE_OPS_SYMBOL));
}

static void names_that_are_none_never_reach_the_loader(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "../skeleton",
                                        "skeleton.so",
                                        "a/b",
                                        "Skeleton",
                                        "a b",
                                        "abcdefghijklmnopqrstuvwxyz012345"};
    complaints = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(rsmcore_transport_import(names[i]));
    assert_int_equal(complaints, 0);
}

static void invented_names_do_not_fill_the_log(void **state)
{
    (void)state;
    complaints = 0;
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "invented%d", i);
        assert_null(rsmcore_transport_import(name));
    }
    assert_in_range(complaints, 1, 16);
}

static void a_table_can_be_added_once(void **state)
{
    (void)state;
    assert_status(rsmcore_transport_import_add(&fake_import_ops), RSM_ST_OK);
    const struct rsm_import_ops *ops = rsmcore_transport_import("fake");
    assert_non_null(ops);
    assert_ptr_equal(ops->put, fake_import_ops.put);
    assert_non_null(ops->putv);
    assert_status(rsmcore_transport_import_add(&fake_import_ops), RSM_ST_BUSY);
    struct rsm_import_ops shm = fake_import_ops;
    shm.name = "shm";
    assert_status(rsmcore_transport_import_add(&shm), RSM_ST_BUSY);
    shm.abi_version++;
    assert_status(rsmcore_transport_import_add(&shm), RSM_ST_VERSION);
    shm.abi_version--;
    shm.name = NULL;
    assert_status(rsmcore_transport_import_add(&shm), RSM_ST_INVALID);
}

static void *look_up(void *start)
{
    pthread_barrier_wait(start);
    return (void *)(uintptr_t)rsmcore_transport_node("skeleton");
}

static void a_module_that_comes_late_is_found_by_all_threads_alike(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    complaints = 0;
    assert_int_equal(setenv("RSM_MODULE_DIR", "/nonexistent", 1), 0);
    assert_null(rsmcore_transport_node("skeleton"));
    assert_int_equal(complaints, 1);
    assert_int_equal(setenv("RSM_MODULE_DIR", directory, 1), 0);
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    void *first = NULL;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, &start), 0);
    for (int i = 0; i < THREADS; i++) {
        void *table = NULL;
        assert_int_equal(pthread_join(threads[i], &table), 0);
        assert_non_null(table);
        first = first == NULL ? table : first;
        assert_ptr_equal(table, first);
    }
    pthread_barrier_destroy(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first, because it is about what has not been loaded yet */
        cmocka_unit_test(a_module_that_comes_late_is_found_by_all_threads_alike),
        cmocka_unit_test(shm_is_built_in),
        cmocka_unit_test(a_module_is_loaded_once),
        cmocka_unit_test(bad_modules_are_refused),
        cmocka_unit_test(a_module_may_lack_the_other_half),
        cmocka_unit_test(names_that_are_none_never_reach_the_loader),
        cmocka_unit_test(a_table_can_be_added_once),
        cmocka_unit_test(invented_names_do_not_fill_the_log),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
