/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows is what there is. */
#include <pwd.h>

#include "base/clock.h"
#include "protocol/proto.h"
#include "party.h"
#include "process.h"
#include "run.h"
#include "shared_node.h"

enum { OTHER_UID = 65533 };

/* ---------------------------------------------------------------- two nodes */

static void check_export(const struct json_value *node, const struct actor *exporter, uint32_t id,
                         size_t length, unsigned connections)
{
    char text[16];
    const struct json_value *export_id = find(node, "exports", "segment_id", id);
    assert_non_null(export_id);
    snprintf(text, sizeof text, "0x%x", (unsigned)id);
    assert_string_equal(get_string(export_id, "segment"), text);
    assert_string_equal(get_string(export_id, "controller"), "sci0");
    assert_int_equal(get_number(export_id, "length"), length);
    assert_int_equal(get_number(export_id, "node"), exporter->node);
    assert_int_equal(get_number(export_id, "pid"), exporter->pid);
    assert_int_equal(get_number(export_id, "uid"), geteuid());
    assert_int_equal(get_number(export_id, "gid"), getegid());
    assert_int_equal(get_number(export_id, "connections"), connections);
    assert_int_equal(get_number(export_id, "pinned_bytes"), 0); /* memory of shm is not */
    assert_true(get(export_id, "published", JSON_BOOL)->truth);
    const struct passwd *user = getpwuid(geteuid());
    if (user != NULL)
        assert_string_equal(get_string(export_id, "user"), user->pw_name);
    else
        assert_true(get_is_null(export_id, "user"));
}

static void check_import(const struct json_value *node, const struct actor *importer, uint32_t id,
                         size_t length, const char *rights)
{
    const struct json_value *import = find(node, "imports", "segment_id", id);
    assert_non_null(import);
    assert_int_equal(get_number(import, "length"), length);
    assert_int_equal(get_number(import, "node"), importer->node);
    assert_int_equal(get_number(import, "exporter_node"), 1);
    assert_int_equal(get_number(import, "pid"), importer->pid);
    assert_int_equal(get_number(import, "uid"), geteuid());
    assert_string_equal(get_string(import, "rights"), rights);
    assert_string_equal(get_string(import, "state"), "connected");
}

static void check_node(const struct json_value *node, struct world *world, unsigned exports,
                       unsigned clients, size_t bytes)
{
    char path[RSM_PROTO_PATH_MAX];
    unsigned id = (unsigned)get_number(node, "node");
    world_socket(world, id, path);
    assert_string_equal(get_string(node, "socket"), path);
    assert_string_equal(get_string(node, "daemon"), "embedded");
    assert_int_equal(get_number(node, "pid"), world_daemon(world, id));
    /* rsmstat is one itself, and another one while it asks for what other nodes have here. */
    assert_in_range(get_number(node, "clients"), clients, clients + 1);
    assert_int_equal(get_number(node, "exported_bytes"), bytes);
    assert_int_equal(json_count(get(node, "exports", JSON_ARRAY)), exports);
    assert_int_equal(json_count(get(node, "notes", JSON_ARRAY)), 0);
}

static void check_surroundings(const struct json_value *node, unsigned peer)
{
    const struct json_value *controllers = get(node, "controllers", JSON_ARRAY);
    assert_int_equal(json_count(controllers), 2);
    const struct json_value *sci0 = json_element(controllers, 0);
    assert_string_equal(get_string(sci0, "name"), "sci0");
    assert_string_equal(get_string(sci0, "transport"), "shm");
    assert_int_equal(get_number(sci0, "page_size"), sysconf(_SC_PAGESIZE));
    assert_int_equal(json_count(get(sci0, "access_sizes", JSON_ARRAY)), 4);
    assert_string_equal(get_string(json_element(controllers, 1), "name"), "loopback");
    const struct json_value *topology = get(node, "topology", JSON_ARRAY);
    assert_int_equal(json_count(topology), 1);
    const struct json_value *peers = get(json_element(topology, 0), "peers", JSON_ARRAY);
    assert_int_equal(json_count(peers), 1);
    assert_int_equal(get_number(json_element(peers, 0), "node"), peer);
    assert_string_equal(get_string(json_element(peers, 0), "state"), "active");
}

