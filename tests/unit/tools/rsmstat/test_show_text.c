/* SPDX-License-Identifier: BSD-3-Clause */
/* Large nodes with long names on paper: tables of 80 columns, colors, and Prometheus's text format. */
#include <ctype.h>

#include "cases.h"
#include "show.h"

enum { LINKS = 300, CONTROLLERS = 3, FAILED = 2, SEGMENTS = 2 };

#define LONG_TEXT                                                                                  \
    "ntb: cannot open /dev/rsm_ntb-of-the-second-bridge (No such file or directory): install "     \
    "the module"

/* ------------------------------------------------------------------ a node */

struct node {
    struct snapshot seen;
    struct controller controllers[CONTROLLERS];
    struct rsm_topology_remote remotes[LINKS];
    struct rsm_failed_item failed[FAILED];
    struct rsm_links_item links[LINKS];
    struct segment exports[SEGMENTS], imports[SEGMENTS];
    struct rsm_shares_user users[2];
};

static void make_links(struct node *node)
{
    for (uint32_t i = 0; i < LINKS; i++) {
        struct rsm_links_item *link = &node->links[i];
        link->node = 65535 - LINKS + i;
        link->port = 65535;
        link->state = i % 7; /* unknown ones, too */
        link->version = 1;
        link->up_ms = i % 2 != 0 ? UINT64_C(86400000) * 999 + 3600000 * 23 : 0;
        link->failure_ms = i % 3 != 0 ? UINT64_C(86400000) * 500 + 3600000 * 11 : 0;
        link->expires = i % 5 != 0 ? UINT64_C(1795608000) : 0;
        link->sent_bytes = link->received_bytes = UINT64_MAX - 1;
        snprintf(link->address, sizeof link->address, "2001:0db8:85a3:08d3:1319:8a2e:%04x:7348", i);
        snprintf(link->text, sizeof link->text, "%s", i % 4 == 1 ? LONG_TEXT : "");
        node->remotes[i] = (struct rsm_topology_remote){
            .node = link->node, .hardware_address = UINT64_MAX, .state = i % 6};
        snprintf(node->remotes[i].name, sizeof node->remotes[i].name,
                 "a-long-name-of-a-controller-%u", i);
    }
    node->seen.links = node->links;
    node->seen.link_count = LINKS;
}

static void make_controllers(struct node *node)
{
    for (unsigned i = 0; i < CONTROLLERS; i++) {
        struct rsm_controller_reply *about = &node->controllers[i].about;
        snprintf(about->name, sizeof about->name, "a-long-name-of-a-controller-%u", i);
        snprintf(about->transport, sizeof about->transport, "verbs");
        snprintf(about->device, sizeof about->device, "rocep193s0f%u-of-the-second-adapter", i);
        about->attr.hardware_address = UINT64_MAX;
        about->attr.page_size = 4096;
        about->attr.max_segment_size = UINT64_MAX;
    }
    node->controllers[1].remotes = node->remotes;
    node->controllers[1].remote_count = LINKS;
    node->seen.controllers = node->controllers;
    node->seen.controller_count = CONTROLLERS;
    for (unsigned i = 0; i < FAILED; i++) {
        snprintf(node->failed[i].name, sizeof node->failed[i].name, "broken \"\\%u", i);
        snprintf(node->failed[i].transport, sizeof node->failed[i].transport, "ntb");
        snprintf(node->failed[i].device, sizeof node->failed[i].device,
                 "/dev/rsm_ntb-of-the-second-bridge-%u", i);
        node->failed[i].ago_ms = 1 + i;
        snprintf(node->failed[i].text, sizeof node->failed[i].text, "%s", LONG_TEXT);
    }
    node->seen.failed = node->failed;
    node->seen.failed_count = FAILED;
}

static void make_segments(struct node *node)
{
    for (unsigned i = 0; i < SEGMENTS; i++) {
        node->exports[i].item = (struct rsm_inspect_item){.id = i + 1,
                                                          .segment_id = UINT32_MAX - i,
                                                          .space = RSM_ID_SPACE_SISCI,
                                                          .state = RSM_INSPECT_AVAILABLE,
                                                          .published = 1,
                                                          .length = UINT64_C(1) << 40,
                                                          .pinned = UINT64_C(12345678),
                                                          .node = 65535,
                                                          .pid = 4194304,
                                                          .uid = 4294900000U,
                                                          .acl_count = 64,
                                                          .acl_shown = 2,
                                                          .acl = {{1, 0666}, {65535, 0040}},
                                                          .connections = 1000};
        snprintf(node->exports[i].item.controller, sizeof node->exports[i].item.controller,
                 "a-long-name-of-a-controller-%u", i);
        node->imports[i] = node->exports[i];
        node->imports[i].exporter = 65534;
        node->imports[i].item.export_id = i; /* the first one was aborted */
    }
    node->seen.exports = (struct segments){node->exports, SEGMENTS};
    node->seen.imports = (struct segments){node->imports, SEGMENTS};
}

