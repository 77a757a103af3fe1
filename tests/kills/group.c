/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer of a group of two members: the exporter's segment, and one of its own on its node. */
#include <rsm/group.h>

#include "load.h"
#include "party.h"

enum { JOIN_MS = 20000, SLICE_MS = 50, HALF_WORDS = LOAD_HALF / 8, MEMBERS = 2 };

static rsm_group_handle_t group;

static int count_members(void)
{
    rsm_group_member_t members[MEMBERS];
    uint_t count = MEMBERS;
    int connected = 0;
    NEED(rsm_group_get_members(group, members, &count) == RSM_SUCCESS && count <= MEMBERS);
    for (uint_t i = 0; i < count; i++)
        connected += members[i].error == RSM_SUCCESS;
    return connected;
}

int load_group_begin(const struct load *load)
{
    struct order order = {.length = LOAD_LENGTH};
    rsm_group_event_t event;
    NEED(party_create(&order) == RSM_SUCCESS);
    memset(party_export(0)->memory, 0, LOAD_LENGTH);
    NEED(load_publish(load) == RSM_SUCCESS);
    NEED(rsm_group_connect(party_controller(NULL), load_segment(load), &group) == RSM_SUCCESS);
    for (int waited = 0; count_members() < MEMBERS; waited += SLICE_MS) {
        NEED(waited < JOIN_MS);
        (void)rsm_group_event_wait(group, SLICE_MS, &event);
    }
    while (rsm_group_event_wait(group, 0, &event) == RSM_SUCCESS)
        continue;
    return 0;
}

/* Put a number to all members; that it was reported to have arrived means that it is in each. */
static int put_to_all(uint64_t number)
{
    static uint64_t block[HALF_WORDS];
    rsm_group_event_t event;
    uint_t lacking = 0;
    for (size_t i = 0; i < HALF_WORDS; i++)
        block[i] = number;
    int error = rsm_group_put(group, 0, block, LOAD_HALF);
    if (error == RSM_SUCCESS)
        error = rsm_group_close_barrier(group, &lacking);
    NEED((lacking > 0) == (error == RSMERR_BARRIER_FAILURE) && lacking <= MEMBERS);
    while (error == RSM_SUCCESS && rsm_group_event_wait(group, 0, &event) == RSM_SUCCESS)
        if (event.change == RSM_GROUP_LEFT)
            error = RSMERR_CONN_ABORTED;
    return error;
}

int load_group_step(const struct load *load)
{
    uint64_t round = atomic_load(&stage->attempted) + 1;
    (void)load;
    atomic_store(&stage->attempted, round);
    int error = put_to_all(round);
    if (error == RSM_SUCCESS)
        atomic_store(&stage->acknowledged, round);
    return error;
}

/* The member that stays gets what is put after the death of the other one, which does not. */
static int go_on(void)
{
    const volatile uint64_t *words = (void *)party_export(0)->memory;
    uint64_t number = atomic_fetch_add(&stage->attempted, 1) + 1;
    int error = RSMERR_CONN_ABORTED;
    for (unsigned tries = 0; error != RSM_SUCCESS && tries < 3; tries++)
        error = put_to_all(number); /* a change that was not taken yet ends it once */
    NEED(error == RSM_SUCCESS);
    for (size_t i = 0; i < HALF_WORDS; i++)
        NEED(words[i] == number);
    return 0;
}

int load_group_end(const struct load *load)
{
    struct order order = {.slot = 0};
    NEED(!load->group_stays || go_on() == 0);
    NEED(rsm_group_disconnect(group) == RSM_SUCCESS);
    (void)party_unpublish(&order); /* its daemon may have been killed */
    (void)party_destroy(&order);
    party_export(0)->handle = NULL;
    return party_drop(&order);
}
