/* SPDX-License-Identifier: BSD-3-Clause */
/* Links between nodes: they come up, carry messages, notice what ends them and come up again. */
#include "base/clock.h"
#include "links.h"

static const struct rsm_cluster_msg some_event = {
    .type = RSM_CLUSTER_EVENT, .u.event = {.import = 7, .end = RSM_EVENT_EXPORT, .count = 1}};

static bool both_up(const struct side *a, const struct side *b)
{
    return side_state(a, b->node) == RSMD_LINK_UP && side_state(b, a->node) == RSMD_LINK_UP;
}

#define LINK_TEST(function) TEST_BETWEEN(function, links_begin, links_end)

LINK_TEST(messages_go_both_ways_in_order)
{
    enum { COUNT = 500 };
    struct side one, two;
    side_run(&one, 1, 2);
    side_run(&two, 2, 2);
    two.echo = true;
    assert_false(side_send(&one, 2, &some_event)); /* not yet */
    AWAIT(both_up(&one, &two));
    assert_int_equal(one.ups, 1);
    assert_int_equal(two.ups, 1);
    for (uint32_t i = 1; i <= COUNT; i++) {
        struct rsm_cluster_msg msg = some_event;
        msg.u.event.count = i;
        assert_true(side_send(&one, 2, &msg));
    }
    AWAIT(two.messages == COUNT && one.messages == COUNT);
    assert_int_equal(two.last_from, 1);
    assert_int_equal(one.last.u.event.count, COUNT);
    assert_int_equal(one.last.u.event.import, 7);
    side_stop(&one);
    AWAIT(side_state(&two, 1) == RSMD_LINK_DOWN);
    assert_int_equal(two.downs, 1);
    assert_string_equal(side_text(&two, 1), "it says: the daemon of node 1 ends");
    side_stop(&two);
}

/* All types but the link's own. */
LINK_TEST(every_type_of_message_goes_through)
{
    struct side one, two;
    side_run(&one, 1, 2);
    side_run(&two, 2, 2);
    AWAIT(both_up(&one, &two));
    unsigned sent = 0;
    for (uint32_t type = RSM_CLUSTER_CONNECT; type <= RSM_CLUSTER_LAST; type++) {
        static uint8_t frame[RSM_CLUSTER_FRAME_MAX];
        struct rsm_cluster_msg msg = {.type = type};
        if (rsm_cluster_encode(&msg, frame, sizeof frame) == 0)
            continue; /* there is no such type */
        assert_true(side_send(&one, 2, &msg));
        sent++;
        AWAIT(two.messages == sent || two.downs > 0);
        if (two.downs > 0)
            fail_msg("a message of type %u ends the link", (unsigned)type);
        assert_int_equal(two.last.type, type);
    }
    assert_true(sent > 0);
    side_stop(&one);
    side_stop(&two);
}

/* It lasts while nothing is said, too. */
LINK_TEST(all_find_each_other)
{
    enum { COUNT = 5 };
    static struct side sides[COUNT + 1];
    for (uint32_t id = COUNT; id >= 1; id--)
        side_run(&sides[id], id, COUNT);
    for (uint32_t a = 1; a <= COUNT; a++)
        for (uint32_t b = 1; b < a; b++)
            AWAIT(both_up(&sides[a], &sides[b]));
    links_turn_for(3 * LINKS_TIMEOUT_MS);
    for (uint32_t id = 1; id <= COUNT; id++)
        assert_int_equal(sides[id].ups - sides[id].downs, COUNT - 1);
    for (uint32_t id = 1; id <= COUNT; id++)
        side_stop(&sides[id]);
}

LINK_TEST(either_end_restarts)
{
    struct side one, two;
    side_run(&one, 1, 2);
    AWAIT_TEXT(&one, 2, "refused");
    side_run(&two, 2, 2);
    AWAIT(both_up(&one, &two));
    side_stop(&two);
    AWAIT(one.downs == 1);
    side_run(&two, 2, 2);
    AWAIT(both_up(&one, &two));
    assert_int_equal(one.ups, 2);
    side_stop(&one);
    AWAIT(two.downs == 1);
    side_run(&one, 1, 2);
    AWAIT(both_up(&one, &two));
    assert_int_equal(two.ups, 2);
    side_stop(&one);
    side_stop(&two);
}