/* The first entries, of which the second lets node 2 read. */
static void check_access_list(const struct json_value *listed, size_t count)
{
    const struct json_value *list = get(listed, "access_list", JSON_ARRAY);
    assert_int_equal(json_count(list), count);
    for (uint32_t i = 0; i < 2; i++) {
        const struct json_value *entry = json_element(list, i);
        assert_int_equal(get_number(entry, "node"), i + 1);
        assert_string_equal(get_string(entry, "mode"), i == 0 ? "0666" : "0444");
    }
}

WORLD_TEST(test_two_nodes)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = 2 * PARTY_PAGE);
    TELL_OK(exporter, offer, .slot = 1, .id = PARTY_ID + 1, .length = 5 * PARTY_PAGE,
            .acl_count = 2, .acl = {{1, 0666}, {2, 0444}});
    TELL_OK(exporter, create, .slot = 2, .length = PARTY_PAGE);
    TELL_OK(importer, connect, .node = 1);
    TELL_OK(importer, connect, .slot = 1, .node = 1, .id = PARTY_ID + 1,
            .permission = RSM_PERM_READ);
    TELL_OK(importer, post_import);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, post_export, .slot = 1);
    struct json_value *root = run_json(world, geteuid(), "--all-nodes", 0);
    assert_int_equal(json_count(get(root, "nodes", JSON_ARRAY)), 2);
    const struct json_value *one = get_node(root, 1), *two = get_node(root, 2);

    /* Whoever looks is a client, too; node 2's imports are asked for at node 1. */
    check_node(one, world, 3, 3, 8 * PARTY_PAGE);
    check_node(two, world, 0, 2, 0);
    check_surroundings(one, 2);
    check_surroundings(two, 1);
    check_export(one, exporter, PARTY_ID, 2 * PARTY_PAGE, 1);
    check_export(one, exporter, PARTY_ID + 1, 5 * PARTY_PAGE, 1);
    const struct json_value *open = find(one, "exports", "segment_id", PARTY_ID);
    assert_string_equal(get_string(open, "id_space"), "rsmapi");
    assert_int_equal(get_number(open, "pending_events"), 2);
    const struct json_value *listed = find(one, "exports", "segment_id", PARTY_ID + 1);
    assert_int_equal(get_number(listed, "access_list_entries"), 2);
    check_access_list(listed, 2);
    assert_int_equal(json_count(get(open, "access_list", JSON_ARRAY)),
                     get_number(open, "access_list_entries"));
    const struct json_value *created = json_element(get(one, "exports", JSON_ARRAY), 2);
    assert_true(get_is_null(created, "segment_id") && get_is_null(created, "id_space") &&
                get_is_null(created, "segment"));
    assert_false(get(created, "published", JSON_BOOL)->truth);
    for (unsigned i = 1; i <= 2; i++) { /* both ends tell of the same */
        const struct json_value *node = get_node(root, i);
        assert_int_equal(json_count(get(node, "imports", JSON_ARRAY)), 2);
        check_import(node, importer, PARTY_ID, 2 * PARTY_PAGE, "rw");
        check_import(node, importer, PARTY_ID + 1, 5 * PARTY_PAGE, "r");
    }
    const struct json_value *import = find(two, "imports", "segment_id", PARTY_ID + 1);
    assert_int_equal(get_number(import, "pending_events"), 1);
    assert_int_equal(get_number(import, "export"), get_number(listed, "id"));
    json_free(root);
}

