/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine's part in the death of the other: all moments of the kill matrix at once, one process
 * each, and a pair of bystanders.
 *
 *   kill_machine victim SIDE            the parties of the machine that will die; says "ready"
 *   kill_machine survivor SIDE FILE MS  the others; says "under way" when each is amid its
 *                                       operation, takes the making of FILE for the moment before
 *                                       the death, and prints what each was told and when, which
 *                                       must be within MS milliseconds
 *
 * SIDE is exporter (node 1) or importer (node 2).
 */
#include <rsmapi.h>

#include "load.h"
#include "party.h"
#include "process.h"
#include "table.h"

enum {
    EXPORTER = 1, /* nodes */
    IMPORTER = 2,
    BYSTANDERS = 2,
    CHILDREN = MOMENTS + BYSTANDERS,
    STEPS = 2,
    READY_MS = 200000, /* under emulation */
    GIVE_UP_MS = 60000,
    TICK_US = 20000,
    RETRY_US = 500000,
};

static const char *const names[MOMENTS] = {"idle",      "connect", "put",  "barrier",
                                           "unpublish", "swap",    "fault"};

/* Of one child, shared with it. */
struct child {
    struct stage stage;
    struct load load;
    _Atomic bool ready; /* begun */
    _Atomic bool over;
};
static struct child *children;
static pid_t pids[CHILDREN];

static enum side side;
static bool survivor;

/* ---------------------------------------------------------------- children */

static bool importer_must_notice(enum moment moment)
{
    return moment != MOMENT_UNPUBLISH && moment != MOMENT_SWAP;
}

/* Whether the other node answers, be it that there is no such segment. */
static bool is_reachable(const struct load *load)
{
    rsm_memseg_import_handle_t handle;
    rsmapi_controller_handle_t controller = party_controller(NULL);
    int error = controller == NULL ? RSMERR_CTLR_NOT_PRESENT
                                   : rsm_memseg_import_connect(controller, load->exporter, LOAD_ID,
                                                               RSM_PERM_RDWR, &handle);
    if (error == RSM_SUCCESS)
        rsm_memseg_import_disconnect(handle);
    return error == RSM_SUCCESS || error == RSMERR_SEG_NOT_PUBLISHED;
}

/* The other machine may not be that far. A segment that comes and goes need not be there when the
 * loop begins. */
static int begin_import(struct load *load)
{
    bool comes_and_goes = !importer_must_notice(load->moment);
    for (int64_t deadline = now_ms() + READY_MS; now_ms() < deadline; usleep(RETRY_US))
        if (comes_and_goes ? is_reachable(load) : load_import_begin(load) == 0)
            return 0;
    return -1;
}

static int be_party(struct child *child)
{
    struct load *load = &child->load, end;
    bool exports = side == SIDE_EXPORTER;
    stage = &child->stage;
    if ((exports ? load_export_begin(load) : begin_import(load)) != 0)
        return 1;
    atomic_store(&child->ready, true);
    if ((exports ? load_export_run(load) : load_import_run(load)) != 0)
        return 1;
    end = *load; /* what was answered stays as it is */
    atomic_store(&child->over, true);
    return (exports ? load_export_end(&end) : load_import_end(&end)) != 0;
}

/* Both are on this machine, and share a stage. */
static int be_bystander(struct child *child, bool exports)
{
    struct load load = {.exporter = side == SIDE_EXPORTER ? EXPORTER : IMPORTER};
    stage = &child->stage;
    return (exports ? bystander_export(&load) : bystander_import(&load)) != 0;
}

static void start(unsigned number)
{
    struct child *child = &children[number];
    child->load = (struct load){
        .moment = number % MOMENTS,
        .exporter = EXPORTER,
        .give_up_ms = GIVE_UP_MS,
        .stranger = true,
        .must_notice = side == SIDE_IMPORTER && importer_must_notice(number % MOMENTS),
    };
    pids[number] = fork();
    if (pids[number] != 0)
        return;
    if (number < MOMENTS)
        _exit(be_party(child));
    _exit(be_bystander(&children[MOMENTS], number == MOMENTS));
}

/* ---------------------------------------------------------------- the survivor */

/* Amid its operation. An exporter that idles makes no steps. */
static bool is_under_way(const struct child *child)
{
    bool steps = side == SIDE_IMPORTER || child->load.moment == MOMENT_UNPUBLISH ||
                 child->load.moment == MOMENT_SWAP;
    return atomic_load(&child->ready) &&
           (!steps || atomic_load(&child->stage.calls[side]) >= STEPS);
}

