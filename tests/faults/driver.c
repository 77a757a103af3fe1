/* SPDX-License-Identifier: BSD-3-Clause */
/* Fail every call of libc and of the kernel, one in each run: see doc/testing.md. */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "documented.h"
#include "never.h"
#include "options.h"
#include "process.h"
#include "world.h"

enum {
    CASE_MS = 60000, /* of one run: a hang, not slowness */
    LEARNING_RUNS = 3,
    FAILURES_MAX = 10, /* then the rest is not worth waiting for */
    SIGNAL_EVERY_US = 150,
    SIGNAL_RUNS = 10, /* of each part */
};

static struct world world;
static struct steps_record *record;
static struct steps_held idle; /* what the daemons hold between two runs */

static struct {
    unsigned cases, reached, lost, failures;
} total;

/* ---------------------------------------------------------------- one run */

static bool daemon_role(void)
{
    return options.role == ROLE_NODE1 || options.role == ROLE_NODE2 || options.role == ROLE_STARTED;
}

static bool starts_daemons(void)
{
    return options.role == ROLE_START || options.role == ROLE_STARTED;
}

static struct fault_slot *victim(void)
{
    return &world.faults->slots[!daemon_role() ? 0 : options.role == ROLE_NODE2 ? 2 : 1];
}

static uint32_t node_of_victim(void)
{
    return daemon_role() ? (uint32_t)(victim() - world.faults->slots) : PARTS_OWN_NODE;
}

/* One failure to come. */
struct fault {
    uint64_t mask;
    int error;
    unsigned n; /* 0: none, learn */
};

static void prepare_slot(struct fault_slot *slot, const struct fault *fault)
{
    bool mine = slot == victim();
    atomic_store(&slot->mask, 0);
    atomic_store(&slot->matched, 0);
    atomic_store(&slot->fired, 0);
    atomic_store(&slot->fired_kind, 0);
    memset((void *)slot->counts, 0, sizeof slot->counts);
    memset(slot->frames, 0, sizeof slot->frames);
    atomic_store(&slot->error, (uint32_t)fault->error);
    atomic_store(&slot->n, mine ? fault->n : 0);
    atomic_store(&slot->learn, mine && fault->n == 0 && options.each != CALLS);
    atomic_store(&slot->step, 0);
    atomic_store(&slot->never, mine && options.never);
    atomic_store(&slot->released, false);
    atomic_store(&slot->burst, mine && options.burst);
    atomic_store(&slot->mask, mine ? fault->mask : 0);
}

static void prepare_slots(const struct fault *fault)
{
    struct fault_slot *client = &world.faults->slots[0];
    memset(client->blocks, 0, sizeof client->blocks);
    atomic_store(&client->live, 0);
    for (int i = 0; i < FAULT_SLOTS; i++)
        prepare_slot(&world.faults->slots[i], fault);
    if (starts_daemons())
        atomic_store(&world.faults->slots[1].always, true);
}

static bool may_lose(const struct fault *fault)
{
    /* A reply that cannot be sent is the end of a connection. */
    const uint64_t messages = 1ull << FAULT_sendmsg;
    return daemon_role() && (fault->mask & ~messages) == 0;
}

static void on_alarm(int signal)
{
}

