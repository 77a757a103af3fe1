/* SPDX-License-Identifier: BSD-3-Clause */
#include "steps.h"

#include <dlfcn.h>

#include "documented.h"
#include "process.h"

enum {
    GUARDS_MAX = 16,
    LOOKS_THAT_AGREE = 8,
    SETTLE_MS = 5000, /* until a daemon has seen and done all: far more than it takes */
};

void (*faults_arm_here)(void);
void (*faults_disarm_here)(void);
void (*faults_attach_here)(struct fault_slot *slot);

static struct steps_setup run;
static int step;          /* index of the current one */
static char function[64]; /* that it calls */
static int attempts;
static bool to_check; /* this call has failed before it succeeded */

static struct {
    const uint8_t *memory;
    size_t length;
    unsigned seed;
} guards[GUARDS_MAX];

bool steps_find_library(void)
{
    *(void **)(void *)&faults_arm_here = dlsym(RTLD_DEFAULT, "faults_arm");
    *(void **)(void *)&faults_disarm_here = dlsym(RTLD_DEFAULT, "faults_disarm");
    *(void **)(void *)&faults_attach_here = dlsym(RTLD_DEFAULT, "faults_attach");
    if (faults_arm_here != NULL && faults_disarm_here != NULL && faults_attach_here != NULL)
        return true;
    fprintf(stderr, "the library that injects faults is not preloaded\n");
    return false;
}

/* ---------------------------------------------------------------- what is printed */

/* The mapping of a file that an address lies in. */
static bool find_file(pid_t pid, uintptr_t address, char *file, uintptr_t *base)
{
    char path[64], line[512], name[256];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    bool found = false;
    if (maps == NULL)
        return false;
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &start, &end, &offset, name) != 4)
            continue;
        if (offset == 0 && strcmp(name, file) != 0) {
            strcpy(file, name);
            *base = start;
        }
        found = start <= address && address < end && strcmp(name, file) == 0;
    }
    fclose(maps);
    return found;
}

void steps_print_address(pid_t pid, uintptr_t address)
{
    char file[256] = "", command[400], line[400];
    uintptr_t base = 0;
    if (!find_file(pid, address, file, &base)) {
        fprintf(stderr, "      %#lx\n", (unsigned long)address);
        return;
    }
    fprintf(stderr, "      %s+%#lx", file, (unsigned long)(address - base));
    snprintf(command, sizeof command, "LD_PRELOAD= addr2line -pfe '%s' %#lx 2>/dev/null", file,
             (unsigned long)(address - base - 1));
    fflush(stderr);
    FILE *output = popen(command, "re");
    if (output != NULL && fgets(line, sizeof line, output) != NULL && line[0] != '?')
        fprintf(stderr, "  %s", line);
    else
        fputc('\n', stderr);
    if (output != NULL)
        pclose(output);
}

void steps_print_fault(const struct fault_slot *slot, pid_t pid)
{
    int kind = atomic_load(&slot->fired_kind);
    if (atomic_load(&slot->fired) == 0) {
        fprintf(stderr, "    nothing was injected\n");
        return;
    }
    fprintf(stderr, "    injected: %s (%u calls failed), called from\n", fault_kinds[kind].name,
            (unsigned)atomic_load(&slot->fired));
    for (int i = 0; i < FAULT_FRAMES && slot->frames[i] != 0; i++)
        steps_print_address(pid, slot->frames[i]);
}

/* The slot of whoever is to fail. */
static struct fault_slot *victim(void)
{
    for (int i = 0; run.daemon_role && i < STEPS_DAEMONS; i++)
        if (atomic_load(&run.faults->slots[i + 1].mask) != 0)
            return &run.faults->slots[i + 1];
    return &run.faults->slots[0];
}

static pid_t victim_pid(void)
{
    long slot = victim() - run.faults->slots;
    return slot == 0 ? getpid() : run.daemons[slot - 1];
}

static void complain(const char *what)
{
    fprintf(stderr, "  FAILED in part %s, step %d, %s: %s\n", run.part, step, function, what);
    steps_print_fault(victim(), victim_pid());
}

void steps_fail(const char *file, int line, const char *what)
{
    char text[512];
    faults_disarm_here();
    snprintf(text, sizeof text, "%s:%d: not so: %s", file, line, what);
    complain(text);
    _exit(1);
}

/* ---------------------------------------------------------------- memory's contents */

static uint8_t guard_byte(unsigned seed, size_t at)
{
    return (uint8_t)((at * 2654435761u >> 7) + seed * 37 + (at >> 12));
}

