/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak SECONDS: a mixed load, kills among it, and invariants that are looked at all the time.
 *
 * Five nodes, three in one runtime directory and two that are linked hosts, serve some lines
 * (line.h) of processes of several users: over shared memory, over shared memory by the mapping
 * engine, and between the hosts by a transport of tests/peek. The supervisor, this process, kills,
 * stops and starts processes and daemons at random, prints rates every ten seconds, and at the end
 * looks whether the daemons are as they were at the beginning.
 *
 * Exits with 0 if nothing was off. RSM_SOAK_SEED repeats the choices; what the scheduler makes of
 * them is another matter.
 */
#include "protocol/proto.h"
#include "hosts.h"
#include "kills/census.h"
#include "line.h"
#include "process.h"

enum {
    NODES = 3, /* of the one runtime directory */
    DAEMONS = NODES + 2,
    REPORT_S = 10,
    LEAVE_MS = 60000,      /* for all parties to end */
    IDLE_MS = 20000,       /* for daemons to be idle again */
    DESCRIPTORS_MAX = 300, /* of a daemon under this load */
    SLACK_KIB = 4096,
    UIDS = 3,
};

/* Under the thread sanitizer the engine cannot start its thread in a process that was forked. */
#ifdef __SANITIZE_THREAD__
enum { ENGINE_WORKS = 0 };
#else
enum { ENGINE_WORKS = 1 };
#endif

enum side { SIDE_EXPORTER, SIDE_IMPORTER, SIDES };

/* A party of a line. */
struct party {
    struct actor *actor;
    struct world *world;
    unsigned node, line;
    enum side side;
    uid_t uid;
};

struct daemon {
    struct world *world;
    unsigned node;
    pid_t pid;
    unsigned descriptors; /* when nothing had happened yet */
    unsigned long resident;
};

static struct world *one_host, *two_hosts; /* worlds */
static struct daemon daemons[DAEMONS];
static struct party parties[LINES_MAX * SIDES];
static unsigned lines, party_count, idle_memfds;
static pid_t host_daemons[2];
static uint64_t seed, first_seed;
static unsigned seconds = 20;
static bool kills_daemons = true;
static int64_t began_ns;

static const uid_t users[UIDS] = {0, UNPRIVILEGED_UID, UNPRIVILEGED_UID - 1};

static void sleep_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* ---------------------------------------------------------------- parties */

static void start_party(struct party *party)
{
    struct duty duty = {.line = party->line, .seed = (uint64_t)draw(&seed, 1u << 30) + 1};
    bool may = geteuid() == 0 && build_is_reachable();
    const struct line *line = &soak->lines[party->line];
    /* Of a mapping over shm by the engine; between hosts there is no other. */
    if (line->maps && party->world == one_host)
        setenv("RSM_SHM_DIRECT", "0", 1);
    else
        unsetenv("RSM_SHM_DIRECT");
    party->actor = may ? actor_start_as(party->world, party->node, party->uid)
                       : actor_start(party->world, party->node);
    actor_begin(party->actor, party->side == SIDE_EXPORTER ? line_export : line_import, &duty,
                sizeof duty);
}

static void add_line(struct world *world, unsigned exporter, unsigned importer, bool maps,
                     const char *name)
{
    struct line *line = &soak->lines[lines];
    *line = (struct line){
        .exporter = exporter, .importer = importer, .id = 0x430000 + lines, .maps = maps};
    snprintf(line->name, sizeof line->name, "%s %u>%u", name, importer, exporter);
    for (unsigned side = 0; side < SIDES; side++) {
        struct party *party = &parties[party_count++];
        *party = (struct party){.world = world,
                                .node = side == SIDE_EXPORTER ? exporter : importer,
                                .line = lines,
                                .side = side,
                                .uid = users[(lines + side) % UIDS]};
    }
    lines++;
}

/* ---------------------------------------------------------------- daemons */

static void start_daemon(struct daemon *daemon)
{
    daemon->pid = daemon->world == two_hosts ? host_start(two_hosts, daemon->node)
                                             : world_daemon_start(one_host, daemon->node);
}