static bool await_all(bool (*is)(const struct child *child), int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;
    for (unsigned i = 0; i < MOMENTS; i++)
        while (!is(&children[i])) {
            if (now_ms() > deadline) {
                fprintf(stderr, "kill_machine: %s: nothing happens\n", names[i]);
                return false;
            }
            usleep(TICK_US);
        }
    return true;
}

static bool is_over(const struct child *child)
{
    return atomic_load(&child->over);
}

static bool fits(const struct load *load)
{
    int answer = load->answer;
    if (side == SIDE_EXPORTER)
        return answer == RSM_SUCCESS || answer == RSMERR_TIMEOUT;
    if (load->moment == MOMENT_CONNECT)
        return answer == RSMERR_REMOTE_NODE_UNREACHABLE || answer == RSMERR_CONN_ABORTED;
    if (importer_must_notice(load->moment))
        return answer == RSMERR_CONN_ABORTED || answer == RSMERR_BARRIER_FAILURE;
    return answer == RSMERR_REMOTE_NODE_UNREACHABLE || answer == RSMERR_CONN_ABORTED ||
           answer == RSMERR_BARRIER_FAILURE || answer == RSM_SUCCESS ||
           answer == RSMERR_SEG_NOT_PUBLISHED;
}

static bool print_and_check(const struct child *child, int64_t within_ms)
{
    const struct load *load = &child->load;
    bool well = fits(load) && load->took_us >= 0 && load->took_us <= within_ms * 1000;
    printf("%-17s %-10s %-9s %9.1f ms  %s%s\n",
           side == SIDE_EXPORTER ? "importers_machine" : "exporters_machine", names[load->moment],
           side == SIDE_EXPORTER ? "exporter" : "importer", (double)load->took_us / 1000,
           answer_name(load->answer), well ? "" : "  <- not as it should be");
    return well;
}

static bool end_child(unsigned number, const char *name)
{
    int status = 0;
    bool well = waitpid(pids[number], &status, 0) == pids[number] && status == 0;
    if (!well)
        fprintf(stderr, "kill_machine: %s ended badly, status %#x\n", name, (unsigned)status);
    return well;
}

static int survive(const char *file, int64_t within_ms)
{
    bool well = true;
    if (!await_all(is_under_way, READY_MS))
        return 1;
    puts("under way");
    fflush(stdout);
    while (access(file, F_OK) != 0)
        usleep(1000);
    uint64_t beside = atomic_load(&children[MOMENTS].stage.bystander_rounds);
    int64_t killed = now_ns();
    for (unsigned i = 0; i < MOMENTS; i++)
        atomic_store(&children[i].stage.killed_ns, killed);
    if (!await_all(is_over, GIVE_UP_MS + (int)within_ms))
        return 1;
    printf("%-17s %-10s %-9s %12s  %s\n", "killed", "moment", "survivor", "after", "told");
    for (unsigned i = 0; i < MOMENTS; i++)
        well = print_and_check(&children[i], within_ms) && well;
    for (unsigned i = 0; i < MOMENTS; i++)
        well = end_child(i, names[i]) && well;
    struct stage *pair = &children[MOMENTS].stage;
    uint64_t since = atomic_load(&pair->bystander_rounds) - beside;
    atomic_store(&pair->bystanders_leave, true);
    for (unsigned i = MOMENTS; i < CHILDREN; i++)
        well = end_child(i, "a bystander") && well;
    printf("beside: %lu verified exchanges of the bystanders since the death\n",
           (unsigned long)since);
    return well && since > 0 ? 0 : 1;
}

static bool has_begun(const struct child *child)
{
    return atomic_load(&child->ready);
}

int main(int argc, char **argv)
{
    survivor = argc == 5 && strcmp(argv[1], "survivor") == 0;
    if (!survivor && (argc != 3 || strcmp(argv[1], "victim") != 0)) {
        fprintf(stderr, "usage: kill_machine victim SIDE | survivor SIDE FILE MS\n");
        return 2;
    }
    side = strcmp(argv[2], "exporter") == 0 ? SIDE_EXPORTER : SIDE_IMPORTER;
    children = mmap(NULL, CHILDREN * sizeof *children, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (children == MAP_FAILED)
        return 2;
    for (unsigned i = 0; i < (survivor ? CHILDREN : MOMENTS); i++)
        start(i);
    if (survivor)
        return survive(argv[3], atoi(argv[4]));
    if (!await_all(has_begun, READY_MS))
        return 1;
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