void steps_guard(void *memory, size_t length, unsigned seed)
{
    int free_place = 0;
    while (free_place < GUARDS_MAX && guards[free_place].memory != NULL)
        free_place++;
    EXPECT(free_place < GUARDS_MAX);
    uint8_t *bytes = memory;
    for (size_t i = 0; i < length; i++)
        bytes[i] = guard_byte(seed, i);
    guards[free_place].memory = memory;
    guards[free_place].length = length;
    guards[free_place].seed = seed;
}

void steps_unguard(const void *memory)
{
    for (int i = 0; i < GUARDS_MAX; i++)
        if (guards[i].memory == memory)
            guards[i].memory = NULL;
}

static void check_guards(void)
{
    for (int g = 0; g < GUARDS_MAX; g++)
        for (size_t i = 0; guards[g].memory != NULL && i < guards[g].length; i++)
            if (guards[g].memory[i] != guard_byte(guards[g].seed, i)) {
                char text[128];
                snprintf(text, sizeof text, "byte %zu of memory %u is not what it was", i,
                         guards[g].seed);
                complain(text);
                _exit(1);
            }
}

/* ---------------------------------------------------------------- what is held */

static int object_mappings(void)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, " /memfd:rsm") != NULL;
    if (maps != NULL)
        fclose(maps);
    return count;
}

static void look(struct steps_held *held)
{
    memset(held, 0, sizeof *held);
    held->descriptors = (int)process_descriptors(getpid());
    held->objects = object_mappings();
    held->blocks = atomic_load(&run.faults->slots[0].live);
    for (int i = 0; i < STEPS_DAEMONS; i++) {
        if (run.daemons[i] == 0)
            continue;
        held->daemon_descriptors[i] = (int)process_descriptors(run.daemons[i]);
        held->daemon_blocks[i] = atomic_load(&run.faults->slots[i + 1].live);
    }
}

/* What of it is too much; NULL: nothing. */
static const char *excess(const struct steps_held *held, const struct steps_held *most)
{
    if (held->descriptors > most->descriptors)
        return "descriptors";
    if (held->objects > most->objects)
        return "mappings of memfds";
    if (held->blocks > most->blocks)
        return "allocations";
    for (int i = 0; i < STEPS_DAEMONS; i++) {
        if (held->daemon_descriptors[i] > most->daemon_descriptors[i])
            return "descriptors of a daemon";
        if (held->daemon_blocks[i] > most->daemon_blocks[i])
            return "allocations of a daemon";
    }
    return NULL;
}

static void print_held(const char *when, const struct steps_held *held)
{
    fprintf(stderr, "    %s: %d descriptors, %d objects, %d allocations", when, held->descriptors,
            held->objects, held->blocks);
    for (int i = 0; i < STEPS_DAEMONS; i++)
        fprintf(stderr, "; node %d: %d descriptors, %d allocations", i + 1,
                held->daemon_descriptors[i], held->daemon_blocks[i]);
    fputc('\n', stderr);
}

/* Who allocated what is held: the last few in no order. */
void steps_print_blocks(const struct fault_slot *slot, pid_t pid)
{
    struct {
        uintptr_t caller;
        int count;
    } callers[64];
    int known = 0;
    for (int i = 0; i < FAULT_BLOCKS; i++) {
        int at = 0;
        if (slot->blocks[i].address == 0)
            continue;
        while (at < known && callers[at].caller != slot->blocks[i].caller)
            at++;
        if (at == 64)
            continue;
        callers[at].caller = slot->blocks[i].caller;
        callers[at].count = at < known ? callers[at].count + 1 : 1;
        known = at < known ? known : at + 1;
    }
    for (int i = 0; i < known; i++) {
        fprintf(stderr, "    %d blocks of", callers[i].count);
        steps_print_address(pid, callers[i].caller);
    }
}

static void print_descriptors(pid_t pid)
{
    char command[128];
    snprintf(command, sizeof command,
             "LD_PRELOAD= ls -l /proc/%d/fd | sed -n 's/.* \\([0-9]* -> .*\\)/    \\1/p' >&2",
             (int)pid);
    if (system(command) != 0)
        fprintf(stderr, "    cannot list descriptors\n");
}

static void too_much(const char *what, const struct steps_held *held, const struct steps_held *most)
{
    char text[128];
    snprintf(text, sizeof text, "more %s held than without a failure", what);
    complain(text);
    print_held("without", most);
    print_held("now", held);
    if (getenv("FAULTS_VERBOSE") == NULL)
        fprintf(stderr, "    FAULTS_VERBOSE=1 lists them\n");
    for (int i = -1; getenv("FAULTS_VERBOSE") != NULL && i < STEPS_DAEMONS; i++) {
        pid_t pid = i < 0 ? getpid() : run.daemons[i];
        if (pid == 0)
            continue;
        fprintf(stderr, "    %s:\n", i < 0 ? "client" : i == 0 ? "node 1" : "node 2");
        steps_print_blocks(&run.faults->slots[i + 1], pid);
        print_descriptors(pid);
    }
    _exit(1);
}

