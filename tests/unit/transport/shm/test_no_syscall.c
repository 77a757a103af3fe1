/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * shm: no transfer, no barrier and no health check makes a system call. A child forbids itself
 * every one but exit_group and then does them all; one forbidden call kills it with SIGSYS, which
 * the control cases show.
 */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "shm_pair.h"
#include "transport/instance.h"

#define READ_WRITE (RSM_RIGHT_READ | RSM_RIGHT_WRITE)

static int forbid_system_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

struct trial {
    struct rsm_conn *conn;
    size_t size; /* of the segment and of each buffer */
    uint8_t *out;
    uint8_t *in;
};

/* Every operation of the data path, over every page of the segment. The thread sanitizer would
 * record the accesses of this function, and get memory for that by a system call. */
__attribute__((no_sanitize_thread)) static int transfer_everything(void *argument)
{
    const struct trial *t = argument;
    const struct rsm_import_ops *ops = t->conn->ops;
    struct rsm_transfer out[2] = {{t->out, 0, 5}, {t->out + 5, t->size / 2, t->size / 2}};
    struct rsm_transfer in[2] = {{t->in, 0, 5}, {t->in + 5, t->size / 2, t->size / 2}};
    unsigned failures = 0, done = 0;
    if (forbid_system_calls() < 0)
        return 1;
    failures += ops->put(t->conn, 0, t->out, t->size) != RSM_ST_OK;
    failures += ops->order(t->conn) != RSM_ST_OK;
    failures += ops->get(t->conn, 0, t->in, t->size) != RSM_ST_OK;
    for (size_t i = 0; i < t->size; i++)
        failures += t->in[i] != t->out[i];
    for (unsigned width = 1; width <= 8; width *= 2) {
        failures += ops->put_elems(t->conn, 0, t->out, width, t->size / width) != RSM_ST_OK;
        failures += ops->get_elems(t->conn, 0, t->in, width, t->size / width) != RSM_ST_OK;
    }
    failures += ops->putv(t->conn, out, 2, &done) != RSM_ST_OK;
    failures += ops->getv(t->conn, in, 2, &done) != RSM_ST_OK;
    failures += ops->complete(t->conn) != RSM_ST_OK;
    failures += ops->health(t->conn) != RSM_ST_OK;
    return failures == 0 ? 0 : 2;
}

/* What in_child() does, ended by a bare system call: exit handlers make others. */
static int transfers_then_exit(void *argument)
{
    syscall(SYS_exit_group, transfer_everything(argument));
    return 3;
}

#define CASE(test) TEST_WITH(struct shm_pair *pair, test, shm_pair_setup, shm_pair_teardown)

CASE(the_data_path_makes_no_system_call)
{
    struct trial trial = {.conn = shm_pair_connect(pair, READ_WRITE),
                          .size = PAIR_SEGMENT_PAGES * pair->page};
    trial.out = malloc(trial.size + 8);
    trial.in = calloc(1, trial.size + 8);
    assert_non_null(trial.out);
    assert_non_null(trial.in);
    for (size_t i = 0; i < trial.size; i++)
        trial.out[i] = (uint8_t)(i * 7);
    assert_int_equal(in_child(transfers_then_exit, &trial), 0);
    free(trial.out);
    free(trial.in);
    rsmcore_conn_close(trial.conn);
}

/* ------------------------------------------------------------------ controls */

static int one_system_call(void *argument)
{
    if (forbid_system_calls() < 0)
        return 1;
    syscall(SYS_getppid);
    return 0;
}

static int one_mapping(void *argument)
{
    struct trial *t = argument;
    void *address = NULL;
    if (forbid_system_calls() < 0)
        return 1;
    t->conn->ops->map(t->conn, 0, t->size, RSM_RIGHT_READ, false, &address);
    return 0;
}

static void killed_by_the_filter(int status)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

CASE(the_filter_catches_what_does_make_one)
{
    struct trial trial = {.conn = shm_pair_connect(pair, READ_WRITE),
                          .size = PAIR_SEGMENT_PAGES * pair->page};
    killed_by_the_filter(in_child(one_system_call, NULL));
    killed_by_the_filter(in_child(one_mapping, &trial));
    rsmcore_conn_close(trial.conn);
}
