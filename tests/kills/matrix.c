/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kill matrix: who is killed, what is under way, and what the others see of it.
 *
 *   kill_matrix [--device NODE DEVICE]... [PATTERN...]
 *
 * A cell is one test of that name, "killed.moment"; patterns choose some, as in "exporter.*". Each
 * round of a cell lets an exporter (node 1) and an importer (node 2) do what the moment says, kills
 * one party with SIGKILL at a random moment, in every other round while it is stopped, and looks at
 * the survivors: what they are told and when, whether exported memory is as it was written last,
 * and whether anything is left of the dead. Meanwhile a second pair of processes, of other users on
 * the same daemons, moves data and events all the time. A daemon that was killed is started again
 * at once, as an init system does.
 *
 * Built for several transports (TRANSPORT): "shm" has all nodes in one runtime directory, any other
 * two linked hosts. RSM_KILLS_ROUNDS is the number of rounds, RSM_KILLS_SHARE=N makes it an Nth of
 * that, RSM_KILLS_SEED repeats the moments.
 */
#include <fnmatch.h>

#include "census.h"
#include "protocol/proto.h"
#include "hosts.h"
#include "load.h"
#include "party.h"
#include "process.h"
#include "table.h"

enum victim {
    VICTIM_EXPORTER,
    VICTIM_IMPORTER,
    VICTIM_IMPORTERS_DAEMON,
    VICTIM_EXPORTERS_DAEMON,
    VICTIMS,
};

enum {
    EXPORTER = 1, /* nodes */
    IMPORTER = 2,
    CELLS = VICTIMS * MOMENTS,
    ROUNDS = 20,
    UNDER_WAY_MS = 20000, /* for the operation to get going */
    STEPS_BEFORE = 3,
    LATEST_US = 4000, /* of the random delays before the death */
    STOPPED_US = 10000,
    GIVE_UP_MS = 15000,
    SETTLE_MS = 20000, /* for what is left of the dead to go */
    PATIENCE = 10,     /* times the bar, for the worst case on a loaded machine */
    BYSTANDERS_UID = UNPRIVILEGED_UID - 1,
    CONFIGURATION_BYTES = 256,
};

static const char *const victim_names[VICTIMS] = {"exporter", "importer", "importers_daemon",
                                                  "exporters_daemon"};
static const char *const moment_names[MOMENTS] = {"idle",      "connect", "put",   "barrier",
                                                  "unpublish", "swap",    "fault", "group"};

struct cell {
    enum victim victim;
    enum moment moment;
    char name[64];
    unsigned rounds;
    uint64_t bystander_rounds;
    struct tally tallies[SIDES];
};

static struct cell cells[CELLS];
static const bool two_hosts = TWO_HOSTS;
static const char *devices[3]; /* by node, for transports that need them */
static unsigned rounds = ROUNDS;
static uint64_t seed;

/* ---------------------------------------------------------------- the stage of a cell */

static struct world *world;
static struct cell *cell;
static pid_t daemons[2]; /* by node - 1 */
static struct actor *parties[SIDES], *bystanders[2];
static struct load loads[SIDES];

static uint32_t draw(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % below;
}

