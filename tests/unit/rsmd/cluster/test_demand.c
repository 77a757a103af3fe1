/* SPDX-License-Identifier: BSD-3-Clause */
/* Links on demand: made by either end when it needs them, closed when neither does. */
#include "links.h"

#define LINK_TEST(function) TEST_BETWEEN(function, links_begin, links_end)

#define ON_DEMAND "permanent-links = 0\n"
#define SHORT     ON_DEMAND "link-idle-ms = 200\n"

enum { IDLE_MS = 200 };

static const struct rsm_cluster_msg some_event = {
    .type = RSM_CLUSTER_EVENT, .u.event = {.import = 7, .end = RSM_EVENT_EXPORT, .count = 1}};

static struct side one, two;

static void run(struct side *side, uint32_t node, uint32_t count, const char *more)
{
    side_configure(side, node, count, more);
    side_start(side, NULL);
}

static void run_both(const char *more)
{
    run(&one, 1, 2, more);
    run(&two, 2, 2, more);
}

static void stop_both(void)
{
    side_stop(&one);
    side_stop(&two);
}

static enum rsmd_link_use need(struct side *side, uint32_t node)
{
    side->in_call = true;
    enum rsmd_link_use use = rsmd_cluster_need(side->cluster, node);
    side->in_call = false;
    return use;
}

static bool is_idle(const struct side *side, uint32_t node)
{
    return side_state(side, node) == RSMD_LINK_IDLE;
}

/* The two ends see the same connection, which carries messages. */
static void expect_one_link(void)
{
    struct rsmd_link *there = rsmd_link_to(one.cluster, 2), *back = rsmd_link_to(two.cluster, 1);
    unsigned before = two.messages, before_back = one.messages;
    AWAIT(side_state(&one, 2) == RSMD_LINK_UP && side_state(&two, 1) == RSMD_LINK_UP);
    AWAIT(there->calling == NULL && there->rival == NULL && back->calling == NULL &&
          back->rival == NULL);
    assert_true(side_send(&one, 2, &some_event));
    assert_true(side_send(&two, 1, &some_event));
    AWAIT(two.messages == before + 1 && one.messages == before_back + 1);
    assert_int_not_equal(there->up->caller, back->up->caller);
}

LINK_TEST(no_link_is_made_before_it_is_needed)
{
    run_both(ON_DEMAND);
    links_turn_for(2 * RSMD_RETRY_MIN_MS);
    assert_true(is_idle(&one, 2) && is_idle(&two, 1));
    assert_int_equal(one.ups + two.ups, 0);
    assert_false(side_send(&one, 2, &some_event));
    assert_true(rsmd_cluster_may_reach(one.cluster, 2));
    assert_int_equal(need(&one, 7), RSMD_LINK_UNUSABLE); /* no such node */
    stop_both();
}

LINK_TEST(either_end_makes_it)
{
    for (unsigned higher = 0; higher < 2; higher++) {
        struct side *caller = higher ? &two : &one;
        uint32_t other = higher ? 1 : 2;
        run_both(ON_DEMAND);
        assert_int_equal(need(caller, other), RSMD_LINK_AWAITED);
        assert_int_equal(need(caller, other), RSMD_LINK_AWAITED);
        AWAIT(caller->made == 1);
        assert_int_equal(need(caller, other), RSMD_LINK_USABLE);
        expect_one_link();
        assert_int_equal(one.ups + two.ups, 2);
        stop_both();
    }
}

LINK_TEST(both_call_at_once)
{
    run_both(ON_DEMAND);
    for (unsigned round = 0; round < 50; round++) {
        unsigned ups = one.ups + two.ups, made = one.made + two.made;
        unsigned delay = round % 10;
        assert_int_equal(need(&one, 2), RSMD_LINK_AWAITED);
        for (unsigned i = 0; i < delay; i++)
            links_turn();
        /* if it is up at this end already, this is no crossing */
        bool crossing = need(&two, 1) == RSMD_LINK_AWAITED;
        AWAIT(one.made + two.made == made + 1 + crossing);
        expect_one_link();
        links_turn_for(5);
        expect_one_link();
        assert_int_equal(one.ups + two.ups, ups + 2); /* no link was replaced by the other call's */
        assert_string_equal(side_text(&one, 2), "");
        assert_string_equal(side_text(&two, 1), "");
        rsmd_tcp_end(rsmd_link_to(one.cluster, 2)->up, NULL);
        AWAIT(one.downs + two.downs == one.ups + two.ups);
        rsmd_link_to(two.cluster, 1)->text[0] = '\0';
    }
    stop_both();
}

