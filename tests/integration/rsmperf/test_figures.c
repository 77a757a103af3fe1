/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmperf shows, and how it refuses what it does not understand. */
#include "figures.h"

enum { SIZED = 6, FIXED = 15 }; /* operations with and without a choice of sizes */

RSMPERF_TEST(test_table)
{
    static const char *const operations[] = {
        "put ",         "get ",       "put-stream ", "get-stream ", "put64 ",      "get64 ",
        "barrier ",     "put64-span", "get64-span ", "pingpong ",   "order ",      "post-spin ",
        "create ",      "publish ",   "connect ",    "map ",        "post-sleep ", "setup ",
        "notify-sleep", "map-load ",  "map-store "};
    struct outcome outcome = run(world, "-s 1,8,4K -t 5");
    if (outcome.status != 0)
        fail_msg("%s", outcome.err);
    assert_string_equal(outcome.err, "");
    assert_non_null(strstr(outcome.out, "controller sci0, node 1 to node 1, importers: 1\n"));
    assert_non_null(strstr(outcome.out, "OPERATION"));
    assert_non_null(strstr(outcome.out, "memcpy"));
    assert_non_null(strstr(outcome.out, "\nTargets: "));
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        char line[32] = "\n";
        strcat(line, operations[i]);
        if (strstr(outcome.out, line) == NULL)
            fail_msg("no line '%s' in %s", operations[i], outcome.out);
    }
    outcome_free(&outcome);
}

RSMPERF_TEST(test_json)
{
    struct json_value *root = run_json(world, geteuid(), "-s 1,8,5000,64K -t 5", 0);
    check_figures(root, 4 * SIZED + FIXED, true);
    assert_string_equal(get_string(root, "controller"), "sci0");
    assert_int_equal(get_number(root, "importers"), 1);
    assert_true(get_number(get(root, "machine", JSON_OBJECT), "processors") > 0);
    const struct json_value *put = figure_of(root, "put", 8);
    assert_string_equal(get_string(get(put, "limit", JSON_OBJECT), "name"), "memcpy");
    assert_string_equal(get_string(get(put, "target", JSON_OBJECT), "text"), "<= 20 ns");
    assert_true(get_is_null(figure_of(root, "put", 1), "target"));
    assert_true(get_real(figure_of(root, "get", 5000), "mb_per_s") > 0);
    assert_true(get_is_null(figure_of(root, "barrier", 0), "mb_per_s"));
    const struct json_value *setup = figure_of(root, "setup", 4096);
    assert_string_equal(get_string(get(setup, "limit", JSON_OBJECT), "name"), "3 socket+fd");
    json_free(root);
}

/* A terminal of 80 columns shows whole lines, unless all columns are wanted. */
RSMPERF_TEST(test_width)
{
    struct outcome outcome =
        run(world, "-s 64M -o put,put-stream,notify-sleep,setup,post-spin -t 5");
    assert_int_equal(outcome.status, 0);
    for (const char *line = outcome.out; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    assert_null(strstr(outcome.out, "LIMIT-P50"));
    outcome_free(&outcome);
    outcome = run(world, "-s 8 -o put -t 5 --wide");
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.out, "LIMIT-P50"));
    assert_non_null(strstr(outcome.out, "<= 20 ns  "));
    outcome_free(&outcome);
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part))
        count++;
    return count;
}

/* Each line has the columns that the first one names. */
RSMPERF_TEST(test_csv)
{
    struct outcome outcome = run(world, "-s 8,64K -o put,barrier -t 5 --csv");
    unsigned lines = 0;
    assert_int_equal(outcome.status, 0);
    assert_memory_equal(outcome.out, "operation,bytes,best_ns,", 24);
    for (char *rest = NULL, *line = strtok_r(outcome.out, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest), lines++)
        assert_int_equal(count_of(line, ","), 22);
    assert_int_equal(lines, 1 + 3);
    outcome_free(&outcome);
}

