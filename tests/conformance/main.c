/* SPDX-License-Identifier: BSD-3-Clause */
/* The program: which tests, over which controller, and what came of it. */
#include <getopt.h>

#include "agent.h"
#include "module.h"
#include "run.h"

enum { TESTS_MAX = 1024, AREAS = 26 };

struct conformance_options options = {.controller = "sci0", .exporter_node = 1, .importer_node = 2};

static struct conformance_test *registered;
static unsigned registered_count;

enum { NAMES_MAX = 32 };

static struct selection {
    const char *areas; /* letters; NULL: none by area */
    const char *names[NAMES_MAX];
    unsigned name_count; /* and no areas: all */
    bool list;
} selection;

static bool serve; /* be the agent */

static struct module_choice module;

/* What came of each test. */
static struct result {
    const struct conformance_test *test;
    enum outcome outcome;
    char reason[REASON_BYTES];
} results[TESTS_MAX];
static unsigned result_count;

void conformance_register(struct conformance_test *test)
{
    test->next = registered;
    registered = test;
    registered_count++;
}

/* ---------------------------------------------------------------- which */

static void usage(FILE *to)
{
    fprintf(to, "Usage: %s [OPTION]...\n", program_invocation_short_name);
    fprintf(to, "Check librsm, over a transport, against the numbered assertions about %s.\n\n",
            conformance_api);
    fputs("  --module FILE      the transport of this module, librsm_NAME.so\n"
          "  --transport NAME   this transport, built in or installed\n"
          "  --device TEXT      the controller's device, for the former two\n"
          "  --options TEXT     the controller's options, likewise\n"
          "  --controller NAME  the controller to go through (default sci0)\n"
          "  --nodes E,I        exporter's and importer's node (default 1,2)\n"
          "  --conf-node1 FILE  two hosts: each node has a runtime directory and a daemon,\n"
          "  --conf-node2 FILE  linked by TCP on loopback addresses. FILE is the rsm.conf\n"
          "                     of the exporter's (1) and the importer's (2) host without\n"
          "                     the sections [cluster] and [node]: the controllers\n"
          "  --machines E,I     two machines: the exporter's and the importer's address\n"
          "  --side SIDE        of two machines: this one is the exporter or the importer.\n"
          "                     The tests whose own process is on this side run\n"
          "  --serve            of two machines: be the agent here for the tests that run\n"
          "                     there, until killed\n"
          "  --no-map           the controller has no load and store: what maps is left out\n"
          "  --area LETTERS     only the assertions of these areas, as C or BEG\n"
          "  --test NAME        only this assertion, as C-01, beside those of --area and of\n"
          "                     further --test\n"
          "  --list             print names and texts; run nothing\n"
          "  -h, --help         print this\n"
          "\n"
          "Exit status 0: none failed; 1: some failed; 2: bad command line.\n",
          to);
}

static bool take_nodes(const char *text)
{
    int end = 0;
    unsigned exporter, importer;
    /* NOLINTNEXTLINE(cert-err34-c): bounded by the check that follows */
    if (sscanf(text, "%2u,%2u%n", &exporter, &importer, &end) != 2 || text[end] != '\0' ||
        exporter < 1 || exporter > 64 || importer < 1 || importer > 64)
        return false;
    options.exporter_node = exporter;
    options.importer_node = importer;
    return true;
}

static bool take_machines(char *text)
{
    char *comma = strchr(text, ',');
    if (comma == NULL)
        return false;
    *comma = '\0';
    options.machines[0] = text;
    options.machines[1] = comma + 1;
    return true;
}

static bool take_side(const char *text)
{
    options.side = strcmp(text, "importer") == 0 ? SIDE_IMPORTER : SIDE_EXPORTER;
    return options.side == SIDE_IMPORTER || strcmp(text, "exporter") == 0;
}

/* The text of a file; NULL with a message. */
static const char *read_file(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
        perror(path);
        free(text);
        text = NULL;
    }
    if (file != NULL)
        fclose(file);
    return text;
}

static bool take(int code, char *value)
{
    switch (code) {
    case 'c':
        options.controller = value;
        return *value != '\0';
    case 'n':
        return take_nodes(value);
    case '1':
    case '2':
        options.configurations[code - '1'] = read_file(value);
        return options.configurations[code - '1'] != NULL;
    case 'A':
        return take_machines(value);
    case 'S':
        return take_side(value);
    case 'g':
        serve = true;
        return true;
    case 'M':
        module.file = value;
        return *value != '\0';
    case 'T':
        module.transport = value;
        return *value != '\0';
    case 'D':
        module.device = value;
        return strchr(value, '\n') == NULL;
    case 'O':
        module.options = value;
        return strchr(value, '\n') == NULL;
    case 'm':
        options.no_map = true;
        return true;
    case 'a':
        selection.areas = value;
        return *value != '\0' && value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
    case 't':
        selection.names[selection.name_count] = value;
        return ++selection.name_count < NAMES_MAX;
    case 'l':
        selection.list = true;
        return true;
    default:
        return false;
    }
}

