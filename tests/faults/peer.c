/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of the other node. Nothing is injected into it, but perhaps into its daemon: it tries
 * again what failed. */
#include "parts.h"

#include <rsmapi.h>

#include "memory.h"

enum { TRIES = 500, PAUSE_MS = 5, WAIT_MS = 10 };

static void pause_ms(int ms)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

#define INSIST(call)                                                                               \
    do {                                                                                           \
        int error_ = (call);                                                                       \
        for (int try_ = 0; error_ != RSM_SUCCESS && try_ < TRIES; try_++) {                        \
            pause_ms(PAUSE_MS);                                                                    \
            error_ = (call);                                                                       \
        }                                                                                          \
        if (error_ != RSM_SUCCESS) {                                                               \
            fprintf(stderr, "the peer: %s: error %d\n", #call, error_);                            \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int peer_run(struct peer_orders *orders)
{
    char sci0[] = "sci0";
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t echo, taken;
    rsm_memseg_id_t echo_id = PEER_ECHO_ID, taken_id = PEER_TAKEN_ID;
    void *echo_memory = memory_get(MEMORY_PRIVATE, PEER_LENGTH);
    void *taken_memory = memory_get(MEMORY_PRIVATE, PEER_LENGTH);
    if (echo_memory == NULL || taken_memory == NULL)
        return 1;
    INSIST(rsm_get_controller(sci0, &controller));
    INSIST(rsm_memseg_export_create(controller, &echo, echo_memory, PEER_LENGTH, 0));
    INSIST(rsm_memseg_export_create(controller, &taken, taken_memory, PEER_LENGTH, 0));
    INSIST(rsm_memseg_export_publish(echo, &echo_id, NULL, 0));
    INSIST(rsm_memseg_export_publish(taken, &taken_id, NULL, 0));
    atomic_store(&orders->ready, true);
    while (!atomic_load(&orders->end)) {
        if (rsm_intr_signal_wait(echo, WAIT_MS) == RSM_SUCCESS)
            INSIST(rsm_intr_signal_post(echo, 0));
        if (atomic_load(&orders->taken_back) != atomic_load(&orders->take_back)) {
            INSIST(rsm_memseg_export_unpublish(taken));
            INSIST(rsm_memseg_export_publish(taken, &taken_id, NULL, 0));
            atomic_fetch_add(&orders->taken_back, 1);
        }
    }
    INSIST(rsm_memseg_export_destroy(taken));
    INSIST(rsm_memseg_export_destroy(echo));
    INSIST(rsm_release_controller(controller));
    return 0;
}
