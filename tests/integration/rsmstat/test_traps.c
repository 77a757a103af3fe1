/* SPDX-License-Identifier: BSD-3-Clause */
/* How the mapping engine traps accesses, as rsmstat shows it. */
#include "party.h"
#include "process.h"
#include "run.h"
#include "shared_node.h"

enum { OTHER_UID = 65533, EVICTED_LENGTH = 512 * PARTY_PAGE };

struct settings {
    char trap[16], mode[16], cache_mib[16]; /* "": not set */
};

static int set_engine(void *bytes)
{
    const struct settings *settings = bytes;
    NEED(setenv("RSM_SHM_DIRECT", "0", 1) == 0);
    NEED(settings->trap[0] == '\0' || setenv("RSM_MAP_TRAP", settings->trap, 1) == 0);
    NEED(settings->cache_mib[0] == '\0' ||
         setenv("RSM_MAP_CACHE_MIB", settings->cache_mib, 1) == 0);
    return settings->mode[0] == '\0' ? 0 : setenv("RSM_MAP_MODE", settings->mode, 1);
}

/* Whether a system call accepts a page of the mapping that nobody has touched: in .value. */
static int write_from_mapping(void *bytes)
{
    struct order *order = bytes;
    int ends[2];
    NEED(pipe(ends) == 0);
    ssize_t written = write(ends[1], party_import(0)->address, 8);
    NEED(written == 8 || errno == EFAULT);
    order->value = written == 8;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static bool is_string(const struct json_value *object, const char *key, const char *text)
{
    const struct json_value *value = json_member(object, key);
    assert_non_null(value);
    return text == NULL ? value->kind == JSON_NULL
                        : value->kind == JSON_STRING && strcmp(value->string, text) == 0;
}

/* The import of a process as both nodes show it. The importer's word has no reply that anybody
 * waited for, but rsmd serves it before what comes later. */
static void expect_trap(struct world *world, const struct actor *importer, const char *trap,
                        const char *reason)
{
    struct json_value *root = run_json(world, 0, "--imports", 0);
    const struct json_value *import =
        find(get_node(root, 1), "imports", "pid", (uint64_t)importer->pid);
    assert_non_null(import);
    if (!is_string(import, "trap", trap) || !is_string(import, "trap_reason", reason))
        fail_msg("expected %s, %s", trap != NULL ? trap : "null", reason != NULL ? reason : "null");
    json_free(root);
}

static struct actor *attach(struct world *world, struct actor *importer,
                            const struct settings *settings, bool *maps)
{
    struct settings copy = *settings;
    assert_int_equal(actor_run(importer, set_engine, &copy, sizeof copy), 0);
    TELL_OK(importer, connect, .node = 1);
    expect_trap(world, importer, NULL, NULL);
    int result = TELL(importer, map, .length = PARTY_PAGE);
    assert_true(result == RSM_SUCCESS || result == RSMERR_MAP_FAILED);
    *maps = result == RSM_SUCCESS;
    if (!*maps)
        expect_trap(world, importer, NULL, NULL);
    return importer;
}

/* An instruction that reads its operand, too, and is not decoded. */
static int add_locked(void *unused)
{
    (void)atomic_fetch_add((_Atomic uint32_t *)party_import(0)->address, 1);
    return 0;
}

static bool decodes(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

static bool is_number(const struct json_value *object, const char *key, uint64_t number)
{
    const struct json_value *value = json_member(object, key);
    return value != NULL && value->kind == JSON_NUMBER && value->number == number;
}

/* Stores by instructions that are not decoded. A page may be flushed before the instruction that it
 * was opened for is executed: one can be counted more than once. */
static uint64_t stores_at(struct world *world, unsigned node, const struct actor *importer)
{
    struct json_value *root =
        run_json(world, 0, node == 1 ? "-n 1 --imports" : "-n 2 --imports", 0);
    const struct json_value *import =
        find(get_node(root, node), "imports", "pid", (uint64_t)importer->pid);
    assert_non_null(import);
    const struct json_value *stores = json_member(import, "inexact_stores");
    assert_non_null(stores);
    assert_true(is_number(stores, "blocked", 0) && is_number(stores, "by_calls", 0));
    const struct json_value *unknown = json_member(stores, "unknown");
    assert_true(unknown != NULL && unknown->kind == JSON_NUMBER);
    uint64_t count = (uint64_t)unknown->number;
    json_free(root);
    return count;
}

/* As the importer's node and the exporter's have it. */
static uint64_t inexact_stores(struct world *world, const struct actor *importer)
{
    uint64_t count = stores_at(world, 2, importer);
    assert_int_equal(stores_at(world, 1, importer), count);
    return count;
}

static bool serves_system_calls(struct actor *importer)
{
    struct order order = party_ask(importer, write_from_mapping, (struct order){.id = 0});
    assert_int_equal(order.result, 0);
    return order.value != 0;
}

/* The daemon of tests/wire/before.c does not: all else works as with any other. */
static bool daemon_counts(void)
{
    return getenv("RSM_DAEMON_BEFORE") == NULL;
}

/* Shown when the program next orders or ends what it did. */
WORLD_TEST(test_inexact_stores)
{
    bool maps;
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}});
    struct actor *importer =
        attach(world, actor_start(world, 2), &(struct settings){.trap = "signal"}, &maps);
    assert_true(maps);
    assert_int_equal(inexact_stores(world, importer), 0);
    if (!decodes()) {
        print_message("    not run: no instruction is decoded for this processor\n");
        return;
    }
    TELL_OK(importer, init_barrier);
    TELL_OK(importer, open_barrier);
    assert_int_equal(actor_run(importer, add_locked, NULL, 0), 0);
    TELL_OK(importer, close_barrier);
    uint64_t first = inexact_stores(world, importer);
    assert_int_equal(first > 0, daemon_counts());
    for (unsigned i = 0; i < 400; i++) { /* reports are answered, and nothing waits for that */
        TELL_OK(importer, open_barrier);
        assert_int_equal(actor_run(importer, add_locked, NULL, 0), 0);
        TELL_OK(importer, close_barrier);
    }
    TELL_OK(importer, unmap);
    assert_int_equal(inexact_stores(world, importer) > first, daemon_counts());
    if (!daemon_counts())
        return;
    struct outcome outcome = run(world, "-n 1 --imports --wide");
    assert_true(has_line(outcome.out, "IMPORTED .*TRAP +WHY +INEXACT +EVICTED"));
    assert_true(has_line(outcome.out, "0x400000 .*signal +requested +[1-9][0-9]* +0"));
    outcome_free(&outcome);
}

