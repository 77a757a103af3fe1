/* SPDX-License-Identifier: BSD-3-Clause */
/* RSMAPI, the mapping engine and a second user of the core in one process share one core: one link
 * to each daemon, one registry of pages, one chain of SIGSEGV handlers. */
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>

#include "party.h"
#include "sandbox.h"
#include "second_user.h"

enum {
    HERE = 1,
    THERE = 2,
    PAGES = 4,
    LENGTH = PAGES * PARTY_PAGE,
    HALF = LENGTH / 2,
    OTHER_ID = PARTY_ID + 1,
    FROM_THERE = PARTY_ID + 2,
};

/* ---------------------------------------------------------------- what actors do */

/* Offer what lies in slot 0 from .offset on as .id. */
static int offer_second(void *bytes)
{
    const struct order *order = bytes;
    return second_offer(party_export(order->slot)->memory + order->offset, order->length,
                        order->id);
}

static int withdraw_second(void *unused)
{
    return second_withdraw();
}

static int attach_second(void *bytes)
{
    const struct order *order = bytes;
    return second_attach(order->node, order->id, order->length);
}

static int detach_second(void *unused)
{
    return second_detach();
}

static int put_second(void *bytes)
{
    const struct order *order = bytes;
    return second_put((uint64_t)order->offset, order->value);
}

static int get_second(void *bytes)
{
    struct order *order = bytes;
    return second_get((uint64_t)order->offset, &order->value);
}

static int poke_second(void *bytes)
{
    const struct order *order = bytes;
    second_mapping()[order->offset / 8] = order->value;
    return 0;
}

/* How many connections to daemons this process has, into .value. */
static int count_links(void *bytes)
{
    struct order *order = bytes;
    DIR *directory = opendir("/proc/self/fd");
    NEED(directory != NULL);
    order->value = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct sockaddr_un peer = {.sun_family = AF_UNSPEC};
        socklen_t length = sizeof peer - 1;
        if (getpeername(atoi(entry->d_name), (struct sockaddr *)&peer, &length) == 0 &&
            peer.sun_family == AF_UNIX && strstr(peer.sun_path, "/node-") != NULL)
            order->value++;
    }
    closedir(directory);
    return 0;
}

/* ---- the application's own handler */

static sigjmp_buf back;
static volatile sig_atomic_t own_faults;

static void own_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    own_faults++;
    siglongjmp(back, 1);
}

static int install_own_handler(void *unused)
{
    struct sigaction action = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO};
    return sigaction(SIGSEGV, &action, NULL);
}

static int has_own_handler(void *unused)
{
    struct sigaction present;
    return sigaction(SIGSEGV, NULL, &present) == 0 && present.sa_sigaction == own_handler;
}

