/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of memory that a program can have is exported, used from another node and back. */
#include "party.h"
#include "sandbox.h"

enum { LENGTH = 8 * PARTY_PAGE };

static void export_kind(struct world *world, enum memory_kind kind, enum sandbox sandbox)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    print_message("    %s, %s\n", memory_name(kind), sandbox_name(sandbox));
    sandbox_enter(exporter, sandbox);
    for (uint64_t again = 1; again <= 2; again++) {
        /* The second round exports what the first one gave back. */
        TELL_OK(exporter, create, .kind = kind, .length = LENGTH);
        TELL_OK(exporter, fill, .value = again);
        TELL_OK(exporter, publish, .id = PARTY_ID, .acl_count = 1, .acl = {{2, 0666}});
        assert_int_equal(TELL(exporter, check, .value = again), 0);
        TELL_OK(importer, attach, .node = 1, .length = LENGTH);
        for (off_t at = 0; at < LENGTH; at += 8)
            if (at % PARTY_PAGE == 0 || at % PARTY_PAGE == PARTY_PAGE - 8)
                assert_int_equal(ASK(importer, peek, .offset = at).value,
                                 ASK(exporter, load, .offset = at).value);
        TELL_OK(importer, open_barrier);
        TELL_OK(importer, poke, .offset = LENGTH - 8, .value = again);
        TELL_OK(importer, close_barrier);
        assert_int_equal(ASK(exporter, load, .offset = LENGTH - 8).value, again);
        TELL_OK(exporter, fill, .value = again + 10);
        assert_int_equal(ASK(importer, peek, .offset = PARTY_PAGE).value,
                         ASK(exporter, load, .offset = PARTY_PAGE).value);
        TELL_OK(exporter, unpublish);
        TELL_OK(importer, poke, .offset = 0, .value = 666);
        assert_int_equal(TELL(exporter, check, .value = again + 10), 0);
        TELL_OK(exporter, destroy);
        assert_int_equal(TELL(exporter, check, .value = again + 10), 0);
        TELL_OK(importer, detach);
    }
    TELL_OK(exporter, drop);
    actor_stop(exporter);
    actor_stop(importer);
}

WORLD_TEST(test_every_kind)
{
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++)
        export_kind(world, kind, SANDBOX_NONE);
}

WORLD_TEST(test_every_kind_with_user_faults)
{
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++)
        export_kind(world, kind, SANDBOX_USER_FAULTS);
}

WORLD_TEST(test_every_kind_without_userfaultfd)
{
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++)
        export_kind(world, kind, SANDBOX_NO_FAULTFD);
}

/* Contents of memory that was written before it became a segment. */
static int write_first(void *bytes)
{
    const struct order *order = bytes;
    struct party_export *export_id = party_export(0);
    export_id->kind = order->kind;
    export_id->length = LENGTH;
    export_id->memory = memory_get(order->kind, LENGTH);
    NEED(export_id->memory != NULL);
    memset(export_id->memory, 0x42, LENGTH);
    return 0;
}

WORLD_TEST(test_contents_are_kept)
{
    for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++) {
        struct actor *actor = actor_start(world, 1);
        struct order order = {.kind = kind};
        assert_int_equal(party_ask(actor, write_first, order).result, 0);
        TELL_OK(actor, create);
        assert_int_equal(ASK(actor, load, .offset = 0).value, 0x4242424242424242);
        TELL_OK(actor, publish, .id = PARTY_ID);
        TELL_OK(actor, attach, .node = 1, .length = LENGTH);
        assert_int_equal(ASK(actor, peek, .offset = LENGTH - 8).value, 0x4242424242424242);
        TELL_OK(actor, withdraw);
        actor_stop(actor);
    }
}

/* ---------------------------------------------------------------- what may not be exported */

static int try_to_export(void *memory, size_t length)
{
    rsm_memseg_export_handle_t handle = (void *)-1;
    int error = rsm_memseg_export_create(party_controller(NULL), &handle, memory, length, 0);
    NEED((error == RSM_SUCCESS) == (handle != NULL));
    return error;
}