static unsigned segments_of(const struct daemon *daemon)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect.what = RSM_INSPECT_IMPORTS};
    host_ask(daemon->world, daemon->node, &msg);
    return msg.u.inspect_reply.segments;
}

static unsigned count_memfds(void)
{
    struct census census;
    census_take(&census, (const pid_t[CENSUS_PIDS]){0});
    return census.memfds;
}

/* After a first client: from then on a daemon keeps a descriptor in reserve. */
static void note_idle(void)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        (void)segments_of(&daemons[i]);
    sleep_ms(500);
    for (unsigned i = 0; i < DAEMONS; i++) {
        daemons[i].descriptors = process_descriptors(daemons[i].pid);
        daemons[i].resident = process_resident_kib(daemons[i].pid);
    }
    idle_memfds = count_memfds();
}

/* ---------------------------------------------------------------- deaths */

static bool serves(const struct daemon *daemon, const struct line *line)
{
    const struct party *party = &parties[(line - soak->lines) * SIDES];
    return daemon->world == party->world &&
           (line->exporter == daemon->node || line->importer == daemon->node);
}

/* Note it before it happens and after. Whoever connects in between may reach the dead. */
static void announce(struct line *line, bool of_exporter, bool of_daemon)
{
    int64_t now = soak_now_ns();
    if (of_daemon)
        atomic_store(&line->daemon_death_ns, now);
    if (of_exporter)
        atomic_store(&line->exporter_death_ns, now);
    atomic_fetch_add(&line->deaths, 1);
}

static void kill_party(struct party *party)
{
    struct line *line = &soak->lines[party->line];
    announce(line, party->side == SIDE_EXPORTER, false);
    actor_kill(party->actor);
    announce(line, party->side == SIDE_EXPORTER, false);
    count(COUNT_KILLS, 1);
    start_party(party);
}

static void stop_party(struct party *party)
{
    process_freeze(party->actor->pid);
    sleep_ms(1 + draw(&seed, 150));
    process_thaw(party->actor->pid);
    count(COUNT_STOPS, 1);
}

static void announce_all(const struct daemon *daemon)
{
    for (unsigned i = 0; i < lines; i++)
        if (serves(daemon, &soak->lines[i]))
            announce(&soak->lines[i], soak->lines[i].exporter == daemon->node, true);
}

static void kill_daemon(struct daemon *daemon)
{
    int status;
    announce_all(daemon);
    assert_int_equal(kill(daemon->pid, SIGKILL), 0);
    assert_int_equal(child_await(daemon->pid, 0, IDLE_MS, &status), daemon->pid);
    announce_all(daemon);
    count(COUNT_DAEMON_KILLS, 1);
    start_daemon(daemon);
}

static void do_something(void)
{
    struct party *party = &parties[draw(&seed, party_count)];
    unsigned choice = draw(&seed, 100);
    if (choice < 55)
        kill_party(party);
    else if (choice < 90)
        stop_party(party);
    else if (kills_daemons)
        kill_daemon(&daemons[draw(&seed, DAEMONS)]);
}

/* ---------------------------------------------------------------- looking */

static void look_at_parties(void)
{
    for (unsigned i = 0; i < party_count; i++)
        if (actor_ended(parties[i].actor, 0)) {
            violation("%s: the %s has ended", soak->lines[parties[i].line].name,
                      parties[i].side == SIDE_EXPORTER ? "exporter" : "importer");
            kill_party(&parties[i]);
        }
}

static void look_at_daemons(void)
{
    for (unsigned i = 0; i < DAEMONS; i++) {
        unsigned descriptors = process_descriptors(daemons[i].pid);
        if (descriptors > DESCRIPTORS_MAX)
            violation("daemon %u has %u descriptors", i, descriptors);
    }
}

static uint64_t counted(enum counted what)
{
    return atomic_load(&soak->counts[what]);
}

