/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include "base/log.h"
#include "base/status.h"

static char heard[2048];
static int heard_count;

static void listen_to(enum rsmcore_log_level level, const char *text)
{
    heard_count++;
    strncpy(heard, text, sizeof heard - 1);
}

TEST_ALONE(hook_gets_its_levels_and_errno_survives)
{
    rsmcore_log_to(listen_to, RSMCORE_LOG_WARNING);
    errno = ENOENT;
    rsm_log_warning("%m and %d", 7);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(heard, "No such file or directory and 7");
    rsm_log_info("not this");
    assert_int_equal(heard_count, 1);
    char huge[4096];
    memset(huge, 'h', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    rsm_log_error("%s", huge);
    assert_int_equal(strlen(heard), 1023);
}

/* What goes to stderr while `level` is in RSM_LOG. */
static ssize_t captured(const char *level, char *text, size_t size)
{
    int pipes[2], saved = dup(STDERR_FILENO);
    assert_return_code(pipe2(pipes, O_NONBLOCK), errno);
    dup2(pipes[1], STDERR_FILENO);
    if (level != NULL)
        setenv("RSM_LOG", level, 1);
    else
        unsetenv("RSM_LOG");
    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
    rsm_log_error("an error");
    dup2(saved, STDERR_FILENO);
    ssize_t length = read(pipes[0], text, size);
    close(saved);
    close(pipes[0]);
    close(pipes[1]);
    return length;
}

TEST_ALONE(silent_unless_asked)
{
    char text[256] = "";
    assert_int_equal(captured(NULL, text, sizeof text), -1);
    assert_int_equal(captured("", text, sizeof text), -1);
    assert_true(captured("nonsense", text, sizeof text) > 0); /* who asks for it is told more */
    assert_true(captured("error", text, sizeof text) > 0);
    assert_non_null(strstr(text, "error: an error\n"));
}

TEST_ALONE(statuses_have_texts)
{
    assert_string_equal(rsmcore_status_text(RSM_ST_OK), "success");
    assert_string_equal(rsmcore_status_text((enum rsm_status)9999), "unknown status");
    assert_true(rsmcore_status_known(RSM_ST_TRANSFER));
    assert_false(rsmcore_status_known(9999));
    assert_int_equal(rsmcore_status_from_errno(EMFILE), RSM_ST_NO_RESOURCES);
    assert_int_equal(rsmcore_status_from_errno(0), RSM_ST_OK);
    assert_int_equal(rsmcore_status_from_errno(EACCES), RSM_ST_DENIED);
    assert_int_equal(rsmcore_status_from_errno(ENOMEM), RSM_ST_NO_MEMORY);
}
