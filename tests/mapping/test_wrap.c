/* SPDX-License-Identifier: BSD-3-Clause */
/* Which connections the mapping engine takes. */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "cases.h"
#include "core/mapping.h"

enum { SIZE = 8192 };

static unsigned calls;

static enum rsm_status count_put(struct rsm_conn *conn, uint64_t offset, const void *src,
                                 size_t length)
{
    (void)conn, (void)offset, (void)src, (void)length;
    calls++;
    return RSM_ST_OK;
}

static enum rsm_status count_get(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    (void)conn, (void)offset;
    memset(dst, 7, length);
    calls++;
    return RSM_ST_OK;
}

static enum rsm_status nothing(struct rsm_conn *conn)
{
    return RSM_ST_OK;
}

static void count_disconnect(struct rsm_conn *conn)
{
    calls++;
}

static struct rsm_import_ops ops;
static struct rsm_conn inner = {.ops = &ops};

static enum rsm_status wrap_for(uint32_t rights, uint32_t caps, struct rsm_conn **wrapped)
{
    calls = 0;
    *wrapped = NULL;
    ops = (struct rsm_import_ops){
        .name = "counted",
        .put = count_put,
        .get = count_get,
        .order = nothing,
        .complete = nothing,
        .health = nothing,
        .disconnect = count_disconnect,
    };
    inner.caps = caps;
    static const struct mapping_settings settings;
    return rsm_mapping_ops_v1.wrap(&inner, SIZE, rights, &settings, wrapped);
}

static enum rsm_status wrap(uint32_t caps, struct rsm_conn **wrapped)
{
    return wrap_for(RSM_RIGHT_READ | RSM_RIGHT_WRITE, caps, wrapped);
}

TEST_ALONE(one_that_promises)
{
    struct rsm_conn *conn;
    unsetenv("RSM_MAP_MODE");
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_OK);
    assert_int_equal(conn->caps, RSM_CAP_MAP | RSM_CAP_FAULT_SAFE);
    assert_int_equal(inner.caps, RSM_CAP_FAULT_SAFE);
    assert_ptr_equal(conn->port, inner.port);
    assert_int_equal(calls, 0);
    conn->ops->disconnect(conn);
    assert_int_equal(calls, 1);
}

/* It stays as it was: nothing has been asked of it. */
TEST_ALONE(one_that_does_not_promise)
{
    struct rsm_conn *conn;
    unsetenv("RSM_MAP_MODE");
    assert_int_equal(wrap(0, &conn), RSM_ST_UNSUPPORTED);
    assert_int_equal(wrap(RSM_CAP_ASYNC | RSM_CAP_REMOTE_SIGNAL, &conn), RSM_ST_UNSUPPORTED);
    assert_null(conn);
    assert_int_equal(calls, 0);
    assert_ptr_equal(inner.ops, &ops);
}

TEST_ALONE(switched_off)
{
    struct rsm_conn *conn;
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

/* Whether the kernel has what came with what a mirror needs. */
static bool kernel_notes_stores(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UINT64_C(1) << 15}; /* WP_ASYNC */
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* for own accesses */);
    bool has = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

/* It works or is refused as a whole; nothing in between. */
TEST_ALONE(mirror_if_possible)
{
    struct rsm_conn *conn;
    void *address = NULL;
    setenv("RSM_MAP_MODE", "mirror", 1);
    enum rsm_status status = wrap(RSM_CAP_FAULT_SAFE, &conn);
    assert_int_equal(status, kernel_notes_stores() ? RSM_ST_OK : RSM_ST_UNSUPPORTED);
    if (status == RSM_ST_OK) {
        assert_int_equal(
            conn->ops->map(conn, 0, SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE, false, &address),
            RSM_ST_OK);
        assert_int_equal(*((uint8_t *)address + SIZE - 1), 7);
        assert_int_equal(conn->ops->unmap(conn, address, SIZE), RSM_ST_OK);
        conn->ops->disconnect(conn);
    } else {
        print_message("this kernel cannot: that it says so is tested\n");
        assert_null(conn);
        assert_int_equal(calls, 0);
    }
    unsetenv("RSM_MAP_MODE");
}

