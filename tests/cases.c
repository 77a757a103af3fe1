/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

enum { CASES_MAX = 128 };

static struct CMUnitTest cases[CASES_MAX];
static int lines[CASES_MAX];
static size_t count;
static CMFixtureFunction before, after;

void cases_add(int line, const struct CMUnitTest *test)
{
    size_t place = count++;
    if (count > CASES_MAX)
        abort();
    for (; place > 0 && lines[place - 1] > line; place--) {
        cases[place] = cases[place - 1];
        lines[place] = lines[place - 1];
    }
    cases[place] = *test;
    lines[place] = line;
}

void cases_between(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    before = set_up;
    after = tear_down;
}

int cases_run(void)
{
    return _cmocka_run_group_tests(program_invocation_short_name, cases, count, before, after);
}

void program_needs_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("skipped: it takes root, for several users\n");
    fflush(stdout);
    _exit(77);
}

void case_needs_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("    not run: it takes root, for several users\n");
    skip();
}

__attribute__((weak)) int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cases_run();
}
