/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions, notes, the table of error messages, older names. */
#include "support.h"

#include <errno.h>
#include <note.h>
#include <signal.h>
#include <sys/debug.h>
#include <sys/systeminfo.h>
#include <synch.h>

static int looks;

static int look(int result)
{
    looks++;
    return result;
}

static void fail_verify(void)
{
    VERIFY(look(0));
}
static void fail_signed(void)
{
    VERIFY3S(-1, >, look(1));
}
static void fail_unsigned(void)
{
    VERIFY3U(look(3), <=, 2);
}
static void fail_pointer(void)
{
    VERIFY3P(&looks, ==, NULL);
}

static void assert_aborts(void (*body)(void))
{
    int status = in_child(body);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void verify_always_looks(void **state)
{
    (void)state;
    looks = 0;
    VERIFY(look(1));
    VERIFY3S(-1, <, look(1));
    VERIFY3U(look(2), >=, 2);
    VERIFY0(look(0));
    assert_int_equal(looks, 4);
    assert_aborts(fail_verify);
    assert_aborts(fail_signed);
    assert_aborts(fail_unsigned);
    assert_aborts(fail_pointer);
}

static void assert_looks_for_debuggers(void **state)
{
    (void)state;
    looks = 0;
    ASSERT(look(0));
    ASSERT3U(look(1), ==, 2);
    assert_int_equal(looks, 0);
    NOTE(ARGUNUSED(state))
    _NOTE(CONSTCOND)
}

static void errors_have_messages(void **state)
{
    (void)state;
    for (int error = 0; error < sys_nerr; error++)
        assert_non_null(sys_errlist[error]);
    assert_true(sys_nerr > EOWNERDEAD);
    assert_string_equal(sys_errlist[ENOENT], "No such file or directory");
}

static void older_names_serve(void **state)
{
    (void)state;
    struct utsname names;
    lwp_mutex_t mutex;
    assert_int_equal(sizeof names.nodename, SYS_NMLN);
    assert_int_equal(mutex_init(&mutex, USYNC_THREAD, NULL), 0);
    assert_int_equal(mutex_destroy(&mutex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verify_always_looks),
        cmocka_unit_test(assert_looks_for_debuggers),
        cmocka_unit_test(errors_have_messages),
        cmocka_unit_test(older_names_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
