/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf_file.h"
#include "conf_text.h"

/* As many nodes as one likes, in any order. */
TEST_ALONE(many_nodes)
{
    enum { NODES = 1000 };
    static char text[NODES * 64];
    size_t used = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t id = 1 + (i * 377 % NODES) * 65;
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "[node %u]\nhost = h%u\naddress = 127.1.%u.%u\n", id, id, id / 256,
                                 id % 256);
    }
    assert_true(parse(text));
    assert_int_equal(conf.node_count, NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        const struct rsmd_conf_node *node = rsmd_conf_node(&conf, 1 + i * 65);
        char host[16];
        assert_non_null(node);
        assert_ptr_equal(node, conf.nodes[i]);
        snprintf(host, sizeof host, "h%u", 1 + i * 65);
        assert_string_equal(node->host, host);
    }
    assert_null(rsmd_conf_node(&conf, 2));
    assert_null(rsmd_conf_node(&conf, 65535));
    assert_int_equal(rsmd_conf_node_from(&conf, 2), 1);
    /* Two of them with one address, far apart. */
    snprintf(text + used, sizeof text - used, "[node 2]\nhost = h\naddress = 127.1.0.66\n");
    assert_false(parse(text));
    assert_int_equal(error.line, 3 * NODES + 3);
    assert_non_null(strstr(error.text, "expected another address or port: node 66 has this one"));
}

/* Values as other formats have them. */
TEST_ALONE(values_of_other_formats)
{
    static const char *const wrong[] = {"a # comment", "a\t#", "# a", "\"a\"", "'a'", "a b", "a,b"};
    char text[64];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "[node 1]\nhost = %s\n", wrong[i]);
        assert_false(parse(text));
        assert_int_equal(error.line, 2);
    }
    assert_true(parse("[node 1]\nhost = a ; comment\n[node 2]\nhost = fe80::1%eth0\n"
                      "[controller c0]\ntransport = shm\ndevice = /dev/x#1\n"));
    assert_string_equal(conf.controllers[0].device, "/dev/x#1");
}

TEST_ALONE(numbers_of_adapters)
{
    struct rsmd_conf defaults;
    rsmd_conf_defaults(&defaults);
    assert_string_equal(rsmd_conf_adapter(&defaults, 0)->name, "sci0");
    assert_null(rsmd_conf_adapter(&defaults, 1));
    assert_true(parse("[controller a]\ntransport = shm\n[controller b]\ntransport = shm\n"));
    assert_string_equal(rsmd_conf_adapter(&conf, 0)->name, "a");
    assert_string_equal(rsmd_conf_adapter(&conf, 1)->name, "b");
    assert_null(rsmd_conf_adapter(&conf, 2));
    assert_true(parse("[controller a]\ntransport = shm\n[controller b]\ntransport = shm\n"
                      "adapter = 0\n[controller c]\ntransport = shm\nadapter = 63\n"));
    assert_string_equal(rsmd_conf_adapter(&conf, 0)->name, "b");
    assert_string_equal(rsmd_conf_adapter(&conf, 63)->name, "c");
    assert_null(rsmd_conf_adapter(&conf, 1));
    assert_null(rsmd_conf_adapter(&conf, 2));
    assert_null(rsmd_conf_adapter(&conf, UINT32_MAX));
}

TEST_ALONE(complete_file)
{
    assert_true(parse("# cluster\n"
                      "[node 1]\n"
                      "host = alpha.example.org\n"
                      "\n"
                      "[node 2]   ; the other one\n"
                      "host = beta\n"
                      "  socket = /run/other/n2.sock ; inside the host\n"
                      "[controller sci0]\n"
                      "transport = shm\n"
                      "[controller wrsm1]\r\n"
                      "transport = verbs\r\n"
                      "device = mlx5_0\r\n"
                      "options = mtu=4096 retry=3\r\n"
                      "[limits]\n"
                      "max-exported-memory = 75\n"
                      "max-segments = 4095\n"
                      "max-user-share = 60\n"
                      "peer-timeout-ms = 500\n"
                      "segment-hashtable-size = 128\n"
                      "enable-dynamic-reconfiguration = 1"));
    assert_int_equal(conf.node_count, 2);
    assert_string_equal(rsmd_conf_node(&conf, 1)->host, "alpha.example.org");
    assert_string_equal(rsmd_conf_node(&conf, 1)->socket, "");
    assert_string_equal(rsmd_conf_node(&conf, 2)->socket, "/run/other/n2.sock");
    assert_null(rsmd_conf_node(&conf, 3));
    assert_int_equal(conf.controller_count, 2);
    assert_string_equal(conf.controllers[0].name, "sci0");
    assert_string_equal(conf.controllers[0].transport, "shm");
    assert_string_equal(conf.controllers[0].device, "");
    assert_string_equal(conf.controllers[1].name, "wrsm1");
    assert_string_equal(conf.controllers[1].device, "mlx5_0");
    assert_string_equal(conf.controllers[1].options, "mtu=4096 retry=3");
    assert_int_equal(conf.max_exported_percent, 75);
    assert_int_equal(conf.max_segments, 4095);
    assert_int_equal(conf.max_user_share, 60);
    assert_int_equal(conf.peer_timeout_ms, 500);
    assert_true(conf.ineffective_keys);
}