static void sleep_us(unsigned us)
{
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void begin_hosts(void)
{
    static char text[2][CONFIGURATION_BYTES];
    static const struct host hosts[] = {{EXPORTER, text[0]}, {IMPORTER, text[1]}};
    for (unsigned node = 1; node <= 2; node++)
        snprintf(
            text[node - 1], sizeof text[0],
            "[controller sci0]\ntransport = " TRANSPORT "\n%s%s\n%s"
            "[limits]\npeer-timeout-ms = 30000\n", /* this host may stall; nobody waits for it */
            devices[node] != NULL ? "device = " : "", devices[node] != NULL ? devices[node] : "",
            /* A daemon that is killed amid a handshake may leave the importer to its time-out. Nothing
             * is registered in advance: the pool grows with demand, and the census could not tell
             * that from what the dead have left. */
            devices[node] != NULL ? "options = timeout=3000, pool=0\n" : "");
    hosts_split(world, hosts);
    hosts_start(world, daemons);
}

static void start_daemon(unsigned node)
{
    daemons[node - 1] = two_hosts ? host_start(world, node) : world_daemon_start(world, node);
    if (!two_hosts)
        return;
    host_await_link(world, 1, 2, true);
    host_await_link(world, 2, 1, true);
}

/* Of other users where this process may become them and they can get at the programs. */
static struct actor *start_bystander(unsigned node, uid_t uid)
{
    bool may = geteuid() == 0 && build_is_reachable();
    return may ? actor_start_as(world, node, uid) : actor_start(world, node);
}

/* On the same daemons as the party that is killed, or, if that is a daemon, on the other one. */
static void start_bystanders(void)
{
    struct load load = {.exporter = cell->victim == VICTIM_EXPORTERS_DAEMON ? IMPORTER : EXPORTER};
    unsigned importer = cell->victim == VICTIM_IMPORTERS_DAEMON ? EXPORTER : IMPORTER;
    bystanders[0] = start_bystander(load.exporter, UNPRIVILEGED_UID);
    bystanders[1] = start_bystander(importer, BYSTANDERS_UID);
    actor_begin(bystanders[0], bystander_export, &load, sizeof load);
    actor_begin(bystanders[1], bystander_import, &load, sizeof load);
}

static void await_bystanders(uint64_t more)
{
    uint64_t goal = atomic_load(&stage->bystander_rounds) + more;
    int64_t deadline = now_ms() + SETTLE_MS;
    while (atomic_load(&stage->bystander_rounds) < goal) {
        if (now_ms() > deadline || actor_ended(bystanders[0], 0) || actor_ended(bystanders[1], 1))
            fail_msg("a bystander came to harm after %lu rounds",
                     (unsigned long)atomic_load(&stage->bystander_rounds));
    }
}

static void end_bystanders(void)
{
    struct load load;
    atomic_store(&stage->bystanders_leave, true);
    /* The importer first: the exporter's memory is withdrawn at its end. */
    assert_int_equal(actor_end(bystanders[1], &load, sizeof load), RSM_SUCCESS);
    assert_int_equal(actor_end(bystanders[0], &load, sizeof load), RSM_SUCCESS);
    cell->bystander_rounds = atomic_load(&stage->bystander_rounds);
}

static int set_up(void **state)
{
    cell = *state;
    if (world_setup(state) != 0)
        return -1;
    world = *state;
    memset(daemons, 0, sizeof daemons);
    if (cell->moment == MOMENT_FAULT && !two_hosts)
        setenv("RSM_SHM_DIRECT", "0", 1);
    else
        unsetenv("RSM_SHM_DIRECT");
    memset(stage, 0, sizeof *stage);
    return 0;
}

static int tear_down(void **state)
{
    /* A client may have started one in place of one that was killed; that one ends by itself. */
    for (unsigned i = 0; i < 2; i++)
        if (daemons[i] != 0) {
            kill(daemons[i], SIGCONT);
            kill(daemons[i], SIGTERM);
        }
    return world_teardown(state);
}

/* ---------------------------------------------------------------- what is right */

/* Whether the connection is certain to end, or the segment to be gone. */
static bool must_notice(enum side side)
{
    enum moment moment = cell->moment;
    if (side == SIDE_EXPORTER)
        return cell->victim == VICTIM_EXPORTERS_DAEMON && moment != MOMENT_SWAP;
    if (moment == MOMENT_UNPUBLISH || moment == MOMENT_SWAP)
        return false;
    if (cell->victim == VICTIM_IMPORTERS_DAEMON)
        return moment == MOMENT_GROUP || (two_hosts && moment != MOMENT_CONNECT);
    return true;
}

static bool exporters_answer_fits(int answer)
{
    if (cell->victim != VICTIM_EXPORTERS_DAEMON)
        return answer == RSM_SUCCESS || (answer == RSMERR_TIMEOUT && !loads[0].long_waits);
    bool works = cell->moment == MOMENT_UNPUBLISH || cell->moment == MOMENT_SWAP;
    if (cell->moment == MOMENT_SWAP && (answer == RSM_SUCCESS || answer == RSMERR_CTLR_NOT_PRESENT))
        return true; /* between two lives, or at the birth of one */
    return answer == RSMERR_BAD_SEG_HNDL || (works && answer == RSMERR_SEG_NOT_PUBLISHED);
}

static bool importers_answer_fits(int answer)
{
    switch (cell->moment) {
    case MOMENT_CONNECT:
        if (cell->victim == VICTIM_EXPORTER)
            return answer == RSMERR_SEG_NOT_PUBLISHED ||
                   (two_hosts && answer == RSMERR_CONN_ABORTED); /* met while it was being made */
        if (cell->victim == VICTIM_IMPORTERS_DAEMON && answer == RSM_SUCCESS)
            return true;
        return answer == RSMERR_SEG_NOT_PUBLISHED || answer == RSMERR_REMOTE_NODE_UNREACHABLE ||
               answer == RSMERR_CONN_ABORTED;
    case MOMENT_UNPUBLISH:
    case MOMENT_SWAP:
        if (answer == RSMERR_REMOTE_NODE_UNREACHABLE)
            return cell->victim != VICTIM_EXPORTER;
        return answer == RSM_SUCCESS || answer == RSMERR_SEG_NOT_PUBLISHED ||
               answer == RSMERR_CONN_ABORTED || (two_hosts && answer == RSMERR_BARRIER_FAILURE);
    default:
        if (!must_notice(SIDE_IMPORTER))
            return answer == RSM_SUCCESS;
        return answer == RSMERR_CONN_ABORTED ||
               ((two_hosts || cell->moment == MOMENT_GROUP) && answer == RSMERR_BARRIER_FAILURE);
    }
}

static void check_answer(enum side side, const struct load *load)
{
    bool fits = side == SIDE_EXPORTER ? exporters_answer_fits(load->answer)
                                      : importers_answer_fits(load->answer);
    if (!fits || load->took_us < 0)
        fail_msg("%s, round %u: the %s got %s, %ld us after the death", cell->name, cell->rounds,
                 side == SIDE_EXPORTER ? "exporter" : "importer", answer_name(load->answer),
                 (long)load->took_us);
}

/* ---------------------------------------------------------------- a round */

static bool survives(enum side side)
{
    return !(side == SIDE_EXPORTER && cell->victim == VICTIM_EXPORTER) &&
           !(side == SIDE_IMPORTER && cell->victim == VICTIM_IMPORTER);
}

static void run_in(enum side side, actor_function function)
{
    assert_int_equal(actor_run(parties[side], function, &loads[side], sizeof loads[side]), 0);
}

static void begin_round(void)
{
    for (unsigned side = 0; side < SIDES; side++) {
        if (parties[side] == NULL)
            parties[side] = actor_start(world, side == SIDE_EXPORTER ? EXPORTER : IMPORTER);
        loads[side] = (struct load){
            .moment = cell->moment,
            .exporter = EXPORTER,
            .must_notice = must_notice(side),
            .group_stays = cell->victim != VICTIM_IMPORTERS_DAEMON,
            .give_up_ms = GIVE_UP_MS,
            .long_waits = side == SIDE_EXPORTER && must_notice(side),
        };
    }
    atomic_store(&stage->killed_ns, 0);
    run_in(SIDE_EXPORTER, load_export_begin);
    run_in(SIDE_IMPORTER, load_import_begin);
}

static void await_calls(enum side side)
{
    uint64_t goal = atomic_load(&stage->calls[side]) + STEPS_BEFORE;
    int64_t deadline = now_ms() + UNDER_WAY_MS;
    while (atomic_load(&stage->calls[side]) < goal) {
        if (now_ms() > deadline || actor_ended(parties[side], 0))
            fail_msg("%s, round %u: the %s does not get going", cell->name, cell->rounds,
                     side == SIDE_EXPORTER ? "exporter" : "importer");
        sleep_us(100);
    }
}

/* Both do what the moment says, and are amid it when this returns. */
static void get_under_way(void)
{
    bool exporter_works = cell->moment == MOMENT_UNPUBLISH || cell->moment == MOMENT_SWAP;
    actor_begin(parties[SIDE_EXPORTER], load_export_run, &loads[0], sizeof loads[0]);
    actor_begin(parties[SIDE_IMPORTER], load_import_run, &loads[1], sizeof loads[1]);
    await_calls(SIDE_IMPORTER);
    if (exporter_works)
        await_calls(SIDE_EXPORTER);
    sleep_us(draw(LATEST_US));
}

static void kill_victim(void)
{
    bool is_daemon = cell->victim >= VICTIM_IMPORTERS_DAEMON;
    unsigned node = cell->victim == VICTIM_EXPORTERS_DAEMON ? EXPORTER : IMPORTER;
    struct actor **victim = &parties[cell->victim == VICTIM_EXPORTER ? 0 : 1];
    if (cell->rounds % 2 == 1) {
        process_freeze(is_daemon ? daemons[node - 1] : (*victim)->pid);
        sleep_us(draw(STOPPED_US));
    }
    atomic_store(&stage->killed_ns, now_ns());
    if (!is_daemon) {
        actor_kill(*victim);
        *victim = NULL;
        return;
    }
    int status;
    assert_int_equal(kill(daemons[node - 1], SIGKILL), 0);
    assert_int_equal(child_await(daemons[node - 1], 0, SETTLE_MS, &status), daemons[node - 1]);
    daemons[node - 1] = 0;
    start_daemon(node);
}

static void end_round(void)
{
    for (unsigned side = 0; side < SIDES; side++) {
        if (!survives(side))
            continue;
        assert_int_equal(actor_end(parties[side], &loads[side], sizeof loads[side]), 0);
        tally_add(&cell->tallies[side], loads[side].answer, loads[side].took_us);
        check_answer(side, &loads[side]);
    }
    if (survives(SIDE_IMPORTER))
        run_in(SIDE_IMPORTER, load_import_end);
    if (survives(SIDE_EXPORTER))
        run_in(SIDE_EXPORTER, load_export_end);
    await_bystanders(2);
}

/* ---------------------------------------------------------------- what is left */

static unsigned segments_of(unsigned node)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect.what = RSM_INSPECT_IMPORTS};
    host_ask(world, node, &msg);
    return msg.u.inspect_reply.segments;
}