/* A fault that is nobody's reaches the application, once. */
static int fault_of_its_own(void *unused)
{
    volatile char *page = mmap(NULL, PARTY_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(page != MAP_FAILED);
    own_faults = 0;
    if (sigsetjmp(back, 1) == 0)
        *page = 1;
    munmap((void *)(uintptr_t)page, PARTY_PAGE);
    return own_faults == 1 ? 0 : -1;
}

/* Where the handler of SIGSEGV is: its address in .address; -1 unless it is librsm.so.2's. */
static int find_handler(void *bytes)
{
    struct order *order = bytes;
    struct sigaction present;
    Dl_info where;
    NEED(sigaction(SIGSEGV, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) != 0);
    memcpy(&order->address, &present.sa_sigaction, sizeof order->address);
    NEED(dladdr(order->address, &where) != 0);
    const char *name = strrchr(where.dli_fname, '/');
    NEED(name != NULL && strncmp(name, "/librsm.so.2", strlen("/librsm.so.2")) == 0);
    return 0;
}

static int trap_second(void *unused)
{
    return second_trap();
}

static int untrap_second(void *unused)
{
    second_untrap();
    return 0;
}

static int use_other_modules(void *unused)
{
    return setenv("RSM_MODULE_DIR", OTHER_MODULES, 1);
}

/* ---------------------------------------------------------------- the tests */

#define SAY(actor, function, ...)    party_ask((actor), (function), (struct order){__VA_ARGS__}).result
#define SAY_OK(actor, function, ...) assert_int_equal(SAY((actor), (function), __VA_ARGS__), 0)

static uint64_t links_of(struct actor *actor)
{
    struct order counted = party_ask(actor, count_links, (struct order){.result = 0});
    assert_int_equal(counted.result, 0);
    return counted.value;
}

static uint64_t got_by_second(struct actor *actor, off_t offset)
{
    struct order got = party_ask(actor, get_second, (struct order){.offset = offset});
    assert_int_equal(got.result, 0);
    return got.value;
}

/* Export and import, of the own node and of another one, by both: a connection for each node. */
WORLD_TEST(test_one_link)
{
    struct actor *both = actor_start(world, HERE), *there = actor_start(world, THERE);
    TELL_OK(there, offer, .length = LENGTH, .id = FROM_THERE);
    TELL_OK(both, offer, .length = LENGTH);
    assert_int_equal(links_of(both), 1);
    TELL_OK(both, create, .slot = 1, .length = LENGTH);
    SAY_OK(both, offer_second, .slot = 1, .length = LENGTH, .id = OTHER_ID);
    assert_int_equal(links_of(both), 1);

    TELL_OK(both, attach, .node = THERE, .length = LENGTH, .id = FROM_THERE);
    assert_int_equal(links_of(both), 2);
    SAY_OK(both, attach_second, .node = THERE, .length = LENGTH, .id = FROM_THERE);
    SAY_OK(both, put_second, .offset = 8, .value = 77);
    TELL_OK(both, open_barrier);
    assert_int_equal(ASK(both, peek, .offset = 8).value, 77);
    assert_int_equal(links_of(both), 2);
    SAY_OK(both, detach_second);
    TELL_OK(both, detach);
}

/* Each imports what the other exports, in one process and on one node. */
WORLD_TEST(test_each_others_segments)
{
    struct actor *both = actor_start(world, HERE);
    TELL_OK(both, offer, .length = LENGTH);
    TELL_OK(both, create, .slot = 1, .length = LENGTH);
    SAY_OK(both, offer_second, .slot = 1, .length = LENGTH, .id = OTHER_ID);
    TELL_OK(both, attach, .node = HERE, .length = LENGTH, .id = OTHER_ID);
    SAY_OK(both, attach_second, .node = HERE, .length = LENGTH, .id = PARTY_ID);

    SAY_OK(both, put_second, .offset = 16, .value = 21);
    assert_int_equal(ASK(both, load, .offset = 16).value, 21);
    TELL_OK(both, put64, .offset = 24, .value = 22);
    assert_int_equal(ASK(both, load, .slot = 1, .offset = 24).value, 22);
    assert_int_equal(links_of(both), 1);
    /* Ids are of one node, whoever publishes. */
    TELL_OK(both, create, .slot = 2, .length = LENGTH);
    TELL_GET(both, publish, RSMERR_SEGID_IN_USE, .slot = 2, .id = OTHER_ID);

    SAY_OK(both, withdraw_second);
    TELL_GET(both, await_abort, RSMERR_CONN_ABORTED, .timeout = 5000);
    TELL_OK(both, detach);
    SAY_OK(both, detach_second);
}

/* Segments of the two that overlap lie on the same pages, and neither end takes them from the
 * other. */
WORLD_TEST(test_one_registry)
{
    struct actor *both = actor_start(world, HERE), *there = actor_start(world, THERE);
    TELL_OK(both, offer, .length = LENGTH);
    SAY_OK(both, offer_second, .offset = HALF, .length = HALF, .id = OTHER_ID);
    TELL_OK(there, attach, .node = HERE, .length = LENGTH);
    SAY_OK(there, attach_second, .node = HERE, .length = HALF, .id = OTHER_ID);

    TELL_OK(there, put64, .offset = HALF + 8, .value = 31);
    assert_int_equal(got_by_second(there, 8), 31);
    assert_int_equal(ASK(both, load, .offset = HALF + 8).value, 31);
    SAY_OK(there, put_second, .offset = 16, .value = 32);
    assert_int_equal(ASK(both, load, .offset = HALF + 16).value, 32);

    SAY_OK(both, withdraw_second);
    TELL_OK(there, put64, .offset = HALF + 24, .value = 33);
    assert_int_equal(ASK(both, load, .offset = HALF + 24).value, 33);
    SAY_OK(there, detach_second);
    TELL_OK(there, detach);
    TELL_OK(both, withdraw);
}

static void store_through_both(struct actor *both, struct actor *there, uint64_t value)
{
    TELL_OK(both, open_barrier);
    TELL_OK(both, poke, .offset = 32, .value = value);
    TELL_OK(both, close_barrier);
    SAY_OK(both, poke_second, .offset = PARTY_PAGE, .value = value + 1);
    /* Before the put, which comes behind what was stored. */
    SAY_OK(both, put_second, .offset = 40, .value = value + 2);
    assert_int_equal(ASK(there, load, .offset = 32).value, value);
    assert_int_equal(ASK(there, load, .offset = PARTY_PAGE).value, value + 1);
    assert_int_equal(ASK(there, load, .offset = 40).value, value + 2);
}

/* The engine's traps, the freeze of the page swap and a handler of the second user, behind one
 * handler of the process. */
WORLD_TEST(test_one_chain)
{
    struct actor *both = actor_start(world, HERE), *there = actor_start(world, THERE);
    sandbox_enter(both, SANDBOX_NO_FAULTFD); /* the swap freezes by SIGSEGV */
    TELL_OK(there, offer, .length = LENGTH, .id = FROM_THERE);
    SAY_OK(both, install_own_handler);
    TELL_OK(both, attach, .node = THERE, .length = LENGTH, .id = FROM_THERE);
    SAY_OK(both, attach_second, .node = THERE, .length = LENGTH, .id = FROM_THERE);
    struct order engine = party_ask(both, find_handler, (struct order){.result = 0});
    assert_int_equal(engine.result, 0);
    store_through_both(both, there, 41);

    SAY_OK(both, trap_second);
    struct order still = party_ask(both, find_handler, (struct order){.result = 0});
    assert_int_equal(still.result, 0);
    assert_ptr_equal(still.address, engine.address);
    TELL_OK(both, start_storing, .offset = 3 * PARTY_PAGE);
    TELL_OK(both, offer, .kind = MEMORY_DATA, .length = LENGTH);
    TELL_OK(both, create, .slot = 1, .kind = MEMORY_FILE, .length = LENGTH);
    SAY_OK(both, offer_second, .slot = 1, .length = LENGTH, .id = OTHER_ID);
    TELL_OK(both, progress, .value = 10);
    TELL_OK(both, stop_storing);
    still = party_ask(both, find_handler, (struct order){.result = 0});
    assert_int_equal(still.result, 0);
    assert_ptr_equal(still.address, engine.address);
    store_through_both(both, there, 51);
    SAY_OK(both, fault_of_its_own);

    /* With the last of them the application has its handler back. */
    SAY_OK(both, withdraw_second);
    TELL_OK(both, withdraw);
    SAY_OK(both, detach_second);
    SAY_OK(both, untrap_second);
    assert_false(actor_run(both, has_own_handler, NULL, 0));
    TELL_OK(both, detach);
    assert_true(actor_run(both, has_own_handler, NULL, 0));
    SAY_OK(both, fault_of_its_own);
}

/* A module of another version does not load. */
WORLD_TEST(test_other_version)
{
    struct actor *importer = actor_start(world, HERE), *there = actor_start(world, THERE);
    SAY_OK(importer, use_other_modules);
    TELL_OK(there, offer, .length = LENGTH, .id = FROM_THERE);
    TELL_OK(importer, connect, .node = THERE, .length = LENGTH, .id = FROM_THERE);
    TELL_GET(importer, map, RSMERR_MAP_FAILED);
    TELL_OK(importer, set_mode, .flags = RSM_BARRIER_MODE_EXPLICIT);
    TELL_OK(importer, put64, .offset = 8, .value = 61);
    assert_int_equal(ASK(there, load, .offset = 8).value, 61);
    TELL_OK(importer, disconnect);
}

int main(void)
{
    setenv("RSM_SHM_DIRECT", "0", 1); /* mappings are the engine's */
    setenv("RSM_MAP_TRAP", "signal", 1);
    return cases_run();
}
