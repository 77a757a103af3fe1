/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance C-17, G-24, N-30 and races between functions on one handle; under TSan above all. */
#include "unit/rsmapi/rsmapi_test.h"

enum { THREADS = 4, ROUNDS = 500 };

static void run(void *(*body)(void *), void *argument)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, argument), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result); /* what went wrong, if anything */
    }
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return (void *)(uintptr_t) #condition;                                                 \
    } while (0)

static void *open_and_release(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        char name[] = "sci0";
        rsmapi_controller_attr_t attr;
        rsmapi_controller_handle_t controller;
        EXPECT(rsm_get_controller(name, &controller) == RSM_SUCCESS);
        EXPECT(rsm_get_controller_attr(controller, &attr) == RSM_SUCCESS);
        EXPECT(rsm_release_controller(controller) == RSM_SUCCESS);
    }
    return NULL;
}

TEST(controllers_are_counted_right)
{
    run(open_and_release, NULL);
    assert_int_equal(fake.controllers, 0);
}

/* Each thread has bytes of its own; map and unmap go on meanwhile. */
struct shared {
    rsm_memseg_import_handle_t import;
    atomic_int next;
};

static void *put_and_map(void *argument)
{
    struct shared *shared = argument;
    int number = atomic_fetch_add(&shared->next, 1);
    for (int i = 0; i < ROUNDS; i++) {
        void *address = NULL;
        uint8_t byte = (uint8_t)i;
        int error = rsm_memseg_import_put(shared->import, number, &byte, 1);
        EXPECT(error == RSM_SUCCESS);
        error = rsm_memseg_import_map(shared->import, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
                                      page_size());
        EXPECT(error == RSM_SUCCESS || error == RSMERR_SEG_ALREADY_MAPPED);
        if (error == RSM_SUCCESS)
            EXPECT(rsm_memseg_import_unmap(shared->import) == RSM_SUCCESS);
    }
    return NULL;
}

TEST(transfers_and_mappings_do_not_disturb_each_other)
{
    struct shared shared = {.import = connect_import(RSM_PERM_RDWR)};
    rsmapi_barrier_t barrier;
    assert_int_equal(rsm_memseg_import_init_barrier(shared.import, RSM_BARRIER_SEGMENT, &barrier),
                     RSM_SUCCESS);
    run(put_and_map, &shared);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(fake_segment[i], (uint8_t)(ROUNDS - 1));
    assert_int_equal(fake.puts, THREADS * ROUNDS);
    disconnect_import(shared.import);
}

static void *take_references(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; i < ROUNDS; i++) {
        struct pollfd pollfd = {.fd = -1};
        int ready;
        EXPECT(rsm_memseg_get_pollfd(shared->import, &pollfd) == RSM_SUCCESS);
        fake_raise(event_of(shared->import));
        EXPECT(rsm_intr_signal_wait_pollfd(&pollfd, 1, -1, &ready) == RSM_SUCCESS && ready == 1);
        EXPECT(rsm_memseg_release_pollfd(shared->import) == RSM_SUCCESS);
    }
    return NULL;
}

TEST(poll_references_are_counted_right_and_events_go_once)
{
    struct shared shared = {.import = connect_import(RSM_PERM_RDWR)};
    run(take_references, &shared);
    assert_int_equal(fake_pending(event_of(shared.import)), 0);
    disconnect_import(shared.import);
}
