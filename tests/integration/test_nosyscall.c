/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers and barriers over shm enter the kernel nowhere: a filter would catch the first call. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "party.h"

enum { LENGTH = 2 * PARTY_PAGE };

/* ---------------------------------------------------------------- the trap */

static atomic_int trapped; /* calls caught */
static atomic_int last;    /* the number of the last one */

static void note_call(int number, siginfo_t *info, void *context)
{
    atomic_fetch_add(&trapped, 1);
    atomic_store(&last, info->si_syscall);
}

/* From now on every system call of this thread is noted and not carried out, but for its end and
 * the return from the handler. */
static int set_trap(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};
    struct sigaction action = {.sa_sigaction = note_call, .sa_flags = SA_SIGINFO};
    NEED(sigaction(SIGSYS, &action, NULL) == 0);
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
    return 0;
}

/* ---------------------------------------------------------------- what runs in it */

typedef int (*trapped_function)(rsm_memseg_import_handle_t import);

struct run {
    trapped_function function;
    int result;
};

__attribute__((noreturn)) static void *run_trapped(void *argument)
{
    struct run *run = argument;
    rsm_memseg_import_handle_t import = party_import(0)->handle;
    /* Once without: memory that the thread needs for itself is there then. */
    run->result = run->function(import);
    if (run->result == 0)
        run->result = set_trap();
    if (run->result == 0)
        run->result = run->function(import);
    /* The thread ends here: the C library's way of ending makes calls of its own. */
    for (;;)
        syscall(SYS_exit, 0);
}

static int run_in_thread(trapped_function function, int *result)
{
    struct run run = {.function = function, .result = -1};
    pthread_t thread;
    atomic_store(&trapped, 0);
    NEED(pthread_create(&thread, NULL, run_trapped, &run) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    *result = run.result;
    return atomic_load(&trapped);
}

#define BOTH_WAYS(bits, count)                                                                     \
    do {                                                                                           \
        uint##bits##_t out[8] = {1, 2, 3}, in[8] = {0};                                            \
        if (rsm_memseg_import_put##bits(import, 64, out, (count)) != RSM_SUCCESS ||                \
            rsm_memseg_import_get##bits(import, 64, in, (count)) != RSM_SUCCESS || in[0] != 1)     \
            return bits;                                                                           \
    } while (0)

static int transfer(rsm_memseg_import_handle_t import)
{
    uint64_t block = 0x0102030405060708, got = 0;
    BOTH_WAYS(8, 8);
    BOTH_WAYS(16, 4);
    BOTH_WAYS(32, 2);
    BOTH_WAYS(64, 1);
    if (rsm_memseg_import_put(import, 128, &block, sizeof block) != RSM_SUCCESS ||
        rsm_memseg_import_get(import, 128, &got, sizeof got) != RSM_SUCCESS || got != block)
        return 1;
    rsm_iovec_t entry = {.io_type = RSM_VA_TYPE,
                         .local.vaddr = (caddr_t)&block,
                         .remote_offset = 256,
                         .transfer_length = sizeof block};
    rsm_scat_gath_t list = {.io_request_count = 1, .remote_handle = import, .iovec = &entry};
    if (rsm_memseg_import_putv(&list) != RSM_SUCCESS)
        return 2;
    return rsm_memseg_import_getv(&list) == RSM_SUCCESS ? 0 : 3;
}

static int implicit_transfers(rsm_memseg_import_handle_t import)
{
    rsm_barrier_mode_t mode;
    if (rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_IMPLICIT) != RSM_SUCCESS ||
        rsm_memseg_import_get_mode(import, &mode) != RSM_SUCCESS)
        return -1;
    return transfer(import);
}

static int explicit_transfers(rsm_memseg_import_handle_t import)
{
    static const rsm_barrier_type_t types[] = {RSM_BARRIER_SEGMENT, RSM_BARRIER_NODE,
                                               RSM_BARRIER_SEGMENT_THREAD, RSM_BARRIER_NODE_THREAD};
    if (rsm_memseg_import_set_mode(import, RSM_BARRIER_MODE_EXPLICIT) != RSM_SUCCESS)
        return -1;
    for (unsigned i = 0; i < 4; i++) {
        rsmapi_barrier_t barrier;
        if (rsm_memseg_import_init_barrier(import, types[i], &barrier) != RSM_SUCCESS ||
            rsm_memseg_import_open_barrier(&barrier) != RSM_SUCCESS || transfer(import) != 0 ||
            rsm_memseg_import_order_barrier(&barrier) != RSM_SUCCESS ||
            rsm_memseg_import_close_barrier(&barrier) != RSM_SUCCESS ||
            rsm_memseg_import_destroy_barrier(&barrier) != RSM_SUCCESS)
            return -2 - (int)i;
    }
    return 0;
}

/* Events that nobody waits for: a post is an addition, a wait with an event a subtraction. */
static int events(rsm_memseg_import_handle_t import)
{
    if (rsm_intr_signal_post(import, 0) != RSM_SUCCESS ||
        rsm_intr_signal_post(party_export(0)->handle, 0) != RSM_SUCCESS)
        return 1;
    return rsm_intr_signal_wait(import, 0) == RSM_SUCCESS ? 0 : 2;
}

static int one_call(rsm_memseg_import_handle_t import)
{
    return syscall(SYS_getpid) == 0; /* never what the kernel says */
}

/* ---------------------------------------------------------------- the tests */

enum { RUN_IMPLICIT, RUN_EXPLICIT, RUN_EVENTS, RUN_CONTROL };

/* .value: calls caught, .node: the number of the last. */
static int trap(void *bytes)
{
    static const trapped_function functions[] = {
        [RUN_IMPLICIT] = implicit_transfers,
        [RUN_EXPLICIT] = explicit_transfers,
        [RUN_EVENTS] = events,
        [RUN_CONTROL] = one_call,
    };
    struct order *order = bytes;
    int result = -1; /* the thread did not start */
    int caught = run_in_thread(functions[order->flags], &result);
    order->value = (uint64_t)caught;
    order->node = (uint32_t)atomic_load(&last);
    return result;
}

static void check_calls(struct world *world, uint32_t function, uint64_t calls)
{
    struct actor *actor = actor_start(world, 1);
    TELL_OK(actor, offer, .length = LENGTH);
    TELL_OK(actor, attach, .node = 1, .length = LENGTH);
    struct order caught = party_ask(actor, trap, (struct order){.flags = function});
    if (caught.value > calls)
        print_error("system call %u was made\n", caught.node);
    assert_int_equal(caught.value, calls);
    if (calls == 0)
        assert_int_equal(caught.result, 0);
}

WORLD_TEST(test_filter_works)
{
    check_calls(world, RUN_CONTROL, 1);
}

WORLD_TEST(test_implicit_transfers)
{
    check_calls(world, RUN_IMPLICIT, 0);
}

WORLD_TEST(test_explicit_transfers)
{
    check_calls(world, RUN_EXPLICIT, 0);
}

WORLD_TEST(test_events)
{
    check_calls(world, RUN_EVENTS, 0);
}
