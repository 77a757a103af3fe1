/* SPDX-License-Identifier: BSD-3-Clause */
/* RSMAPI and SISCI in one process at once, on the same controller; which threads that takes; and what a timer's
 * signals do to it, and a fork. */
#include <dirent.h>
#include <rsmapi.h>
#include <sisci_api.h>
#include <sys/time.h>

#include "party.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    ID = PARTY_ID, /* in both: each API has ids of its own */
    NUMBER = 3,
    ROUNDS = 40,
    TIMER_US = 300,
    WAIT_MS = 20000,
    FORKS = 20,
    CHILD_S = 60,
};

/* Added to the names that a process uses. */
static unsigned shift;

/* A call of SISCI that succeeds. */
#define SCI(call)                                                                                  \
    do {                                                                                           \
        sci_error_t error = SCI_ERR_SYSTEM;                                                        \
        call;                                                                                      \
        NEED(error == SCI_ERR_OK);                                                                 \
    } while (0)

/* What one process has of both. */
struct both {
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t exported;
    rsm_memseg_import_handle_t imported;
    rsmapi_barrier_t barrier; /* transfers need one */
    uint64_t *memory;
    sci_desc_t desc;
    sci_local_segment_t local;
    sci_remote_segment_t remote;
    sci_map_t local_map, remote_map;
    volatile uint64_t *mine, *theirs;
    sci_local_interrupt_t interrupt;
    sci_remote_interrupt_t trigger;
    sci_dma_queue_t queue;
};

static int begin_rsmapi(struct both *both)
{
    rsm_memseg_id_t id = ID + shift;
    rsmapi_access_entry_t list = {.ae_node = 1, .ae_permission = RSM_PERM_RDWR};
    both->controller = party_controller(NULL);
    both->memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(both->memory != MAP_FAILED);
    NEED(rsm_memseg_export_create(both->controller, &both->exported, both->memory, LENGTH, 0) ==
         RSM_SUCCESS);
    NEED(rsm_memseg_export_publish(both->exported, &id, &list, 1) == RSM_SUCCESS);
    NEED(rsm_memseg_import_connect(both->controller, 1, ID + shift, RSM_PERM_RDWR,
                                   &both->imported) == RSM_SUCCESS);
    NEED(rsm_memseg_import_init_barrier(both->imported, RSM_BARRIER_NODE, &both->barrier) ==
         RSM_SUCCESS);
    return 0;
}

static int begin_sisci(struct both *both)
{
    unsigned number = NUMBER + shift;
    SCI(SCIInitialize(0, &error));
    SCI(SCIOpen(&both->desc, 0, &error));
    SCI(SCICreateSegment(both->desc, &both->local, ID + shift, LENGTH, NULL, NULL, 0, &error));
    SCI(SCIPrepareSegment(both->local, 0, 0, &error));
    SCI(SCISetSegmentAvailable(both->local, 0, 0, &error));
    SCI(SCIConnectSegment(both->desc, &both->remote, 1, ID + shift, 0, NULL, NULL, WAIT_MS, 0,
                          &error));
    SCI(both->mine = SCIMapLocalSegment(both->local, &both->local_map, 0, LENGTH, NULL, 0, &error));
    SCI(both->theirs =
            SCIMapRemoteSegment(both->remote, &both->remote_map, 0, LENGTH, NULL, 0, &error));
    SCI(SCICreateInterrupt(both->desc, &both->interrupt, 0, &number, NULL, NULL,
                           SCI_FLAG_FIXED_INTNO, &error));
    SCI(SCIConnectInterrupt(both->desc, &both->trigger, 1, 0, NUMBER + shift, WAIT_MS, 0, &error));
    SCI(SCICreateDMAQueue(both->desc, &both->queue, 0, 4, 0, &error));
    return 0;
}

