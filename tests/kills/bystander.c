/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of processes that nobody kills. Each round is one exchange, in lockstep: every event that
 * is lost or comes twice, and every byte that is wrong, ends it. */
#include "load.h"
#include "party.h"

enum {
    LENGTH = 4 * PARTY_PAGE,
    COUNT = LENGTH / 8,
    ID = 0x420000,
    WAIT_MS = 20000,
    SLICE_MS = 100,
    PAUSE_US = 200, /* it shares two processors with what is tested */
};

static uint64_t word_of(uint64_t round, size_t index)
{
    return (round << 20 | index) * 0x9e3779b97f4a7c15u;
}

/* Wait for the one event of a round; 1: it is time to leave. */
static int await_event(void *handle)
{
    for (int waited = 0; waited < WAIT_MS; waited += SLICE_MS) {
        int error = rsm_intr_signal_wait(handle, SLICE_MS);
        if (error == RSM_SUCCESS)
            return 0;
        NEED(error == RSMERR_TIMEOUT);
        if (atomic_load(&stage->bystanders_leave))
            return 1;
    }
    NEED(!"an event was lost");
    return -1;
}

int bystander_export(void *bytes)
{
    struct order order = {
        .length = LENGTH, .id = ID, .acl_count = 2, .acl = {{1, 0666}, {2, 0666}}};
    int left = 0;
    NEED(party_offer(&order) == RSM_SUCCESS);
    rsm_memseg_export_handle_t handle = party_export(0)->handle;
    const volatile uint64_t *words = (void *)party_export(0)->memory;
    for (uint64_t round = 1; left == 0; round++) {
        left = await_event(handle);
        if (left != 0)
            break;
        for (size_t i = 0; i < COUNT; i++)
            NEED(words[i] == word_of(round, i));
        NEED(rsm_intr_signal_post(handle, 0) == RSM_SUCCESS);
        atomic_fetch_add(&stage->bystander_rounds, 1);
    }
    NEED(left == 1);
    return party_withdraw(&order);
}

static int exchange(rsm_memseg_import_handle_t handle, rsmapi_barrier_t *barrier, uint64_t round)
{
    uint64_t block[COUNT], back[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        block[i] = word_of(round, i);
    NEED(rsm_memseg_import_open_barrier(barrier) == RSM_SUCCESS);
    NEED(rsm_memseg_import_put(handle, 0, block, LENGTH) == RSM_SUCCESS);
    NEED(rsm_memseg_import_get(handle, 0, back, LENGTH) == RSM_SUCCESS);
    NEED(rsm_memseg_import_close_barrier(barrier) == RSM_SUCCESS);
    for (size_t i = 0; i < COUNT; i++)
        NEED(back[i] == block[i]);
    NEED(rsm_intr_signal_post(handle, 0) == RSM_SUCCESS);
    return await_event(handle);
}

int bystander_import(void *bytes)
{
    const struct load *load = bytes;
    struct order order = {
        .node = load->exporter, .id = ID, .length = LENGTH, .flags = RSM_BARRIER_SEGMENT};
    int left = 0;
    while (party_connect(&order) == RSMERR_SEG_NOT_PUBLISHED)
        usleep(PAUSE_US);
    NEED(party_import(0)->handle != NULL && party_init_barrier(&order) == RSM_SUCCESS);
    for (uint64_t round = 1; left == 0 && !atomic_load(&stage->bystanders_leave); round++) {
        left = exchange(party_import(0)->handle, &party_import(0)->barrier, round);
        usleep(PAUSE_US);
    }
    NEED(left >= 0);
    return party_disconnect(&order);
}