/* A load from each page of the mapping: far more than its cache has room for. */
static int load_all_over(void *unused)
{
    struct party_import *import = party_import(0);
    const volatile uint8_t *bytes = import->address;
    unsigned sum = 0;
    for (size_t offset = 0; offset < EVICTED_LENGTH; offset += PARTY_PAGE)
        sum += bytes[offset];
    return sum != 0;
}

WORLD_TEST(test_evicted_pages)
{
    bool maps;
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = EVICTED_LENGTH, .acl_count = 2,
            .acl = {{1, 0666}, {2, 0666}});
    struct actor *importer = attach(world, actor_start(world, 2),
                                    &(struct settings){.trap = "signal", .cache_mib = "1"}, &maps);
    assert_true(maps);
    TELL_OK(importer, unmap);
    TELL_OK(importer, map, .length = EVICTED_LENGTH);
    assert_int_equal(actor_run(importer, load_all_over, NULL, 0), 0);
    TELL_OK(importer, unmap);
    struct json_value *root = run_json(world, 0, "-n 1 --imports", 0);
    const struct json_value *import =
        find(get_node(root, 1), "imports", "pid", (uint64_t)importer->pid);
    assert_non_null(import);
    const struct json_value *evicted = json_member(import, "evicted_pages");
    assert_true(evicted != NULL && evicted->kind == JSON_NUMBER);
    assert_int_equal(evicted->number > 100, daemon_counts());
    json_free(root);
}

