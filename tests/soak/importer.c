/* SPDX-License-Identifier: BSD-3-Clause */
/* The importer of a line: one connection after the other. */
#include <rsm/group.h>

#include "line.h"
#include "party.h"

enum { ROUNDS_MAX = 40, EVENTS_MAX = 6, PAUSE_US = 1000, LENGTH_MAX = 16 * SOAK_PAGE };

enum { CHANCE_FORK = 1, CHANCE_GET = 20 }; /* in hundredths, of each round */

struct session {
    struct line *line;
    uint64_t number, deaths, life, seed;
    int64_t connected_ns;
    rsm_memseg_import_handle_t handle;
    rsmapi_barrier_t barrier;
    uint8_t *mapped;          /* NULL: by put */
    rsm_group_handle_t group; /* of the segment alone; NULL: by itself */
    size_t length;
    uint64_t round;
};

enum outcome { GO_ON, OVER };

/* ---------------------------------------------------------------- is an error right */

/* The life that this session belongs to has ended, ends, or its exporter has died. */
static bool abort_is_due(const struct session *session)
{
    const struct line *line = session->line;
    return atomic_load(&line->ending) >= session->life ||
           atomic_load(&line->life) > session->life || line_is_troubled(line, session->deaths);
}

static enum outcome fail_of(const struct session *session, const char *what, int error)
{
    bool due = abort_is_due(session);
    bool means_end = error == RSMERR_CONN_ABORTED || error == RSMERR_BARRIER_FAILURE ||
                     error == RSMERR_REMOTE_NODE_UNREACHABLE;
    if (!due || !(means_end || line_is_troubled(session->line, session->deaths)))
        violation("%s: importer: %s failed with %d without a cause", session->line->name, what,
                  error);
    if (due && error == RSMERR_CONN_ABORTED)
        count(COUNT_ABORTS, 1);
    return OVER;
}

/* When the connection has certainly ended; 0: it has not. */
static int64_t over_since(const struct session *session)
{
    const struct line *line = session->line;
    int64_t died = atomic_load(&line->exporter_death_ns);
    if (died > session->connected_ns)
        return died;
    return atomic_load(&line->ended) >= session->life ? atomic_load(&line->ended_ns) : 0;
}

/* A barrier must tell of an end. */
static enum outcome look(struct session *session)
{
    int64_t over = over_since(session);
    int error = rsm_memseg_import_open_barrier(&session->barrier);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_close_barrier(&session->barrier);
    if (error != RSM_SUCCESS)
        return fail_of(session, "a barrier", error);
    if (over != 0 && soak_now_ns() - over > (int64_t)SOAK_ABORT_MS * 1000000) {
        violation("%s: importer: a barrier succeeds %ld ms after the connection's end",
                  session->line->name, (long)((soak_now_ns() - over) / 1000000));
        return OVER;
    }
    return GO_ON;
}

/* ---------------------------------------------------------------- a round */

static uint64_t *fill(const struct session *session, struct round_header *header)
{
    static uint64_t block[LENGTH_MAX / 8];
    header->sum = soak_sum(header);
    memcpy(block, header, sizeof *header);
    for (size_t i = SOAK_HEADER_WORDS; i < session->length / 8; i++)
        block[i] = soak_word(header, i);
    return block;
}

static int put_vector(const struct session *session, uint64_t *block)
{
    caddr_t bytes = (caddr_t)block;
    size_t half = session->length / 2;
    rsm_iovec_t pieces[] = {
        {.io_type = RSM_VA_TYPE, .local.vaddr = bytes, .transfer_length = half},
        {.io_type = RSM_VA_TYPE,
         .local.vaddr = bytes + half,
         .remote_offset = half,
         .transfer_length = session->length - half},
    };
    rsm_scat_gath_t list = {
        .io_request_count = 2, .remote_handle = session->handle, .iovec = pieces};
    list.local_nodeid = session->line->importer;
    return rsm_memseg_import_putv(&list);
}

/* A member that has changed, if only to its segment's next life, is an end of this session. It may
 * have been that of the next life from the beginning, whose copy may be smaller. */