static void count_all(struct census *census)
{
    char path[WORLD_PATH_BYTES];
    pid_t pids[CENSUS_PIDS] = {daemons[0], daemons[1], parties[0]->pid, parties[1]->pid};
    memset(census, 0, sizeof *census);
    census->segments = segments_of(EXPORTER) + segments_of(IMPORTER);
    for (unsigned node = EXPORTER; node <= IMPORTER; node++) {
        world_node_directory(world, node, path);
        census->files += census_files(path);
    }
    census_take(census, pids);
}

/* With a fresh round begun and nothing under way: as much as in the second round. */
static void check_nothing_left(struct census *baseline)
{
    char text[CENSUS_TEXT];
    struct census census;
    int64_t deadline = now_ms() + SETTLE_MS;
    if (cell->rounds == 1)
        sleep_us(200000); /* what the first one has left may still be going */
    for (;;) {
        count_all(&census);
        if (cell->rounds == 1)
            *baseline = census;
        if (cell->rounds <= 1 || census_fits(&census, baseline, text))
            return;
        if (now_ms() > deadline)
            fail_msg("%s, round %u: left behind:%s (0: daemon 1, 1: daemon 2, 2: exporter, 3: "
                     "importer)",
                     cell->name, cell->rounds, text);
        sleep_us(2000);
    }
}

