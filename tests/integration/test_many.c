/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten thousand segments, and as many connections, in a process with 1024 descriptors. */
#include "party.h"
#include "process.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { COUNT = 2000 }; /* more than there are descriptors; slow */
#else
enum { COUNT = 10000 };
#endif

enum {
    DESCRIPTORS = 1024,
    /* The daemon has one for each exported segment; three quarters are for one connection. */
    DAEMON_DESCRIPTORS = 15000,
    FIRST_ID = PARTY_ID,
    STEP = 1000, /* segments that one order to the actor is about: none takes long */
    /* What the process opens for all of them together: links, userfaultfd. */
    FEW = 8,
};

static uint8_t *memory;
static rsm_memseg_export_handle_t *exported;
static rsm_memseg_import_handle_t *imported;

static uint8_t *page_of(unsigned i)
{
    return memory + (size_t)i * PARTY_PAGE;
}

/* In the actor. */
static int limit_descriptors(void *unused)
{
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = DESCRIPTORS;
    NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return 0;
}

static int get_memory(void *unused)
{
    exported = calloc(COUNT, sizeof *exported);
    imported = calloc(COUNT, sizeof *imported);
    memory = mmap(NULL, (size_t)COUNT * PARTY_PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(exported != NULL && imported != NULL && memory != MAP_FAILED);
    return RSM_SUCCESS;
}

/* What follows is done for STEP segments from .value on. */
static int export_some(void *bytes)
{
    unsigned first = (unsigned)((const struct order *)bytes)->value;
    rsmapi_controller_handle_t controller = party_controller("sci0");
    for (unsigned i = first; i < first + STEP; i++) {
        rsm_memseg_id_t id = FIRST_ID + i;
        memcpy(page_of(i), &i, sizeof i);
        int result = rsm_memseg_export_create(controller, &exported[i], page_of(i), PARTY_PAGE, 0);
        if (result == RSM_SUCCESS)
            result = rsm_memseg_export_publish(exported[i], &id, NULL, 0);
        if (result != RSM_SUCCESS)
            return result;
    }
    return RSM_SUCCESS;
}

/* Connect to segments of this very process, map them, and see and change what is there. */
static int import_some(void *bytes)
{
    unsigned first = (unsigned)((const struct order *)bytes)->value;
    rsmapi_controller_handle_t controller = party_controller("sci0");
    for (unsigned i = first; i < first + STEP; i++) {
        unsigned value, expected = i + 1;
        void *mapped = NULL;
        int result =
            rsm_memseg_import_connect(controller, 1, FIRST_ID + i, RSM_PERM_RDWR, &imported[i]);
        if (result == RSM_SUCCESS)
            result = rsm_memseg_import_map(imported[i], &mapped, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
                                           PARTY_PAGE);
        if (result != RSM_SUCCESS)
            return result;
        memcpy(&value, mapped, sizeof value);
        NEED(value == i);
        memcpy(mapped, &expected, sizeof expected);
        NEED(memcmp(page_of(i), &expected, sizeof expected) == 0);
    }
    return RSM_SUCCESS;
}

/* Importers first, then exporters; what was stored stays. */
static int end_some(void *bytes)
{
    unsigned first = (unsigned)((const struct order *)bytes)->value;
    for (unsigned i = first; i < first + STEP; i++) {
        int result = rsm_memseg_import_unmap(imported[i]);
        if (result == RSM_SUCCESS)
            result = rsm_memseg_import_disconnect(imported[i]);
        if (result == RSM_SUCCESS)
            result = rsm_memseg_export_destroy(exported[i]);
        if (result != RSM_SUCCESS)
            return result;
    }
    for (unsigned i = first; i < first + STEP; i++) {
        unsigned expected = i + 1;
        NEED(memcmp(page_of(i), &expected, sizeof expected) == 0);
    }
    return RSM_SUCCESS;
}

static void for_all(struct actor *actor, actor_function function)
{
    for (unsigned first = 0; first < COUNT; first += STEP)
        assert_int_equal(party_ask(actor, function, (struct order){.value = first}).result,
                         RSM_SUCCESS);
}

WORLD_TEST(test_more_segments_than_descriptors)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < DAEMON_DESCRIPTORS) {
        print_message(
            "not run: the hard limit of descriptors is %ju, below what the daemon needs\n",
            (uintmax_t)limit.rlim_max);
        skip();
    }
    struct actor *actor = actor_start(world, 1);
    unsigned before = process_descriptors(actor->pid);
    assert_int_equal(actor_run(actor, limit_descriptors, NULL, 0), 0);
    TELL_OK(actor, open);
    assert_int_equal(actor_run(actor, get_memory, NULL, 0), RSM_SUCCESS);
    for_all(actor, export_some);
    assert_true(process_descriptors(actor->pid) <= before + FEW);
    for_all(actor, import_some);
    assert_true(process_descriptors(actor->pid) <= before + FEW);
    for_all(actor, end_some);
}

/* ---------------------------------------------------------------- what takes a descriptor again */

/* A rebind has the daemon open the memory once more. */
WORLD_TEST(test_rebind_without_descriptor)
{
    struct actor *actor = actor_start(world, 1), *remote = actor_start(world, 2);
    TELL_OK(actor, offer, .length = 2 * PARTY_PAGE, .flags = RSM_ALLOW_REBIND);
    TELL_OK(remote, attach, .node = 1, .length = 2 * PARTY_PAGE);
    unsigned before = process_descriptors(actor->pid);
    assert_int_equal(process_descriptors_to(actor->pid, "/memfd:rsm-extent"), 0);
    TELL_OK(remote, poke, .value = 7);
    TELL_OK(actor, rebind);
    TELL_OK(actor, store, .value = 8);
    assert_int_equal(ASK(remote, peek).value, 8);
    assert_int_equal(process_descriptors(actor->pid), before);
    TELL_OK(remote, detach);
    TELL_OK(actor, withdraw);
}
