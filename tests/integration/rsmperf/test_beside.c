/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX and MPI take for the same, by stand-ins for their programs. */
#include <dirent.h>

#include "figures.h"

#define OPTIONS "--beside ucx,mpi -s 64K -t 5 "

static char temporary[4096];

static int setup(void **state)
{
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", getenv("RSM_FAKE_BESIDE"), getenv("PATH"));
    setenv("PATH", path, 1);
    unsetenv("RSM_FAKE_FAULT");
    strcpy(temporary, "/tmp/rsm beside.XXXXXX");
    if (mkdtemp(temporary) == NULL)
        return -1;
    setenv("TMPDIR", temporary, 1);
    return rsmperf_setup(state);
}

/* What was compiled is gone, whatever happened: rmdir() takes only what is empty. */
static int teardown(void **state)
{
    int left = rmdir(temporary);
    unsetenv("TMPDIR");
    return world_teardown(state) | left;
}

static void check_other(const struct json_value *figure, const char *name, double p50,
                        double mb_per_s, bool stream)
{
    const struct json_value *other = get(get(figure, "beside", JSON_OBJECT), name, JSON_OBJECT);
    double ours = get_real(figure, "p50_ns"), ratio = get_real(other, "ratio");
    double expected = stream ? p50 / ours : ours / p50;
    assert_true(get_real(other, "p50_ns") == p50);
    if (mb_per_s > 0)
        assert_true(get_real(other, "mb_per_s") == mb_per_s);
    else
        assert_true(get_is_null(other, "mb_per_s"));
    assert_true(ratio > 0.99 * expected - 0.001 && ratio < 1.01 * expected + 0.001);
}

#define BESIDE_TEST(test) TEST_BETWEEN(test, setup, teardown)

BESIDE_TEST(test_figures)
{
    struct json_value *root =
        run_json(*state, geteuid(), OPTIONS "-o put,get,put-stream,get-stream,pingpong,barrier", 0);
    check_figures(root, 6, true);
    check_other(figure_of(root, "put", 65536), "ucx", 4000, 16384, false);
    check_other(figure_of(root, "get", 65536), "ucx", 4000, 16384, false);
    check_other(figure_of(root, "put", 65536), "mpi", 2000, 32768, false);
    check_other(figure_of(root, "pingpong", 8), "ucx", 4000, 0, false);
    check_other(figure_of(root, "pingpong", 8), "mpi", 2000, 0, false);
    /* 1000 MiB/s; and 64 of 64 KiB are under way together. */
    check_other(figure_of(root, "put-stream", 65536), "ucx", 62500, 1048.576, true);
    check_other(figure_of(root, "get-stream", 65536), "ucx", 62500, 1048.576, true);
    check_other(figure_of(root, "put-stream", 65536), "mpi", 128000, 512, true);
    const struct json_value *beside = get(figure_of(root, "barrier", 0), "beside", JSON_OBJECT);
    assert_true(get_is_null(beside, "ucx") && get_is_null(beside, "mpi"));
    json_free(root);
    /* What was not asked for is not there. */
    root = run_json(*state, geteuid(), "--beside mpi -s 8 -t 5 -o put", 0);
    beside = get(figure_of(root, "put", 8), "beside", JSON_OBJECT);
    assert_null(json_member(beside, "ucx"));
    get(beside, "mpi", JSON_OBJECT);
    json_free(root);
}

/* Each with the program, the size and the depth that do the same. */
BESIDE_TEST(test_calls)
{
    static const char *const calls[] = {
        " -t ucp_put_bw -s 65536 -n 4096 -w 409 -O 1 -f -v",
        " -t ucp_get -s 65536 -n 4096 -w 409 -O 64 -f -v",
        " -t ucp_put_lat -s 8 -n 20000 -w 2000 -O 1 -f -v",
        "/put_get put 65536 2.5 1",
        "/put_get get 65536 2.5 64",
        "/put_get pingpong 8 2.5 1",
    };
    char path[sizeof temporary + 16], text[16384];
    snprintf(path, sizeof path, "%s-calls", temporary);
    setenv("RSM_FAKE_CALLS", path, 1);
    json_free(run_json(*state, geteuid(), OPTIONS "-o put,get-stream,pingpong", 0));
    unsetenv("RSM_FAKE_CALLS");
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strstr(text, calls[i]) == NULL)
            fail_msg("no call '%s' in %s", calls[i], text);
    char *compiled = strstr(text, "mpicc ");
    assert_non_null(compiled);
    assert_null(strstr(compiled + 1, "mpicc ")); /* once for all figures */
}

BESIDE_TEST(test_tables)
{
    struct outcome outcome = run(*state, OPTIONS "-o put,put-stream,barrier");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.err, "");
    for (const char *line = outcome.out; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    assert_non_null(strstr(outcome.out, "  UCX-P50  UCX-MB/S  MPI-P50  MPI-MB/S\n"));
    assert_non_null(strstr(outcome.out, "  4.00 us     16384  2.00 us     32768\n"));
    assert_null(strstr(outcome.out, "UCX-RATIO"));
    outcome_free(&outcome);
    outcome = run(*state, OPTIONS "-o put --wide");
    assert_non_null(strstr(outcome.out, "  UCX-P50  UCX-MB/S  UCX-RATIO  MPI-P50  MPI-MB/S"));
    outcome_free(&outcome);
    outcome = run(*state, OPTIONS "-o put --csv");
    assert_non_null(strstr(outcome.out, ",ucx_p50_ns,ucx_mb_per_s,ucx_ratio,mpi_p50_ns,"));
    assert_non_null(strstr(outcome.out, ",,4000,16384,"));
    outcome_free(&outcome);
}

/* What fails is said by its own last words, and is no reason to have no figures of ours. */
BESIDE_TEST(test_faults)
{
    static const char *const faults[][3] = {
        {"ucx_perftest", "ucx", "rsmperf: ucx_perftest: no such luck\n"},
        {"server", "ucx", "rsmperf: ucx_perftest: no such device\n"},
        {"mpirun", "mpi", "rsmperf: mpirun: no such luck\n"},
        {"mpicc", "mpi", "rsmperf: mpicc: no such luck\n"},
    };
    for (int i = 0; i < 4; i++) {
        setenv("RSM_FAKE_FAULT", faults[i][0], 1);
        struct outcome outcome = run(*state, OPTIONS "--json -o get");
        assert_int_equal(outcome.status, 0);
        assert_string_equal(outcome.err, faults[i][2]);
        struct json_value *root = parse(outcome.out, outcome.out_length);
        check_figures(root, 1, true);
        const struct json_value *beside = get(figure_of(root, "get", 65536), "beside", JSON_OBJECT);
        assert_true(get_is_null(beside, faults[i][1]));
        get(beside, strcmp(faults[i][1], "ucx") == 0 ? "mpi" : "ucx", JSON_OBJECT);
        json_free(root);
        outcome_free(&outcome);
    }
    unsetenv("RSM_FAKE_FAULT");
}

BESIDE_TEST(test_refused)
{
    check_fails(*state, "--beside gasnet", 2, "--beside: expected ucx, mpi or both, not 'gasnet'");
    check_fails(*state, "--beside ,", 2, "expected ucx, mpi or both");
    check_fails(*state, "--beside ucx --node 2", 2, "one importer and both sides on this host");
    check_fails(*state, "--beside ucx --serve", 2, "one importer and both sides on this host");
    check_fails(*state, "--beside ucx -i 2", 2, "one importer and both sides on this host");
}