static void pause_ms(int ms)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

/* Look until it is what it may be: threads and daemons are not done at once. */
static void compare(void)
{
    const struct steps_held *most = &run.record->after[step];
    struct steps_held held;
    const char *what;
    int64_t end = now_ms() + SETTLE_MS;
    do {
        pause_ms(2);
        look(&held);
        what = excess(&held, most);
        if (what == NULL)
            return;
    } while (now_ms() < end);
    too_much(what, &held, most);
}

/* Looks that agree for a while: a daemon on a busy machine makes its extents ahead some time after it has answered. */
static void learn(void)
{
    struct steps_held *held = &run.record->after[step];
    struct steps_held again;
    look(held);
    for (int i = 0, agreed = 0; i < 100 && agreed < LOOKS_THAT_AGREE; i++) {
        pause_ms(1);
        look(&again);
        agreed = memcmp(held, &again, sizeof again) == 0 ? agreed + 1 : 0;
        *held = again;
    }
}

/* ---------------------------------------------------------------- steps */

void steps_begin(const struct steps_setup *setup)
{
    run = *setup;
    step = 0;
    to_check = false;
    memset(guards, 0, sizeof guards);
    faults_attach_here(&run.faults->slots[0]);
}

bool steps_group_fails(const char *group)
{
    uint64_t mask = atomic_load(&victim()->mask);
    for (int kind = 0; kind < FAULT_KIND_COUNT; kind++)
        if ((mask >> kind & 1) != 0 && strcmp(fault_kinds[kind].group, group) == 0)
            return true;
    return false;
}

bool steps_daemon_fails(void)
{
    return run.daemon_role;
}

bool steps_are_interrupted(void)
{
    return run.signals;
}

void steps_branch(int first)
{
    step = first;
}

void steps_try(const char *call)
{
    size_t length = strcspn(call, "(");
    snprintf(function, sizeof function, "%.*s", (int)length, call);
    attempts = 0;
    EXPECT(step < STEPS_MAX);
    for (int i = 0; run.tell_steps && i < FAULT_SLOTS; i++)
        atomic_store(&run.faults->slots[i].step, (uint32_t)step);
}

/* After a step that has ended well. A call that failed must have left nothing behind; one that got
 * along with a failure may hold something else instead, until the end. */
static void finish_step(void)
{
    if (run.learn) {
        learn();
        run.record->count = step + 1;
    } else if (to_check && !run.signals &&
               !run.may_lose) { /* a lost connection is kept for a while */
        compare();
    }
    to_check = false;
    step++;
}

/* The daemon may end the connection of a client that it cannot answer. All of the client's is gone
 * then, and the rest of the part would show nothing but that. */
static void lose(void)
{
    fprintf(stderr, "  part %s, step %d, %s: the daemon has dropped this client\n", run.part, step,
            function);
    _exit(STEPS_LOST);
}

/* Judge a failure. */
static void judge(int result)
{
    char text[128];
    snprintf(text, sizeof text, "%s (%d)", documented_name(result), result);
    if (attempts == 2 && run.may_lose)
        lose();
    if (attempts == 2)
        strcat(text, ", once more although nothing failed any more");
    else if (result == RSMERR_TIMEOUT && !run.daemon_role && strstr(function, "_wait") != NULL)
        strcat(text, ", although the event was posted");
    else if (!documented(function, result))
        strcat(text, ", which the manual does not list for this function");
    else if (atomic_load(&victim()->fired) == 0)
        strcat(text, ", and nothing failed");
    else
        return;
    complain(text);
    _exit(1);
}

bool steps_again(int result, int wanted)
{
    /* What a signal ends, a loop begins again: that is what the code is for. */
    if (run.signals && result == RSMERR_INTERRUPTED && documented(function, result))
        return true;
    if (result == wanted) {
        finish_step();
        return false;
    }
    attempts++;
    check_guards();
    judge(result);
    /* The manual has it that the segment is unpublished all the same, with its pages where they
     * are. */
    if (strcmp(function, "rsm_memseg_export_unpublish") == 0 && result == RSMERR_INSUFFICIENT_MEM) {
        finish_step();
        return false;
    }
    to_check = true;
    return true;
}

void steps_end(void)
{
    strcpy(function, "the end");
    check_guards();
    if (run.learn)
        learn();
    else if (!run.signals)
        compare();
}
