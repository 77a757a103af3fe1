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

TEST_ALONE(verify_always_looks)
{
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

TEST_ALONE(assert_looks_for_debuggers)
{
    looks = 0;
    ASSERT(look(0));
    ASSERT3U(look(1), ==, 2);
    assert_int_equal(looks, 0);
    NOTE(ARGUNUSED(state))
    _NOTE(CONSTCOND)
}

TEST_ALONE(errors_have_messages)
{
    for (int error = 0; error < sys_nerr; error++)
        assert_non_null(sys_errlist[error]);
    assert_true(sys_nerr > EOWNERDEAD);
    assert_string_equal(sys_errlist[ENOENT], "No such file or directory");
}

TEST_ALONE(older_names_serve)
{
    struct utsname names;
    lwp_mutex_t mutex;
    assert_int_equal(sizeof names.nodename, SYS_NMLN);
    assert_int_equal(mutex_init(&mutex, USYNC_THREAD, NULL), 0);
    assert_int_equal(mutex_destroy(&mutex), 0);
}