/* Numbers go through the one and through the other, and none of them turns up in the wrong segment. */
static int use(struct both *both, uint64_t number)
{
    uint64_t back = 0;
    struct pollfd events;
    NEED(rsm_memseg_import_put64(both->imported, 8, &number, 1) == RSM_SUCCESS);
    NEED(both->theirs != NULL);
    both->theirs[1] = ~number;
    SCIFlush(NULL, 0);
    NEED(rsm_memseg_import_get64(both->imported, 8, &back, 1) == RSM_SUCCESS);
    NEED(back == number && both->memory[1] == number && both->mine[1] == ~number);
    SCI(SCIMemCopy(&number, both->remote_map, 16, sizeof number, 0, &error));
    NEED(both->mine[2] == number);
    SCI(SCIStartDmaTransfer(both->queue, both->local, both->remote, 0, 64, 512, NULL, NULL,
                            SCI_FLAG_DMA_WAIT, &error));
    NEED(both->mine[64] == both->mine[0] && both->mine[65] == ~number);
    /* Each kind of event has its own waiter. */
    NEED(rsm_intr_signal_post(both->imported, 0) == RSM_SUCCESS);
    SCI(SCITriggerInterrupt(both->trigger, 0, &error));
    SCI(SCIWaitForInterrupt(both->interrupt, WAIT_MS, 0, &error));
    NEED(rsm_memseg_get_pollfd(both->exported, &events) == RSM_SUCCESS);
    int ready = rsm_intr_signal_wait_pollfd(&events, 1, WAIT_MS, NULL);
    NEED(rsm_memseg_release_pollfd(both->exported) == RSM_SUCCESS);
    NEED(ready == RSM_SUCCESS);
    return 0;
}

static int end_sisci(struct both *both)
{
    SCI(SCIRemoveDMAQueue(both->queue, 0, &error));
    SCI(SCIDisconnectInterrupt(both->trigger, 0, &error));
    SCI(SCIRemoveInterrupt(both->interrupt, 0, &error));
    SCI(SCIUnmapSegment(both->local_map, 0, &error));
    SCI(SCIUnmapSegment(both->remote_map, 0, &error));
    SCI(SCIDisconnectSegment(both->remote, 0, &error));
    SCI(SCIRemoveSegment(both->local, 0, &error));
    SCI(SCIClose(both->desc, 0, &error));
    SCITerminate();
    return 0;
}

static int end_rsmapi(struct both *both)
{
    NEED(rsm_memseg_import_destroy_barrier(&both->barrier) == RSM_SUCCESS);
    NEED(rsm_memseg_import_disconnect(both->imported) == RSM_SUCCESS);
    NEED(rsm_memseg_export_unpublish(both->exported) == RSM_SUCCESS);
    NEED(rsm_memseg_export_destroy(both->exported) == RSM_SUCCESS);
    NEED(munmap(both->memory, LENGTH) == 0);
    return 0;
}

static int one_life(uint64_t number)
{
    struct both both = {.memory = NULL};
    NEED(begin_rsmapi(&both) == 0);
    NEED(begin_sisci(&both) == 0);
    NEED(use(&both, number) == 0);
    /* The end of one is none of the other. */
    if (number % 2 == 0) {
        NEED(end_sisci(&both) == 0);
        NEED(rsm_memseg_import_put64(both.imported, 8, &number, 1) == RSM_SUCCESS);
        NEED(both.memory[1] == number);
        return end_rsmapi(&both);
    }
    NEED(end_rsmapi(&both) == 0);
    SCI(SCIMemCopy(&number, both.remote_map, 16, sizeof number, 0, &error));
    NEED(both.mine[2] == number);
    return end_sisci(&both);
}

static unsigned threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* ------------------------------------------------------------------ tests */

static int live(void *bytes)
{
    for (uint64_t number = 1; number <= 4; number++)
        NEED(one_life(number) == 0);
    return 0;
}

static sci_callback_action_t count_call(void *argument, sci_local_interrupt_t interrupt,
                                        sci_error_t status)
{
    (void)interrupt, (void)status;
    atomic_fetch_add((atomic_uint *)argument, 1);
    return SCI_CALLBACK_CONTINUE;
}

/* An interrupt whose callback is called once, by a thread besides the @p others. */
static int call_back(sci_desc_t desc, unsigned others)
{
    atomic_uint calls = 0;
    sci_local_interrupt_t interrupt;
    sci_remote_interrupt_t trigger;
    unsigned number = NUMBER + 1;
    SCI(SCICreateInterrupt(desc, &interrupt, 0, &number, count_call, &calls,
                           SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, &error));
    NEED(threads() > others);
    SCI(SCIConnectInterrupt(desc, &trigger, 1, 0, number, WAIT_MS, 0, &error));
    SCI(SCITriggerInterrupt(trigger, 0, &error));
    for (int i = 0; i < WAIT_MS && atomic_load(&calls) == 0; i++)
        usleep(1000);
    NEED(atomic_load(&calls) == 1);
    SCI(SCIDisconnectInterrupt(trigger, 0, &error));
    SCI(SCIRemoveInterrupt(interrupt, 0, &error));
    return 0;
}