TEST_ALONE(absent_things)
{
    rsmd_conf_free(&conf);
    parsed = false;
    rsmd_conf_defaults(&conf);
    assert_int_equal(conf.controller_count, 1);
    assert_string_equal(conf.controllers[0].name, "sci0");
    assert_string_equal(conf.controllers[0].transport, "shm");
    assert_true(parse(""));
    assert_int_equal(conf.controller_count, 0);
    assert_int_equal(conf.node_count, 0);
    assert_int_equal(conf.max_exported_percent, 75);
    assert_int_equal(conf.max_user_share, 75);
    assert_int_equal(conf.max_segments, 65535);
    assert_int_equal(conf.peer_timeout_ms, 3000);
    assert_false(conf.ineffective_keys);
    assert_true(parse("\xef\xbb\xbf[limits]\nmax-segments = 0\n"));
    assert_int_equal(conf.max_segments, 65535);
}

static uint32_t tunable(const char *controller, enum mapping_tunable which)
{
    struct mapping_settings settings = rsmd_conf_map(&conf, controller);
    return settings.given >> which & 1 ? settings.value[which] : UINT32_MAX - 1;
}

/* The controller's own section goes before the common one, wherever either is. */
TEST_ALONE(mappings)
{
    enum { NOT_GIVEN = UINT32_MAX - 1 };
    assert_true(parse("[map SCI]\nmode = precise\nrefresh-us = 0\ntrap = sigbus\n"
                      "[controller sci0]\ntransport = shm\n[controller sci1]\ntransport = shm\n"
                      "[map]\nmode = twin\nk = inf\ngrain = 8\n"
                      "[map loopback]\natomics = sigbus\ntrap = signal\n"));
    assert_int_equal(tunable("sci0", MAPPING_TUNABLE_MODE), MAPPING_PRECISE);
    assert_int_equal(tunable("sci0", MAPPING_TUNABLE_K), MAPPING_THRESHOLD_NEVER);
    assert_int_equal(tunable("sci0", MAPPING_TUNABLE_REFRESH_US), 0);
    assert_int_equal(tunable("sci0", MAPPING_TUNABLE_TRAP), MAPPING_TRAP_SIGBUS); /* no error */
    assert_int_equal(tunable("sci0", MAPPING_TUNABLE_ATOMICS), NOT_GIVEN);
    assert_int_equal(tunable("sci1", MAPPING_TUNABLE_MODE), MAPPING_TWIN);
    assert_int_equal(tunable("sci1", MAPPING_TUNABLE_REFRESH_US), NOT_GIVEN);
    assert_int_equal(tunable("loopback", MAPPING_TUNABLE_ATOMICS), MAPPING_ATOMICS_SIGBUS);
    assert_int_equal(tunable("loopback", MAPPING_TUNABLE_GRAIN), 8);
    assert_true(parse("[controller sci0]\ntransport = shm\n"));
    assert_int_equal(rsmd_conf_map(&conf, "sci0").given, 0);
}