/* Nothing comes over a new link before all is over that the former one had. */
LINK_TEST(the_next_link_waits_for_the_end_of_the_former)
{
    struct side one, two;
    for (uint32_t slow = 1; slow <= 2;
         slow++) { /* the one that calls, and the one that is called */
        side_run(&one, 1, 2);
        side_run(&two, 2, 2);
        AWAIT(both_up(&one, &two));
        struct side *waits = slow == 1 ? &one : &two, *comes = slow == 1 ? &two : &one;
        waits->busy = true;
        side_stop(comes);
        AWAIT(waits->downs == 1);
        side_run(comes, 3 - slow, 2);
        links_turn_for(300);
        assert_int_equal(waits->ups, 1);
        rsmd_cluster_proceed(waits->cluster, 3 - slow);
        assert_int_equal(waits->ups, 1);
        waits->busy = false;
        rsmd_cluster_proceed(waits->cluster, 3 - slow);
        AWAIT(both_up(&one, &two));
        assert_int_equal(waits->ups, 2);
        side_stop(&one);
        side_stop(&two);
    }
}

/* How long it is up, what it has carried, how long ago it failed: also across TCP connections. */
LINK_TEST(a_link_has_a_history)
{
    struct side one, two;
    struct rsmd_link_about about;
    side_run(&one, 1, 2);
    AWAIT_TEXT(&one, 2, "refused");
    assert_true(rsmd_cluster_about(one.cluster, 2, &about));
    assert_true(about.up_ms == 0 && about.failure_ms > 0);
    assert_true(about.sent_bytes == 0 && about.received_bytes == 0);
    side_run(&two, 2, 2);
    AWAIT(both_up(&one, &two));
    AWAIT(rsmd_cluster_about(one.cluster, 2, &about) && about.sent_bytes > 0 &&
          about.received_bytes > 0 && about.up_ms > 1 && about.failure_ms > 1);
    uint64_t sent = about.sent_bytes, received = about.received_bytes;
    side_stop(&two);
    AWAIT(one.downs == 1);
    assert_true(rsmd_cluster_about(one.cluster, 2, &about));
    assert_true(about.up_ms == 0 && about.failure_ms > 0);
    assert_true(about.sent_bytes >= sent && about.received_bytes >= received);
    side_stop(&one);
}

LINK_TEST(a_peer_that_does_not_answer_is_noticed)
{
    struct side two;
    side_run(&two, 2, 2);
    int fd = raw_link(&two, 1, 99);
    AWAIT(two.ups == 1);
    int64_t up = rsm_clock_ms();
    AWAIT(two.downs == 1);
    assert_int_equal(two.silences, 1); /* which was told before */
    /* Not before its time; the upper bound is for a machine with much else to do. */
    assert_in_range(rsm_clock_ms() - up, LINKS_TIMEOUT_MS / 2, LINKS_WAIT_MS);
    assert_non_null(strstr(side_text(&two, 1), "node 1 has not answered node 2"));
    raw_expect_closed(fd);
    side_stop(&two);
}

LINK_TEST(a_peer_that_answers_late_was_silent)
{
    struct side two;
    struct rsm_cluster_msg msg;
    side_run(&two, 2, 2);
    int fd = raw_link(&two, 1, 99);
    AWAIT(two.ups == 1);
    for (unsigned i = 1; i <= 2; i++) {
        AWAIT(two.silent);
        assert_int_equal(two.silences, i);
        assert_true(raw_next_of(fd, RSM_CLUSTER_PING, &msg));
        msg.type = RSM_CLUSTER_PONG;
        raw_send(fd, &msg);
        AWAIT(!two.silent);
    }
    assert_int_equal(two.downs, 0);
    AWAIT(two.downs == 1);
    assert_int_equal(two.silences, 3);
    close(fd);
    side_stop(&two);
}

/* PINGs of its own do not make it alive: its answers may be what is lost. */
LINK_TEST(only_answers_count)
{
    struct side two;
    struct rsm_cluster_msg ping = {.type = RSM_CLUSTER_PING};
    side_run(&two, 2, 2);
    int fd = raw_link(&two, 1, 99);
    AWAIT(two.ups == 1);
    while (two.downs == 0) {
        ping.u.ping.number++;
        raw_send(fd, &ping);
        links_turn();
    }
    assert_non_null(strstr(side_text(&two, 1), "has not answered"));
    raw_expect_closed(fd);
    side_stop(&two);
}

/* PINGs that tell of the answers serve both sides: the called one sends none of its own. */
LINK_TEST(pings_of_the_caller_serve_both)
{
    struct side two;
    struct rsm_cluster_msg msg, ping = {.type = RSM_CLUSTER_PING, .u.ping.number = 1};
    side_run(&two, 2, 2);
    int fd = raw_link(&two, 1, 99);
    assert_true(raw_next(fd, &msg));
    assert_int_equal(msg.type, RSM_CLUSTER_PONG);
    int64_t until = rsm_clock_ms() + LINKS_TIMEOUT_MS + LINKS_TIMEOUT_MS / 4;
    while (rsm_clock_ms() < until) {
        ping.u.ping.answered = ping.u.ping.number++;
        raw_send(fd, &ping);
        assert_true(raw_next(fd, &msg));
        assert_int_equal(msg.type, RSM_CLUSTER_PONG);
        assert_int_equal(msg.u.pong.number, ping.u.ping.number);
    }
    assert_int_equal(two.ups, 1);
    assert_int_equal(two.downs, 0);
    /* Without them it asks itself. */
    assert_true(raw_next(fd, &msg));
    assert_int_equal(msg.type, RSM_CLUSTER_PING);
    close(fd);
    side_stop(&two);
}