static int make_node(void **state)
{
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return -1;
    node->seen.node = 65535;
    node->seen.pid = 4194304;
    snprintf(node->seen.socket, sizeof node->seen.socket, "/run/rsm/node-65535.sock");
    make_links(node);
    make_controllers(node);
    make_segments(node);
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++)
        node->seen.limits[i] = (struct rsm_shares_limit){UINT64_MAX, UINT64_MAX, 1 << 30, 1 << 30};
    node->users[0].uid = 4294900000U;
    node->users[1] = (struct rsm_shares_user){.node = 65535, .uid = 4294900000U};
    node->seen.users = node->users;
    node->seen.user_count = 2;
    *state = node;
    return 0;
}

static int free_node(void **state)
{
    free(*state);
    return 0;
}

static char *show(struct node *node, const struct options *options)
{
    struct snapshot *list[] = {&node->seen};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    if (options != NULL)
        assert_int_equal(show_text(out, list, 1, options), 0);
    else
        show_prometheus(out, list, 1);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* ------------------------------------------------------------------ tables */

#define NODE_TEST(name) TEST_BETWEEN(name, make_node, free_node)

NODE_TEST(test_narrow)
{
    char *text = show(*state, &(struct options){.sections = SECTIONS_ALL});
    unsigned lines = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        if (length > 80 || (length > 0 && line[length - 1] == ' '))
            fail_msg("%zu characters: %.*s", length, (int)length, line);
        lines++;
    }
    assert_true(lines > 2 * LINKS);
    /* Each link can still be told from the others, and its reason can be read in whole. */
    for (unsigned i = 0; i < LINKS; i++) {
        char end[16];
        snprintf(end, sizeof end, ":%04x:7348 ", i);
        assert_non_null(strstr(text, end));
    }
    assert_non_null(strstr(text,
                           "\n    ntb: cannot open /dev/rsm_ntb-of-the-second-bridge (No such "
                           "file or\n    directory): install the module\n"));
    assert_null(strchr(text, '\033'));
    free(text);
}

NODE_TEST(test_wide)
{
    char *text = show(*state, &(struct options){.sections = SECTIONS_ALL, .wide = true});
    assert_non_null(strstr(text, " 2001:0db8:85a3:08d3:1319:8a2e:012b:7348 "));
    assert_non_null(strstr(text, "  " LONG_TEXT "\n"));
    assert_null(strstr(text, "..."));
    assert_non_null(strstr(text, "  STATE        PINNED  ACCESS-LIST\n"));
    assert_non_null(strstr(text, "  available  12345678  1:0666 65535:0040 and 62 more\n"));
    free(text);
}

/* A text without blanks, and one that just fits. */
NODE_TEST(test_reasons)
{
    struct node *node = *state;
    node->seen.link_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        node->links[i] = (struct rsm_links_item){.node = i + 1, .port = 7, .state = RSM_LINK_DOWN};
        snprintf(node->links[i].address, sizeof node->links[i].address, "a%u", i);
    }
    memset(node->links[0].text, 'x', sizeof node->links[0].text - 1);
    memset(node->links[1].text, 'y', 80 - 43);
    char *text = show(node, &(struct options){.sections = SECTION_LINKS});
    size_t longest = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > longest)
            longest = strcspn(line, "\n");
    assert_int_equal(longest, 80);
    assert_non_null(strstr(text, "\n    xxx"));
    assert_non_null(strstr(text, "  yyy"));
    free(text);
}