RSMPERF_TEST(test_plot)
{
    char path[] = "/tmp/rsmperf-plot.XXXXXX", options[128], text[65536];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(options, sizeof options, "-s 8,4K,1M -o put,get,put-stream,barrier -t 5 --plot %s",
             path);
    struct outcome outcome = run(world, options);
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.out, "OPERATION"));
    outcome_free(&outcome);
    ssize_t length = read(fd, text, sizeof text - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_memory_equal(text, "<svg ", 5);
    assert_string_equal(text + length - 7, "</svg>\n");
    assert_int_equal(count_of(text, "<polyline "), 3 + 2); /* operations, and memcpy in each half */
    assert_int_equal(count_of(text, "<circle "), 3 * 3);
    assert_null(strstr(text, "nan"));
    close(fd);
    unlink(path);
    outcome = run(world, "-s 8 -o put -t 5 --plot /nowhere/x.svg");
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.out, ""); /* before anything was measured */
    assert_non_null(strstr(outcome.err, "/nowhere/x.svg: No such file"));
    outcome_free(&outcome);
}

/* It is registered before anything else is done, and freed again: what the library refuses ends it.
 */
RSMPERF_TEST(test_registered)
{
    struct outcome outcome = run(world, "--registered -s 8,1M -o put,get -t 5");
    if (outcome.status != 0)
        fail_msg("%s", outcome.err);
    assert_non_null(strstr(outcome.out, "importers: 1, registered memory\n"));
    outcome_free(&outcome);
    struct json_value *root = run_json(world, geteuid(), "-r --pair 1,2 -o put,get -s 64K -t 5", 0);
    check_figures(root, 2, true);
    assert_true(get(root, "registered", JSON_BOOL)->truth);
    json_free(root);
}

/* What is at each end of the range, on two nodes. */
RSMPERF_TEST(test_sizes)
{
    struct json_value *root = run_json(world, geteuid(), "--pair 1,2 -o put,get -s 1,64M -t 5", 0);
    check_figures(root, 4, true);
    assert_int_equal(get_number(root, "node"), 1);
    assert_int_equal(get_number(root, "server_node"), 2);
    figure_of(root, "put", 1);
    figure_of(root, "get", 64 << 20);
    json_free(root);
    root = run_json(world, geteuid(), "-o get -s 2-16,4K-16K -t 1", 0);
    check_figures(root, 7, true);
    figure_of(root, "get", 16);
    figure_of(root, "get", 8192);
    json_free(root);
}

RSMPERF_TEST(test_importers)
{
    struct json_value *root = run_json(world, geteuid(), "--pair 2,1 -i 3 -s 8,64K -t 5", 0);
    check_figures(root, 2 * SIZED + FIXED, true);
    assert_int_equal(get_number(root, "importers"), 3);
    assert_true(get_is_null(figure_of(root, "put", 8), "target")); /* they are for one */
    json_free(root);
}

RSMPERF_TEST(test_only)
{
    struct json_value *root = run_json(world, geteuid(), "-o barrier,put64 -s 8 -t 5", 0);
    check_figures(root, 2, true);
    figure_of(root, "put64", 8);
    figure_of(root, "barrier", 0);
    json_free(root);
    root = run_json(world, geteuid(), "-c loopback -o put,post-sleep -s 8 -t 5", 0);
    check_figures(root, 2, true);
    json_free(root);
}

/* What TCP has nothing like is not compared. */
RSMPERF_TEST(test_limit_tcp)
{
    struct json_value *root =
        run_json(world, geteuid(),
                 "--limit tcp -s 8,64K -t 5 -o put,get,put-stream,get-stream,"
                 "put64,put64-span,get64-span,pingpong,post-sleep,notify-sleep",
                 0);
    check_figures(root, 4 * 2 + 6, true);
    const struct json_value *put = figure_of(root, "put", 8);
    assert_string_equal(get_string(get(put, "limit", JSON_OBJECT), "name"), "tcp");
    assert_string_equal(get_string(get(put, "target", JSON_OBJECT), "text"), "<= 1.10");
    const struct json_value *stream = figure_of(root, "put-stream", 65536);
    assert_string_equal(get_string(get(stream, "target", JSON_OBJECT), "text"), ">= 0.95");
    assert_true(get_is_null(figure_of(root, "put", 65536), "target"));
    json_free(root);
    root = run_json(world, geteuid(), "--limit tcp:::1 -s 1M -i 2 -t 5 -o put,get-stream", 0);
    check_figures(root, 2, true);
    json_free(root);
    root = run_json(world, geteuid(), "--limit tcp -t 5 -o barrier,create", 0);
    check_figures(root, 2, false);
    json_free(root);
    check_fails(world, "--limit tcp:192.0.2.1 -s 8", 1, "--limit tcp: Cannot assign requested");
}