LINK_TEST(a_peer_that_answers_stays)
{
    struct side two;
    struct rsm_cluster_msg msg;
    side_run(&two, 2, 2);
    int fd = raw_link(&two, 1, 99);
    for (int i = 0; i < 8; i++) { /* they take longer than silence may last */
        assert_true(raw_next_of(fd, RSM_CLUSTER_PING, &msg));
        msg.type = RSM_CLUSTER_PONG;
        raw_send(fd, &msg);
    }
    assert_int_equal(side_state(&two, 1), RSMD_LINK_UP);
    msg.u.pong.number += 1000; /* never sent */
    raw_send(fd, &msg);
    AWAIT(two.downs == 1);
    assert_non_null(strstr(side_text(&two, 1), "out of turn"));
    close(fd);
    side_stop(&two);
}

/* Who had no turn itself has not listened, and takes nobody for dead. */
LINK_TEST(a_daemon_that_was_held_up_blames_nobody)
{
    struct side two;
    struct rsm_cluster_msg msg;
    side_run(&two, 2, 2);
    int fd = raw_link(&two, 1, 99);
    AWAIT(two.ups == 1);
    usleep(2 * LINKS_TIMEOUT_MS * 1000);
    for (int i = 0; i < 4; i++) {
        assert_true(raw_next_of(fd, RSM_CLUSTER_PING, &msg));
        msg.type = RSM_CLUSTER_PONG;
        raw_send(fd, &msg);
    }
    assert_int_equal(two.downs, 0);
    AWAIT(two.downs == 1); /* when it has listened and heard nothing */
    close(fd);
    side_stop(&two);
}

/* What is not taken does not pile up, and nothing is told from within the call. */
LINK_TEST(a_full_queue_ends_the_link)
{
    struct side two;
    static struct rsm_cluster_msg large = {.type = RSM_CLUSTER_CONNECT_REPLY,
                                           .u.connect_reply.blob_len = RSM_OFFER_MAX_BLOB};
    side_run(&two, 2, 2);
    int small = 4096, fd = raw_link(&two, 1, 99);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    AWAIT(two.ups == 1);
    unsigned sent = 0;
    while (side_send(&two, 1, &large))
        assert_in_range(++sent, 0, 100000);
    assert_true(sent > 100);
    assert_int_equal(two.downs, 0);
    assert_int_not_equal(side_state(&two, 1), RSMD_LINK_UP);
    assert_false(side_send(&two, 1, &some_event));
    AWAIT(two.downs == 1);
    assert_non_null(strstr(side_text(&two, 1), "too much waits"));
    close(fd);
    side_stop(&two);
}

LINK_TEST(a_message_beyond_its_bounds_is_not_sent)
{
    struct side one, two;
    static struct rsm_cluster_msg bad = {.type = RSM_CLUSTER_CONNECT_REPLY,
                                         .u.connect_reply.blob_len = RSM_OFFER_MAX_BLOB + 1};
    side_run(&one, 1, 2);
    side_run(&two, 2, 2);
    AWAIT(both_up(&one, &two));
    assert_false(side_send(&one, 2, &bad));
    assert_true(side_send(&one, 2, &some_event));
    AWAIT(two.messages == 1);
    assert_int_equal(one.downs, 0);
    side_stop(&one);
    side_stop(&two);
}

/* Two daemons with one id: the one that is there stays, the other is told, and gets in when the
 * first one ends. */
LINK_TEST(the_second_with_an_id_waits)
{
    struct side one, other, two;
    side_run(&two, 2, 2);
    side_run(&one, 1, 2);
    AWAIT(both_up(&one, &two));
    side_run(&other, 1, 2);
    AWAIT_TEXT(&other, 2, "it says: two daemons have the id 1: one at 127.0.0.1, one at 127.0.0.1");
    assert_non_null(strstr(side_text(&two, 1), "two daemons have the id 1"));
    links_turn_for(2 * LINKS_TIMEOUT_MS);
    assert_true(both_up(&one, &two));
    assert_int_equal(two.ups, 1);
    assert_int_equal(two.downs, 0);
    assert_int_equal(other.ups, 0);
    side_stop(&one);
    AWAIT(other.ups == 1 && two.ups == 2);
    side_stop(&other);
    side_stop(&two);
}

