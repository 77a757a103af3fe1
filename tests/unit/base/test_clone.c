/* SPDX-License-Identifier: BSD-3-Clause */
/* A process by the bare system call, whose arguments have another order on some processors. */
#include "cases.h"

#include "base/clone.h"

TEST_ALONE(a_child_runs_and_ends)
{
    int status = 0;
    long child = rsm_clone_process(SIGCHLD);
    if (child == 0)
        _exit(7);
    assert_true(child > 0);
    assert_int_equal(waitpid((pid_t)child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}