static void print_rates(void)
{
    static uint64_t before[COUNTS];
    static int64_t then;
    int64_t now = soak_now_ns();
    double passed = (double)(now - (then != 0 ? then : began_ns)) / 1e9;
    double rate[COUNTS];
    for (unsigned i = 0; i < COUNTS; i++) {
        rate[i] = (double)(counted(i) - before[i]) / passed;
        before[i] = counted(i);
    }
    then = now;
    printf("soak: %4.0f s  rounds %.0f/s  %.1f MB/s  events %.0f/s  connects %.0f/s  lives %.0f/s  "
           "swaps %.0f/s  kills %lu  daemons %lu  violations %u\n",
           (double)(now - began_ns) / 1e9, rate[COUNT_ROUNDS], rate[COUNT_BYTES] / 1e6,
           rate[COUNT_EVENTS], rate[COUNT_CONNECTS], rate[COUNT_LIVES], rate[COUNT_SWAPS],
           (unsigned long)counted(COUNT_KILLS), (unsigned long)counted(COUNT_DAEMON_KILLS),
           atomic_load(&soak->violations));
    fflush(stdout);
}

/* Every line went on until the end: one that stood still would be one without violations. */
static void look_at_progress(uint64_t *sessions)
{
    for (unsigned i = 0; i < lines; i++) {
        uint64_t now = atomic_load(&soak->lines[i].session);
        if (sessions[i] == now)
            violation("%s: stands still", soak->lines[i].name);
        sessions[i] = now;
    }
}

/* ---------------------------------------------------------------- the end */

static void end_parties(void)
{
    struct duty duty;
    atomic_store(&soak->leave, true);
    for (unsigned i = 0; i < party_count; i++) {
        if (!actor_ended(parties[i].actor, LEAVE_MS)) {
            violation("%s: the %s hangs", soak->lines[parties[i].line].name,
                      parties[i].side == SIDE_EXPORTER ? "exporter" : "importer");
            actor_kill(parties[i].actor);
            continue;
        }
        if (actor_end(parties[i].actor, &duty, sizeof duty) != 0)
            violation("%s: a party failed", soak->lines[parties[i].line].name);
        actor_stop(parties[i].actor);
    }
}

static bool is_idle(const struct daemon *daemon)
{
    /* In this order: to ask for the segments takes a connection, which the daemon ends later. */
    return process_descriptors(daemon->pid) <= daemon->descriptors && segments_of(daemon) == 0;
}

static void expect_idle(void)
{
    int64_t deadline = now_ms() + IDLE_MS;
    for (unsigned i = 0; i < DAEMONS; i++) {
        bool idle;
        while (!(idle = is_idle(&daemons[i])) && now_ms() < deadline)
            sleep_ms(50);
        if (!idle)
            violation("daemon of node %u: %u segments and %u descriptors left, %u at the start",
                      daemons[i].node, segments_of(&daemons[i]),
                      process_descriptors(daemons[i].pid), daemons[i].descriptors);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        unsigned long resident = process_resident_kib(daemons[i].pid);
        if (resident > daemons[i].resident + SLACK_KIB)
            violation("daemon of node %u: %lu KiB, %lu at the start", daemons[i].node, resident,
                      daemons[i].resident);
#endif
    }
    if (count_memfds() > idle_memfds)
        violation("%u memfds, %u at the start", count_memfds(), idle_memfds);
}

static void print_closing(void)
{
    static const char *const names[COUNTS] = {"rounds verified", "written by groups",
                                              "bytes",           "events counted",
                                              "connects",        "segments published",
                                              "rebinds",         "aborts told",
                                              "forks",           "kills",
                                              "stops",           "kills of daemons"};
    double passed = (double)(soak_now_ns() - began_ns) / 1e9;
    uint32_t violations = atomic_load(&soak->violations);
    printf("\nsoak: %.0f s, seed %#lx, %u lines, %d nodes\n%-20s %14s %12s\n", passed,
           (unsigned long)first_seed, lines, DAEMONS, "", "in all", "a second");
    for (unsigned i = 0; i < COUNTS; i++)
        printf("%-20s %14lu %12.1f\n", names[i], (unsigned long)counted(i),
               (double)counted(i) / passed);
    for (uint32_t i = 0; i < violations && i < VIOLATIONS_MAX; i++)
        printf("violation: %s\n", soak->texts[i]);
    printf("violations: %u\n", violations);
    fflush(stdout);
}

