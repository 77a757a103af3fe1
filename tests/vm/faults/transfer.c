/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

enum { TICK_US = 2000 };

static void number(uint64_t *block, size_t length, uint64_t round)
{
    for (size_t i = 0; i < length / sizeof *block; i++)
        block[i] = round;
}

int party_put_rounds(void *bytes)
{
    struct order *order = bytes;
    uint64_t *block = malloc(order->length);
    int64_t deadline = now_ms() + WITHIN_MS;
    int error = RSM_SUCCESS;
    NEED(block != NULL);
    for (order->value = 1; error == RSM_SUCCESS && now_ms() < deadline; order->value++) {
        number(block, order->length, order->value);
        error = rsm_memseg_import_put(party_import(order->slot)->handle, 0, block, order->length);
    }
    free(block);
    NEED(error != RSM_SUCCESS);
    return error;
}

int party_there_and_back(void *bytes)
{
    struct order *order = bytes;
    rsm_memseg_import_handle_t handle = party_import(order->slot)->handle;
    uint64_t *block = calloc(2, order->length);
    NEED(block != NULL);
    uint64_t *back = block + order->length / sizeof *block;
    number(block, order->length, order->value);
    int error = rsm_memseg_import_put(handle, 0, block, order->length);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_get(handle, 0, back, order->length);
    if (error == RSM_SUCCESS && memcmp(block, back, order->length) != 0)
        error = 1;
    free(block);
    return error;
}

int party_await_rounds(void *bytes)
{
    struct order *order = bytes;
    const volatile uint64_t *word = (void *)party_export(order->slot)->memory;
    int64_t deadline = now_ms() + WITHIN_MS;
    uint64_t goal = *word + order->value;
    while (*word < goal) {
        NEED(now_ms() < deadline);
        usleep(TICK_US);
    }
    return RSM_SUCCESS;
}

int party_sum(void *bytes)
{
    struct order *order = bytes;
    const volatile uint64_t *word = (void *)party_export(order->slot)->memory;
    uint64_t sum = 0;
    for (size_t i = 0; i < order->length / sizeof *word; i++)
        sum = (sum ^ word[i]) * 0x100000001b3u;
    order->value = sum;
    return RSM_SUCCESS;
}

int party_join(void *bytes)
{
    struct order *order = bytes;
    int64_t deadline = now_ms() + WITHIN_MS;
    int error;
    while ((error = party_connect(bytes)) != RSM_SUCCESS && now_ms() < deadline)
        usleep(TICK_US);
    order->flags = RSM_BARRIER_SEGMENT;
    return error == RSM_SUCCESS ? party_init_barrier(order) : error;
}
