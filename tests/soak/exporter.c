/* SPDX-License-Identifier: BSD-3-Clause */
/* The exporter of a line: one segment after the other. */
#include "line.h"
#include "party.h"

enum { PAGES_MAX = 16, ROUNDS_MAX = 60, PAUSE_US = 20000 };

/* In hundredths, of each round. */
enum { CHANCE_SWAP = 10, CHANCE_FORK = 2 };

struct life {
    struct line *line;
    uint64_t number, deaths, seed;
    rsm_memseg_export_handle_t handle;
    enum memory_kind kind;
    void *memory;
    size_t length;
    uint64_t session, round; /* the last that was verified; 0: none yet */
};

enum outcome { GO_ON, OVER };

/* An error: of a death, else a violation. */
static enum outcome fail_of(const struct life *life, const char *what, int error)
{
    if (!line_is_troubled(life->line, life->deaths))
        violation("%s: exporter: %s failed with %d without a cause", life->line->name, what, error);
    return OVER;
}

/* ---------------------------------------------------------------- a round */

static struct round_header header_of(const struct life *life)
{
    const volatile uint64_t *words = life->memory;
    return (struct round_header){words[0], words[1], words[2], words[3]};
}

/* Whether the whole segment is of the round that its header names. */
static bool is_whole(const struct life *life, const struct round_header *header)
{
    const volatile uint64_t *words = life->memory;
    if (header->sum != soak_sum(header))
        return false;
    for (size_t i = SOAK_HEADER_WORDS; i < life->length / 8; i++)
        if (words[i] != soak_word(header, i))
            return false;
    return true;
}

/* The events of one round, and not one more. The first has been taken. */
static enum outcome take_events(const struct life *life, uint64_t expected)
{
    for (uint64_t taken = 1; taken < expected; taken++) {
        int error = rsm_intr_signal_wait(life->handle, SOAK_LOST_MS);
        if (error != RSM_SUCCESS)
            return fail_of(life, "waiting for an event that was posted", error);
    }
    int error = rsm_intr_signal_wait(life->handle, 0);
    if (error == RSM_SUCCESS)
        return fail_of(life, "not having an event that nobody posted", error);
    if (error != RSMERR_TIMEOUT)
        return fail_of(life, "looking for events", error);
    count(COUNT_EVENTS, expected);
    return GO_ON;
}

static enum outcome verify(struct life *life)
{
    struct round_header header = header_of(life);
    if (header.sum != soak_sum(&header))
        return fail_of(life, "reading a header", (int)header.round);
    if (take_events(life, header.events) == OVER)
        return OVER;
    if (!is_whole(life, &header))
        return fail_of(life, "comparing the segment", (int)header.round);
    bool follows =
        header.session == life->session ? header.round == life->round + 1 : header.round == 1;
    if (!follows)
        return fail_of(life, "finding the next round", (int)header.round);
    life->session = header.session;
    life->round = header.round;
    return GO_ON;
}

/* ---------------------------------------------------------------- what happens in between */

/* Put other memory behind the segment, with the same contents. The old keeps its own. */
static enum outcome swap(struct life *life)
{
    struct life old = *life;
    struct round_header header = header_of(life);
    void *memory = memory_get(MEMORY_PRIVATE, life->length);
    if (memory == NULL)
        return GO_ON;
    memcpy(memory, life->memory, life->length);
    int error = rsm_memseg_export_rebind(life->handle, memory, 0, life->length);
    if (error != RSM_SUCCESS) {
        memory_put(MEMORY_PRIVATE, memory, life->length);
        return fail_of(life, "rebind", error);
    }
    life->memory = memory;
    life->kind = MEMORY_PRIVATE;
    if (!is_whole(&old, &header) || !is_whole(life, &header))
        violation("%s: exporter: a rebind changed memory", life->line->name);
    memory_put(old.kind, old.memory, old.length);
    count(COUNT_SWAPS, 1);
    return GO_ON;
}

/* A child may do nothing with the segment, and its end is not the segment's. */
static void be_child(const struct life *life)
{
    int error = rsm_memseg_export_unpublish(life->handle);
    bool ended = error == RSMERR_SEG_NOT_PUBLISHED; /* is looked for first */
    if (error != RSMERR_NOT_CREATOR && !(ended && line_is_troubled(life->line, life->deaths)))
        violation("%s: exporter: unpublish gave %d in a child of fork", life->line->name, error);
    _exit(0);
}

