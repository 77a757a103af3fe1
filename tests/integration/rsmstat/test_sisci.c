/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows of programs of SISCI. */
#include <sisci_api.h>
#include <sisci_error.h>

#include "base/clock.h"
#include "process.h"
#include "run.h"

enum { OTHER_UID = 65533, LONG_MS = 20000, SIZE = 4096 };
enum { CREATED = 5, PREPARED = 6, AVAILABLE = 7 };          /* segments */
enum { TRIGGERED = 9, WITH_DATA = 10, WITH_CALLBACK = 11 }; /* interrupts */

/* ---------------------------------------------------------------- a program of SISCI */

static sci_desc_t sd;

static sci_callback_action_t never(void *argument, sci_local_interrupt_t interrupt,
                                   sci_error_t error)
{
    return SCI_CALLBACK_CONTINUE;
}

static sci_error_t make_segment(unsigned id)
{
    sci_local_segment_t segment;
    sci_error_t error;
    SCICreateSegment(sd, &segment, id, SIZE, NULL, NULL, 0, &error);
    if (error == SCI_ERR_OK && id >= PREPARED)
        SCIPrepareSegment(segment, 0, 0, &error);
    if (error == SCI_ERR_OK && id >= AVAILABLE)
        SCISetSegmentAvailable(segment, 0, 0, &error);
    return error;
}

static sci_error_t make_interrupts(void)
{
    unsigned triggered = TRIGGERED, called = WITH_CALLBACK, data = WITH_DATA;
    sci_local_interrupt_t interrupt;
    sci_local_data_interrupt_t data_interrupt;
    sci_error_t error;
    SCICreateInterrupt(sd, &interrupt, 0, &triggered, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error);
    if (error == SCI_ERR_OK)
        SCICreateInterrupt(sd, &interrupt, 0, &called, never, NULL,
                           SCI_FLAG_FIXED_INTNO | SCI_FLAG_USE_CALLBACK, &error);
    if (error == SCI_ERR_OK)
        SCICreateDataInterrupt(sd, &data_interrupt, 0, &data, NULL, NULL,
                               SCI_FLAG_FIXED_INTNO | SCI_FLAG_SHARED_INT, &error);
    return error;
}

static int make_all(void *unused)
{
    sci_error_t error;
    SCIInitialize(0, &error);
    NEED(error == SCI_ERR_OK);
    SCIOpen(&sd, 0, &error);
    NEED(error == SCI_ERR_OK);
    for (unsigned id = CREATED; id <= AVAILABLE; id++)
        NEED(make_segment(id) == SCI_ERR_OK);
    return make_interrupts() == SCI_ERR_OK ? 0 : -1;
}

static int trigger_twice(void *unused)
{
    sci_remote_interrupt_t interrupt;
    sci_error_t error;
    SCIConnectInterrupt(sd, &interrupt, SCI_LOCAL_HOST, 0, TRIGGERED, SCI_INFINITE_TIMEOUT, 0,
                        &error);
    for (int i = 0; i < 2 && error == SCI_ERR_OK; i++)
        SCITriggerInterrupt(interrupt, 0, &error);
    return error == SCI_ERR_OK ? 0 : -1;
}

static int end_all(void *unused)
{
    SCITerminate();
    return 0;
}

/* ---------------------------------------------------------------- what is shown */

static void check_segment(const struct json_value *node, unsigned id, const char *state)
{
    char text[32];
    const struct json_value *segment = find(node, "exports", "segment_id", id);
    assert_non_null(segment);
    snprintf(text, sizeof text, "sisci:0x%x", id);
    assert_string_equal(get_string(segment, "segment"), text);
    assert_string_equal(get_string(segment, "id_space"), "sisci");
    assert_string_equal(get_string(segment, "state"), state);
    assert_int_equal(get(segment, "published", JSON_BOOL)->truth, id == AVAILABLE);
}

