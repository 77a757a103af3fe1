/* SPDX-License-Identifier: BSD-3-Clause */
/* Members as text: what a program prints, and what is kept. */
#include "cases.h"

#include <string.h>
#include <unistd.h>

#include "members/members.h"

static const struct rsmd_conf_members by_source = {.source = RSMD_NODES_EXEC, .name = "/who"};
static struct rsmd_members members;
static char why[RSMD_MEMBERS_WHY_BYTES];

static bool take(const struct rsmd_conf_members *rules, const char *text)
{
    rsmd_members_free(&members);
    why[0] = '\0';
    return rsmd_members_read(&members, rules, text, strlen(text), why) &&
           rsmd_members_settle(&members, why);
}

static int forget(void **state)
{
    (void)state;
    rsmd_members_free(&members);
    return 0;
}

TEST_BETWEEN(members_of_all_kinds, NULL, forget)
{
    assert_true(take(&by_source, "# who is here\n\n7 b 10.0.0.7\n 3\ta\t[fe80::3]:1234 \r\n"
                                 "5 c node5.example.org:77"));
    assert_int_equal(members.count, 3);
    assert_int_equal(members.list[0].id, 3);
    assert_string_equal(members.list[0].host, "a");
    assert_string_equal(members.list[0].address, "fe80::3");
    assert_int_equal(members.list[0].port, 1234);
    assert_int_equal(members.list[1].id, 5);
    assert_string_equal(members.list[1].address, "node5.example.org");
    assert_int_equal(members.list[2].port, 9247);
}

TEST_BETWEEN(what_is_written_is_read, NULL, forget)
{
    assert_true(take(&by_source, "7 b 10.0.0.7\n3 a [fe80::3]:1234\n5 c node5:77\n"));
    char *text = rsmd_members_write(&members);
    assert_non_null(text);
    struct rsmd_members first = members;
    members = (struct rsmd_members){.list = NULL};
    assert_true(take(&by_source, text));
    assert_true(rsmd_members_same(&first, &members));
    members.list[1].port++;
    assert_false(rsmd_members_same(&first, &members));
    rsmd_members_free(&first);
    free(text);
}

TEST_BETWEEN(lines_that_are_none, NULL, forget)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "names no nodes"},
        {"1 a 10.0.0.1\n0 b 10.0.0.2\n", "line 2: expected ID HOST ADDRESS"},
        {"65536 b 10.0.0.2\n", "line 1: expected ID HOST ADDRESS"},
        {"1 a\n", "line 1: expected ID HOST ADDRESS"},
        {"1 a 10.0.0.1 more\n", "line 1: expected ID HOST ADDRESS"},
        {"one a 10.0.0.1\n", "line 1: expected ID HOST ADDRESS"},
        {"1 a 10.0.0.1:0\n", "as an address"},
        {"1 a [fe80::1\n", "as an address"},
        {"1 a;b 10.0.0.1\n", "expected the name of a host"},
        {"1 a b/c\n", "as an address"},
        {"- a 10.0.0.1\n", "set node-ids"},
        {"1 a 10.0.0.1\n1 b 10.0.0.2\n", "are both node 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(take(&by_source, wrong[i].text));
        assert_non_null(strstr(why, wrong[i].says));
    }
}

TEST_BETWEEN(texts_that_are_none, NULL, forget)
{
    static char text[2000];
    memset(text, 'a', sizeof text - 1);
    assert_false(take(&by_source, text));
    assert_non_null(strstr(why, "line 1: expected a shorter line of text"));
    rsmd_members_free(&members);
    assert_false(
        rsmd_members_read(&members, &by_source, "1 a 10.0.0.1\n2 b\0 10.0.0.2\n", 27, why));
    assert_non_null(strstr(why, "line 2"));
}

/* As many as there is room for, and no more. */
TEST_BETWEEN(too_many_members, NULL, forget)
{
    enum { LINE = 64 };
    char *text = malloc((size_t)LINE * (RSMD_MEMBERS_MAX + 1));
    size_t used = 0;
    assert_non_null(text);
    for (unsigned i = 1; i <= RSMD_MEMBERS_MAX + 1; i++) {
        used += (size_t)sprintf(text + used, "%u h 10.1.%u.%u\n", i, i / 256, i % 256);
        if (i != RSMD_MEMBERS_MAX)
            continue;
        assert_true(take(&by_source, text));
        assert_int_equal(members.count, RSMD_MEMBERS_MAX);
    }
    assert_false(take(&by_source, text));
    assert_non_null(strstr(why, "more than"));
    free(text);
}

/* ------------------------------------------------------------------ by the address */

TEST_BETWEEN(ids_by_the_address, NULL, forget)
{
    static const struct {
        uint32_t prefix;
        const char *address;
        uint32_t id; /* 0: it is refused */
    } rules[] = {
        {16, "10.1.0.7", 7},        {16, "10.1.2.7", 2 * 256 + 7},
        {24, "10.1.2.255", 255},    {20, "10.1.18.1", 2 * 256 + 1},
        {31, "10.1.2.3", 1},        {16, "10.1.0.0", 0}, /* no rest */
        {8, "10.1.0.7", 0},                              /* 65543 */
        {8, "10.0.255.255", 65535}, {32, "10.1.0.7", 0}, /* no bits are left */
        {64, "10.1.0.7", 0},        {64, "[fd00::7]", 7},
        {64, "[fd00::1:7]", 0}, /* 65543 */
        {112, "[fd00::1:7]", 7},    {48, "[fd00::1:0:0:0:7]", 0},
        {127, "[fd00::7]", 1},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rsmd_conf_members by_address = {.source = RSMD_NODES_EXEC,
                                                     .prefix = rules[i].prefix};
        char text[64];
        snprintf(text, sizeof text, "- h %s\n", rules[i].address);
        assert_int_equal(take(&by_address, text), rules[i].id != 0);
        if (rules[i].id != 0)
            assert_int_equal(members.list[0].id, rules[i].id);
        else
            assert_non_null(strstr(why, "no id for"));
    }
}

/* An id that is given counts, whatever the address. */
TEST_BETWEEN(ids_that_are_given, NULL, forget)
{
    const struct rsmd_conf_members by_address = {.source = RSMD_NODES_EXEC, .prefix = 16};
    assert_true(take(&by_address, "9 h 10.1.0.7\n"));
    assert_int_equal(members.list[0].id, 9);
}

TEST_BETWEEN(this_host_by_its_address, NULL, forget)
{
    char here[256] = "";
    gethostname(here, sizeof here - 1);
    assert_true(take(&by_source, "1 - 127.0.0.1\n2 - 192.0.2.77\n"));
    assert_string_equal(members.list[0].host, here);
    assert_string_equal(members.list[1].host, "192.0.2.77");
}

TEST_BETWEEN(a_name_that_leads_nowhere, NULL, forget)
{
    assert_false(take(&by_source, "1 - no-such-host.invalid\n"));
    assert_non_null(strstr(why, "no-such-host.invalid cannot be looked up"));
}
