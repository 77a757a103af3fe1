/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfer.h"

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

/* ---------------------------------------------------------------- limits */

static int open_controller(const struct order *order)
{
    rsmapi_controller_handle_t controller;
    char name[] = "sci0";
    int error = rsm_get_controller(name, &controller);
    return error == RSM_SUCCESS ? rsm_release_controller(controller) : error;
}

static int register_memory(const struct order *order)
{
    rsm_localmemory_handle_t handle;
    void *memory = NULL;
    NEED(posix_memalign(&memory, PARTY_PAGE, order->length) == 0);
    memset(memory, 1, order->length);
    int error =
        rsm_create_localmemory_handle(party_controller(NULL), &handle, memory, order->length);
    if (error == RSM_SUCCESS)
        error = rsm_free_localmemory_handle(party_controller(NULL), handle);
    free(memory);
    return error;
}

/* What a call returns under the limit, and whether the log says which limit it was. */
static int short_of_memory(struct order *order, int (*call)(const struct order *order))
{
    char said[4096] = "";
    struct rlimit former;
    int log = memfd_create("log", MFD_CLOEXEC), usual = dup(STDERR_FILENO);
    NEED(log >= 0 && usual >= 0 && getrlimit(RLIMIT_MEMLOCK, &former) == 0);
    struct rlimit little = {.rlim_cur = order->value, .rlim_max = former.rlim_max};
    NEED(setrlimit(RLIMIT_MEMLOCK, &little) == 0 && dup2(log, STDERR_FILENO) >= 0);
    int error = call(order);
    NEED(dup2(usual, STDERR_FILENO) >= 0 && setrlimit(RLIMIT_MEMLOCK, &former) == 0);
    NEED(pread(log, said, sizeof said - 1, 0) >= 0);
    order->flags = strstr(said, "RLIMIT_MEMLOCK") != NULL && strstr(said, " KiB ") != NULL;
    close(log);
    close(usual);
    return error;
}

int party_open_short_of_memory(void *bytes)
{
    setenv("RSM_LOG", "error", 1); /* read with the first message */
    return short_of_memory(bytes, open_controller);
}

int party_register_short_of_memory(void *bytes)
{
    return short_of_memory(bytes, register_memory);
}