static void check_interrupt(const struct json_value *node, const struct actor *owner,
                            unsigned number, const char *kind, unsigned pending)
{
    const struct json_value *interrupt = find(node, "interrupts", "number", number);
    assert_non_null(interrupt);
    assert_string_equal(get_string(interrupt, "kind"), kind);
    assert_int_equal(get_number(interrupt, "node"), 1);
    assert_int_equal(get_number(interrupt, "pid"), owner->pid);
    assert_int_equal(get_number(interrupt, "uid"), geteuid());
    assert_string_equal(get_string(interrupt, "mode"), "0666");
    assert_int_equal(get_number(interrupt, "pending"), pending);
    assert_int_equal(get(interrupt, "shared", JSON_BOOL)->truth, number == WITH_DATA);
}

WORLD_TEST(test_segments_and_interrupts)
{
    struct actor *owner = actor_start(world, 1);
    assert_int_equal(actor_run(owner, make_all, NULL, 0), 0);
    assert_int_equal(actor_run(owner, trigger_twice, NULL, 0), 0);
    struct json_value *root = run_json(world, geteuid(), "", 0);
    const struct json_value *node = get_node(root, 1);
    check_segment(node, CREATED, "created");
    check_segment(node, PREPARED, "prepared");
    check_segment(node, AVAILABLE, "available");
    assert_int_equal(json_count(get(node, "interrupts", JSON_ARRAY)), 3);
    check_interrupt(node, owner, TRIGGERED, "plain", 2);
    check_interrupt(node, owner, WITH_DATA, "data", 0);
    check_interrupt(node, owner, WITH_CALLBACK, "plain", 0);
    json_free(root);
    struct outcome outcome = run(world, "--interrupts");
    assert_non_null(strstr(outcome.out, "INTERRUPT"));
    assert_non_null(strstr(outcome.out, "\n0x9 "));
    assert_null(strstr(outcome.out, "EXPORTED"));
    outcome_free(&outcome);
    assert_int_equal(actor_run(owner, end_all, NULL, 0), 0);
    outcome = run(world, "");
    assert_null(strstr(outcome.out, "INTERRUPT "));
    outcome_free(&outcome);
}

/* The thread that calls back sleeps, but for a moment now and then. */
WORLD_TEST(test_waiting)
{
    struct actor *owner = actor_start(world, 1);
    assert_int_equal(actor_run(owner, make_all, NULL, 0), 0);
    int64_t end = rsm_clock_ms() + LONG_MS;
    uint64_t waiting = 0;
    while (waiting == 0 && rsm_clock_ms() < end) {
        struct json_value *root = run_json(world, geteuid(), "--interrupts", 0);
        const struct json_value *node = get_node(root, 1);
        waiting = get_number(find(node, "interrupts", "number", WITH_CALLBACK), "waiting");
        assert_int_equal(get_number(find(node, "interrupts", "number", TRIGGERED), "waiting"), 0);
        json_free(root);
    }
    assert_int_equal(waiting, 1);
    assert_int_equal(actor_run(owner, end_all, NULL, 0), 0);
}

/* More than a page, of which others see none. */
static int make_many(void *unused)
{
    enum { MANY = 150 };
    sci_error_t error;
    SCIInitialize(0, &error);
    SCIOpen(&sd, 0, &error);
    for (unsigned i = 0; i < MANY && error == SCI_ERR_OK; i++) {
        sci_local_interrupt_t interrupt;
        unsigned number = 1000 + i;
        SCICreateInterrupt(sd, &interrupt, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error);
    }
    return error == SCI_ERR_OK ? MANY : -1;
}

WORLD_TEST(test_users)
{
    case_needs_root();
    pid_t daemon = world_daemon_start(world, 1);
    struct actor *owner = actor_start(world, 1);
    int made = actor_run(owner, make_many, NULL, 0);
    assert_true(made > 64);
    struct json_value *root = run_json(world, geteuid(), "--interrupts", 0);
    const struct json_value *all = get(get_node(root, 1), "interrupts", JSON_ARRAY);
    assert_int_equal(json_count(all), made);
    for (size_t i = 0; i < (size_t)made; i++)
        assert_int_equal(get_number(json_element(all, i), "number"), 1000 + i);
    json_free(root);
    root = run_json(world, OTHER_UID, "--interrupts", 0);
    assert_int_equal(json_count(get(get_node(root, 1), "interrupts", JSON_ARRAY)), 0);
    json_free(root);
    actor_stop(owner);
    world_daemon_end(daemon);
}
