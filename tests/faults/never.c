/* SPDX-License-Identifier: BSD-3-Clause */
#include "never.h"

#include <dlfcn.h>
#include <rsmapi.h>
#include <sys/prctl.h>

#include "base/packet.h"
#include "parts.h"
#include "process.h"

enum {
    SERVED_MS =
        8000, /* far more than it takes on a busy machine, and less than a peer's time-out */
    OTHER_UID = 65534,
    LENGTH = PARTS_PAGE,
};

/* ---------------------------------------------------------------- a life of a segment */

static char sci0[] = "sci0";
static const char own_thread[] = "another thread of the client";
static const char another_user[] = "a process of another user";

/* Carry out a call; else say which one failed, and leave. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        int result_ = (call);                                                                      \
        if (result_ != RSM_SUCCESS) {                                                              \
            fprintf(stderr, "  %s: %s: error %d\n", who, #call, result_);                          \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

/* Everything that a program does with a segment. */
static bool use_segment(const char *who, uint32_t node, rsmapi_controller_handle_t controller,
                        void *memory)
{
    rsm_memseg_export_handle_t segment;
    rsm_memseg_import_handle_t import;
    rsmapi_access_entry_t anybody = {node, RSM_PERM_RDWR};
    rsm_memseg_id_t id = 0;
    rsmapi_barrier_t barrier;
    uint8_t bytes[8] = "stored";
    MUST(rsm_memseg_export_create(controller, &segment, memory, LENGTH, 0));
    MUST(rsm_memseg_export_publish(segment, &id, &anybody, 1));
    MUST(rsm_memseg_import_connect(controller, node, id, RSM_PERM_RDWR, &import));
    MUST(rsm_memseg_import_init_barrier(import, RSM_BAR_DEFAULT, &barrier));
    MUST(rsm_memseg_import_put(import, 0, bytes, sizeof bytes));
    MUST(rsm_intr_signal_post(import, 0));
    MUST(rsm_intr_signal_wait(segment, SERVED_MS));
    MUST(rsm_memseg_import_destroy_barrier(&barrier));
    MUST(rsm_memseg_import_disconnect(import));
    MUST(rsm_memseg_export_unpublish(segment));
    MUST(rsm_memseg_export_destroy(segment));
    return true;
}

static bool open_controller(const char *who, rsmapi_controller_handle_t *controller)
{
    MUST(rsm_get_controller(sci0, controller));
    return true;
}

static void *new_page(void)
{
    void *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---------------------------------------------------------------- another thread */

static struct {
    struct fault_slot *slot;
    struct steps_record *record;
    atomic_bool ready;
} thread;

static void pause_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

static bool fork_works(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child > 0 && waitpid(child, NULL, 0) == child;
}

static void *run_thread(void *unused)
{
    rsmapi_controller_handle_t controller;
    void *memory = new_page();
    void (*exempt)(void);
    *(void **)(void *)&exempt = dlsym(RTLD_DEFAULT, "faults_exempt");
    if (memory == NULL || exempt == NULL)
        abort();
    exempt();
    if (!open_controller(own_thread, &controller) ||
        !use_segment(own_thread, PARTS_OWN_NODE, controller, memory))
        abort();
    atomic_store(&thread.ready, true);
    while (atomic_load(&thread.slot->fired) == 0)
        pause_ms(1);
    bool served = use_segment(own_thread, PARTS_OWN_NODE, controller, memory) && fork_works();
    atomic_store(&thread.record->others, served ? STEPS_SERVED : STEPS_REFUSED);
    return NULL;
}

void never_begin_thread(struct fault_slot *slot, struct steps_record *record)
{
    pthread_t id;
    thread.slot = slot;
    thread.record = record;
    atomic_store(&record->others, STEPS_WAITS);
    if (pthread_create(&id, NULL, run_thread, NULL) != 0 || pthread_detach(id) != 0)
        abort();
    while (!atomic_load(&thread.ready))
        pause_ms(1);
}

static bool thread_is_served(const struct steps_record *record)
{
    for (int64_t end = now_ms() + SERVED_MS; now_ms() < end; pause_ms(1))
        if (atomic_load(&record->others) != STEPS_WAITS)
            return atomic_load(&record->others) == STEPS_SERVED;
    return false;
}

/* ---------------------------------------------------------------- another user */

__attribute__((noreturn)) static void be_another(uint32_t node)
{
    char text[16];
    rsmapi_controller_handle_t controller;
    children_unwatch();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(text, sizeof text, "%u", (unsigned)node);
    setenv("RSM_NODE", text, 1);
    if (geteuid() == 0 && (setgid(OTHER_UID) < 0 || setuid(OTHER_UID) < 0))
        _exit(1);
    void *memory = new_page();
    bool served = memory != NULL && open_controller(another_user, &controller) &&
                  use_segment(another_user, node, controller, memory);
    _exit(served ? 0 : 1);
}

static bool another_is_served(uint32_t node)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_another(node);
    if (child_await(child, 0, SERVED_MS, &status) == child)
        return status == 0;
    kill(child, SIGKILL);
    child_await(child, 0, SERVED_MS, &status);
    return false;
}

/* ---------------------------------------------------------------- while it hangs */

bool never_await(const struct fault_slot *slot, pid_t client)
{
    for (;;) {
        if (atomic_load(&slot->fired) > 0)
            return true;
        siginfo_t ended = {.si_pid = 0};
        if (waitid(P_PID, (id_t)client, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ||
            ended.si_pid != 0)
            return false;
        pause_ms(1);
    }
}

bool never_others_are_served(const struct steps_record *record, uint32_t node, bool in_client)
{
    bool good = another_is_served(node);
    if (!good)
        fprintf(stderr, "  FAILED: a process of another user is not served\n");
    if (in_client && !thread_is_served(record)) {
        fprintf(stderr, "  FAILED: another thread of the client is held up\n");
        good = false;
    }
    return good;
}

/* ---------------------------------------------------------------- what can wait */

/* Make calls on memory that goes to somebody else, and look which of them count. */
static bool count_waits(struct fault_slot *slot)
{
    struct rsm_packet_fds fds = {.count = 1};
    int ends[2], own = memfd_create("own", MFD_CLOEXEC);
    char byte = 0;
    fds.fds[0] = memfd_create("given", MFD_CLOEXEC);
    if (own < 0 || fds.fds[0] < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
        return false;
    faults_arm_here();
    bool done = pwrite(own, &byte, 1, 0) == 1 && pwrite(fds.fds[0], &byte, 1, 0) == 1 &&
                rsm_packet_send(ends[0], &byte, 1, &fds, 0) == 0;
    bool none = atomic_load(&slot->counts[FAULT_pwrite]) == 0 &&
                atomic_load(&slot->counts[FAULT_sendmsg]) == 0;
    done = done && pwrite(own, &byte, 1, 0) == 1 && pwrite(fds.fds[0], &byte, 1, 0) == 1 &&
           send(ends[0], &byte, 1, 0) == 1;
    faults_disarm_here();
    return done && none && atomic_load(&slot->counts[FAULT_pwrite]) == 1 &&
           atomic_load(&slot->counts[FAULT_sendmsg]) == 1;
}

bool never_knows_waits(struct fault_slot *slot)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        children_unwatch();
        faults_attach_here(slot);
        _exit(count_waits(slot) ? 0 : 1);
    }
    bool good = child_await(child, 0, SERVED_MS, &status) == child && status == 0;
    if (!good)
        fprintf(stderr, "FAILED: calls that wait for others are not known\n");
    return good;
}