/* Its former connection has not been missed yet. */
LINK_TEST(a_restarted_peer_takes_over)
{
    struct side two;
    struct rsm_cluster_msg msg;
    side_run(&two, 2, 2);
    int former = raw_link(&two, 1, 99);
    AWAIT(two.ups == 1);
    int later = raw_link(&two, 1, 100);
    assert_true(raw_next_of(later, RSM_CLUSTER_PONG, &msg));
    assert_int_equal(two.downs, 1);
    AWAIT(two.ups == 2);
    raw_expect_closed(former);
    close(later);
    side_stop(&two);
}

/* The same daemon knows best that its former connection has gone. */
LINK_TEST(a_new_connection_of_the_same_replaces_the_old_one)
{
    struct side two;
    struct rsm_cluster_msg msg;
    side_run(&two, 2, 2);
    int former = raw_link(&two, 1, 99);
    AWAIT(two.ups == 1);
    int later = raw_link(&two, 1, 99);
    assert_true(raw_next_of(later, RSM_CLUSTER_PONG, &msg));
    AWAIT(two.ups == 2 && two.downs == 1);
    assert_string_equal(side_text(&two, 1), "the peer has made a new connection");
    raw_expect_closed(former);
    close(later);
    side_stop(&two);
}

static bool every_node(void *context, uint32_t node)
{
    return *(bool *)context;
}

LINK_TEST(neighbours_are_not_called)
{
    struct side one, two;
    struct rsmd_link_about about;
    bool neighbour = true;
    side_run(&two, 2, 2);
    side_run(&one, 1, 2);
    rsmd_cluster_set_same_host(one.cluster, every_node, &neighbour);
    AWAIT(rsmd_cluster_about(one.cluster, 2, &about) && about.state == RSM_LINK_NEIGHBOUR);
    links_turn_for(LINKS_TIMEOUT_MS);
    assert_int_equal(one.ups + two.ups, 0);
    assert_int_equal(side_state(&one, 2), RSMD_LINK_DOWN);
    neighbour = false;
    AWAIT(both_up(&one, &two));
    assert_true(rsmd_cluster_about(one.cluster, 2, &about));
    assert_int_equal(about.state, RSM_LINK_UP);
    assert_int_equal(about.version, 1);
    assert_true(rsmd_cluster_about(one.cluster, 1, &about));
    assert_int_equal(about.state, RSM_LINK_SELF);
    assert_false(rsmd_cluster_about(one.cluster, 3, &about));
    side_stop(&one);
    side_stop(&two);
}

LINK_TEST(names_are_looked_up)
{
    struct side one, two;
    side_run(&two, 2, 2);
    side_configure(&one, 1, 2, "");
    /* A name of no machine, and then one that every machine has; its port is nobody's. */
    strcpy(one.conf.nodes[1]->address, "no-such-host.invalid");
    side_start(&one, NULL);
    AWAIT(side_text(&one, 2)[0] != '\0');
    assert_int_equal(side_state(&one, 2), RSMD_LINK_DOWN);
    side_stop(&one);
    side_configure(&one, 1, 2, "");
    strcpy(one.conf.nodes[1]->address, "localhost");
    one.conf.nodes[1]->port = 1;
    side_start(&one, NULL);
    AWAIT_TEXT(&one, 2, "refused");
    side_stop(&one);
    side_stop(&two);
}

LINK_TEST(where_nothing_is_configured_nothing_happens)
{
    struct side one;
    struct rsmd_link_about about;
    side_configure(&one, 1, 2, "");
    memset(one.conf.nodes[0]->address, 0, sizeof one.conf.nodes[0]->address);
    side_start(&one, NULL); /* an address for others, none for itself */
    assert_int_equal(side_state(&one, 2), RSMD_LINK_NONE);
    side_stop(&one);
    side_configure(&one, 1, 0, "");
    side_start(&one, NULL);
    for (uint32_t id = 0; id < 70; id++) {
        assert_int_equal(side_state(&one, id), RSMD_LINK_NONE);
        assert_false(side_send(&one, id, &some_event));
        assert_false(rsmd_cluster_about(one.cluster, id, &about));
    }
    side_stop(&one);
    assert_int_equal(rsmd_cluster_state(NULL, 1, NULL), RSMD_LINK_NONE);
    assert_false(rsmd_cluster_send(NULL, 1, &some_event));
    assert_false(rsmd_cluster_about(NULL, 1, &about));
    rsmd_cluster_stop(NULL);
}