static void fork_child(const struct life *life)
{
    pid_t child = fork();
    if (child == 0)
        be_child(life);
    if (child > 0)
        waitpid(child, NULL, 0);
    count(COUNT_FORKS, child > 0);
}

/* ---------------------------------------------------------------- a life */

static enum outcome begin(struct life *life)
{
    static const enum memory_kind kinds[] = {MEMORY_PRIVATE, MEMORY_SHARED, MEMORY_SYSV,
                                             MEMORY_FILE};
    struct line *line = life->line;
    rsm_memseg_id_t id = line->id;
    rsmapi_access_entry_t acl[] = {{.ae_node = line->importer, .ae_permission = 0666}};
    life->kind = kinds[draw(&life->seed, 4)];
    life->length = (1 + draw(&life->seed, PAGES_MAX)) * (size_t)SOAK_PAGE;
    if (party_controller(NULL) == NULL)
        return fail_of(life, "opening the controller", 0);
    life->memory = memory_get(life->kind, life->length);
    if (life->memory == NULL)
        return OVER;
    memset(life->memory, 0, life->length);
    int error = rsm_memseg_export_create(party_controller(NULL), &life->handle, life->memory,
                                         life->length, RSM_ALLOW_REBIND);
    if (error != RSM_SUCCESS)
        return fail_of(life, "create", error);
    life->number = atomic_fetch_add(&line->life, 1) + 1;
    error = rsm_memseg_export_publish(life->handle, &id, acl, 1);
    if (error != RSM_SUCCESS)
        return fail_of(life, "publish", error);
    count(COUNT_LIVES, 1);
    return GO_ON;
}

/* Take the memory back. What was verified last and not yet answered stays as it is. */
static void end(struct life *life, bool quiet)
{
    struct line *line = life->line;
    struct round_header header = {.sum = 0};
    if (quiet)
        header = header_of(life);
    atomic_store(&line->ending, life->number);
    if (life->handle != NULL) {
        int error = rsm_memseg_export_unpublish(life->handle);
        if (error != RSM_SUCCESS)
            (void)fail_of(life, "unpublish", error);
        atomic_store(&line->ended_ns, soak_now_ns());
        atomic_store(&line->ended, life->number);
        if (quiet && !is_whole(life, &header))
            violation("%s: exporter: unpublish changed memory", line->name);
        error = rsm_memseg_export_destroy(life->handle);
        if (error != RSM_SUCCESS)
            (void)fail_of(life, "destroy", error);
        if (quiet && !is_whole(life, &header))
            violation("%s: exporter: destroy changed memory", line->name);
    }
    if (life->memory != NULL)
        memory_put(life->kind, life->memory, life->length);
}

/* Serve one round. Sets *quiet if the importer waits for an answer when the life is over. */
static enum outcome serve(struct life *life, unsigned *left, bool *quiet)
{
    int error = rsm_intr_signal_wait(life->handle, SOAK_SLICE_MS);
    if (atomic_load(&soak->leave) || atomic_load(&life->line->deaths) != life->deaths)
        return OVER;
    if (error == RSMERR_TIMEOUT)
        return GO_ON;
    if (error != RSM_SUCCESS)
        return fail_of(life, "wait", error);
    if (verify(life) == OVER)
        return OVER;
    if (draw(&life->seed, 100) < CHANCE_SWAP && swap(life) == OVER)
        return OVER;
    if (draw(&life->seed, 100) < CHANCE_FORK)
        fork_child(life);
    *quiet = --*left == 0;
    if (*quiet)
        return OVER;
    error = rsm_intr_signal_post(life->handle, 0);
    return error == RSM_SUCCESS ? GO_ON : fail_of(life, "post", error);
}

int line_export(void *bytes)
{
    const struct duty *duty = bytes;
    uint64_t seed = duty->seed;
    while (!atomic_load(&soak->leave)) {
        struct life life = {.line = &soak->lines[duty->line]};
        unsigned left = 1 + draw(&seed, ROUNDS_MAX);
        bool quiet = false;
        life.deaths = atomic_load(&life.line->deaths);
        life.seed = seed;
        if (begin(&life) == GO_ON)
            while (serve(&life, &left, &quiet) == GO_ON)
                continue;
        else
            usleep(PAUSE_US);
        end(&life, quiet);
        seed = life.seed;
    }
    return 0;
}
