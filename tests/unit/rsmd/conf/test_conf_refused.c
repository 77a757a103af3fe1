/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations that are refused, and what is said of them. */
#include "conf_text.h"

/* All of them, in the order of the file, and no more than there is room for. */
TEST_ALONE(mistakes_are_collected)
{
    enum { MANY = 3 * RSMD_CONF_ERRORS_MAX };
    static struct rsmd_conf_errors errors;
    static struct rsmd_conf found;
    char text[MANY * 24];
    size_t used = 0;
    for (int i = 0; i < MANY; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 i % 2 == 0 ? "[node %d]\n" : "nothing = %d\n", i + 1);
    rsmd_conf_parse_all(&found, text, used, &errors);
    assert_int_equal(errors.count, RSMD_CONF_ERRORS_MAX);
    for (unsigned i = 0; i < errors.count; i++) {
        assert_int_equal(errors.list[i].line, 2 * (i + 1));
        assert_string_equal(errors.list[i].text,
                            "expected one of the keys host, socket, address, names");
    }
    rsmd_conf_free(&found);
}

static const struct {
    const char *text;
    unsigned line;
    const char *expected;
} wrong[] = {
    {"host = a\n", 1, "expected a [section] before the first key"},
    {"[limits]\nnonsense\n", 2, "expected key = value, a [section] or a comment"},
    {"\n\n[nodes]\n", 3,
     "expected [node N], [controller NAME], [map], [map NAME], [cluster] or [limits]"},
    {"[]\n", 1, "expected [node N], [controller NAME], [map], [map NAME], [cluster] or [limits]"},
    {"[limits 3]\n", 1,
     "expected [node N], [controller NAME], [map], [map NAME], [cluster] or [limits]"},
    {"[limits\n", 1, "expected a ] at the end of the section's name"},
    {"[limits] x\n", 1, "expected nothing behind the ]"},
    {"[limits]\n\n[limits]\n", 3, "expected [limits] once"},
    {"[node 0]\nhost = a\n", 1, "expected a node id from 1 to 65535, as in [node 1]"},
    {"[node 65536]\nhost = a\n", 1, "expected a node id from 1 to 65535, as in [node 1]"},
    {"[node x]\nhost = a\n", 1, "expected a node id from 1 to 65535, as in [node 1]"},
    {"[node]\nhost = a\n", 1, "expected a node id from 1 to 65535, as in [node 1]"},
    {"[node 1]\nhost = a\n[node 1]\nhost = b\n", 3,
     "expected each node once: node 1 is also in line 1"},
    {"[node 1]\n[limits]\n", 1, "expected host = in the section of node 1"},
    {"[limits]\n[node 1]\n", 2, "expected host = in the section of node 1"},
    {"[node 1]\nhost =\n", 2, "expected a host name or address after host ="},
    {"[node 1]\nhost = a\nhost = b\n", 3, "expected host once in this section"},
    {"[node 1]\nhost = a\nsocket = run/x\n", 3,
     "expected an absolute path of at most 107 characters after socket ="},
    {"[node 1]\nport = 1\n", 2, "expected one of the keys host, socket, address, names"},
    {"[cluster]\n\n[cluster]\n", 3, "expected [cluster] once"},
    {"[cluster 1]\n", 1,
     "expected [node N], [controller NAME], [map], [map NAME], [cluster] or [limits]"},
    {"[cluster]\nauth = ssh\n", 2, "expected munge, tls or none after auth ="},
    {"[cluster]\nauth =\n", 2, "expected munge, tls or none after auth ="},
    {"[cluster]\ntls-ca = ca.pem\n", 2,
     "expected an absolute path of at most 107 characters after tls-ca ="},
    {"[cluster]\ntls-certificate = x\n", 2,
     "expected an absolute path of at most 107 characters after tls-certificate ="},
    {"[cluster]\ntls-key =\n", 2,
     "expected an absolute path of at most 107 characters after tls-key ="},
    {"[cluster]\ninsecure = true\n", 2, "expected yes or no after insecure ="},
    {"[cluster]\ninsecure =\n", 2, "expected yes or no after insecure ="},
    {"[cluster]\ninsecure = yes\ninsecure = no\n", 3, "expected insecure once in this section"},
    /* It makes nothing of a network one that needs no authentication. */
    {"[cluster]\nauth = none\ninsecure = yes\n[node 3]\nhost = a\naddress = 10.0.0.1\n", 2,
     "expected auth = munge or tls: node 3, line 6, has an address that is no loopback address"},
    {"[cluster]\nmunge-socket = munge.socket\n", 2,
     "expected an absolute path of at most 107 characters after munge-socket ="},
    {"[cluster]\nport = 3\n", 2,
     "expected one of the keys auth, munge-socket, insecure, tls-ca, tls-certificate, tls-key, "
     "nodes, node-ids"},
    {"[node 1]\nhost = a\naddress = 127.0.0.1:90\n[node 2]\nhost = b\naddress = 127.0.0.1:90\n", 6,
     "expected another address or port: node 1 has this one in line 3"},
    {"[node 1]\nhost = a\naddress = Alpha\n[node 2]\nhost = b\naddress = alpha:9247\n", 6,
     "expected another address or port: node 1 has this one in line 3"},
    {"[cluster]\nauth = none\n[node 3]\nhost = a\naddress = 127.0.0.1\n"
     "[node 4]\nhost = b\naddress = 10.0.0.1\n",
     2, "expected auth = munge or tls: node 4, line 8, has an address that is no loopback address"},
    {"[node 4]\nhost = b\naddress = beta\n[cluster]\nauth = none\n", 5,
     "expected auth = munge or tls: node 4, line 3, has an address that is no loopback address"},
    {"[controller]\ntransport = shm\n", 1,
     "expected a controller name of letters and a unit, as in [controller sci0]"},
    {"[controller 12]\ntransport = shm\n", 1,
     "expected a controller name of letters and a unit, as in [controller sci0]"},
    {"[controller a b]\ntransport = shm\n", 1,
     "expected a controller name of letters and a unit, as in [controller sci0]"},
    {"[controller sci99999999999]\ntransport = shm\n", 1,
     "expected a controller name of letters and a unit, as in [controller sci0]"},
    {"[controller Loopback7]\ntransport = shm\n", 1,
     "expected another name: loopback is always there"},
    {"[controller sci0]\ntransport = shm\n[controller SCI]\n", 3,
     "expected each controller once: SCI is also in line 1"},
    {"[controller sci0]\n", 1, "expected transport = in the section of controller sci0"},
    {"[controller sci0]\ntransport = a/b\n", 2,
     "expected the name of a transport, like shm, after transport ="},
    {"[controller sci0]\ntransport = SHM\n", 2,
     "expected the name of a transport, like shm, after transport ="},
    {"[controller sci0]\ndevice =\n", 2, "expected the name of a device after device ="},
    {"[controller sci0]\noptions = a\x01\n", 2, "expected the transport's options after options ="},
    {"[controller sci0]\nadapter = 64\n", 2, "expected a number from 0 to 63 after adapter ="},
    {"[controller sci0]\nadapter = -1\n", 2, "expected a number from 0 to 63 after adapter ="},
    {"[controller a]\ntransport = shm\nadapter = 0\n[controller b]\nadapter = 0\n", 5,
     "expected another number after adapter =: a has this one in line 3"},
    {"[controller sci0]\nmtu = 1\n", 2,
     "expected one of the keys transport, device, options, adapter"},
    {"[limits]\nmax-exported-memory = 101\n", 2,
     "expected a number from 0 (no limit) to 100 (percent of physical memory) after "
     "max-exported-memory ="},
    {"[limits]\nmax-exported-memory = -1\n", 2,
     "expected a number from 0 (no limit) to 100 (percent of physical memory) after "
     "max-exported-memory ="},
    {"[limits]\nmax-segments = 65536\n", 2,
     "expected a number from 0 (default) to 65535 after max-segments ="},
    {"[limits]\nmax-segments = 10 20\n", 2,
     "expected a number from 0 (default) to 65535 after max-segments ="},
    {"[limits]\npeer-timeout-ms = 99\n", 2,
     "expected a number from 100 to 60000 (milliseconds) after peer-timeout-ms ="},
    {"[limits]\npeer-timeout-ms = 60001\n", 2,
     "expected a number from 100 to 60000 (milliseconds) after peer-timeout-ms ="},
    {"[limits]\nsegment-hashtable-size = big\n", 2, "expected a number after the ="},
    {"[limits]\nmaxsegments = 1\n", 2,
     "expected one of the keys max-exported-memory, max-segments, max-user-share, "
     "peer-timeout-ms, permanent-links, link-idle-ms, segment-hashtable-size, "
     "enable-dynamic-reconfiguration"},
    {"[limits]\npermanent-links = 65536\n", 2,
     "expected a number of nodes from 0 to 65535 after permanent-links ="},
    {"[limits]\nlink-idle-ms = 99\n", 2,
     "expected a number from 100 to 86400000 (milliseconds) after link-idle-ms ="},
    {"[limits]\nmax-user-share = 0\n", 2,
     "expected a number from 1 to 100 (percent of each limit) after max-user-share ="},
    {"[limits]\nmax-user-share = 101\n", 2,
     "expected a number from 1 to 100 (percent of each limit) after max-user-share ="},
    {"[map]\nlend-userfaultfd = maybe\n", 2, "expected yes or no after lend-userfaultfd ="},
    {"[map]\nlend-userfaultfd = yes\nlend-userfaultfd = no\n", 3,
     "expected lend-userfaultfd once in this section"},
    {"[controller sci0]\ntransport = shm\n[map sci0]\nlend-userfaultfd = yes\n", 4,
     "expected lend-userfaultfd in the section [map] alone"},
    {"[map]\nmode = mirrors\n", 2, "expected auto, precise, twin, mirror or off after mode ="},
    {"[map]\ntrap =\n", 2, "expected auto, signal or thread after trap ="},
    {"[map]\nk = 0\n", 2, "expected a number from 1 to 65535, or inf after k ="},
    {"[map]\nk = 65536\n", 2, "expected a number from 1 to 65535, or inf after k ="},
    {"[map]\nflush-us = 0\n", 2,
     "expected a number from 1 to 1000000 (microseconds) after flush-us ="},
    {"[map]\nrefresh-us = 1000001\n", 2,
     "expected a number from 0 to 1000000 (microseconds) after refresh-us ="},
    {"[map]\ngrain = 16\n", 2, "expected 1, 2, 4, 8 or 64 (bytes) after grain ="},
    {"[map]\natomics = on\n", 2, "expected warn or sigbus after atomics ="},
    {"[map]\nK = 4\n", 2,
     "expected one of the keys mode, trap, k, flush-us, refresh-us, grain, atomics, cache-mib, "
     "lend-userfaultfd"},
    {"[map]\nk = 4\nk = 4\n", 3, "expected k once in this section"},
    {"[map]\n[map]\n", 2, "expected each [map] once: this one is also in line 1"},
    {"[map Loopback]\n[map loopback0]\n", 2,
     "expected each [map] once: this one is also in line 1"},
    {"[map 7]\n", 1, "expected [map] or the name of a controller, as in [map sci0]"},
    {"[map sci0]\n[controller sci1]\ntransport = shm\n", 1,
     "expected the name of a controller of this file"},
    {"[limits]\nmax-segments = 1\nx\nmax-segments = 2\n", 3,
     "expected key = value, a [section] or a comment"},
};