NODE_TEST(test_colors)
{
    char *colored = show(*state, &(struct options){.sections = SECTIONS_ALL, .colors = true});
    char *plain = show(*state, &(struct options){.sections = SECTIONS_ALL});
    assert_non_null(strstr(colored, "\033[31mdown\033[0m"));
    assert_non_null(strstr(colored, "\033[32mup\033[0m"));
    assert_non_null(strstr(colored, "\033[33mstarting\033[0m"));
    assert_non_null(strstr(colored, "\033[31mbroken \"\\0\033[0m"));
    assert_non_null(strstr(colored, "\033[31maborted\033[0m"));
    assert_non_null(strstr(colored, "\033[1mSTATE\033[0m"));
    /* Colors move nothing. */
    char *to = colored;
    for (const char *from = colored; *from != '\0'; from++)
        if (*from == '\033')
            from = strchr(from, 'm');
        else
            *to++ = *from;
    *to = '\0';
    assert_string_equal(colored, plain);
    free(colored);
    free(plain);
}

/* ------------------------------------------------------------------ Prometheus's text format */

/* [a-zA-Z_:][a-zA-Z0-9_:]*; what follows. */
static const char *skip_name(const char *at)
{
    assert_true(isalpha((unsigned char)*at) || *at == '_' || *at == ':');
    while (isalnum((unsigned char)*at) || *at == '_' || *at == ':')
        at++;
    return at;
}

/* {name="value",...}, with \\, \" and \n in values; what follows. */
static const char *skip_labels(const char *at)
{
    for (assert_int_equal(*at, '{'); *at != '}'; at++) {
        at = skip_name(at + 1);
        assert_int_equal(at[0], '=');
        assert_int_equal(at[1], '"');
        for (at += 2; *at != '"'; at++) {
            assert_true(*at != '\0' && *at != '\n');
            if (*at == '\\')
                assert_non_null(strchr("\\\"n", *++at));
        }
        if (at[1] == '}')
            return at + 2;
        assert_int_equal(at[1], ',');
    }
    return at;
}

/* A sample of @p metric; its series, up to the value. */
static size_t check_sample(const char *line, const char *metric)
{
    char *end;
    const char *at = skip_name(line);
    assert_int_equal(at - line, strlen(metric));
    assert_memory_equal(line, metric, strlen(metric));
    if (*at == '{')
        at = skip_labels(at);
    assert_int_equal(*at, ' ');
    double value = strtod(at + 1, &end);
    assert_true(end > at + 1 && *end == '\0' && value >= 0);
    return (size_t)(at - line);
}

/* "# HELP metric words" and "# TYPE metric gauge" come once, before the metric's samples. */
static void check_comment(const char *line, char metric[64], char seen[], size_t size)
{
    char kind[8], name[64], word[64], mark[72];
    assert_int_equal(sscanf(line, "# %7s %63s %63s", kind, name, word), 3);
    if (strcmp(kind, "HELP") == 0) {
        snprintf(mark, sizeof mark, " %s ", name);
        if (strstr(seen, mark) != NULL)
            fail_msg("%s comes twice", name);
        snprintf(seen + strlen(seen), size - strlen(seen), "%s", mark);
        snprintf(metric, 64, "%s", name);
        return;
    }
    assert_string_equal(kind, "TYPE");
    assert_string_equal(name, metric);
    size_t length = strlen(name);
    bool total = length > 6 && strcmp(name + length - 6, "_total") == 0;
    assert_string_equal(word, total ? "counter" : "gauge");
}

static void check_format(char *text)
{
    char metric[64] = "", seen[4096] = "", before[256] = "";
    unsigned samples = 0;
    assert_int_equal(text[strlen(text) - 1], '\n');
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (*line == '#') {
            check_comment(line, metric, seen, sizeof seen);
            continue;
        }
        size_t series = check_sample(line, metric);
        assert_true(series < sizeof before);
        assert_true(strncmp(line, before, series) != 0 || before[series] != '\0');
        snprintf(before, sizeof before, "%.*s", (int)series, line);
        samples++;
    }
    assert_true(samples > 3 * LINKS);
}

/* Prometheus's own checker, where it is installed. */
static void ask_promtool(const char *text)
{
    FILE *tool = popen("command -v promtool >/dev/null || exec cat >/dev/null; "
                       "exec promtool check metrics",
                       "we");
    assert_non_null(tool);
    assert_int_equal(fwrite(text, 1, strlen(text), tool), strlen(text));
    assert_int_equal(pclose(tool), 0);
}

NODE_TEST(test_prometheus)
{
    char *text = show(*state, NULL);
    assert_non_null(strstr(text, "controller=\"broken \\\"\\\\0\""));
    ask_promtool(text);
    check_format(text);
    free(text);
}
