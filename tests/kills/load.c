/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include "party.h"

enum {
    WORDS = LOAD_LENGTH / 8,
    HALF_WORDS = LOAD_HALF / 8,
    PAGE_WORDS = PARTY_PAGE / 8,
    HALF_PAGES = LOAD_HALF / PARTY_PAGE,
    SHORT_WAIT_MS = 20,
    LONG_WAIT_MS = 5000,
    TICK_US = 500,
};

struct stage *stage;

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---------------------------------------------------------------- the loop */

/* An answer that the operation may have while nobody has died. */
static bool is_ordinary(const struct load *load, enum side side, int answer)
{
    if (answer == RSM_SUCCESS)
        return true;
    if (side == SIDE_EXPORTER)
        return answer == RSMERR_TIMEOUT; /* no event came */
    /* The importer meets a segment that comes and goes. */
    return (load->moment == MOMENT_UNPUBLISH || load->moment == MOMENT_SWAP) &&
           (answer == RSMERR_SEG_NOT_PUBLISHED || answer == RSMERR_CONN_ABORTED ||
            answer == RSMERR_BARRIER_FAILURE);
}

static int repeat(struct load *load, enum side side, int (*step)(const struct load *load))
{
    for (;;) {
        int64_t began = now_ns();
        int answer = step(load);
        int64_t ended = now_ns(), killed = atomic_load(&stage->killed_ns);
        bool over = !is_ordinary(load, side, answer) ||
                    (killed != 0 && began >= killed && !load->must_notice);
        atomic_fetch_add(&stage->calls[side], 1);
        if (!over && killed != 0 && ended - killed > (int64_t)load->give_up_ms * 1000000) {
            answer = LOAD_UNNOTICED;
            over = true;
        }
        if (over) {
            load->answer = answer;
            load->took_us = killed != 0 ? (ended - killed) / 1000 : -1;
            return 0;
        }
    }
}

/* The segment, and the one that comes and goes in MOMENT_SWAP. */
rsm_memseg_id_t load_segment(const struct load *load)
{
    return LOAD_ID + 2 * (uint32_t)load->moment;
}

static rsm_memseg_id_t swapped_segment_of(const struct load *load)
{
    return load_segment(load) + 1;
}

/* ---------------------------------------------------------------- exporter */

static uint64_t pattern(uint64_t seed, size_t index)
{
    return (seed << 32 | index) * 0x9e3779b97f4a7c15u;
}

static void fill(uint64_t *words, size_t from, size_t to, uint64_t seed)
{
    for (size_t i = from; i < to; i++)
        words[i] = pattern(seed, i);
}

static bool has(const volatile uint64_t *words, size_t from, size_t to, uint64_t seed)
{
    for (size_t i = from; i < to; i++)
        if (words[i] != pattern(seed, i))
            return false;
    return true;
}

static uint64_t seed_of_process(void)
{
    return (uint64_t)getpid();
}

static int publish(rsm_memseg_export_handle_t handle, rsm_memseg_id_t id)
{
    rsmapi_access_entry_t acl[] = {{.ae_node = 1, .ae_permission = 0666},
                                   {.ae_node = 2, .ae_permission = 0666}};
    return rsm_memseg_export_publish(handle, &id, acl, 2);
}

int load_publish(const struct load *load)
{
    return publish(party_export(0)->handle, load_segment(load));
}

int load_export_begin(void *bytes)
{
    const struct load *load = bytes;
    struct order order = {.length = LOAD_LENGTH};
    NEED(party_create(&order) == RSM_SUCCESS);
    uint64_t *words = (void *)party_export(0)->memory;
    memset(words, 0, LOAD_HALF);
    fill(words, HALF_WORDS, WORDS, seed_of_process());
    NEED(load_publish(load) == RSM_SUCCESS);
    return 0;
}

static int wait_for_event(const struct load *load)
{
    return rsm_intr_signal_wait(party_export(0)->handle,
                                load->long_waits ? LONG_WAIT_MS : SHORT_WAIT_MS);
}

/* The exporter's half, by one word of each page. */
static bool own_half_is_intact(void)
{
    const volatile uint64_t *words = (void *)party_export(0)->memory;
    for (size_t i = HALF_WORDS; i < WORDS; i += PAGE_WORDS)
        if (words[i] != pattern(seed_of_process(), i))
            return false;
    return true;
}

static int unpublish_and_publish(const struct load *load)
{
    rsm_memseg_export_handle_t handle = party_export(0)->handle;
    int error = rsm_memseg_export_unpublish(handle);
    NEED(own_half_is_intact());
    if (error == RSM_SUCCESS)
        error = publish(handle, load_segment(load));
    NEED(own_half_is_intact());
    return error;
}