static void let_signals_come(void)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval often = {{.tv_usec = SIGNAL_EVERY_US}, {.tv_usec = SIGNAL_EVERY_US}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

__attribute__((noreturn)) static void be_subject(const struct part *part, const struct fault *fault)
{
    struct steps_setup setup = {.part = part->name,
                                .faults = world.faults,
                                .record = record,
                                .learn = fault->n == 0,
                                .tell_steps = options.each == STEPS,
                                .signals = options.role == ROLE_SIGNALS,
                                .daemon_role = daemon_role(),
                                .may_lose = may_lose(fault)};
    memcpy(setup.daemons, world.daemons, sizeof setup.daemons);
    children_unwatch();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (starts_daemons())
        setenv("FAULTS_SLOT", "1", 1);
    if (setup.signals && fault->n != 0)
        let_signals_come();
    setup.signals = setup.signals && fault->n != 0;
    if (options.never && fault->n != 0 && !daemon_role())
        never_begin_thread(victim(), record);
    steps_begin(&setup);
    part->run(world.orders);
    if (options.burst)
        parts_take_leftovers();
    steps_end();
    fflush(NULL);
    exit(0); /* as programs do, with what the sanitizers look for then */
}

/* Wait for embedded daemons, which end by themselves. */
static bool await_started(void)
{
    int status = 0;
    bool good = true;
    for (pid_t pid; (pid = child_await(-1, 0, CASE_MS, &status)) >= 0;) {
        if (pid == 0) {
            fprintf(stderr, "  FAILED: a daemon does not end\n");
            return false;
        }
        /* One that could not start, or be executed, says so by its status. */
        bool refused = WIFEXITED(status) && atomic_load(&victim()->fired) > 0;
        if (status != 0 && !(refused && (WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 127))) {
            fprintf(stderr, "  FAILED: a daemon has ended with status %#x\n", (unsigned)status);
            good = false;
        }
    }
    return good;
}

static void look_at_daemons(struct steps_held *held)
{
    memset(held, 0, sizeof *held);
    for (int i = 0; i < STEPS_DAEMONS; i++) {
        held->daemon_descriptors[i] = (int)process_descriptors(world.daemons[i]);
        held->daemon_blocks[i] = atomic_load(&world.faults->slots[i + 1].live);
    }
}

/* Whether the daemons hold no more than they did, as soon as they have seen the client go. */
static bool daemons_are_idle(void)
{
    struct steps_held held;
    if (starts_daemons())
        return true;
    for (int64_t end = now_ms() + CASE_MS / 6; now_ms() < end; usleep(1000)) {
        bool more = false;
        look_at_daemons(&held);
        for (int i = 0; i < STEPS_DAEMONS; i++)
            more = more || held.daemon_descriptors[i] > idle.daemon_descriptors[i] ||
                   held.daemon_blocks[i] > idle.daemon_blocks[i];
        if (!more)
            return true;
    }
    for (int i = 0; i < STEPS_DAEMONS; i++)
        fprintf(stderr,
                "  FAILED: without clients node %d has %d descriptors and %d allocations, "
                "was %d and %d\n",
                i + 1, held.daemon_descriptors[i], held.daemon_blocks[i],
                idle.daemon_descriptors[i], idle.daemon_blocks[i]);
    for (int i = 0; getenv("FAULTS_VERBOSE") != NULL && i < STEPS_DAEMONS; i++)
        steps_print_blocks(&world.faults->slots[i + 1], world.daemons[i]);
    return false;
}

/* One process that goes through a part, in which that call does not return: in the process itself, or in
 * a daemon on its behalf. */
static bool run_never(const struct part *part, const struct fault *fault)
{
    int status = 0;
    prepare_slots(fault);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_subject(part, fault);
    bool hangs = never_await(victim(), child);
    bool good = !hangs || never_others_are_served(record, node_of_victim(), !daemon_role());
    if (!good)
        steps_print_fault(
            victim(), daemon_role() ? world.daemons[victim() - world.faults->slots - 1] : child);
    if (hangs)
        kill(child, SIGKILL);
    atomic_store(&victim()->released, true);
    good = child_await(child, 0, CASE_MS, &status) == child && good;
    if (!hangs && status != 0)
        good = false;
    return world_runs(&world) && daemons_are_idle() && good;
}

/* One process that goes through a part, with that failure. */
static bool run_once(const struct part *part, const struct fault *fault)
{
    int status = 0;
    bool good = true;
    prepare_slots(fault);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_subject(part, fault);
    if (child_await(child, 0, CASE_MS, &status) != child) {
        fprintf(stderr, "  FAILED: part %s hangs\n", part->name);
        if (getenv("FAULTS_STOP") != NULL)
            pause(); /* for a debugger */
        kill(child, SIGKILL);
        child_await(child, 0, CASE_MS, &status);
        good = false;
    } else if (WIFSIGNALED(status)) {
        fprintf(stderr, "  FAILED: part %s has died of signal %d\n", part->name, WTERMSIG(status));
        good = false;
    } else if (WEXITSTATUS(status) == STEPS_LOST) {
        total.lost++;
    } else if (status != 0) {
        good = false;
    }
    if (!good && (status == 0 || WIFSIGNALED(status))) /* it could not say so itself */
        steps_print_fault(
            victim(), daemon_role() ? world.daemons[victim() - world.faults->slots - 1] : getpid());
    if (starts_daemons())
        good = await_started() && good;
    else if (!world_runs(&world))
        good = false;
    return daemons_are_idle() && good;
}

/* ---------------------------------------------------------------- all failures of a part */

static bool learn(const struct part *part)
{
    const struct fault none = {.mask = 0};
    for (int i = 0; i < LEARNING_RUNS; i++) {
        memset(&idle, 0x7f, sizeof idle);
        if (!run_once(part, &none))
            return false;
        if (starts_daemons())
            continue;
        usleep(20000);
        look_at_daemons(&idle);
    }
    return true;
}

static bool start_over(void)
{
    if (starts_daemons())
        return true;
    world_kill(&world);
    return world_start(&world);
}

static bool run_case(const struct part *part, const struct fault *fault, const char *name)
{
    bool good = options.never ? run_never(part, fault) : run_once(part, fault);
    total.cases++;
    total.reached += atomic_load(&victim()->fired) > 0;
    if (good)
        return true;
    total.failures++;
    int kind = atomic_load(&victim()->fired_kind);
    int number = fault_kinds[kind].errors[fault->error];
    fprintf(stderr, "FAILED: --role %s --part %s --kind %s --error %d -n %u%s  # %s\n",
            options_role_names[options.role], part->name, name, fault->error, fault->n,
            options.burst   ? " --burst"
            : options.never ? " --never"
                            : "",
            options.never ? "does not return" : strerror(number));
    return total.failures < FAILURES_MAX && start_over() && learn(part);
}

/* Every n of one mask that is wanted; `wanted` is NULL or has one element for each. */
static bool run_mask(const struct part *part, uint64_t mask, int error, unsigned count,
                     const bool *wanted, const char *name)
{
    if (options.only != 0) {
        const struct fault fault = {.mask = mask, .error = error, .n = options.only};
        return run_case(part, &fault, name);
    }
    if (wanted != NULL && count > FAULT_CALLS) /* thousands of them are of a few loops */
        count = FAULT_CALLS;
    for (unsigned n = 1; n <= count; n++) {
        const struct fault fault = {.mask = mask, .error = error, .n = n};
        if ((wanted == NULL || wanted[n - 1]) && !run_case(part, &fault, name))
            return false;
    }
    return true;
}

/* Of the calls that were made from one place, the first and the last. */
static void choose(const uint64_t *places, unsigned count, bool *wanted)
{
    for (unsigned i = 0; i < count; i++) {
        bool before = false, after = false;
        for (unsigned j = 0; j < count; j++)
            if (places[j] == places[i]) {
                before = before || j < i;
                after = after || j > i;
            }
        wanted[i] = !before || !after;
    }
}

/* The daemon reads until there is nothing left, and waits for news only then. Of the other node's
 * daemon the peer would be the client that is dropped. */
static bool is_impossible(int kind, int error)
{
    bool again = fault_kinds[kind].errors[error] == EAGAIN;
    return again && ((daemon_role() && kind == FAULT_recvmsg) ||
                     (options.role == ROLE_NODE2 && kind == FAULT_sendmsg));
}

static bool is_wanted(int kind)
{
    return options.group == NULL || strcmp(options.group, fault_kinds[kind].group) == 0 ||
           strcmp(options.group, fault_kinds[kind].name) == 0;
}

/* What runs out together: all that is wanted at once, and everything after it. */
static bool run_bursts(const struct part *part, const uint32_t *counts)
{
    uint64_t mask = 0;
    unsigned count = 0;
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
        if (is_wanted(kind)) {
            mask |= 1ull << kind;
            count += counts[kind];
        }
    return run_mask(part, mask, 0, count, NULL, options.group != NULL ? options.group : "all");
}

static bool run_part(const struct part *part)
{
    static bool wanted[FAULT_KIND_COUNT][FAULT_CALLS];
    uint32_t counts[FAULT_KIND_COUNT];
    if (!learn(part)) {
        total.failures++;
        fprintf(stderr, "FAILED: part %s, although nothing was injected\n", part->name);
        return false;
    }
    memcpy(counts, (const void *)victim()->counts, sizeof counts);
    for (int kind = 0; options.each != CALLS && kind < FAULT_KIND_COUNT; kind++)
        choose(victim()->places[kind], counts[kind] < FAULT_CALLS ? counts[kind] : FAULT_CALLS,
               wanted[kind]);
    if (options.role == ROLE_SIGNALS)
        return run_mask(part, 0, 0, SIGNAL_RUNS, NULL, "signals");
    if (options.burst)
        return run_bursts(part, counts);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
        const struct fault_kind_info *info = &fault_kinds[kind];
        if (!is_wanted(kind) || counts[kind] == 0)
            continue;
        int64_t begin = now_ms();
        unsigned before = total.cases;
        if (options.never &&
            !run_mask(part, 1ull << kind, 0, counts[kind], wanted[kind], info->name))
            return false;
        for (int error = 0; !options.never && error < FAULT_ERRORS && info->errors[error] != 0;
             error++)
            if ((options.error < 0 || options.error == error) && !is_impossible(kind, error) &&
                !run_mask(part, 1ull << kind, error, counts[kind],
                          options.each != CALLS ? wanted[kind] : NULL, info->name))
                return false;
        printf("%-7s %-10s %-16s %4u calls %5u cases %6.1f s\n", options_role_names[options.role],
               part->name, info->name, (unsigned)counts[kind], total.cases - before,
               (double)(now_ms() - begin) / 1000);
    }
    return true;
}