/* The lower node's call does not get through, and the other one's does. */
LINK_TEST(a_call_that_fails_gives_way)
{
    run_both(ON_DEMAND);
    struct rsmd_link *link = rsmd_link_to(one.cluster, 2);
    int silent = raw_listen(9);
    struct rsmd_conf_node *node = one.conf.nodes[1];
    char address[sizeof node->address];
    memcpy(address, node->address, sizeof address);
    snprintf(node->address, sizeof node->address, "%s", links_address(9));
    assert_int_equal(need(&one, 2), RSMD_LINK_AWAITED);
    AWAIT(link->calling != NULL && link->calling->phase == RSMD_PHASE_HELLO);
    assert_int_equal(need(&two, 1), RSMD_LINK_AWAITED);
    AWAIT(link->rival != NULL);
    assert_int_equal(one.ups, 0);
    close(silent);
    AWAIT(one.made == 1 && two.made == 1);
    memcpy(node->address, address, sizeof address);
    expect_one_link();
    stop_both();
}

LINK_TEST(a_node_that_is_not_there_is_given_up)
{
    run(&one, 1, 2, ON_DEMAND);
    int64_t begun = rsm_clock_ms();
    assert_int_equal(need(&one, 2), RSMD_LINK_AWAITED);
    AWAIT(one.unmade == 1);
    assert_true(rsm_clock_ms() - begun < LINKS_TIMEOUT_MS);
    assert_int_equal(side_state(&one, 2), RSMD_LINK_DOWN);
    assert_false(rsmd_cluster_may_reach(one.cluster, 2));
    links_turn_for(3 * RSMD_RETRY_MIN_MS);
    assert_int_equal(one.unmade, 1);
    assert_false(event_pending(rsmd_link_to(one.cluster, 2)->retry, EV_TIMEOUT, NULL));
    /* Each request tries anew. */
    run(&two, 2, 2, ON_DEMAND);
    AWAIT(two.cluster->listener.socket >= 0);
    assert_int_equal(need(&one, 2), RSMD_LINK_AWAITED);
    AWAIT(one.made == 1);
    expect_one_link();
    stop_both();
}

LINK_TEST(an_idle_link_is_closed)
{
    run_both(SHORT);
    need(&one, 2);
    AWAIT(one.made == 1 && two.ups == 1);
    int64_t since = rsm_clock_ms();
    AWAIT(one.downs == 1 && two.downs == 1);
    assert_true(rsm_clock_ms() - since >= IDLE_MS / 2);
    assert_true(is_idle(&one, 2) && is_idle(&two, 1));
    assert_string_equal(side_text(&one, 2), "");
    assert_string_equal(side_text(&two, 1), "");
    links_turn_for(3 * RSMD_RETRY_MIN_MS);
    assert_int_equal(one.ups + two.ups, 2);
    need(&two, 1);
    AWAIT(two.made == 1);
    stop_both();
}

LINK_TEST(a_link_in_use_stays)
{
    for (unsigned higher = 0; higher < 2; higher++) {
        run_both(SHORT);
        struct side *user = higher ? &two : &one, *other = higher ? &one : &two;
        user->used = true;
        need(&one, 2);
        AWAIT(one.made == 1 && two.ups == 1);
        links_turn_for(5 * IDLE_MS);
        assert_int_equal(one.downs + two.downs, 0);
        assert_int_equal(need(other, user->node), RSMD_LINK_USABLE); /* no question is left open */
        user->used = false;
        AWAIT(one.downs == 1 && two.downs == 1);
        stop_both();
    }
}

/* A link that has gone while it was in use is made again, if something of it is left. */
LINK_TEST(a_link_with_a_past_comes_back)
{
    run_both(SHORT);
    need(&one, 2);
    AWAIT(one.made == 1 && two.ups == 1);
    two.used = true;
    rsmd_tcp_end(rsmd_link_to(one.cluster, 2)->up, NULL);
    AWAIT(two.ups == 2);
    expect_one_link();
    stop_both();
}

/* ------------------------------------------------------------------ the question */

static void ask(int fd, uint32_t step)
{
    raw_send(fd, &(struct rsm_cluster_msg){.type = RSM_CLUSTER_IDLE, .u.idle.step = step});
}

static uint32_t next_step(int fd)
{
    struct rsm_cluster_msg msg;
    assert_true(raw_next_of(fd, RSM_CLUSTER_IDLE, &msg));
    return msg.u.idle.step;
}

/* What is needed while the other end thinks about closing waits, and takes the next link, or this. */
LINK_TEST(what_comes_amid_the_question_waits)
{
    for (unsigned closes = 0; closes < 2; closes++) {
        run(&two, 2, 2, SHORT);
        AWAIT(two.cluster->listener.socket >= 0);
        int fd = raw_link(&two, 1, 99);
        assert_int_equal(next_step(fd), RSM_CLUSTER_IDLE_ASKED);
        assert_int_equal(need(&two, 1), RSMD_LINK_AWAITED);
        links_turn_for(20);
        assert_int_equal(two.made, 0);
        ask(fd, closes ? RSM_CLUSTER_IDLE_CLOSED : RSM_CLUSTER_IDLE_USED);
        if (closes) {
            run(&one, 1, 2, ON_DEMAND);
            AWAIT(two.downs == 1 && two.made == 1);
            expect_one_link();
            side_stop(&one);
        } else {
            AWAIT(two.made == 1);
            assert_int_equal(two.downs, 0);
            assert_int_equal(need(&two, 1), RSMD_LINK_USABLE);
        }
        close(fd);
        side_stop(&two);
    }
}