static uint64_t *new_memory(uint64_t seed)
{
    uint64_t *words = memory_get(MEMORY_PRIVATE, LOAD_LENGTH);
    if (words != NULL)
        fill(words, HALF_WORDS, WORDS, seed);
    return words;
}

/* One life of a segment that lies on two pieces of memory one after the other. */
static int live_and_move(const struct load *load, uint64_t *first, uint64_t *second, uint64_t round)
{
    rsm_memseg_export_handle_t handle;
    int error = rsm_memseg_export_create(party_controller(NULL), &handle, first, LOAD_LENGTH,
                                         RSM_ALLOW_REBIND);
    if (error != RSM_SUCCESS)
        return error;
    NEED(has(first, HALF_WORDS, WORDS, round));
    error = publish(handle, swapped_segment_of(load));
    if (error == RSM_SUCCESS)
        error = rsm_memseg_export_rebind(handle, second, 0, LOAD_LENGTH);
    NEED(has(first, HALF_WORDS, WORDS, round) && has(second, HALF_WORDS, WORDS, round + 1));
    if (error == RSM_SUCCESS)
        error = rsm_memseg_export_unpublish(handle);
    NEED(has(first, HALF_WORDS, WORDS, round) && has(second, HALF_WORDS, WORDS, round + 1));
    int destroyed = rsm_memseg_export_destroy(handle);
    NEED(has(first, HALF_WORDS, WORDS, round) && has(second, HALF_WORDS, WORDS, round + 1));
    return error == RSM_SUCCESS ? destroyed : error;
}

static int swap(const struct load *load)
{
    static uint64_t round;
    round += 2;
    uint64_t *first = new_memory(round), *second = new_memory(round + 1);
    NEED(first != NULL && second != NULL);
    int error = live_and_move(load, first, second, round);
    munmap(first, LOAD_LENGTH);
    munmap(second, LOAD_LENGTH);
    return error;
}

int load_export_run(void *bytes)
{
    struct load *load = bytes;
    return repeat(load, SIDE_EXPORTER,
                  load->moment == MOMENT_UNPUBLISH ? unpublish_and_publish
                  : load->moment == MOMENT_SWAP    ? swap
                                                   : wait_for_event);
}

/* What was reported to have arrived is there, and nothing that was never put. */
static int check_importers_half(enum moment moment)
{
    const volatile uint64_t *words = (void *)party_export(0)->memory;
    uint64_t last = atomic_load(&stage->attempted), sure = atomic_load(&stage->acknowledged);
    if (moment == MOMENT_PUT || moment == MOMENT_GROUP)
        for (size_t i = 0; i < HALF_WORDS; i++)
            NEED(words[i] >= sure && words[i] <= last);
    if (moment == MOMENT_FAULT)
        for (size_t i = 2; i < HALF_WORDS; i += PAGE_WORDS)
            NEED(words[i] + HALF_PAGES > sure && words[i] <= last);
    if (moment == MOMENT_BARRIER)
        NEED(words[0] >= sure && words[0] <= last);
    return 0;
}

int load_export_end(void *bytes)
{
    struct load *load = bytes;
    struct order order = {.slot = 0};
    NEED(has((void *)party_export(0)->memory, HALF_WORDS, WORDS, seed_of_process()));
    NEED(load->stranger || check_importers_half(load->moment) == 0);
    int unpublished = party_unpublish(&order);
    load->answer = party_destroy(&order);
    party_export(0)->handle = NULL;
    NEED(has((void *)party_export(0)->memory, HALF_WORDS, WORDS, seed_of_process()));
    NEED(load->stranger || check_importers_half(load->moment) == 0);
    NEED(party_drop(&order) == RSM_SUCCESS);
    if (load->answer == RSM_SUCCESS && unpublished != RSMERR_SEG_NOT_PUBLISHED)
        load->answer = unpublished;
    return 0;
}

/* ---------------------------------------------------------------- importer */

static bool stays_connected(enum moment moment)
{
    return moment != MOMENT_CONNECT && moment != MOMENT_UNPUBLISH && moment != MOMENT_SWAP;
}

int load_import_begin(void *bytes)
{
    const struct load *load = bytes;
    struct order order = {.node = load->exporter,
                          .id = load_segment(load),
                          .length = LOAD_LENGTH,
                          .flags = RSM_BARRIER_SEGMENT};
    atomic_store(&stage->attempted, 0);
    atomic_store(&stage->acknowledged, 0);
    if (load->moment == MOMENT_GROUP)
        return load_group_begin(load);
    int error = party_connect(&order);
    if (error != RSM_SUCCESS)
        fprintf(stderr, "no connection: error %d\n", error);
    NEED(error == RSM_SUCCESS);
    if (!stays_connected(load->moment)) /* but the way there is known, in every round */
        return party_disconnect(&order);
    NEED(party_init_barrier(&order) == RSM_SUCCESS);
    if (load->moment == MOMENT_PUT)
        NEED(rsm_memseg_import_set_mode(party_import(0)->handle, RSM_BARRIER_MODE_IMPLICIT) ==
             RSM_SUCCESS);
    if (load->moment == MOMENT_FAULT)
        NEED(party_map(&order) == RSM_SUCCESS);
    return 0;
}