/* A list that is longer than what is shown of it says how much is missing. */
WORLD_TEST(test_long_list)
{
    enum { ENTRIES = 20, SHOWN = 16 };
    struct actor *exporter = actor_start(world, 1), *two = actor_start(world, 2);
    struct order order = {.id = PARTY_ID, .length = PARTY_PAGE, .acl_count = ENTRIES};
    TELL_OK(two, open);
    for (unsigned i = 0; i < ENTRIES; i++)
        order.acl[i] = (rsmapi_access_entry_t){i % 2 + 1, i % 2 == 0 ? 0666 : 0444};
    assert_int_equal(party_ask(exporter, party_offer, order).result, RSM_SUCCESS);
    struct json_value *root = run_json(world, geteuid(), "--exports", 0);
    const struct json_value *listed = find(get_node(root, 1), "exports", "segment_id", PARTY_ID);
    assert_int_equal(get_number(listed, "access_list_entries"), ENTRIES);
    check_access_list(listed, SHOWN);
    json_free(root);
    struct outcome outcome = run(world, "--exports");
    assert_non_null(strstr(outcome.out, " list of 20 "));
    assert_null(strstr(outcome.out, "1:0666"));
    outcome_free(&outcome);
    outcome = run(world, "--exports --wide");
    assert_non_null(strstr(outcome.out, "  1:0666 2:0444 1:0666 "));
    assert_non_null(strstr(outcome.out, " 2:0444 and 4 more\n"));
    outcome_free(&outcome);
}

WORLD_TEST(test_aborted)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    TELL_OK(importer, connect, .node = 1);
    TELL_OK(exporter, withdraw);
    struct json_value *root = run_json(world, geteuid(), "--node 2 --imports", 0);
    const struct json_value *imports = get(get_node(root, 2), "imports", JSON_ARRAY);
    assert_int_equal(json_count(imports), 1);
    const struct json_value *import = json_element(imports, 0);
    assert_string_equal(get_string(import, "state"), "aborted");
    assert_true(get_is_null(import, "segment_id") && get_is_null(import, "export") &&
                get_is_null(import, "length"));
    json_free(root);
}

