/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes = and node-ids =, and what becomes of the nodes that a source names. */
#include "conf_text.h"

static bool parse_cluster(const char *lines)
{
    char text[512];
    snprintf(text, sizeof text, "[cluster]\n%s[controller sci0]\ntransport = shm\n", lines);
    return parse(text);
}

TEST_ALONE(sources)
{
    assert_true(parse_cluster(""));
    assert_int_equal(conf.members.source, RSMD_NODES_FILE);
    assert_true(parse_cluster("nodes = file\n"));
    assert_int_equal(conf.members.source, RSMD_NODES_FILE);
    assert_true(parse_cluster("nodes = dns:_rsm._tcp.example.org\n"));
    assert_int_equal(conf.members.source, RSMD_NODES_DNS);
    assert_string_equal(conf.members.name, "_rsm._tcp.example.org");
    assert_int_equal(conf.members.prefix, 0);
    assert_true(parse_cluster("nodes = exec:/usr/libexec/who\nnode-ids = address/16\n"));
    assert_int_equal(conf.members.source, RSMD_NODES_EXEC);
    assert_string_equal(conf.members.name, "/usr/libexec/who");
    assert_int_equal(conf.members.prefix, 16);
    assert_true(parse_cluster("nodes = dns:a\nnode-ids = source\n"));
    assert_int_equal(conf.members.prefix, 0);
}

TEST_ALONE(sources_that_are_none)
{
    static const char *const wrong[] = {
        "nodes = dns:\n",         "nodes = dns:a b\n",
        "nodes = dns:.a\n",       "nodes = dns:a..b\n",
        "nodes = exec:\n",        "nodes = exec:who\n",
        "nodes = exec\n",         "nodes = etcd:x\n",
        "node-ids = address/0\n", "nodes = dns:a\nnode-ids = address/128\n",
        "node-ids = name\n",      "nodes = dns:a\nnode-ids = address\n",
        "node-ids = address/8\n", "nodes = dns:a\nnodes = dns:b\n",
    };
    char text[400];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(parse_cluster(wrong[i]));
    snprintf(text, sizeof text, "nodes = dns:%0254d\n", 1);
    assert_false(parse_cluster(text));
}

static struct rsmd_conf_node member(uint32_t id, const char *address)
{
    struct rsmd_conf_node made = {.id = id, .port = 9247};
    snprintf(made.host, sizeof made.host, "h%u", (unsigned)id);
    snprintf(made.address, sizeof made.address, "%s", address);
    return made;
}

TEST_BETWEEN(members_and_sections, NULL, free_last)
{
    struct rsmd_conf_errors errors = {.count = 0};
    const struct rsmd_conf_node list[] = {member(1, "10.0.0.9"), member(2, "10.0.0.2")};
    assert_true(parse("[node 1]\nhost = a\naddress = 10.0.0.1\n[cluster]\nnodes = dns:x\n"));
    rsmd_conf_add_members(&conf, list, 2, &errors);
    assert_int_equal(errors.count, 0);
    assert_int_equal(conf.node_count, 2);
    assert_string_equal(conf.nodes[0]->address, "10.0.0.1"); /* the section counts */
    assert_false(conf.nodes[0]->member);
    assert_string_equal(conf.nodes[1]->address, "10.0.0.2");
    assert_true(conf.nodes[1]->member);
    assert_int_equal(conf.nodes[1]->line, 5);
    assert_int_equal(conf.auth, RSMD_AUTH_MUNGE);
}

/* Members on the network authenticate, as nodes with sections do. */
TEST_BETWEEN(members_without_authentication, NULL, free_last)
{
    struct rsmd_conf_errors errors = {.count = 0};
    const struct rsmd_conf_node near = member(1, "127.0.0.1"), far = member(2, "10.0.0.2");
    assert_true(parse("[cluster]\nnodes = dns:x\nauth = none\n"));
    rsmd_conf_add_members(&conf, &near, 1, &errors);
    assert_int_equal(errors.count, 0);
    rsmd_conf_add_members(&conf, &far, 1, &errors);
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.list[0].text, "expected auth = munge or tls"));
}

TEST_BETWEEN(members_at_one_address, NULL, free_last)
{
    struct rsmd_conf_errors errors = {.count = 0};
    const struct rsmd_conf_node list[] = {member(1, "10.0.0.9"), member(2, "10.0.0.9")};
    assert_true(parse("[cluster]\nnodes = dns:x\n"));
    rsmd_conf_add_members(&conf, list, 2, &errors);
    assert_int_equal(errors.count, 1);
    assert_int_equal(errors.list[0].line, 2);
    assert_non_null(strstr(errors.list[0].text, "expected another address or port"));
}