/* ---------------------------------------------------------------- what to do */

/* Where that is allowed, be alone with what is started here: the library looks at all processes
 * that it sees when shared memory is exported, and how many those are is to be the same in each
 * run. Whatever is left goes with the first process. */
static void be_alone(void)
{
    int status = 0;
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
        return;
    pid_t first = fork();
    if (first != 0) {
        while (first > 0 && waitpid(first, &status, 0) < 0 && errno == EINTR)
            continue;
        exit(first > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        fprintf(stderr, "cannot have an own /proc: %m\n");
        exit(1);
    }
}

/* Run this program again with the library in front of all others. */
static bool preload(char **argv)
{
    char path[64];
    if (getenv("FAULTS_SHARED") != NULL)
        return true;
    be_alone();
    int fd = memfd_create("rsm-faults", 0);
    if (fd < 0 || ftruncate(fd, sizeof(struct fault_shared)) < 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    setenv("FAULTS_SHARED", path, 1);
    setenv("LD_PRELOAD", FAULTS_LIBRARY, 1);
    execv("/proc/self/exe", argv);
    return false;
}

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool prepare(void)
{
    int fd = open(getenv("FAULTS_SHARED"), O_RDWR | O_CLOEXEC);
    world.faults = mmap(NULL, sizeof *world.faults, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    fcntl(atoi(strrchr(getenv("FAULTS_SHARED"), '/') + 1), F_SETFD, FD_CLOEXEC);
    world.orders = share(sizeof *world.orders);
    record = share(sizeof *record);
    if ((void *)world.faults == MAP_FAILED || world.orders == NULL || record == NULL)
        return false;
    if (starts_daemons())
        setenv("RSM_RSMD", getenv("RSM_SHORT_LIVED_RSMD"), 1);
    children_watch();
    return documented_read() && steps_find_library() && world_open(&world) &&
           (starts_daemons() || world_start(&world));
}

static bool part_is_wanted(const struct part *part)
{
    if (options.part != NULL)
        return strcmp(part->name, options.part) == 0;
    if (options.role == ROLE_NODE2 || starts_daemons())
        return part->imports == !starts_daemons();
    return true;
}

static bool knows_waits(void)
{
    const struct fault none = {.mask = 0};
    prepare_slots(&none);
    atomic_store(&world.faults->slots[0].never, true);
    total.failures += !never_knows_waits(&world.faults->slots[0]);
    return total.failures == 0;
}

int main(int argc, char **argv)
{
    if (!options_take(argc, argv)) {
        options_usage();
        return 2;
    }
    if (!preload(argv) || !prepare()) {
        fprintf(stderr, "cannot begin: %m\n");
        world_kill(&world);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool go_on = !options.never || knows_waits();
    for (const struct part *part = parts; part->name != NULL && go_on; part++)
        if (part_is_wanted(part))
            go_on = run_part(part);
    if (!starts_daemons() && total.failures == 0 && !world_end(&world))
        total.failures++;
    world_kill(&world);
    if (!world_close(&world) && total.failures == 0)
        total.failures++;
    printf("%s: %u cases, %u of them reached, %u clients dropped, %u failures\n",
           options_role_names[options.role], total.cases, total.reached, total.lost,
           total.failures);
    /* Threads make some calls come at other times, or not at all. */
    if (options.role != ROLE_SIGNALS && options.only == 0 && total.reached * 2 < total.cases) {
        printf("FAILED: too few of the calls were reached\n");
        return 1;
    }
    /* Without any that can wait there is no case; what there would be is shown by the list of calls. */
    return total.failures > 0 || (total.cases == 0 && !options.never) ? 1 : 0;
}
