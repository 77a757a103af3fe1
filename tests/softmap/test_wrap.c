/* SPDX-License-Identifier: BSD-3-Clause */
/* Which connections the mapping engine takes. */
#include <stdlib.h>

#include "cmocka_all.h"
#include "core/softmap/softmap.h"

enum { SIZE = 8192 };

static unsigned calls;

static enum rsm_status count_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length)
{
    (void)conn, (void)offset, (void)src, (void)length;
    calls++;
    return RSM_ST_OK;
}

static void count_disconnect(struct rsm_conn *conn)
{
    (void)conn;
    calls++;
}

static struct rsm_import_ops ops;
static struct rsm_conn inner = {.ops = &ops};

static enum rsm_status wrap(uint32_t caps, struct rsm_conn **wrapped)
{
    calls = 0;
    *wrapped = NULL;
    ops = (struct rsm_import_ops){
        .name = "counted", .caps = caps, .put = count_put, .disconnect = count_disconnect};
    static const struct softmap_settings nothing;
    return rsm_softmap_ops_v1.wrap(&inner, SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE, &nothing,
                                   wrapped);
}

static void one_that_promises(void **state)
{
    struct rsm_conn *conn;
    (void)state;
    unsetenv("RSM_MAP_MODE");
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_OK);
    assert_true((conn->ops->caps & RSM_CAP_MAP) != 0);
    assert_string_equal(conn->ops->name, "counted");
    assert_int_equal(calls, 0);
    conn->ops->disconnect(conn);
    assert_int_equal(calls, 1);
}

/* It stays as it was: nothing has been asked of it. */
static void one_that_does_not_promise(void **state)
{
    struct rsm_conn *conn;
    (void)state;
    unsetenv("RSM_MAP_MODE");
    assert_int_equal(wrap(0, &conn), RSM_ST_UNSUPPORTED);
    assert_int_equal(wrap(RSM_CAP_ASYNC | RSM_CAP_REMOTE_SIGNAL, &conn), RSM_ST_UNSUPPORTED);
    assert_null(conn);
    assert_int_equal(calls, 0);
    assert_ptr_equal(inner.ops, &ops);
}

static void switched_off(void **state)
{
    struct rsm_conn *conn;
    (void)state;
    setenv("RSM_MAP_MODE", "off", 1);
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_UNSUPPORTED);
    setenv("RSM_MAP_MODE", "auto", 1);
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_OK);
    conn->ops->disconnect(conn);
    setenv("RSM_MAP_MODE", "sometimes", 1);
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_INVALID);
    assert_null(conn);
    unsetenv("RSM_MAP_MODE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_promises),
        cmocka_unit_test(one_that_does_not_promise),
        cmocka_unit_test(switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