static int refuse_unfit_memory(void *unused)
{
    uint8_t *memory = memory_get(MEMORY_PRIVATE, LENGTH);
    NEED(memory != NULL);
    NEED(try_to_export(memory + 1, PARTY_PAGE) == RSMERR_BAD_MEM_ALIGNMENT);
    NEED(try_to_export(memory, 100) == RSMERR_BAD_MEM_ALIGNMENT);
    NEED(try_to_export(memory, 0) == RSMERR_BAD_LENGTH);
    NEED(mprotect(memory + PARTY_PAGE, PARTY_PAGE, PROT_READ) == 0);
    NEED(try_to_export(memory, LENGTH) == RSMERR_PERM_DENIED);
    NEED(munmap(memory + PARTY_PAGE, PARTY_PAGE) == 0);
    memset(memory, 0x17, PARTY_PAGE);
    NEED(try_to_export(memory, LENGTH) == RSMERR_BAD_ADDR);
    NEED(memory[0] == 0x17 && memory[PARTY_PAGE - 1] == 0x17);
    NEED(munmap(memory, LENGTH) == 0);
    return 0;
}

WORLD_TEST(test_unfit_memory)
{
    struct actor *actor = actor_start(world, 1);
    assert_int_equal(actor_run(actor, refuse_unfit_memory, NULL, 0), 0);
}

/* ---------------------------------------------------------------- the program goes on */

/* Threads that work in the memory while it becomes and ceases to be a segment lose nothing. */
struct counting {
    _Atomic uint64_t *counter;
    uint64_t count;
    atomic_bool *go_on;
};

static void *count(void *argument)
{
    struct counting *counting = argument;
    while (atomic_load(counting->go_on)) {
        atomic_fetch_add(counting->counter, 1);
        counting->count++;
    }
    return NULL;
}

static int publish_while_counting(void *unused)
{
    enum { COUNTERS = 3, ROUNDS = 50 };
    struct counting counting[COUNTERS];
    pthread_t threads[COUNTERS];
    atomic_bool go_on = true;
    uint8_t *memory = memory_get(MEMORY_PRIVATE, LENGTH);
    NEED(memory != NULL);
    for (unsigned i = 0; i < COUNTERS; i++) {
        counting[i] = (struct counting){.counter = (void *)(memory + i * PARTY_PAGE + 8 * i),
                                        .go_on = &go_on};
        NEED(pthread_create(&threads[i], NULL, count, &counting[i]) == 0);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        rsm_memseg_export_handle_t handle;
        rsm_memseg_id_t id = PARTY_ID;
        rsm_memseg_import_handle_t import;
        NEED(rsm_memseg_export_create(party_controller(NULL), &handle, memory, LENGTH, 0) ==
             RSM_SUCCESS);
        NEED(rsm_memseg_export_publish(handle, &id, NULL, 0) == RSM_SUCCESS);
        NEED(rsm_memseg_import_connect(party_controller(NULL), 1, id, RSM_PERM_RDWR, &import) ==
             RSM_SUCCESS);
        NEED(rsm_memseg_export_unpublish(handle) == RSM_SUCCESS);
        NEED(rsm_memseg_import_disconnect(import) == RSM_SUCCESS);
        NEED(rsm_memseg_export_destroy(handle) == RSM_SUCCESS);
    }
    atomic_store(&go_on, false);
    for (unsigned i = 0; i < COUNTERS; i++) {
        NEED(pthread_join(threads[i], NULL) == 0);
        NEED(atomic_load(counting[i].counter) == counting[i].count);
    }
    return memory_put(MEMORY_PRIVATE, memory, LENGTH);
}

WORLD_TEST(test_nothing_is_lost)
{
    for (enum sandbox sandbox = 0; sandbox < SANDBOXES; sandbox++) {
        struct actor *actor = actor_start(world, 1);
        sandbox_enter(actor, sandbox);
        print_message("    %s\n", sandbox_name(sandbox));
        assert_int_equal(actor_run(actor, publish_while_counting, NULL, 0), 0);
        actor_stop(actor);
    }
}