/* Another API's operations, and its own limits. */
RSMPERF_TEST(test_sisci)
{
    enum { SCI_SIZED = 6, SCI_FIXED = 3 };
    struct json_value *root = run_json(world, geteuid(), "--api sisci --pair 1,2 -s 8,64K -t 5", 0);
    check_figures(root, 2 * SCI_SIZED + SCI_FIXED, true);
    const struct json_value *copy = figure_of(root, "sci-memcpy", 65536);
    assert_string_equal(get_string(get(copy, "limit", JSON_OBJECT), "name"), "put");
    assert_string_equal(get_string(get(copy, "target", JSON_OBJECT), "text"), "<= 1.02");
    const struct json_value *read = figure_of(root, "sci-dma-read", 65536);
    assert_string_equal(get_string(get(read, "limit", JSON_OBJECT), "name"), "get");
    const struct json_value *trigger = figure_of(root, "sci-trigger", 0);
    assert_string_equal(get_string(get(trigger, "limit", JSON_OBJECT), "name"), "post-sleep");
    json_free(root);
    root =
        run_json(world, geteuid(), "--api sisci -i 2 -o sci-callback,sci-dma-queue -s 4K -t 5", 0);
    check_figures(root, 2, true);
    json_free(root);
    check_fails(world, "--api sisci --adapter 7", 1, "SCI_ERR_NO_SUCH_ADAPTERNO");
    check_fails(world, "--api sisci -o put", 2, "none of these operations is of --api sisci");
    check_fails(world, "-o sci-dma", 2, "none of these operations is of --api rsm");
}

RSMPERF_TEST(test_options)
{
    static const char *const wrong[][2] = {
        {"-s 0", "--sizes: expected"},
        {"-s 65M", "--sizes: expected"},
        {"-s 8,4", "ascending"},
        {"-s 8-4", "--sizes: expected"},
        {"-s 1-", "--sizes: expected"},
        {"-s 8x", "--sizes: expected"},
        {"-s 99999999999999999999", "--sizes: expected"},
        {"-n 0", "--node: expected a node id from 1 to 65535, not '0'"},
        {"-n 65536", "--node: expected"},
        {"-i 0", "--importers: expected"},
        {"-i 17", "--importers: expected"},
        {"-t 0", "--time: expected"},
        {"-o nothing", "--only: expected operations that --help lists, not 'nothing'"},
        {"-o ,", "--only: expected"},
        {"--api other", "--api: expected rsm or sisci, not 'other'"},
        {"--adapter 256", "--adapter: expected a number from 0 to 255, not '256'"},
        {"--id 5", "--id: expected"},
        {"--pair 1", "--pair: expected"},
        {"--pair 1,65536", "--pair: expected"},
        {"--limit-device ,b", "--limit-device: expected"},
        {"--limit-device a,b,c", "--limit-device: expected"},
        {"--limit-args -x", "--limit-device, which is missing"},
        {"--limit udp", "--limit: expected tcp, or tcp: and an address"},
        {"--limit tcp:nowhere", "--limit: expected"},
        {"--limit tcp --limit-device a", "only one of --limit and --limit-device"},
        {"--csv --json", "only one of --csv, --json and --wide"},
        {"--serve -n 1", "only one of --serve, --node and --pair"},
        {"--serve --pair 1,2", "only one of"},
        {"nonsense", "expected an option, not 'nonsense'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_fails(world, wrong[i][0], 2, wrong[i][1]);
    struct outcome outcome = run(world, "--version");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.out, "rsmperf (librsm) " RSM_RELEASE "\n");
    outcome_free(&outcome);
}

RSMPERF_TEST(test_wrong_controller)
{
    check_fails(world, "-c nothing0 -s 8", 1,
                "rsm_get_controller: RSMERR_CTLR_NOT_PRESENT: this node has no such controller");
    check_fails(world, "-c nothing0 --serve", 1, "RSMERR_CTLR_NOT_PRESENT");
    struct outcome outcome = run(world, "-c nothing0 --json");
    assert_int_equal(outcome.status, 1);
    struct json_value *root = parse(outcome.out, outcome.out_length);
    assert_non_null(strstr(get_string(root, "error"), "RSMERR_CTLR_NOT_PRESENT"));
    assert_int_equal(json_count(get(root, "figures", JSON_ARRAY)), 0);
    json_free(root);
    outcome_free(&outcome);
}
