/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups and their members, as rsmstat shows them. */
#include <rsm/group.h>

#include "party.h"
#include "process.h"
#include "run.h"

enum { LENGTH = PARTY_PAGE, WAIT_MS = 20000 };

static rsm_group_handle_t group;

static int join(void *unused)
{
    return rsm_group_connect(party_controller(NULL), PARTY_ID, &group);
}

/* .value times. */
static int write_often(void *bytes)
{
    const struct order *order = bytes;
    for (uint64_t i = 0; i < order->value; i++) {
        NEED(rsm_group_put(group, order->offset, &i, sizeof i) == RSM_SUCCESS);
        (void)rsm_group_close_barrier(group, NULL);
    }
    return 0;
}

static int leave(void *unused)
{
    return rsm_group_disconnect(group);
}

struct stats {
    uint64_t number, puts, quiet_us, lag_us, lacked;
};

static const struct json_value *connection(const struct json_value *root,
                                           const struct actor *writer, unsigned member)
{
    const struct json_value *imports = get(get_node(root, 1), "imports", JSON_ARRAY);
    for (const struct json_value *v = imports->first; v != NULL; v = v->next)
        if (get_number(v, "pid") == (uint64_t)writer->pid &&
            get_number(v, "exporter_node") == member)
            return v;
    return NULL;
}

/* The writer's connection to the member of a node, as rsmd of the writer's node and that one have it. False: it is
 * none of a group. */
static bool look(struct world *world, const struct actor *writer, unsigned member,
                 struct stats *stats)
{
    struct json_value *root = run_json(world, 0, "-n 1 --groups", 0);
    const struct json_value *import = connection(root, writer, member);
    bool is = import != NULL && !get_is_null(import, "group");
    if (is) {
        const struct json_value *found = get(import, "group", JSON_OBJECT);
        *stats = (struct stats){get_number(found, "number"), get_number(found, "puts"),
                                get_number(found, "quiet_us"), get_number(found, "lag_us"),
                                get_number(found, "lacked")};
    }
    json_free(root);
    return is;
}

static void await_puts(struct world *world, const struct actor *writer, unsigned member,
                       struct stats *stats, uint64_t puts)
{
    int64_t until = now_ms() + WAIT_MS;
    while (!look(world, writer, member, stats) || stats->puts < puts) {
        if (now_ms() > until)
            fail_msg("in vain: %u puts", (unsigned)puts);
        actor_run((struct actor *)writer, write_often, &(struct order){.value = 1},
                  sizeof(struct order));
        usleep(20000);
    }
}

WORLD_TEST(test_members)
{
    struct stats one, two;
    struct actor *first = actor_start(world, 1), *second = actor_start(world, 2);
    struct actor *writer = actor_start(world, 1);
    TELL_OK(first, offer, .length = LENGTH);
    TELL_OK(second, offer, .length = 2 * LENGTH);
    assert_int_equal(actor_run(writer, join, NULL, 0), 0);
    struct order order = {.value = 100};
    assert_int_equal(actor_run(writer, write_often, &order, sizeof order), 0);
    await_puts(world, writer, 1, &one, 100);
    await_puts(world, writer, 2, &two, 100);
    assert_int_equal(one.number, two.number);
    assert_int_equal(one.lacked + two.lacked, 0);
    assert_true(one.lag_us < 1000u * WAIT_MS);
    struct outcome outcome = run(world, "-n 1 --groups");
    assert_true(
        has_line(outcome.out, "GROUP +BY +USER +PID +NUMBER +MEMBER +PUTS +LAST +LAG +LACKED"));
    assert_true(has_line(outcome.out, "0x400000 +1 +[^ ]+ +[0-9]+ +[0-9]+ +2 +[0-9]+ +[0-9]+[mu]?s "
                                      "+[0-9]+[mu]?s +0"));
    outcome_free(&outcome);
    /* Time passes, although the writer says nothing. */
    struct stats before = two;
    usleep(300000);
    assert_true(look(world, writer, 2, &two) && two.quiet_us >= before.quiet_us + 300000);
    /* What only the larger copy has room for. */
    order = (struct order){.value = 3, .offset = LENGTH};
    assert_int_equal(actor_run(writer, write_often, &order, sizeof order), 0);
    await_puts(world, writer, 1, &one, one.puts + 3);
    await_puts(world, writer, 2, &two, two.puts + 3);
    assert_true(one.lacked >= 3);
    assert_int_equal(two.lacked, 0);
    TELL_OK(second, withdraw);
    assert_int_equal(actor_run(writer, leave, NULL, 0), 0);
    assert_false(look(world, writer, 1, &one));
}

/* Nothing is in the way of those who have no groups. */
WORLD_TEST(test_none)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    struct stats none;
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    assert_false(look(world, importer, 1, &none));
    struct outcome outcome = run(world, "-n 1");
    assert_false(has_line(outcome.out, "GROUP .*"));
    outcome_free(&outcome);
    outcome = run(world, "-n 1 --groups");
    assert_true(has_line(outcome.out, "GROUP .*"));
    outcome_free(&outcome);
}