static int put_round(const struct load *load)
{
    static uint64_t block[HALF_WORDS];
    uint64_t round = atomic_load(&stage->attempted) + 1;
    for (size_t i = 0; i < HALF_WORDS; i++)
        block[i] = round;
    atomic_store(&stage->attempted, round);
    int error = rsm_memseg_import_put(party_import(0)->handle, 0, block, LOAD_HALF);
    if (error == RSM_SUCCESS)
        atomic_store(&stage->acknowledged, round);
    return error;
}

static int cross_barrier(const struct load *load)
{
    struct party_import *import = party_import(0);
    uint64_t round = atomic_load(&stage->attempted) + 1;
    atomic_store(&stage->attempted, round);
    int error = rsm_memseg_import_open_barrier(&import->barrier);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_put64(import->handle, 0, &round, 1);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_order_barrier(&import->barrier);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_close_barrier(&import->barrier);
    if (error == RSM_SUCCESS)
        atomic_store(&stage->acknowledged, round);
    return error;
}

/* No call before the death. */
static int do_nothing(const struct load *load)
{
    if (atomic_load(&stage->killed_ns) != 0)
        return cross_barrier(load);
    usleep(TICK_US);
    return RSM_SUCCESS;
}

/* A store that takes a fault, and a load from another page that takes one. */
static int load_and_store(const struct load *load)
{
    struct party_import *import = party_import(0);
    volatile uint64_t *words = (void *)import->address;
    uint64_t round = atomic_load(&stage->attempted) + 1;
    atomic_store(&stage->attempted, round);
    int error = rsm_memseg_import_open_barrier(&import->barrier);
    if (error != RSM_SUCCESS)
        return error;
    words[round % HALF_PAGES * PAGE_WORDS + 2] = round;
    (void)words[(round + HALF_PAGES / 2) % HALF_PAGES * PAGE_WORDS + 2];
    error = rsm_memseg_import_close_barrier(&import->barrier);
    if (error == RSM_SUCCESS)
        atomic_store(&stage->acknowledged, round);
    return error;
}

static int connect_and_go(const struct load *load)
{
    rsm_memseg_import_handle_t handle;
    int error = rsm_memseg_import_connect(party_controller(NULL), load->exporter,
                                          load_segment(load), RSM_PERM_RDWR, &handle);
    if (error == RSM_SUCCESS)
        NEED(rsm_memseg_import_disconnect(handle) == RSM_SUCCESS);
    return error;
}

/* A visit to a segment that may come or go meanwhile. */
static int visit(const struct load *load)
{
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
    uint64_t value = 1;
    uint32_t id = load->moment == MOMENT_SWAP ? swapped_segment_of(load) : load_segment(load);
    int error = rsm_memseg_import_connect(party_controller(NULL), load->exporter, id, RSM_PERM_RDWR,
                                          &handle);
    if (error != RSM_SUCCESS)
        return error;
    NEED(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier) == RSM_SUCCESS);
    NEED(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_IMPLICIT) == RSM_SUCCESS);
    error = rsm_memseg_import_put64(handle, 8, &value, 1);
    NEED(rsm_memseg_import_disconnect(handle) == RSM_SUCCESS);
    return error;
}

int load_import_run(void *bytes)
{
    static int (*const steps[MOMENTS])(const struct load *load) = {
        [MOMENT_IDLE] = do_nothing,      [MOMENT_CONNECT] = connect_and_go,
        [MOMENT_PUT] = put_round,        [MOMENT_BARRIER] = cross_barrier,
        [MOMENT_UNPUBLISH] = visit,      [MOMENT_SWAP] = visit,
        [MOMENT_FAULT] = load_and_store, [MOMENT_GROUP] = load_group_step,
    };
    struct load *load = bytes;
    return repeat(load, SIDE_IMPORTER, steps[load->moment]);
}

int load_import_end(void *bytes)
{
    const struct load *load = bytes;
    struct order order = {.slot = 0};
    if (!stays_connected(load->moment))
        return 0;
    if (load->moment == MOMENT_GROUP)
        return load_group_end(load);
    if (load->moment == MOMENT_FAULT)
        NEED(party_unmap(&order) == RSM_SUCCESS);
    NEED(party_disconnect(&order) == RSM_SUCCESS);
    return 0;
}