static int put_to_group(const struct session *session, const uint64_t *block)
{
    rsm_group_event_t change;
    int error = rsm_group_put(session->group, 0, block, session->length);
    if (error == RSM_SUCCESS)
        error = rsm_group_close_barrier(session->group, NULL);
    bool changed = rsm_group_event_wait(session->group, 0, &change) == RSM_SUCCESS;
    if (changed || error == RSMERR_BAD_OFFSET)
        return RSMERR_CONN_ABORTED;
    count(COUNT_GROUP_ROUNDS, error == RSM_SUCCESS);
    return error;
}

/* Write the segment by one of the ways that there are, and see it arrive. */
static int write_segment(struct session *session, uint64_t *block)
{
    int error = rsm_memseg_import_open_barrier(&session->barrier);
    if (error != RSM_SUCCESS)
        return error;
    if (session->mapped != NULL)
        memcpy(session->mapped, block, session->length);
    else if (session->group != NULL)
        error = put_to_group(session, block);
    else if (draw(&session->seed, 4) == 0)
        error = put_vector(session, block);
    else if (draw(&session->seed, 4) == 0)
        error = rsm_memseg_import_put64(session->handle, 0, block, session->length / 8);
    else
        error = rsm_memseg_import_put(session->handle, 0, block, session->length);
    return error == RSM_SUCCESS ? rsm_memseg_import_close_barrier(&session->barrier) : error;
}

/* What was written comes back. */
static enum outcome read_back(struct session *session, const uint64_t *block)
{
    static uint64_t back[LENGTH_MAX / 8];
    int error = rsm_memseg_import_open_barrier(&session->barrier);
    if (session->mapped != NULL)
        memcpy(back, session->mapped, session->length);
    else if (error == RSM_SUCCESS)
        error = rsm_memseg_import_get(session->handle, 0, back, session->length);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_close_barrier(&session->barrier);
    if (error != RSM_SUCCESS)
        return fail_of(session, "reading back", error);
    if (memcmp(back, block, session->length) != 0) {
        violation("%s: importer: other bytes came back", session->line->name);
        return OVER;
    }
    return GO_ON;
}

static enum outcome await_answer(struct session *session)
{
    for (int waited = 0;; waited += SOAK_SLICE_MS) {
        int error = rsm_intr_signal_wait(session->handle, SOAK_SLICE_MS);
        if (error == RSM_SUCCESS)
            break;
        if (error != RSMERR_TIMEOUT)
            return fail_of(session, "wait", error);
        if (atomic_load(&soak->leave) || look(session) == OVER)
            return OVER;
        if (atomic_load(&session->line->deaths) != session->deaths && over_since(session) == 0)
            return OVER; /* of a daemon that the connection may not need */
        if (waited > SOAK_LOST_MS && over_since(session) == 0)
            return fail_of(session, "waiting for an event that was posted", error);
    }
    count(COUNT_EVENTS, 1);
    if (rsm_intr_signal_wait(session->handle, 0) == RSM_SUCCESS)
        violation("%s: importer: an event that nobody posted", session->line->name);
    return GO_ON;
}

/* A child has nothing of the connection but its memory, and can make one of its own. It speaks for
 * itself, for its parent may be killed meanwhile. */
static void be_child(const struct session *session)
{
    rsm_memseg_import_handle_t handle;
    int error = rsm_memseg_import_connect(party_controller(NULL), session->line->exporter,
                                          session->line->id, RSM_PERM_RDWR, &handle);
    if (error != RSM_SUCCESS && !abort_is_due(session))
        violation("%s: importer: connect failed with %d in a child of fork", session->line->name,
                  error);
    _exit(0);
}

static void fork_child(const struct session *session)
{
    pid_t child = fork();
    if (child == 0)
        be_child(session);
    if (child > 0)
        waitpid(child, NULL, 0);
    count(COUNT_FORKS, child > 0);
}

static enum outcome make_round(struct session *session)
{
    struct round_header header = {.session = session->number,
                                  .round = ++session->round,
                                  .events = 1 + draw(&session->seed, EVENTS_MAX)};
    uint64_t *block = fill(session, &header);
    int error = write_segment(session, block);
    if (error != RSM_SUCCESS)
        return fail_of(session, "writing", error);
    if (draw(&session->seed, 100) < CHANCE_GET && read_back(session, block) == OVER)
        return OVER;
    for (uint64_t posted = 0; posted < header.events; posted++) {
        error = rsm_intr_signal_post(session->handle, 0);
        if (error != RSM_SUCCESS)
            return fail_of(session, "post", error);
    }
    if (await_answer(session) == OVER)
        return OVER;
    count(COUNT_ROUNDS, 1);
    count(COUNT_BYTES, session->length);
    if (draw(&session->seed, 100) < CHANCE_FORK)
        fork_child(session);
    return GO_ON;
}

