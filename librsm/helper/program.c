/* SPDX-License-Identifier: BSD-3-Clause */
#include "helper/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"

static const char *program;

/* rsmd's standard error is the journal of its service, or nothing. */
static void to_rsmd(enum rsmcore_log_level level, const char *text)
{
    (void)level;
    fprintf(stderr, "%s: %s\n", program, text);
}

static void raise_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

bool rsm_helper_begin(const char *name, const char *when)
{
    struct stat status;
    if (fstat(RSM_HELPER_CONTROL, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        fprintf(stderr, "%s: rsmd starts this program %s\n", name, when);
        return false;
    }
    program = name;
    rsmcore_log_to(to_rsmd, RSMCORE_LOG_INFO);
    (void)fcntl(RSM_HELPER_CONTROL, F_SETFD, FD_CLOEXEC);
    raise_limit();
    return true;
}
