/* SPDX-License-Identifier: BSD-3-Clause */
#include "lane.h"

#include <sched.h>
#include <signal.h>
#include <sisci_error.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "samples.h"

enum {
    LOOK_MS = 200,            /* sleep before checking whether the importer still exists */
    SPIN_MS = 5000,           /* spinning for so long in vain, and it sleeps */
    SPINS_PER_LOOK = 1 << 12, /* at a word */
    WAITS_PER_LOOK = 1 << 8,  /* at an event, which takes longer */
};
#define NS_PER_MS 1e6

/* ------------------------------------------------------------------ the answer page */

static int connect_answer(rsmapi_controller_handle_t controller, uint32_t node, uint32_t id,
                          rsm_memseg_import_handle_t *answer, rsmapi_barrier_t *barrier)
{
    int error = rsm_memseg_import_connect(controller, node, id, RSM_PERM_RDWR, answer);
    return error == RSM_SUCCESS ? rsm_memseg_import_init_barrier(*answer, RSM_BAR_DEFAULT, barrier)
                                : error;
}

static int put_word(rsm_memseg_import_handle_t answer, size_t offset, uint64_t word)
{
    return rsm_memseg_import_put64(answer, (off_t)offset, &word, 1);
}

/* In implicit mode each is complete before the next begins. */
static int put_state(rsm_memseg_import_handle_t answer, enum wire_state state, uint64_t error)
{
    int failed = put_word(answer, offsetof(struct wire_answer, error), error);
    if (failed == RSM_SUCCESS)
        failed = put_word(answer, offsetof(struct wire_answer, state), state);
    return failed == RSM_SUCCESS ? rsm_intr_signal_post(answer, 0) : failed;
}

void lane_refuse(rsmapi_controller_handle_t controller, uint32_t node, uint32_t answer_id)
{
    rsm_memseg_import_handle_t answer = NULL;
    rsmapi_barrier_t barrier = {.seg = NULL};
    if (connect_answer(controller, node, answer_id, &answer, &barrier) == RSM_SUCCESS)
        (void)put_state(answer, WIRE_REFUSED, 0);
    if (answer != NULL)
        (void)rsm_memseg_import_disconnect(answer);
}

/* An importer that has gone takes its answer page along. */
static bool importer_is_there(struct lane *lane)
{
    return rsm_memseg_import_open_barrier(&lane->barrier) == RSM_SUCCESS &&
           rsm_memseg_import_close_barrier(&lane->barrier) == RSM_SUCCESS;
}

static bool is_over(struct lane *lane)
{
    return atomic_load(lane->stopping) || !importer_is_there(lane);
}

/* ------------------------------------------------------------------ for SISCI */

static sci_error_t make_segment(struct sisci_remote *remote, unsigned adapter, size_t bytes)
{
    sci_error_t error;
    SCICreateSegment(remote->sd, &remote->segment, 0, bytes, NULL, NULL, SCI_FLAG_AUTO_ID, &error);
    if (error == SCI_ERR_OK)
        SCIPrepareSegment(remote->segment, adapter, 0, &error);
    if (error == SCI_ERR_OK)
        SCISetSegmentAvailable(remote->segment, adapter, 0, &error);
    return error;
}

/* Make all of it; @p callback is of `called`, with @p argument. sisci_remote_close() is due in any
 * case. */
static sci_error_t sisci_remote_open(struct sisci_remote *remote, unsigned adapter, size_t bytes,
                                     sci_cb_interrupt_t callback, void *argument)
{
    sci_error_t error;
    *remote = (struct sisci_remote){.initialized = false};
    SCIInitialize(0, &error);
    if (error != SCI_ERR_OK)
        return error;
    remote->initialized = true;
    SCIOpen(&remote->sd, 0, &error);
    if (error == SCI_ERR_OK)
        error = make_segment(remote, adapter, bytes);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(remote->sd, &remote->awaited, adapter, &remote->awaited_number, NULL,
                           NULL, 0, &error);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(remote->sd, &remote->called, adapter, &remote->called_number, callback,
                           argument, SCI_FLAG_USE_CALLBACK, &error);
    return error;
}

static void sisci_remote_close(struct sisci_remote *remote)
{
    sci_error_t error;
    if (!remote->initialized)
        return;
    if (remote->segment != NULL) /* the importer may still be connected */
        SCIRemoveSegment(remote->segment, SCI_FLAG_FORCE_REMOVE, &error);
    if (remote->sd != NULL)
        SCIClose(remote->sd, 0, &error);
    SCITerminate();
    remote->initialized = false;
}