WORLD_TEST(test_many)
{
    enum { COUNT = 77 };
    struct actor *exporter = actor_start(world, 1);
    for (int i = 0; i < COUNT; i++)
        TELL_OK(exporter, offer, .slot = i, .id = PARTY_ID + (uint32_t)i, .length = PARTY_PAGE);
    struct json_value *root = run_json(world, geteuid(), "--exports", 0);
    const struct json_value *exports = get(get_node(root, 1), "exports", JSON_ARRAY);
    assert_int_equal(json_count(exports), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(get_number(json_element(exports, i), "segment_id"), PARTY_ID + i);
    json_free(root);
}

/* ---------------------------------------------------------------- for people */

WORLD_TEST(test_tables)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, umask, .value = 022);
    TELL_OK(exporter, create, .length = 3 * PARTY_PAGE);
    TELL_OK(exporter, publish, .id = PARTY_ID);
    TELL_OK(exporter, offer, .slot = 1, .id = PARTY_ID + 1, .length = PARTY_PAGE, .acl_count = 1,
            .acl = {{2, 0666}});
    TELL_OK(importer, connect, .node = 1);
    struct outcome outcome = run(world, "-n 1 --wide --bytes");
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.err, "");
    assert_true(has_line(outcome.out, "Node 1: rsmd [0-9]+ of user .*, embedded, .*/node-1.sock"));
    assert_true(has_line(outcome.out, "Exported memory: 16384 .*"));
    assert_true(has_line(outcome.out, "Segments and imports: 3 of [0-9]+, clients: 3"));
    assert_true(has_line(outcome.out, "EXPORTED +SIZE +OWNER +PID +ACCESS +CONNECTIONS +EVENTS +"
                                      "CONTROLLER +STATE +PINNED +ACCESS-LIST"));
    assert_true(
        has_line(outcome.out, "0x400000 +12288 +[^ ]+ +[0-9]+ +0755 +1 +0 +sci0 +published +0 +-"));
    assert_true(has_line(
        outcome.out, "0x400001 +4096 +[^ ]+ +[0-9]+ +list of 1 +0 +0 +sci0 +published +0 +2:0666"));
    assert_true(has_line(outcome.out, "0x400000 +1 +12288 +2 +[^ ]+ +[0-9]+ +rw +connected +0 +"
                                      "sci0 +shm +- +- +0 +0"));
    assert_true(has_line(outcome.out, "sci0 +2 +sci0 +2 +active"));
    assert_true(has_line(outcome.out,
                         "SHARE-OF +CONNECTIONS +DESCRIPTORS +SEGMENTS +MEMORY +PINNED "
                         "+REQUESTS +RECORDS +INTERRUPTS +THREADS"));
    assert_true(has_line(outcome.out, "\\(limit\\) +4096 +[0-9]+ +65535 +[0-9]+ .*"));
    assert_true(has_line(outcome.out, "\\(in use\\) +3 +[0-9]+ +3 +16384 +0 +0 +0 +0 +0"));
    assert_true(has_line(outcome.out, "[^ (]+ +3 +[0-9]+ +3 +16384 +0 +0 +0 +0 +0"));
    assert_true(has_line(outcome.out, "sci0 +shm +- +1 +1,2,4,8 +1,2,4,8 +4096 .*"));
    outcome_free(&outcome);
    outcome = run(world, "-n 1");
    for (const char *line = outcome.out; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80 || strstr(line, ".sock") != NULL);
    assert_true(has_line(outcome.out, "0x400000 +1 +12K +2 +[^ ]+ +[0-9]+ +rw +connected +sci0"));
    outcome_free(&outcome);
    outcome = run(world, "-n 1 --interrupts");
    assert_true(has_line(outcome.out, "none"));
    outcome_free(&outcome);
    outcome = run(world, "--bytes --exports");
    assert_true(has_line(outcome.out, "0x400000 +12288 .*"));
    outcome_free(&outcome);
    outcome = run(world, "--exports");
    assert_true(has_line(outcome.out, "Exported memory: 16K .*"));
    assert_true(has_line(outcome.out, "0x400000 +12K .*"));
    assert_true(has_line(outcome.out, "0x400001 +4.0K .*"));
    assert_null(strstr(outcome.out, "IMPORTED"));
    assert_null(strstr(outcome.out, "TRANSPORT"));
    assert_null(strstr(outcome.out, "PEER"));
    outcome_free(&outcome);
}

WORLD_TEST(test_sections)
{
    static const char *const names[] = {"controllers", "topology", "shares", "exports", "imports"};
    enum { NAMES = sizeof names / sizeof names[0] };
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE);
    /* Each by itself or not among others; all 31 would take long under sanitizers. */
    for (unsigned wanted = 1; wanted < 1u << NAMES; wanted += 3) {
        char options[128] = "";
        for (unsigned i = 0; i < NAMES; i++)
            if ((wanted & 1u << i) != 0)
                snprintf(options + strlen(options), sizeof options - strlen(options), " --%s",
                         names[i]);
        struct json_value *root = run_json(world, geteuid(), options, 0);
        for (unsigned i = 0; i < NAMES; i++)
            assert_int_equal(json_member(get_node(root, 1), names[i]) != NULL,
                             (wanted & 1u << i) != 0);
        json_free(root);
    }
}

/* ---------------------------------------------------------------- users */

static void count_segments(const struct world *world, uid_t uid, size_t exports, size_t imports)
{
    struct json_value *root = run_json(world, uid, "", 0);
    const struct json_value *node = get_node(root, 1);
    assert_string_equal(get_string(node, "daemon"), "system");
    assert_int_equal(get_number(node, "uid"), 0);
    assert_int_equal(get_number(node, "segments"), 3);
    assert_int_equal(json_count(get(node, "exports", JSON_ARRAY)), exports);
    assert_int_equal(json_count(get(node, "imports", JSON_ARRAY)), imports);
    json_free(root);
}