WORLD_TEST(test_traps)
{
    bool maps;
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}});
    /* Another node's process: it reports to the exporter's daemon. */
    struct actor *importer =
        attach(world, actor_start(world, 2), &(struct settings){.trap = "signal"}, &maps);
    assert_true(maps);
    expect_trap(world, importer, "signal", "requested");
    struct outcome outcome = run(world, "-n 1 --imports --wide");
    assert_true(
        has_line(outcome.out, "IMPORTED .*CONTROLLER +TRANSPORT +TRAP +WHY +INEXACT +EVICTED"));
    assert_true(
        has_line(outcome.out, "0x400000 .*connected +0 +sci0 +shm +signal +requested +0 +0"));
    outcome_free(&outcome);
    TELL_OK(importer, unmap);
    TELL_OK(importer, map, .length = PARTY_PAGE);
    expect_trap(world, importer, "signal", "requested");

    importer = attach(world, actor_start(world, 1), &(struct settings){.trap = "thread"}, &maps);
    if (maps)
        expect_trap(world, importer, "thread",
                    serves_system_calls(importer) ? NULL : "no-permission");
    else
        print_message("    trap=thread not run: this kernel has not what it takes\n");
    bool has_thread = maps;

    importer = attach(world, actor_start(world, 1), &(struct settings){.trap = "auto"}, &maps);
    assert_true(maps);
    bool serves = serves_system_calls(importer);
    expect_trap(world, importer, serves ? "thread" : "signal",
                serves       ? NULL
                : has_thread ? "no-permission"
                             : "no-userfaultfd");

    importer = attach(world, actor_start(world, 1), &(struct settings){.mode = "mirror"}, &maps);
    if (maps)
        expect_trap(world, importer, "mirror", "requested");
    importer = attach(world, actor_start(world, 1), &(struct settings){.mode = "precise"}, &maps);
    if (maps) /* where there is a decoder */
        expect_trap(world, importer, "signal", "decoding");
}

WORLD_TEST(test_trap_of_a_write_only_connection)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE, .acl_count = 1, .acl = {{1, 0666}});
    assert_int_equal(
        actor_run(importer, set_engine, &(struct settings){.mode = ""}, sizeof(struct settings)),
        0);
    TELL_OK(importer, connect, .node = 1, .permission = RSM_PERM_WRITE);
    TELL_OK(importer, map, .length = PARTY_PAGE, .permission = RSM_PERM_WRITE);
    expect_trap(world, importer, "signal", "write-only");
}

/* A user without privileges: what the kernel lets him do is what is shown. */
SHARED_NODE_TEST(test_trap_of_a_user)
{
    if (!build_is_reachable()) {
        print_message("not run: other users cannot get at the programs of this build\n");
        skip();
    }
    bool maps;
    struct actor *exporter = actor_start(world, 1);
    TELL_OK(exporter, offer, .length = PARTY_PAGE, .acl_count = 1, .acl = {{1, 0666}});
    struct actor *importer = attach(world, actor_start_as(world, 1, OTHER_UID),
                                    &(struct settings){.trap = "thread"}, &maps);
    bool has_thread = maps;
    if (maps)
        expect_trap(world, importer, "thread",
                    serves_system_calls(importer) ? NULL : "no-permission");
    importer = attach(world, actor_start_as(world, 1, OTHER_UID),
                      &(struct settings){.trap = "auto"}, &maps);
    assert_true(maps);
    bool serves = serves_system_calls(importer);
    expect_trap(world, importer, serves ? "thread" : "signal",
                serves       ? NULL
                : has_thread ? "no-permission"
                             : "no-userfaultfd");
}