/* Take a trigger of `awaited`. RSM_SUCCESS, RSMERR_TIMEOUT, or another error of RSMAPI. */
static int sisci_remote_wait(const struct sisci_remote *remote, unsigned timeout_ms)
{
    sci_error_t error;
    SCIWaitForInterrupt(remote->awaited, timeout_ms, 0, &error);
    switch (error) {
    case SCI_ERR_OK:
        return RSM_SUCCESS;
    case SCI_ERR_TIMEOUT:
        return RSMERR_TIMEOUT;
    default:
        return RSMERR_CONN_ABORTED;
    }
}

/* ------------------------------------------------------------------ work */

static enum wire_mode mode_of(const struct lane *lane)
{
    return (enum wire_mode)atomic_load(&lane->command->mode);
}

/* Wait for an event as the mode says that the latest event found; spinning leads to sleep in the
 * end. False: it is over. */
static bool await_event(struct lane *lane, enum wire_mode mode)
{
    double deadline = clock_ns() + SPIN_MS * NS_PER_MS;
    /* The event that ends a mode comes the mode's own way. */
    void *asleep_on = mode == WIRE_NOTIFY ? (void *)lane->answer : lane->command_segment;
    int error = RSMERR_TIMEOUT;
    for (unsigned spins = 1; error == RSMERR_TIMEOUT && mode_of(lane) == WIRE_SPIN; spins++) {
        error = rsm_intr_signal_wait(lane->command_segment, 0);
        if (error == RSM_SUCCESS || spins % WAITS_PER_LOOK != 0)
            continue;
        if (atomic_load(lane->stopping) || clock_ns() > deadline)
            break;
        sched_yield();
    }
    while (error != RSM_SUCCESS) {
        if (error != RSMERR_TIMEOUT && error != RSMERR_INTERRUPTED)
            return false;
        error = mode == WIRE_INTERRUPT ? sisci_remote_wait(&lane->remote, LOOK_MS)
                                       : rsm_intr_signal_wait(asleep_on, LOOK_MS);
        if (error == RSMERR_TIMEOUT && is_over(lane))
            return false;
    }
    return true;
}

/* Until the mode changes, or nothing has come for long. */
static int mirror_words(struct lane *lane, uint64_t *pong)
{
    uint64_t pong_at_look = *pong;
    double deadline = clock_ns() + SPIN_MS * NS_PER_MS;
    int error = RSM_SUCCESS;
    for (unsigned spins = 1; error == RSM_SUCCESS && mode_of(lane) == WIRE_MIRROR; spins++) {
        uint64_t ping = atomic_load_explicit(&lane->command->ping, memory_order_acquire);
        if (ping != *pong) {
            *pong = ping;
            error = put_word(lane->answer, offsetof(struct wire_answer, pong), ping);
        } else if (spins % SPINS_PER_LOOK == 0) {
            double now = clock_ns();
            if (*pong != pong_at_look)
                deadline = now + SPIN_MS * NS_PER_MS;
            pong_at_look = *pong;
            if (atomic_load(lane->stopping) || now > deadline)
                return RSM_SUCCESS;
            sched_yield();
        }
    }
    return error;
}

/* In a barrier's span, so that no put waits until it has arrived: the other side sees it first. */
static int mirror(struct lane *lane, uint64_t *pong)
{
    int error = rsm_memseg_import_set_mode(lane->answer, RSM_BARRIER_MODE_EXPLICIT);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_open_barrier(&lane->barrier);
    if (error == RSM_SUCCESS)
        error = mirror_words(lane, pong);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_import_close_barrier(&lane->barrier);
    int restored = rsm_memseg_import_set_mode(lane->answer, RSM_BARRIER_MODE_IMPLICIT);
    return error == RSM_SUCCESS ? restored : error;
}

static int answer(struct lane *lane)
{
    return put_word(lane->answer, offsetof(struct wire_answer, answers),
                    atomic_fetch_add(&lane->answers, 1) + 1);
}

static void work(struct lane *lane)
{
    uint64_t pong = 0;
    int error = RSM_SUCCESS;
    enum wire_mode mode = WIRE_SLEEP;
    while (error == RSM_SUCCESS && await_event(lane, mode)) {
        mode = mode_of(lane);
        error = answer(lane);
        if (mode == WIRE_QUIT)
            return;
        if (mode == WIRE_MIRROR && error == RSM_SUCCESS)
            error = mirror(lane, &pong);
    }
}