SHARED_NODE_TEST(test_users)
{
    if (!build_is_reachable()) {
        print_message("not run: other users cannot get at the programs of this build\n");
        skip();
    }
    struct actor *owner = actor_start_as(world, 1, UNPRIVILEGED_UID);
    struct actor *other = actor_start_as(world, 1, OTHER_UID);
    TELL_OK(owner, offer, .length = PARTY_PAGE, .acl_count = 1, .acl = {{1, 0644}});
    TELL_OK(owner, create, .slot = 1, .length = PARTY_PAGE);
    TELL_OK(other, connect, .node = 1, .permission = RSM_PERM_READ);
    count_segments(world, 0, 2, 1);
    count_segments(world, UNPRIVILEGED_UID, 2, 1);
    count_segments(world, OTHER_UID, 1, 1);
    count_segments(world, 65532, 0, 0);
    struct json_value *root = run_json(world, OTHER_UID, "--exports", 0);
    const struct json_value *export_id = find(get_node(root, 1), "exports", "segment_id", PARTY_ID);
    assert_int_equal(get_number(export_id, "uid"), UNPRIVILEGED_UID);
    assert_true(get_is_null(export_id, "mode") && get_is_null(export_id, "connections") &&
                get_is_null(export_id, "access_list_entries") &&
                get_is_null(export_id, "access_list"));
    json_free(root);
}

/* What the daemon of node 1 says that a user has, to @p asker; NULL: nothing. */
static struct json_value *shares_of(const struct world *world, uid_t asker, uid_t uid,
                                    const struct json_value **found)
{
    struct json_value *root = run_json(world, asker, "--shares", 0);
    const struct json_value *shares = get(get_node(root, 1), "shares", JSON_OBJECT);
    assert_int_equal(json_count(get(shares, "limits", JSON_OBJECT)), 9);
    const struct json_value *most =
        get(get(shares, "limits", JSON_OBJECT), "segments", JSON_OBJECT);
    assert_int_equal(get_number(most, "total"), 65535);
    assert_int_equal(get_number(most, "users"), 65535 - 65535 * 5 / 100);
    assert_int_equal(get_number(most, "one_user"), 65535 * 75 / 100);
    assert_int_equal(get_number(most, "used"), 3);
    *found = find(shares, "users", "uid", uid);
    return root;
}

SHARED_NODE_TEST(test_shares)
{
    if (!build_is_reachable()) {
        print_message("not run: other users cannot get at the programs of this build\n");
        skip();
    }
    const struct json_value *user;
    struct actor *owner = actor_start_as(world, 1, UNPRIVILEGED_UID);
    struct actor *other = actor_start_as(world, 1, OTHER_UID);
    TELL_OK(owner, offer, .length = PARTY_PAGE, .acl_count = 1, .acl = {{1, 0666}});
    TELL_OK(owner, create, .slot = 1, .length = PARTY_PAGE);
    TELL_OK(other, connect, .node = 1);
    struct json_value *root = shares_of(world, 0, UNPRIVILEGED_UID, &user);
    assert_non_null(user);
    assert_true(get_is_null(user, "node"));
    assert_non_null(json_member(user, "user"));
    assert_int_equal(get_number(user, "connections"), 1);
    assert_int_equal(get_number(user, "segments"), 2);
    assert_int_equal(get_number(user, "exported_bytes"), 2 * PARTY_PAGE);
    assert_int_equal(get_number(user, "pinned_bytes"), 0);
    json_free(root);
    json_free(shares_of(world, 0, OTHER_UID, &user));
    root = shares_of(world, OTHER_UID, OTHER_UID, &user); /* the tool is a client, too */
    assert_int_equal(get_number(user, "connections"), 2);
    assert_int_equal(get_number(user, "segments"), 1);
    json_free(root);
    root = shares_of(world, OTHER_UID, UNPRIVILEGED_UID, &user);
    assert_null(user);
    json_free(root);
}

/* ---------------------------------------------------------------- nobody there */