/* ---------------------------------------------------------------- all of it */

static void begin(void)
{
    static const char configuration[] = "[controller sci0]\ntransport = peekmap\n"
                                        "[limits]\npeer-timeout-ms = 10000\n";
    static const struct host hosts[] = {{1, configuration}, {2, configuration}};
    hosts_split(two_hosts, hosts);
    hosts_start(two_hosts, host_daemons);
    for (unsigned i = 0; i < DAEMONS; i++) {
        bool remote = i >= NODES;
        daemons[i] = (struct daemon){.world = remote ? two_hosts : one_host,
                                     .node = remote ? i - NODES + 1 : i + 1,
                                     .pid = remote ? host_daemons[i - NODES] : 0};
        if (!remote)
            start_daemon(&daemons[i]);
    }
    note_idle();
    add_line(one_host, 1, 2, false, "shm");
    add_line(one_host, 3, 1, false, "shm");
    add_line(one_host, 2, 2, false, "shm");
    add_line(one_host, 2, 3, ENGINE_WORKS, "engine");
    add_line(two_hosts, 1, 2, false, "hosts");
    add_line(two_hosts, 2, 1, ENGINE_WORKS, "hosts engine");
    if (!ENGINE_WORKS)
        printf("soak: no mappings by the engine: the thread sanitizer leaves no way to them\n");
    for (unsigned i = 0; i < party_count; i++)
        start_party(&parties[i]);
}

static void test_soak(void **state)
{
    uint64_t sessions[LINES_MAX] = {0};
    begin();
    began_ns = soak_now_ns();
    int64_t end = now_ms() + (int64_t)seconds * 1000, report = now_ms() + REPORT_S * 1000;
    while (now_ms() < end && atomic_load(&soak->violations) < VIOLATIONS_MAX) {
        sleep_ms(draw(&seed, 400));
        do_something();
        look_at_parties();
        look_at_daemons();
        if (now_ms() < report)
            continue;
        print_rates();
        look_at_progress(sessions);
        report += REPORT_S * 1000;
    }
    end_parties();
    expect_idle();
    assert_int_equal(atomic_load(&soak->violations), 0);
}

static int set_up(void **state)
{
    void *first = NULL, *second = NULL;
    if (world_setup(&first) != 0 || world_setup(&second) != 0)
        return -1;
    one_host = first;
    two_hosts = second;
    *state = NULL;
    return 0;
}

static int tear_down(void **state)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        if (daemons[i].pid > 0) {
            kill(daemons[i].pid, SIGCONT);
            kill(daemons[i].pid, SIGTERM);
        }
    for (unsigned i = 0; i < party_count; i++) /* of a test that failed */
        if (parties[i].actor != NULL && parties[i].actor->pid != 0)
            actor_kill(parties[i].actor);
    void *first = one_host, *second = two_hosts;
    int failed = world_teardown(&second);
    return world_teardown(&first) != 0 || failed != 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_soak, set_up, tear_down)};
    const char *wanted = getenv("RSM_SOAK_SEED");
    if (argc > 1)
        seconds = (unsigned)atoi(argv[1]);
    if (argc > 2 || seconds == 0) {
        fprintf(stderr, "usage: soak [SECONDS]\n");
        return 2;
    }
    kills_daemons = getenv("RSM_SOAK_NO_DAEMON_KILLS") == NULL;
    seed = wanted != NULL ? strtoull(wanted, NULL, 0) : 0;
    seed = seed != 0 ? seed : (uint64_t)soak_now_ns() | 1;
    first_seed = seed;
    soak = mmap(NULL, sizeof *soak, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (soak == MAP_FAILED)
        return 2;
    printf("soak: %u s, RSM_SOAK_SEED=%#lx\n", seconds, (unsigned long)seed);
    fflush(stdout);
    int failed = cmocka_run_group_tests_name("soak", tests, NULL, NULL);
    print_closing();
    return failed != 0 || atomic_load(&soak->violations) != 0;
}
