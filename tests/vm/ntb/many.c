/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an operation on one extent or import costs when there are many others, in a machine with
 * both ends of a bridge: extents of port 0, imported by port 1. And posts are counted for the
 * right ones among many.
 */
#include <sys/ioctl.h>

#include "lab.h"

#define PAGE     (4 * KIB)
#define MANY     880u
#define APART    2u /* connections, so that they are spread over all there are */
#define TURNS    201u
#define DEARER   4.0 /* at most, among many */
#define AT(i)    (RSM_NTB_CONTROL_SIZE + (uint64_t)(i)*PAGE)
#define EXPORTER 0
#define IMPORTER 1

static int controls[2];
static int extents[MANY], imports[MANY];
static uint64_t posted[MANY]; /* by each import */
static uint64_t extent_ids[MANY], import_ids[MANY];

/* ---- operations, each on the extent or import i ---- */

static void release_live(unsigned i)
{
    struct rsm_ntb_release arg = {.id = extent_ids[i]};

    CHECK(ioctl(controls[EXPORTER], RSM_NTB_RELEASE, &arg) && errno == EBUSY, "RELEASE");
}

static void list_one(unsigned i)
{
    struct rsm_ntb_extent found;
    struct rsm_ntb_extents arg = {.from = AT(i), .array = (uintptr_t)&found, .capacity = 1};

    CHECK(!ioctl(controls[EXPORTER], RSM_NTB_EXTENTS, &arg) && arg.count == 1, "EXTENTS");
    CHECK(found.id == extent_ids[i] && found.offset == AT(i), "extent %u", i);
}

static void revoke_again(unsigned i)
{
    struct rsm_ntb_revoke arg = {.id = import_ids[i]};

    CHECK(!ioctl(controls[IMPORTER], RSM_NTB_REVOKE, &arg), "REVOKE");
}

static void await_posts(unsigned i)
{
    double end = now() + 60;

    while (post_counter(controls[EXPORTER], i * APART) != posted[i])
        CHECK(now() < end, "posts of %u: %lu of %lu", i,
              (long)post_counter(controls[EXPORTER], i * APART), (long)posted[i]);
}

static void post_one(unsigned i)
{
    CHECK(!ioctl(imports[i], RSM_NTB_POST, 0), "POST");
    posted[i]++;
    await_posts(i);
}

/* REVOKE comes last: nothing else can be done with an import after it. */
static const struct {
    const char *name;
    void (*run)(unsigned i);
    int judged; /* the time of a post is mostly the bridge's */
} operations[] = {
    {"RELEASE", release_live, 1},
    {"EXTENTS", list_one, 1},
    {"POST to POSTS", post_one, 0},
    {"REVOKE", revoke_again, 1},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

/* ---- times ---- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Seconds, the median. */
static double measure(void (*run)(unsigned i), unsigned i)
{
    double times[TURNS];

    run(i);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        double begin = now();

        run(i);
        times[turn] = now() - begin;
    }
    qsort(times, TURNS, sizeof *times, by_value);
    return times[TURNS / 2];
}

static void measure_all(unsigned i, double *seconds)
{
    for (unsigned k = 0; k < OPERATIONS; k++)
        seconds[k] = measure(operations[k].run, i);
}

static void add(unsigned i, uint32_t epoch)
{
    struct rsm_ntb_import arg = {.control_fd = controls[IMPORTER],
                                 .flags = RSM_NTB_POSTER,
                                 .offset = AT(i),
                                 .length = PAGE,
                                 .epoch = epoch,
                                 .connection = i * APART};

    use_port(EXPORTER);
    CHECK(!export_extent(controls[EXPORTER], AT(i), PAGE, &extents[i], &extent_ids[i]), "export %u",
          i);
    use_port(IMPORTER);
    imports[i] = open_port();
    CHECK(!ioctl(imports[i], RSM_NTB_IMPORT, &arg), "import %u", i);
    import_ids[i] = arg.id;
}

/* A post each, at once: one doorbell may stand for many of them, and each is counted for its
 * connection. The import `revoked` has ended. */
static void post_all(unsigned revoked)
{
    for (unsigned i = 0; i < MANY; i++) {
        int error = ioctl(imports[i], RSM_NTB_POST, 0) ? errno : 0;

        CHECK(error == (i == revoked ? ESTALE : 0), "POST %u: %d", i, error);
        posted[i] += !error;
    }
    for (unsigned i = 0; i < MANY; i++)
        await_posts(i);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(!post_counter(controls[EXPORTER], i * APART + 1), "posts of nobody beside %u", i);
}

/* What tests before this one have left in quarantine. */
static void release_all(int control)
{
    struct rsm_ntb_extent array[8];
    struct rsm_ntb_extents arg = {.array = (uintptr_t)array, .capacity = 8};

    while (!ioctl(control, RSM_NTB_EXTENTS, &arg) && arg.count)
        for (unsigned i = 0; i < arg.count; i++) {
            struct rsm_ntb_release release = {.id = array[i].id};

            CHECK(!ioctl(control, RSM_NTB_RELEASE, &release), "RELEASE of a rest");
        }
}

int many(void)
{
    struct rlimit files = {.rlim_cur = 2 * MANY + 100, .rlim_max = 2 * MANY + 100};
    double alone[OPERATIONS], among[OPERATIONS];
    int dear = 0;

    CHECK(!setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
    for (int port = 0; port < 2; port++) {
        use_port(port);
        controls[port] = open_control();
    }
    await_session(controls[EXPORTER], 0);
    release_all(controls[EXPORTER]);
    for (unsigned i = 0; i < MANY; i++) {
        add(i, await_session(controls[IMPORTER], 0));
        if (!i)
            measure_all(0, alone);
    }
    post_all(0);
    measure_all(MANY - 1, among);
    for (unsigned k = 0; k < OPERATIONS; k++) {
        double ratio = among[k] / alone[k];

        printf("result: %-14s %8.1f us alone, %8.1f us among %u extents and imports; ratio %.2f\n",
               operations[k].name, alone[k] * 1e6, among[k] * 1e6, MANY, ratio);
        dear += operations[k].judged && ratio > DEARER;
    }
    CHECK(!dear, "%d operations cost more the more extents there are", dear);
    return 0;
}
