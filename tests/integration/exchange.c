/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include "party.h"
#include "process.h"

enum {
    HALF = EXCHANGE_BYTES / 2, /* the importer's, and the exporter's */
    WORDS = HALF / 8,
    TICK_MS = 100,
    SIGNAL_MS = 30000,
    WRONG = -2, /* data, or a signal that does not come */
};

struct exchange *exchange;

void exchange_set_up(void)
{
    if (exchange == NULL)
        exchange =
            mmap(NULL, sizeof *exchange, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(exchange != MAP_FAILED);
    memset(exchange, 0, sizeof *exchange);
}

static uint64_t word(uint64_t seed, size_t index)
{
    return index == 0 ? seed : (seed << 20 | index) * 0x9e3779b97f4a7c15u;
}

static void fill(volatile uint64_t *words, uint64_t seed)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = word(seed, i);
}

static bool has(const volatile uint64_t *words, uint64_t seed)
{
    for (size_t i = 0; i < WORDS; i++)
        if (words[i] != word(seed, i))
            return false;
    return true;
}

/* What the exporter answers to a round. */
static uint64_t answer_to(uint64_t round)
{
    return round | UINT64_C(1) << 40;
}

/* ---------------------------------------------------------------- the actors */

/* Of a round whose connection broke behind its signal, too. */
static int serve(void *unused)
{
    rsm_memseg_export_handle_t handle = party_export(0)->handle;
    volatile uint64_t *theirs = (void *)party_export(0)->memory, *ours = theirs + WORDS;
    while (!atomic_load(&exchange->served)) {
        int code = rsm_intr_signal_wait(handle, TICK_MS);
        if (code == RSMERR_TIMEOUT)
            continue;
        NEED(code == RSM_SUCCESS);
        uint64_t round = theirs[0];
        NEED(round != 0 && round <= atomic_load(&exchange->begun));
        NEED(has(theirs, round));
        fill(ours, answer_to(round));
        NEED(rsm_intr_signal_post(handle, 0) == RSM_SUCCESS);
    }
    return 0;
}

#define STEP(called)                                                                               \
    do {                                                                                           \
        int answer = (called);                                                                     \
        if (answer != RSM_SUCCESS) {                                                               \
            snprintf(exchange->call, sizeof exchange->call, "%s", #called);                        \
            return answer;                                                                         \
        }                                                                                          \
    } while (0)

/* A signal that does not come tells nothing of the connection; a barrier does. */
static int wait_for_signal(struct party_import *import)
{
    int code;
    int64_t deadline = now_ms() + SIGNAL_MS;
    while ((code = rsm_intr_signal_wait(import->handle, TICK_MS)) == RSMERR_TIMEOUT) {
        STEP(rsm_memseg_import_open_barrier(&import->barrier));
        STEP(rsm_memseg_import_close_barrier(&import->barrier));
        STEP(now_ms() < deadline ? RSM_SUCCESS : WRONG);
    }
    return code;
}

static int make_round(struct party_import *import, uint64_t round)
{
    static uint64_t buffer[WORDS];
    fill(buffer, round);
    STEP(rsm_memseg_import_open_barrier(&import->barrier));
    STEP(rsm_memseg_import_put(import->handle, 0, buffer, HALF));
    STEP(rsm_memseg_import_close_barrier(&import->barrier));
    STEP(rsm_intr_signal_post(import->handle, 0));
    STEP(wait_for_signal(import));
    STEP(rsm_memseg_import_open_barrier(&import->barrier));
    STEP(rsm_memseg_import_get(import->handle, HALF, buffer, HALF));
    STEP(rsm_memseg_import_close_barrier(&import->barrier));
    STEP(has(buffer, answer_to(round)) ? RSM_SUCCESS : WRONG);
    return RSM_SUCCESS;
}

static int run(void *bytes)
{
    int *error = bytes;
    while (!atomic_load(&exchange->stop)) {
        uint64_t round = atomic_fetch_add(&exchange->begun, 1) + 1;
        *error = make_round(party_import(0), round);
        if (*error != RSM_SUCCESS) {
            atomic_store(&exchange->failed_ms, now_ms());
            return 0;
        }
        atomic_fetch_add(&exchange->done, 1);
    }
    return 0;
}

/* ---------------------------------------------------------------- the test */

void exchange_begin(struct actor *exporter, struct actor *importer)
{
    int error = RSM_SUCCESS;
    atomic_store(&exchange->stop, false);
    atomic_store(&exchange->served, false);
    actor_begin(exporter, serve, NULL, 0);
    actor_begin(importer, run, &error, sizeof error);
}

void exchange_await(unsigned rounds, int timeout_ms)
{
    unsigned goal = atomic_load(&exchange->done) + rounds;
    int64_t deadline = now_ms() + timeout_ms;
    while (atomic_load(&exchange->done) < goal) {
        if (now_ms() > deadline || atomic_load(&exchange->failed_ms) != 0)
            fail_msg("%u rounds are left; %s", goal - atomic_load(&exchange->done), exchange->call);
        usleep(1000);
    }
}

static int end_importer(struct actor *importer)
{
    int error;
    assert_int_equal(actor_end(importer, &error, sizeof error), 0);
    return error;
}

int exchange_end(struct actor *exporter, struct actor *importer)
{
    atomic_store(&exchange->stop, true);
    int error = end_importer(importer);
    atomic_store(&exchange->served, true);
    assert_int_equal(actor_end(exporter, NULL, 0), 0);
    if (error != RSM_SUCCESS)
        print_message("    error %d: %s\n", error, exchange->call);
    return error;
}

int64_t exchange_await_error(struct actor *exporter, struct actor *importer, int64_t since_ms,
                             int *error)
{
    *error = end_importer(importer);
    int64_t took = atomic_exchange(&exchange->failed_ms, 0) - since_ms;
    print_message("    error %d after %ld ms: %s\n", *error, (long)took, exchange->call);
    atomic_store(&exchange->served, true);
    if (exporter != NULL)
        assert_int_equal(actor_end(exporter, NULL, 0), 0);
    return took;
}