/* What address = takes, and what it is not taken for. */
TEST_ALONE(addresses)
{
    static const struct {
        const char *text;
        const char *host; /* NULL: refused */
        unsigned port;
    } known[] = {
        {"alpha", "alpha", 9247},
        {"alpha-ib0.example.org:1", "alpha-ib0.example.org", 1},
        {"10.1.2.3", "10.1.2.3", 9247},
        {"10.1.2.3:65535", "10.1.2.3", 65535},
        {"[::1]", "::1", 9247},
        {"[fe80::1%ib0]:77", "fe80::1%ib0", 77},
        {"[2001:db8::1]:9000", "2001:db8::1", 9000},
        {"", NULL, 0},
        {":1", NULL, 0},
        {"alpha:", NULL, 0},
        {"alpha:0", NULL, 0},
        {"alpha:65536", NULL, 0},
        {"alpha:1x", NULL, 0},
        {"alpha beta", NULL, 0},
        {"-alpha", NULL, 0},
        {"10.1.2", NULL, 0},
        {"10.1.2.256", NULL, 0},
        {"0.0.0.0", NULL, 0},
        {"224.0.0.1", NULL, 0},
        {"255.255.255.255", NULL, 0},
        {"::1", NULL, 0},
        {"[::]", NULL, 0},
        {"[ff02::1]", NULL, 0},
        {"[::1", NULL, 0},
        {"[::1]9", NULL, 0},
        {"[alpha]", NULL, 0},
        {"[fe80::1%]", NULL, 0},
        {"[fe80::1%a/b]", NULL, 0},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "[node 1]\nhost = a\naddress = %s\n", known[i].text);
        bool good = parse(text);
        assert_int_equal(good, known[i].host != NULL);
        if (!good) {
            assert_int_equal(error.line, 3);
            assert_non_null(strstr(error.text, "HOST:PORT"));
            continue;
        }
        assert_string_equal(conf.nodes[0]->address, known[i].host);
        assert_int_equal(conf.nodes[0]->port, known[i].port);
        assert_int_equal(conf.nodes[0]->address_line, 3);
    }
}

/* Nobody on a network is believed without a proof unless the file says nothing but loopback. */
TEST_ALONE(authentication)
{
    static const char *const loopback[] = {"127.0.0.1", "127.200.3.4:99", "[::1]", "localhost"};
    static const char *const remote[] = {"10.0.0.1", "alpha", "[fd00::1]:99",
                                         "localhost.example.org", "128.0.0.1"};
    char text[256];
    assert_true(parse("[node 1]\nhost = a\n"));
    assert_false(rsmd_conf_has_address(&conf));
    assert_int_equal(conf.auth, RSMD_AUTH_NONE);
    for (unsigned i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
        snprintf(text, sizeof text, "[node 1]\nhost = a\naddress = %s\n", loopback[i]);
        assert_true(parse(text));
        assert_true(rsmd_conf_has_address(&conf));
        assert_int_equal(conf.auth, RSMD_AUTH_NONE);
        strcat(text, "[cluster]\nauth = munge\n");
        assert_true(parse(text));
        assert_int_equal(conf.auth, RSMD_AUTH_MUNGE);
    }
    for (unsigned i = 0; i < sizeof remote / sizeof remote[0]; i++) {
        snprintf(text, sizeof text, "[node 1]\nhost = a\naddress = %s\n", remote[i]);
        assert_true(parse(text));
        assert_int_equal(conf.auth, RSMD_AUTH_MUNGE);
        strcat(text, "[cluster]\nauth = tls\n");
        assert_true(parse(text));
        assert_int_equal(conf.auth, RSMD_AUTH_TLS);
        strcpy(strstr(text, "tls"), "none\n");
        assert_false(parse(text));
        assert_int_equal(error.line, 5);
    }
    assert_true(parse("[cluster]\nauth = munge\nmunge-socket = /run/x/munge\n"));
    assert_string_equal(conf.munge_socket, "/run/x/munge");
}

/* The same file does on all nodes. */
TEST_ALONE(files_of_tls)
{
    char path[RSM_PROTO_PATH_MAX];
    static const char *const usual[RSMD_TLS_FILES] = {RSM_CONFIG_DIR "/tls/ca.pem",
                                                      RSM_CONFIG_DIR "/tls/node-7.pem",
                                                      RSM_CONFIG_DIR "/tls/node-7.key"};
    static const char *const own[RSMD_TLS_FILES] = {"/a/ca", "/b/certificate", "/c/key"};
    assert_true(parse("[cluster]\nauth = tls\n"));
    assert_string_equal(rsmd_conf_auth_name(conf.auth), "tls");
    for (unsigned i = 0; i < RSMD_TLS_FILES; i++) {
        rsmd_conf_tls_path(&conf, (enum rsmd_conf_tls_file)i, 7, path);
        assert_string_equal(path, usual[i]);
    }
    assert_true(parse("[cluster]\ntls-ca = /a/ca\ntls-certificate = /b/certificate\n"
                      "tls-key = /c/key\n"));
    for (unsigned i = 0; i < RSMD_TLS_FILES; i++) {
        rsmd_conf_tls_path(&conf, (enum rsmd_conf_tls_file)i, 7, path);
        assert_string_equal(path, own[i]);
    }
    assert_string_equal(rsmd_conf_auth_name(RSMD_AUTH_MUNGE), "munge");
    assert_string_equal(rsmd_conf_auth_name(RSMD_AUTH_NONE), "none");
}