static void check_times(void)
{
    int64_t bar_us = two_hosts ? 3000000 : 1000000;
    for (unsigned side = 0; side < SIDES; side++) {
        struct tally *tally = &cell->tallies[side];
        if (tally_median_us(tally) > bar_us || tally_worst_us(tally) > PATIENCE * bar_us)
            fail_msg("%s: the %s learned of it after %ld us (median), %ld us (worst)", cell->name,
                     side == SIDE_EXPORTER ? "exporter" : "importer", (long)tally_median_us(tally),
                     (long)tally_worst_us(tally));
    }
}

static void test_cell(void **state)
{
    struct census baseline;
    parties[0] = parties[1] = NULL;
    if (two_hosts) {
        begin_hosts();
    } else {
        start_daemon(EXPORTER);
        start_daemon(IMPORTER);
    }
    start_bystanders();
    await_bystanders(2);
    for (cell->rounds = 0; cell->rounds < rounds; cell->rounds++) {
        begin_round();
        check_nothing_left(&baseline);
        get_under_way();
        kill_victim();
        end_round();
    }
    begin_round();
    check_nothing_left(&baseline);
    run_in(SIDE_IMPORTER, load_import_end);
    run_in(SIDE_EXPORTER, load_export_end);
    end_bystanders();
    check_times();
}