/* Transfers go on; there is only nothing to map. */
TEST_ALONE(mirror_of_what_cannot_be_read)
{
    struct rsm_conn *conn;
    uint8_t byte = 1;
    void *address = NULL;
    setenv("RSM_MAP_MODE", "mirror", 1);
    assert_int_equal(wrap_for(RSM_RIGHT_WRITE, RSM_CAP_FAULT_SAFE, &conn), RSM_ST_OK);
    assert_int_equal(conn->ops->map(conn, 0, SIZE, RSM_RIGHT_WRITE, false, &address),
                     RSM_ST_UNSUPPORTED);
    assert_null(address);
    assert_int_equal(conn->ops->put(conn, 0, &byte, 1), RSM_ST_OK);
    assert_int_equal(calls, 1);
    conn->ops->disconnect(conn);
    unsetenv("RSM_MAP_MODE");
}

TEST_ALONE(mirror_decodes_nothing)
{
    struct rsm_conn *conn;
    setenv("RSM_MAP_MODE", "mirror", 1);
    setenv("RSM_MAP_ATOMICS", "sigbus", 1);
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_UNSUPPORTED);
    assert_null(conn);
    unsetenv("RSM_MAP_ATOMICS");
    unsetenv("RSM_MAP_MODE");
}

static unsigned warnings;

static void count_warnings(enum rsmcore_log_level level, const char *text)
{
    warnings += level == RSMCORE_LOG_WARNING && strstr(text, "trap=sigbus") != NULL;
}

/* Settings of earlier versions stay valid; the log says once what they mean. */
TEST_ALONE(sigbus_means_signal)
{
    struct rsm_conn *conn;
    rsmcore_log_to(count_warnings, RSMCORE_LOG_WARNING);
    setenv("RSM_MAP_TRAP", "sigbus", 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(wrap(RSM_CAP_FAULT_SAFE, &conn), RSM_ST_OK);
        struct mapping_choice choice = rsm_mapping_ops_v1.choice(conn);
        assert_int_equal(choice.trap, MAPPING_USED_SIGNAL);
        assert_int_equal(choice.reason, MAPPING_REASON_REQUESTED);
        conn->ops->disconnect(conn);
        assert_int_equal(warnings, 1);
    }
    unsetenv("RSM_MAP_TRAP");
    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
}

/* ---------------------------------------------------------------- errors */

static bool fails;

static enum rsm_status count_failure(struct rsm_conn *conn)
{
    if (fails)
        rsm_conn_failed(conn);
    fails = false;
    return RSM_ST_OK;
}

static enum rsm_status count_post(struct rsm_conn *conn, bool coalesce)
{
    (void)conn, (void)coalesce;
    calls++;
    return RSM_ST_OK;
}

/* Nobody is told of what has not arrived, and the failure stays counted for the barriers. */
TEST_ALONE(no_signal_in_front_of_a_failure)
{
    static const struct rsm_signal_ops signals = {.size = sizeof signals, .post = count_post};
    struct rsm_conn *conn;
    assert_int_equal(wrap(RSM_CAP_FAULT_SAFE | RSM_CAP_REMOTE_SIGNAL, &conn), RSM_ST_OK);
    ops.complete = count_failure;
    ops.signals = &signals;
    uint32_t failures = rsm_conn_failures(&inner);
    fails = true;
    assert_int_equal(conn->ops->signals->post(conn, false), RSM_ST_TRANSFER);
    assert_int_equal(calls, 0);
    assert_int_equal(rsm_conn_failures(&inner), failures + 1);
    assert_int_equal(conn->ops->signals->post(conn, false), RSM_ST_OK);
    assert_int_equal(calls, 1);
    assert_int_equal(rsm_conn_failures(&inner), failures + 1);
    conn->ops->disconnect(conn);
}