TEST_ALONE(wrong_lines)
{
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(parse(wrong[i].text));
        assert_string_equal(error.text, wrong[i].expected);
        assert_int_equal(error.line, wrong[i].line);
    }
}

TEST_ALONE(lines_too_long)
{
    char text[1000] = "[controller sci0]\noptions = ";
    memset(text + strlen(text), 'x', 600);
    assert_false(parse(text));
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.text, "expected a line of at most"));
    memset(text, 0, sizeof text);
    strcpy(text, "[limits]\n");
    assert_false(rsmd_conf_parse(&conf, text, 20, &error));
    assert_string_equal(error.text, "expected text: there is a NUL character");
    assert_int_equal(error.line, 2);
}

TEST_ALONE(too_many_controllers)
{
    char text[RSMD_CONF_CONTROLLERS_MAX * 64 + 64] = "";
    for (int i = 0; i <= RSMD_CONF_CONTROLLERS_MAX; i++)
        sprintf(text + strlen(text), "[controller c%d]\ntransport = shm\n", i);
    assert_false(parse(text));
    assert_string_equal(error.text, "expected at most 64 controllers");
    assert_int_equal(error.line, 2 * RSMD_CONF_CONTROLLERS_MAX + 1);
}

TEST_ALONE(controller_names)
{
    char type[RSM_PROTO_NAME_MAX], longest[RSM_PROTO_NAME_MAX + 1];
    uint32_t unit;
    assert_true(rsmd_controller_name_split("sci007", type, &unit));
    assert_string_equal(type, "sci");
    assert_int_equal(unit, 7);
    assert_true(rsmd_controller_name_split("wrsm", type, &unit));
    assert_string_equal(type, "wrsm");
    assert_int_equal(unit, 0);
    assert_true(rsmd_controller_name_split("a1b2", type, &unit));
    assert_string_equal(type, "a1b");
    assert_int_equal(unit, 2);
    assert_true(rsmd_controller_name_split("a4294967295", type, &unit));
    assert_false(rsmd_controller_name_split("a4294967296", type, &unit));
    assert_false(rsmd_controller_name_split("", type, &unit));
    assert_false(rsmd_controller_name_split("123", type, &unit));
    memset(longest, 'a', sizeof longest);
    longest[RSM_PROTO_NAME_MAX] = '\0';
    assert_false(rsmd_controller_name_split(longest, type, &unit));
    longest[RSM_PROTO_NAME_MAX - 1] = '\0';
    assert_true(rsmd_controller_name_split(longest, type, &unit));
}

TESTS_BETWEEN(NULL, free_last)