WORLD_TEST(test_no_daemon)
{
    char expected[256];
    struct outcome outcome = run(world, "--node 5");
    snprintf(expected, sizeof expected, "rsmstat: no rsmd for node 5 at %s/node-5.sock\n",
             world->directory);
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.err, expected);
    assert_string_equal(outcome.out, "");
    assert_int_equal(world_daemon_count(world), 0);
    outcome_free(&outcome);
    outcome = run(world, "--all-nodes");
    assert_int_equal(outcome.status, 1);
    assert_non_null(strstr(outcome.err, "no rsmd in "));
    outcome_free(&outcome);
    struct json_value *root = run_json(world, geteuid(), "--node 5", 1);
    assert_non_null(strstr(get_string(get_node(root, 5), "error"), "no rsmd for node 5"));
    json_free(root);
}

/* One of several has left its socket behind. */
WORLD_TEST(test_dead_daemon)
{
    struct actor *one = actor_start(world, 1), *two = actor_start(world, 2);
    TELL_OK(one, offer, .length = PARTY_PAGE);
    TELL_OK(two, offer, .length = PARTY_PAGE);
    world_daemon_kill(world, 2);
    struct json_value *root = run_json(world, geteuid(), "-a", 1);
    assert_int_equal(json_count(get(get_node(root, 1), "exports", JSON_ARRAY)), 1);
    assert_non_null(strstr(get_string(get_node(root, 2), "error"), "no rsmd for node 2"));
    json_free(root);
}

/* ---------------------------------------------------------------- controllers that failed */

enum { FAILED = 15 /* more than fit into one page */ };

static int failed_setup(void **state)
{
    char text[4096] = "[controller sci0]\ntransport = shm\n";
    for (unsigned i = 0; i < FAILED; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "[controller away%u]\ntransport = ntb\ndevice = /dev/rsm_ntb-away%u\n", i, i);
    return shared_node_setup_with(state, text);
}

TEST_WITH(struct world *world, test_failed, failed_setup, shared_node_teardown)
{
    char name[16], device[32];
    struct json_value *root = run_json(world, geteuid(), "--controllers", 0);
    const struct json_value *node = get_node(root, 1);
    const struct json_value *failed = get(node, "failed_controllers", JSON_ARRAY);
    assert_int_equal(json_count(get(node, "controllers", JSON_ARRAY)), 2);
    assert_int_equal(json_count(failed), FAILED);
    for (unsigned i = 0; i < FAILED; i++) {
        const struct json_value *one = json_element(failed, i);
        snprintf(name, sizeof name, "away%u", i);
        snprintf(device, sizeof device, "/dev/rsm_ntb-away%u", i);
        assert_string_equal(get_string(one, "name"), name);
        assert_string_equal(get_string(one, "transport"), "ntb");
        assert_string_equal(get_string(one, "device"), device);
        assert_non_null(strstr(get_string(one, "reason"), device));
        assert_non_null(strstr(get_string(one, "reason"), "install")); /* what to do */
    }
    json_free(root);
    struct outcome outcome = run_as(world, OTHER_UID, "--controllers");
    assert_int_equal(outcome.status, 0);
    assert_true(has_line(outcome.out, "FAILED-CONTROLLER +TRANSPORT +DEVICE +WHY"));
    assert_true(has_line(outcome.out, "away14 +ntb +/dev/rsm_ntb-away14\n    ntb: cannot open .*"));
    outcome_free(&outcome);
    outcome = run(world, "--controllers --wide --color");
    assert_true(has_line(outcome.out, "\033\\[31maway14\033\\[0m +ntb +/dev/rsm_ntb-away14 +"
                                      "ntb: cannot open .*"));
    outcome_free(&outcome);
}

WORLD_TEST(test_usage)
{
    static const char *const wrong[] = {
        "--node 0",     "--node 65536", "--node x",         "--nothing", "--watch=0",
        "--watch=3601", "--watch=x",    "--all-nodes -n 1", "word",      "--color=red"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct outcome outcome = run(world, wrong[i]);
        assert_int_equal(outcome.status, 2);
        assert_string_equal(outcome.out, "");
        assert_string_not_equal(outcome.err, "");
        outcome_free(&outcome);
    }
    struct outcome outcome = run(world, "--help");
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.out, "--runtime-dir"));
    outcome_free(&outcome);
    outcome = run(world, "--version");
    assert_int_equal(outcome.status, 0);
    assert_int_equal(strncmp(outcome.out, "rsmstat (librsm) ", 17), 0);
    outcome_free(&outcome);
}