/* ------------------------------------------------------------------ beginning and end */

static int publish(struct lane *lane, void *memory, size_t bytes,
                   rsm_memseg_export_handle_t *segment, size_t where)
{
    rsm_memseg_id_t id = 0;
    if (memory == NULL)
        return RSMERR_INSUFFICIENT_MEM;
    memset(memory, 0, bytes);
    int error = rsm_memseg_export_create(lane->controller, segment, memory, bytes, 0);
    if (error == RSM_SUCCESS)
        error = rsm_memseg_export_publish(*segment, &id, NULL, 0);
    return error == RSM_SUCCESS ? put_word(lane->answer, where, id) : error;
}

static sci_callback_action_t on_trigger(void *argument, sci_local_interrupt_t interrupt,
                                        sci_error_t error)
{
    (void)interrupt;
    if (error == SCI_ERR_OK)
        (void)answer(argument); /* the importer sees that none comes */
    return SCI_CALLBACK_CONTINUE;
}

static int build_sisci(struct lane *lane)
{
    sci_error_t failed =
        sisci_remote_open(&lane->remote, lane->adapter, lane->bytes, on_trigger, lane);
    if (failed != SCI_ERR_OK)
        return (int)failed;
    int error = put_word(lane->answer, offsetof(struct wire_answer, sisci_segment),
                         SCIGetLocalSegmentId(lane->remote.segment));
    if (error == RSM_SUCCESS)
        error = put_word(lane->answer, offsetof(struct wire_answer, sisci_awaited),
                         lane->remote.awaited_number);
    if (error == RSM_SUCCESS)
        error = put_word(lane->answer, offsetof(struct wire_answer, sisci_called),
                         lane->remote.called_number);
    return error;
}

/* Where it can be reached. */
static int report_plain(const struct lane *lane)
{
    uint64_t address[2];
    size_t place = offsetof(struct wire_answer, plain_address);
    memcpy(address, &lane->plain->address, sizeof address);
    int error = put_word(lane->answer, place, address[0]);
    if (error == RSM_SUCCESS)
        error = put_word(lane->answer, place + sizeof address[0], address[1]);
    if (error == RSM_SUCCESS)
        error = put_word(lane->answer, offsetof(struct wire_answer, plain_port), lane->plain->port);
    return error;
}

static int build(struct lane *lane)
{
    lane->command = aligned_alloc(lane->page, lane->page);
    lane->data = aligned_alloc(lane->page, lane->bytes);
    int error = publish(lane, lane->command, lane->page, &lane->command_segment,
                        offsetof(struct wire_answer, command_id));
    if (error == RSM_SUCCESS)
        error = publish(lane, lane->data, lane->bytes, &lane->data_segment,
                        offsetof(struct wire_answer, data_id));
    if (error == RSM_SUCCESS)
        error = report_plain(lane);
    if (error == RSM_SUCCESS && lane->sisci)
        error = build_sisci(lane);
    return error;
}

static void tear_down(struct lane *lane)
{
    sisci_remote_close(&lane->remote);
    if (lane->data_segment != NULL)
        (void)rsm_memseg_export_destroy(lane->data_segment);
    if (lane->command_segment != NULL)
        (void)rsm_memseg_export_destroy(lane->command_segment);
    free(lane->data);
    free(lane->command);
}

static void *serve(void *argument)
{
    struct lane *lane = argument;
    if (connect_answer(lane->controller, lane->node, lane->answer_id, &lane->answer,
                       &lane->barrier) == RSM_SUCCESS) {
        int error = build(lane);
        if (put_state(lane->answer, error == RSM_SUCCESS ? WIRE_HERE : WIRE_REFUSED,
                      (uint64_t)error) == RSM_SUCCESS &&
            error == RSM_SUCCESS)
            work(lane);
        tear_down(lane);
    }
    if (lane->answer != NULL)
        (void)rsm_memseg_import_disconnect(lane->answer);
    atomic_store(&lane->ended, true);
    return NULL;
}

bool lane_start(struct lane *lane)
{
    lane->page = (size_t)sysconf(_SC_PAGESIZE);
    lane->bytes = (lane->bytes + lane->page - 1) / lane->page * lane->page;
    /* These are the main thread's, whose wait they are to interrupt. */
    sigset_t stops, former;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stops, &former);
    lane->used = pthread_create(&lane->thread, NULL, serve, lane) == 0;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return lane->used;
}

void lane_join(struct lane *lane)
{
    pthread_join(lane->thread, NULL);
    *lane = (struct lane){.used = false};
}