/* What a daemon of root does not do without being told to. */
TEST_ALONE(trust)
{
    static const struct {
        const char *text;
        unsigned line; /* 0: it is good */
    } cases[] = {
        {"", 0},
        {"[node 1]\nhost = a\n", 0},
        {"[cluster]\nauth = none\n", 0}, /* there are no links */
        {"[node 1]\nhost = a\naddress = 127.0.0.1\n", 3},
        {"[node 1]\nhost = a\naddress = 127.0.0.1\n[cluster]\ninsecure = no\n", 3},
        {"[node 1]\nhost = a\naddress = 127.0.0.1\n[cluster]\nauth = none\n", 5},
        {"[node 1]\nhost = a\naddress = 127.0.0.1\n[cluster]\nauth = munge\n", 0},
        {"[node 1]\nhost = a\naddress = 127.0.0.1\n[cluster]\ninsecure = yes\n", 0},
        {"[cluster]\nauth = none\ninsecure = yes\n[node 1]\nhost = a\naddress = [::1]\n", 0},
        {"[node 1]\nhost = a\naddress = alpha\n", 0}, /* munge by default */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[512] = "", where[64];
        assert_true(parse(cases[i].text));
        assert_int_equal(rsmd_conf_check_trust(&conf, "F", why, sizeof why), cases[i].line == 0);
        snprintf(where, sizeof where, "F:%u: expected auth = munge or tls", cases[i].line);
        if (cases[i].line != 0)
            assert_ptr_equal(strstr(why, where), why);
    }
}

TEST_ALONE(local_hosts)
{
    assert_true(rsmd_host_is_local("localhost", "alpha"));
    assert_true(rsmd_host_is_local("127.0.0.1", "alpha"));
    assert_true(rsmd_host_is_local("::1", "alpha"));
    assert_true(rsmd_host_is_local("Alpha", "alpha"));
    assert_true(rsmd_host_is_local("alpha.example.org", "alpha"));
    assert_true(rsmd_host_is_local("alpha", "alpha.example.org"));
    assert_false(rsmd_host_is_local("alpha.example.org", "alpha.example.com"));
    assert_false(rsmd_host_is_local("alph", "alpha"));
    assert_false(rsmd_host_is_local("beta", "alpha"));
    assert_false(rsmd_host_is_local("10.0.0.1", "10"));
}

TEST_ALONE(own_node)
{
    char why[200] = "";
    assert_true(parse(""));
    assert_int_equal(rsmd_conf_own_node(&conf, 0, "alpha", why, sizeof why), 1);
    assert_int_equal(rsmd_conf_own_node(&conf, 9, "alpha", why, sizeof why), 9);
    assert_true(parse("[node 3]\nhost=alpha\n[node 4]\nhost=beta\n[node 5]\nhost=beta\n"));
    assert_int_equal(rsmd_conf_own_node(&conf, 0, "alpha", why, sizeof why), 3);
    assert_int_equal(rsmd_conf_own_node(&conf, 5, "alpha", why, sizeof why), 5);
    assert_string_equal(why, "");
    assert_int_equal(rsmd_conf_own_node(&conf, 6, "alpha", why, sizeof why), 0);
    assert_string_equal(why, "node 6 is not in the configuration");
    assert_int_equal(rsmd_conf_own_node(&conf, 0, "beta", why, sizeof why), 0);
    assert_string_equal(
        why, "several nodes of the configuration are on host beta: say which with --node");
    assert_int_equal(rsmd_conf_own_node(&conf, 0, "gamma", why, sizeof why), 0);
    assert_string_equal(why,
                        "no node of the configuration is on host gamma: say which with --node");
}

TESTS_BETWEEN(NULL, free_last)