/* rsmstat with @p stopped daemons that do not answer, ms. */
static int64_t time_with_stopped(const struct world *world, pid_t daemons[], unsigned stopped)
{
    for (unsigned i = 1; i <= stopped; i++)
        process_freeze(daemons[i]);
    struct outcome outcome = run(world, "--all-nodes --json");
    struct json_value *root = parse(outcome.out, outcome.out_length);
    for (unsigned i = 0; i <= stopped; i++)
        assert_int_equal(json_member(get_node(root, i + 1), "error") != NULL, i > 0);
    for (unsigned i = 1; i <= stopped; i++)
        process_thaw(daemons[i]);
    json_free(root);
    int64_t took = outcome.ms;
    outcome_free(&outcome);
    return took;
}

/* Daemons that do not answer are waited for at the same time: seven of them for less time than two would take one after
 * the other. */
WORLD_TEST(test_stopped_daemons)
{
    enum { STOPPED = 7, PATIENCE_MS = 2000, TRIES = 3 };
    pid_t daemons[STOPPED + 1];
    int64_t least = INT64_MAX;
    for (unsigned i = 0; i <= STOPPED; i++)
        daemons[i] = world_daemon_start(world, i + 1);
    for (unsigned i = 0; i < TRIES && least >= 2 * PATIENCE_MS; i++) {
        int64_t took = time_with_stopped(world, daemons, STOPPED);
        assert_true(took >= PATIENCE_MS - 100); /* they were waited for */
        least = took < least ? took : least;
    }
    for (unsigned i = 0; i <= STOPPED; i++)
        world_daemon_end(daemons[i]);
    assert_in_range(least, 1, 2 * PATIENCE_MS - 1);
}

/* What a collector reads: each metric once, its samples together, names and numbers as it wants them. */
WORLD_TEST(test_prometheus)
{
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .id = PARTY_ID, .length = PARTY_PAGE);
    struct actor *importer = actor_start(world, 1);
    TELL_OK(importer, connect, .node = 1);
    TELL_OK(importer, disconnect);
    struct outcome outcome = run(world, "-n 1 --prometheus");
    assert_true(has_line(outcome.out, "# TYPE rsm_connects_total counter"));
    assert_true(has_line(outcome.out, "rsm_connects_total\\{node=\"1\"\\} 1"));
    assert_true(has_line(outcome.out, "# TYPE rsm_link_uptime_seconds gauge"));
    assert_true(has_line(outcome.out, "# HELP rsm_link_uptime_seconds Seconds since .*"));
    assert_true(has_line(outcome.out, "# TYPE rsm_link_sent_bytes_total counter"));
    assert_int_equal(outcome.status, 0);
    assert_true(has_line(outcome.out, "# TYPE rsm_up gauge"));
    assert_true(has_line(outcome.out, "rsm_up\\{node=\"1\"\\} 1"));
    assert_true(has_line(outcome.out, "rsm_exported_bytes\\{node=\"1\"\\} 4096"));
    assert_true(has_line(outcome.out, "rsm_segments\\{node=\"1\"\\} 1"));
    assert_true(has_line(outcome.out, "rsm_controller_up\\{node=\"1\",controller=\"sci0\","
                                      "transport=\"shm\"\\} 1"));
    assert_true(has_line(outcome.out, "rsm_resource_used\\{node=\"1\",resource=\"segments\"\\} 1"));
    outcome_free(&outcome);
    outcome = run(world, "-n 9 --prometheus");
    assert_true(has_line(outcome.out, "rsm_up\\{node=\"9\"\\} 0"));
    outcome_free(&outcome);
    outcome = run(world, "--prometheus --json");
    assert_int_equal(outcome.status, 2);
    outcome_free(&outcome);
}