static bool has_module(void)
{
    return module.file != NULL || module.transport != NULL;
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"module", required_argument, NULL, 'M'},
        {"transport", required_argument, NULL, 'T'},
        {"device", required_argument, NULL, 'D'},
        {"options", required_argument, NULL, 'O'},
        {"controller", required_argument, NULL, 'c'},
        {"nodes", required_argument, NULL, 'n'},
        {"conf-node1", required_argument, NULL, '1'},
        {"conf-node2", required_argument, NULL, '2'},
        {"machines", required_argument, NULL, 'A'},
        {"side", required_argument, NULL, 'S'},
        {"serve", no_argument, NULL, 'g'},
        {"no-map", no_argument, NULL, 'm'},
        {"area", required_argument, NULL, 'a'},
        {"test", required_argument, NULL, 't'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int code;
    while ((code = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        if (code == 'h') {
            usage(stdout);
            exit(0);
        }
        if (!take(code, optarg)) {
            usage(stderr);
            exit(2);
        }
    }
    bool one_conf = (options.configurations[0] == NULL) != (options.configurations[1] == NULL);
    bool one_host = options.exporter_node == options.importer_node;
    bool both = module.file != NULL && module.transport != NULL;
    bool nowhere = !has_module() && (module.device != NULL || module.options != NULL);
    bool no_hosts = options.machines[0] != NULL && options.configurations[0] == NULL;
    if (optind < argc || both || no_hosts || (serve && options.machines[0] == NULL) || nowhere ||
        (has_module() && options.configurations[0] != NULL) || one_conf ||
        (options.configurations[0] != NULL && one_host)) {
        usage(stderr);
        exit(2);
    }
}

/* What drives the halves itself has to know whose. */
static bool selected(const struct conformance_test *test)
{
    if (test->direct && !selection.list && !has_module())
        return false;
    if (selection.areas == NULL && selection.name_count == 0)
        return true;
    bool found = selection.areas != NULL && strchr(selection.areas, test->name[0]) != NULL;
    for (unsigned i = 0; i < selection.name_count && !found; i++)
        found = strcmp(test->name, selection.names[i]) == 0;
    return found;
}

static int by_name(const void *a, const void *b)
{
    const struct result *first = a, *second = b;
    return strcmp(first->test->name, second->test->name);
}

static void select_tests(void)
{
    if (registered_count > TESTS_MAX)
        abort();
    for (const struct conformance_test *test = registered; test != NULL; test = test->next)
        if (selected(test))
            results[result_count++].test = test;
    qsort(results, result_count, sizeof results[0], by_name);
}

static bool all_were_found(void)
{
    unsigned found = 0;
    for (unsigned i = 0; i < selection.name_count; i++)
        for (unsigned k = 0; k < result_count; k++)
            found += strcmp(results[k].test->name, selection.names[i]) == 0;
    return result_count > 0 && found == selection.name_count;
}

/* ---------------------------------------------------------------- what came of it */

static void run_one(struct result *result)
{
    static const char *const words[OUTCOMES] = {"ok", "FAILED", "n/a"};
    result->outcome = conformance_run(result->test, result->reason);
    printf("%-6s  %s  %s\n", words[result->outcome], result->test->name, result->test->text);
    if (result->reason[0] != '\0')
        printf("              %s\n", result->reason);
    fflush(stdout);
}

static void print_one(const struct conformance_test *test)
{
    printf("%s  %s\n", test->name, test->text);
    if (test->rule != NULL)
        printf("      %s\n", test->rule);
}

/* How many tests of an area do not apply, reason by reason. */
static void print_reasons(char area)
{
    for (unsigned i = 0; i < result_count; i++) {
        const struct result *one = &results[i];
        if (one->test->name[0] != area || one->outcome != OUTCOME_DOES_NOT_APPLY)
            continue;
        unsigned count = 0;
        bool told = false;
        for (unsigned k = 0; k < result_count; k++) {
            bool same = results[k].test->name[0] == area &&
                        results[k].outcome == OUTCOME_DOES_NOT_APPLY &&
                        strcmp(results[k].reason, one->reason) == 0;
            told |= same && k < i;
            count += same;
        }
        if (!told)
            printf("        %u: %s\n", count, one->reason);
    }
}

static unsigned print_area(char area)
{
    unsigned counts[OUTCOMES] = {0};
    for (unsigned i = 0; i < result_count; i++)
        if (results[i].test->name[0] == area)
            counts[results[i].outcome]++;
    if (counts[OUTCOME_PASSED] + counts[OUTCOME_FAILED] + counts[OUTCOME_DOES_NOT_APPLY] == 0)
        return 0;
    printf("%c: %3u passed, %u failed, %u do not apply\n", area, counts[OUTCOME_PASSED],
           counts[OUTCOME_FAILED], counts[OUTCOME_DOES_NOT_APPLY]);
    print_reasons(area);
    return counts[OUTCOME_FAILED];
}

int main(int argc, char **argv)
{
    unsigned failed = 0;
    parse(argc, argv);
    umask(022); /* what is expected without an access list follows from it */
    select_tests();
    if (!all_were_found()) {
        fprintf(stderr, "%s: no such test\n", program_invocation_short_name);
        return 2;
    }
    if (!selection.list && !module_find_daemon())
        return 2;
    if (serve)
        return agent_serve(options.machines[options.side]);
    if (!selection.list && has_module() && !module_prepare(&module))
        return 1;
    for (unsigned i = 0; i < result_count; i++) {
        if (selection.list)
            print_one(results[i].test);
        else
            run_one(&results[i]);
    }
    if (selection.list)
        return 0;
    printf("\n%s, exporter on node %u, importer on node %u%s\n", options.controller,
           options.exporter_node, options.importer_node,
           options.configurations[0] != NULL ? ", on two hosts" : "");
    for (unsigned i = 0; i < AREAS; i++)
        failed += print_area((char)('A' + i));
    return failed == 0 ? 0 : 1;
}