/* ---------------------------------------------------------------- a session */

/* Connect to a life that goes on. */
static enum outcome attach(struct session *session)
{
    struct line *line = session->line;
    session->life = atomic_load(&line->life);
    session->connected_ns = soak_now_ns();
    if (party_controller(NULL) == NULL) {
        if (!line_is_troubled(line, session->deaths))
            violation("%s: importer: no controller", line->name);
        return OVER;
    }
    int error = rsm_memseg_import_connect(party_controller(NULL), line->exporter, line->id,
                                          RSM_PERM_RDWR, &session->handle);
    if (error == RSMERR_SEG_NOT_PUBLISHED)
        return OVER;
    if (error != RSM_SUCCESS)
        return fail_of(session, "connect", error);
    count(COUNT_CONNECTS, 1);
    bool same =
        atomic_load(&line->life) == session->life && atomic_load(&line->ending) < session->life;
    if (!same)
        return OVER;
    error = rsm_memseg_import_init_barrier(session->handle, RSM_BARRIER_SEGMENT, &session->barrier);
    if (error == RSM_SUCCESS && draw(&session->seed, 2) == 0)
        error = rsm_memseg_import_set_mode(session->handle, RSM_BARRIER_MODE_EXPLICIT);
    return error == RSM_SUCCESS ? GO_ON : fail_of(session, "init_barrier", error);
}

/* The length is no part of RSMAPI's connect: the largest number of pages that can be read. */
static enum outcome measure(struct session *session)
{
    uint64_t word;
    int error = RSMERR_BAD_OFFSET;
    for (size_t length = LENGTH_MAX; length > 0 && error == RSMERR_BAD_OFFSET;
         length -= SOAK_PAGE) {
        session->length = length;
        error = rsm_memseg_import_get64(session->handle, (off_t)length - 8, &word, 1);
    }
    if (error != RSM_SUCCESS)
        return fail_of(session, "get", error);
    if (!session->line->maps || draw(&session->seed, 2) == 0)
        return GO_ON;
    void *address = NULL;
    error = rsm_memseg_import_map(session->handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
                                  session->length);
    session->mapped = address;
    return error == RSM_SUCCESS ? GO_ON : fail_of(session, "map", error);
}

/* In some sessions the segment is written as the one member of a group. */
static enum outcome join(struct session *session)
{
    rsm_group_event_t change = {.error = RSM_SUCCESS};
    if (session->mapped != NULL || draw(&session->seed, 3) != 0)
        return GO_ON;
    int error = rsm_group_connect(party_controller(NULL), session->line->id, &session->group);
    if (error == RSM_SUCCESS)
        error = rsm_group_event_wait(session->group, SOAK_LOST_MS, &change);
    if (error == RSM_SUCCESS)
        error = change.error;
    return error == RSM_SUCCESS ? GO_ON : fail_of(session, "joining a group", error);
}

static void detach(struct session *session)
{
    int error = RSM_SUCCESS;
    if (session->group != NULL && rsm_group_disconnect(session->group) != RSM_SUCCESS)
        violation("%s: importer: leaving a group failed", session->line->name);
    if (session->handle == NULL)
        return;
    if (session->mapped != NULL)
        error = rsm_memseg_import_unmap(session->handle);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_disconnect(session->handle);
    if (error != RSM_SUCCESS)
        violation("%s: importer: leaving failed with %d", session->line->name, error);
}

int line_import(void *bytes)
{
    const struct duty *duty = bytes;
    uint64_t seed = duty->seed;
    while (!atomic_load(&soak->leave)) {
        struct session session = {.line = &soak->lines[duty->line], .seed = seed};
        unsigned left = 1 + draw(&session.seed, ROUNDS_MAX);
        session.number = atomic_fetch_add(&session.line->session, 1) + 1;
        session.deaths = atomic_load(&session.line->deaths);
        if (attach(&session) == GO_ON && measure(&session) == GO_ON && join(&session) == GO_ON)
            while (left-- > 0 && !atomic_load(&soak->leave) && make_round(&session) == GO_ON)
                continue;
        else
            usleep(PAUSE_US);
        detach(&session);
        seed = session.seed;
    }
    return 0;
}