/* A sanitizer may have threads of its own. */
static int count_threads(void *bytes)
{
    struct both both = {.memory = NULL};
    unsigned first = threads();
    NEED(begin_rsmapi(&both) == 0);
    NEED(begin_sisci(&both) == 0);
    NEED(use(&both, 5) == 0);
    NEED(threads() == first); /* nobody has asked for one */
    NEED(call_back(both.desc, first) == 0);
    NEED(end_sisci(&both) == 0);
    return end_rsmapi(&both);
}

static atomic_uint alarms;

static void on_alarm(int number)
{
    atomic_fetch_add(&alarms, 1);
}

/* No call fails or forgets anything because a signal interrupts it. */
static int live_with_timer(void *bytes)
{
    const struct sigaction action = {.sa_handler = on_alarm}; /* system calls are not restarted */
    const struct itimerval often = {{0, TIMER_US}, {0, TIMER_US}}, never = {{0, 0}, {0, 0}};
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (uint64_t number = 1; number <= ROUNDS; number++)
        NEED(one_life(number) == 0);
    NEED(setitimer(ITIMER_REAL, &never, NULL) == 0);
    NEED(atomic_load(&alarms) > 10);
    return 0;
}

/* ------------------------------------------------------------------ fork */

static atomic_bool go_on;

#define THREAD_NEEDS(condition)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return (void *)#condition;                                                             \
    } while (0)

static void *live_often(void *unused)
{
    for (uint64_t number = 1; atomic_load(&go_on); number++)
        THREAD_NEEDS(one_life(number) == 0);
    return unused;
}

static void *call_back_often(void *unused)
{
    sci_error_t error;
    sci_desc_t desc;
    while (atomic_load(&go_on)) {
        SCIInitialize(0, &error);
        SCIOpen(&desc, 0, &error);
        THREAD_NEEDS(error == SCI_ERR_OK && call_back(desc, 1) == 0);
        SCIClose(desc, 0, &error);
        SCITerminate();
    }
    return unused;
}

static void *ask_often(void *unused)
{
    while (atomic_load(&go_on)) {
        rsmapi_controller_handle_t controller;
        sci_error_t error;
        unsigned node = 0;
        THREAD_NEEDS(rsm_get_controller(NULL, &controller) == RSM_SUCCESS);
        THREAD_NEEDS(rsm_release_controller(controller) == RSM_SUCCESS);
        SCIInitialize(0, &error);
        SCIGetLocalNodeId(0, &node, 0, &error);
        THREAD_NEEDS(error == SCI_ERR_OK && node == 1);
        SCITerminate();
    }
    return unused;
}

/* Threads use all of both APIs, and each child can do so in its turn. */
static int fork_amid_calls(void *bytes)
{
    void *(*const loops[])(void *) = {live_often, call_back_often, ask_often};
    pthread_t working[3];
    void *result;
    int failures = 0;
    atomic_store(&go_on, true);
    for (int i = 0; i < 3; i++)
        NEED(pthread_create(&working[i], NULL, loops[i], NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_S); /* for hangs */
            shift = 10;
            _exit(one_life(1) == 0 ? 0 : 1);
        }
        NEED(child > 0 && waitpid(child, &status, 0) == child);
        failures += status != 0;
    }
    atomic_store(&go_on, false);
    for (int i = 0; i < 3; i++) {
        NEED(pthread_join(working[i], &result) == 0);
        failures += result != NULL;
    }
    return failures;
}

static void run(struct world *world, actor_function function)
{
    char none = 0;
    struct actor *actor = actor_start(world, 1);
    actor_begin(actor, function, &none, 1);
    assert_int_equal(actor_end(actor, &none, 1), 0);
    actor_stop(actor);
}

WORLD_TEST(test_one_process)
{
    run(world, live);
}

WORLD_TEST(test_threads)
{
    run(world, count_threads);
}

WORLD_TEST(test_timer)
{
    run(world, live_with_timer);
}

WORLD_TEST(test_fork)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it has no fork handlers: a child finds the locks of its allocator as they were */
#endif
    run(world, fork_amid_calls);
}