/* What is needed when the connection is over, and before that is reported, takes the next link. */
LINK_TEST(what_comes_just_behind_the_end_waits)
{
    for (unsigned unused = 0; unused < 2; unused++) {
        run_both(ON_DEMAND);
        need(&one, 2);
        AWAIT(one.made == 1 && two.ups == 1);
        struct rsmd_tcp *conn = rsmd_link_to(one.cluster, 2)->up;
        conn->unused = unused;
        rsmd_tcp_end(conn, NULL);
        assert_int_equal(one.downs, 0);
        assert_int_equal(need(&one, 2), RSMD_LINK_AWAITED);
        AWAIT(one.made == 2);
        assert_int_equal(one.unmade, 0);
        expect_one_link();
        stop_both();
    }
}

LINK_TEST(the_question_is_answered)
{
    run(&two, 2, 2, ON_DEMAND);
    AWAIT(two.cluster->listener.socket >= 0);
    int fd = raw_link(&two, 1, 99);
    struct rsmd_link *link = rsmd_link_to(two.cluster, 1);
    int64_t half = two.conf.link_idle_ms / 2;
    two.used = true;
    link->used_at = rsm_clock_ms() - half;
    ask(fd, RSM_CLUSTER_IDLE_ASKED);
    assert_int_equal(next_step(fd), RSM_CLUSTER_IDLE_USED);
    two.used = false;
    link->used_at = rsm_clock_ms() - half / 2; /* not long ago */
    ask(fd, RSM_CLUSTER_IDLE_ASKED);
    assert_int_equal(next_step(fd), RSM_CLUSTER_IDLE_USED);
    assert_int_equal(two.downs, 0);
    link->used_at = rsm_clock_ms() - half;
    ask(fd, RSM_CLUSTER_IDLE_ASKED);
    assert_int_equal(next_step(fd), RSM_CLUSTER_IDLE_CLOSED);
    raw_expect_closed(fd);
    AWAIT(two.downs == 1);
    side_stop(&two);
}

/* An answer to no question, and a step that there is not. */
LINK_TEST(out_of_turn)
{
    static const uint32_t wrong[] = {RSM_CLUSTER_IDLE_CLOSED, RSM_CLUSTER_IDLE_USED, 0, 4,
                                     UINT32_MAX};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        run(&two, 2, 2, ON_DEMAND);
        AWAIT(two.cluster->listener.socket >= 0);
        int fd = raw_link(&two, 1, 99);
        ask(fd, wrong[i]);
        raw_expect_closed(fd);
        AWAIT(two.downs == 1);
        AWAIT_TEXT(&two, 1, "out of turn");
        side_stop(&two);
    }
}

/* ------------------------------------------------------------------ permanent links */

/* An end whose links are permanent keeps the link, and makes it again. */
LINK_TEST(a_permanent_end_keeps_it)
{
    for (unsigned higher = 0; higher < 2; higher++) {
        run(&one, 1, 2, higher ? SHORT : "");
        run(&two, 2, 2, higher ? "" : SHORT);
        if (higher)
            need(&one, 2);
        AWAIT(one.ups == 1 && two.ups == 1);
        links_turn_for(5 * IDLE_MS);
        assert_int_equal(one.downs + two.downs, 0);
        stop_both();
    }
}

LINK_TEST(their_number_decides)
{
    enum { COUNT = 3 };
    static struct side sides[COUNT + 1];
    for (uint32_t id = 1; id <= COUNT; id++)
        run(&sides[id], id, COUNT, "permanent-links = 3\n");
    for (uint32_t id = 1; id <= COUNT; id++)
        AWAIT(sides[id].ups == COUNT - 1);
    assert_false(rsmd_cluster_is_on_demand(sides[1].cluster));
    /* One more: what is up stays, and the new one is not called. */
    struct rsmd_conf_node more = *sides[1].conf.nodes[0];
    more.id = COUNT + 1;
    snprintf(more.address, sizeof more.address, "%s", links_address(COUNT + 1));
    assert_true(rsmd_cluster_add(sides[1].cluster, rsmd_conf_add_node(&sides[1].conf, &more)));
    assert_true(rsmd_cluster_is_on_demand(sides[1].cluster));
    links_turn_for(2 * RSMD_RETRY_MIN_MS);
    assert_int_equal(sides[1].downs, 0);
    assert_true(is_idle(&sides[1], COUNT + 1));
    /* As many are allowed: it is called again. */
    sides[1].conf.permanent_links = COUNT + 1;
    rsmd_cluster_reload(sides[1].cluster);
    AWAIT_TEXT(&sides[1], COUNT + 1, "refused");
    for (uint32_t id = 1; id <= COUNT; id++)
        side_stop(&sides[id]);
}