/* ---------------------------------------------------------------- the table */

static void print_side(struct cell *of, enum side side)
{
    struct tally *tally = &of->tallies[side];
    char text[TALLY_TEXT];
    if (tally->rounds == 0)
        return;
    printf("%-17s %-10s %6u  %-9s %9.2f %9.2f %9lu  %s\n", victim_names[of->victim],
           moment_names[of->moment], tally->rounds, side == SIDE_EXPORTER ? "exporter" : "importer",
           (double)tally_median_us(tally) / 1000, (double)tally_worst_us(tally) / 1000,
           (unsigned long)of->bystander_rounds, tally_answers(tally, text));
}

static void print_table(uint64_t first_seed)
{
    printf("\nkill matrix over " TRANSPORT ", seed %#lx\n", (unsigned long)first_seed);
    printf("%-17s %-10s %6s  %-9s %9s %9s %9s  %s\n", "killed", "moment", "rounds", "survivor",
           "median ms", "worst ms", "beside", "what it was told");
    for (unsigned i = 0; i < CELLS; i++)
        for (unsigned side = 0; side < SIDES; side++)
            print_side(&cells[i], side);
    printf("beside: verified exchanges of the bystanders\n");
    fflush(stdout);
}

/* ---------------------------------------------------------------- choosing */

static bool is_chosen(const char *name, char **patterns, int count)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return count == 0;
}

/* Under the thread sanitizer the engine cannot start its thread in a process that was forked. */
#ifdef __SANITIZE_THREAD__
static const bool engine_works = false;
#else
static const bool engine_works = true;
#endif

/* A mapping takes a fault where the transport leaves mapping to the engine. */
static bool is_possible(enum moment moment)
{
    return moment != MOMENT_FAULT || ((!two_hosts || HAS_MAPPINGS) && engine_works);
}

static unsigned choose(struct CMUnitTest *tests, char **patterns, int count)
{
    unsigned chosen = 0;
    for (unsigned i = 0; i < CELLS; i++) {
        cells[i].victim = i / MOMENTS;
        cells[i].moment = i % MOMENTS;
        snprintf(cells[i].name, sizeof cells[i].name, "%s.%s", victim_names[cells[i].victim],
                 moment_names[cells[i].moment]);
        if (is_possible(cells[i].moment) && is_chosen(cells[i].name, patterns, count))
            tests[chosen++] =
                (struct CMUnitTest){cells[i].name, test_cell, set_up, tear_down, &cells[i]};
    }
    return chosen;
}

/* An environment variable that is a number, else what it is without. */
static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t number = text != NULL ? strtoull(text, NULL, 0) : 0;
    return number != 0 ? number : otherwise;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[CELLS];
    int next = 1;
    for (; next + 2 < argc && strcmp(argv[next], "--device") == 0; next += 3)
        devices[atoi(argv[next + 1]) == 2 ? 2 : 1] = argv[next + 2];
    unsigned share = (unsigned)number_from("RSM_KILLS_SHARE", 1);
    rounds = ((unsigned)number_from("RSM_KILLS_ROUNDS", ROUNDS) + share - 1) / share;
    seed = number_from("RSM_KILLS_SEED", (uint64_t)now_ns() | 1);
    uint64_t first_seed = seed;
    printf("RSM_KILLS_SEED=%#lx RSM_KILLS_ROUNDS=%u\n", (unsigned long)seed, rounds);
    unsigned count = choose(tests, argv + next, argc - next);
    if (!engine_works)
        printf("not run: fault, which the thread sanitizer leaves no way to\n");
    if (count == 0) {
        fprintf(stderr, "no cell has such a name\n");
        return 2;
    }
    stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stage == MAP_FAILED)
        return 2;
    int failed = _cmocka_run_group_tests("kills." TRANSPORT, tests, count, NULL, NULL);
    print_table(first_seed);
    return failed;
}
