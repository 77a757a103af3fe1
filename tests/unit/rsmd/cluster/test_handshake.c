/* SPDX-License-Identifier: BSD-3-Clause */
/* Those who do not belong to the cluster, or not as they think: each is refused with a reason, and
 * none of them hurts those who do. */
#include <dirent.h>

#include "base/clock.h"
#include "base/log.h"
#include "links.h"

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* Send a HELLO and see it refused, in these words. */
static void expect_refusal(const struct side *side, const struct rsm_cluster_msg *hello,
                           enum rsm_status status, const char *text)
{
    struct rsm_cluster_msg msg;
    int fd = raw_call(side->node);
    raw_send(fd, hello);
    assert_true(raw_next(fd, &msg));
    assert_int_equal(msg.type, RSM_CLUSTER_HELLO); /* who speaks */
    assert_int_equal(msg.u.hello.from, side->node);
    assert_true(raw_next(fd, &msg));
    assert_int_equal(msg.type, RSM_CLUSTER_REFUSE);
    assert_string_equal(msg.u.refuse.text, text);
    assert_int_equal(msg.u.refuse.status, status);
    raw_expect_closed(fd);
}

#define LINK_TEST(function) TEST_BETWEEN(function, links_begin, links_end)

LINK_TEST(callers_that_do_not_fit_are_told_why)
{
    struct side two;
    side_run(&two, 2, 3);
    struct rsm_cluster_msg hello = raw_hello(1, 2, 9);
    hello.u.hello.version_min = 2;
    hello.u.hello.version_max = 3;
    expect_refusal(&two, &hello, RSM_ST_VERSION,
                   "node 1 speaks versions 2 to 3 of the protocol, node 2 1 to 1");
    assert_string_equal(side_text(&two, 1),
                        "node 1 speaks versions 2 to 3 of the protocol, node 2 1 to 1");
    hello = raw_hello(1, 3, 9);
    expect_refusal(&two, &hello, RSM_ST_INVALID, "node 2 is at the address of node 3");
    hello = raw_hello(2, 2, 9);
    expect_refusal(&two, &hello, RSM_ST_INVALID, "two daemons have the id 2");
    hello = raw_hello(7, 2, 9);
    expect_refusal(&two, &hello, RSM_ST_DENIED,
                   "node 7 has no address in the configuration of node 2");
    hello = raw_hello(0xffffffff, 2, 9);
    expect_refusal(&two, &hello, RSM_ST_DENIED,
                   "node 4294967295 has no address in the configuration of node 2");
    hello = raw_hello(3, 2, 9);
    expect_refusal(&two, &hello, RSM_ST_DENIED,
                   "node 3 called node 2: it is the lower one that calls");
    assert_int_equal(two.ups + two.downs + two.messages, 0);
    side_stop(&two);
}

LINK_TEST(the_highest_common_version_is_spoken)
{
    struct side two;
    struct rsmd_link_about about;
    struct rsm_cluster_msg msg = raw_hello(1, 2, 9);
    side_run(&two, 2, 2);
    msg.u.hello.version_max = 77;
    int fd = raw_call(2);
    raw_send(fd, &msg);
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF};
    raw_send(fd, &msg);
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PING, .u.ping.number = 1};
    raw_send(fd, &msg); /* all at once: what comes early waits */
    AWAIT(two.ups == 1);
    assert_true(rsmd_cluster_about(two.cluster, 1, &about));
    assert_int_equal(about.version, 1);
    close(fd);
    side_stop(&two);
}

/* What the caller is told by the one at the other end. */
LINK_TEST(answers_that_do_not_fit_are_noted)
{
    static const struct {
        uint32_t from;
        uint32_t version;
        const char *text;
    } answers[] = {
        {3, 1, "node 3 is at the address of node 2"},
        {1, 1, "two daemons have the id 1, one of them at the address of node 2"},
        {2, 5, "node 2 speaks versions 5 to 5 of the protocol, node 1 1 to 1"},
    };
    struct side one;
    struct rsm_cluster_msg msg;
    int listener = raw_listen(2);
    side_run(&one, 1, 3);
    for (unsigned i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        int fd = raw_accept(listener);
        assert_true(raw_next_of(fd, RSM_CLUSTER_HELLO, &msg));
        assert_int_equal(msg.u.hello.to, 2);
        msg = raw_hello(answers[i].from, 1, 5);
        msg.u.hello.version_min = msg.u.hello.version_max = answers[i].version;
        raw_send(fd, &msg);
        assert_true(raw_next_of(fd, RSM_CLUSTER_REFUSE, &msg));
        assert_string_equal(msg.u.refuse.text, answers[i].text);
        raw_expect_closed(fd);
        assert_string_equal(side_text(&one, 2), answers[i].text);
    }
    int fd = raw_accept(listener);
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_REFUSE,
                                   .u.refuse = {.text = "go\n\033[2Jaway"}};
    raw_send(fd, &msg);
    AWAIT_TEXT(&one, 2, "it says: go??[2Jaway"); /* nothing that drives a terminal */
    close(fd);
    fd = raw_accept(listener);
    assert_true(raw_next_of(fd, RSM_CLUSTER_HELLO, &msg));
    msg.u.hello.from = 2; /* its own words come back */
    raw_send(fd, &msg);
    AWAIT_TEXT(&one, 2, "the address of node 2 leads to node 1 itself");
    close(fd);
    close(listener);
    side_stop(&one);
}

LINK_TEST(a_proof_that_was_not_asked_for_is_refused)
{
    struct side two;
    side_run(&two, 2, 2);
    struct rsm_cluster_msg msg = raw_hello(1, 2, 9);
    int fd = raw_call(2);
    raw_send(fd, &msg);
    msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF, .u.proof.length = 5};
    raw_send(fd, &msg);
    assert_true(raw_next_of(fd, RSM_CLUSTER_REFUSE, &msg));
    assert_string_equal(msg.u.refuse.text, "node 1 has auth = munge, and node 2 auth = none");
    raw_expect_closed(fd);
    side_stop(&two);
}

/* Nothing but the handshake is taken from strangers, and each message in its place only. */
LINK_TEST(messages_out_of_turn_end_it)
{
    static const uint32_t types[] = {RSM_CLUSTER_PROOF,
                                     RSM_CLUSTER_PING,
                                     RSM_CLUSTER_PONG,
                                     RSM_CLUSTER_CONNECT,
                                     RSM_CLUSTER_CONNECT_REPLY,
                                     RSM_CLUSTER_DISCONNECT,
                                     RSM_CLUSTER_ABORT,
                                     RSM_CLUSTER_EVENT,
                                     RSM_CLUSTER_UNAVAILABLE,
                                     RSM_CLUSTER_INTERRUPT,
                                     RSM_CLUSTER_INTERRUPT_REPLY,
                                     RSM_CLUSTER_RELEASED};
    struct side two;
    side_run(&two, 2, 2);
    for (unsigned greeted = 0; greeted < 2; greeted++) {
        for (unsigned i = greeted; i < sizeof types / sizeof types[0]; i++) {
            struct rsm_cluster_msg msg = raw_hello(1, 2, 9);
            int fd = raw_call(2);
            if (greeted != 0)
                raw_send(fd, &msg);
            msg = (struct rsm_cluster_msg){.type = types[i]};
            raw_send(fd, &msg);
            raw_expect_closed(fd);
        }
    }
    /* And a second greeting on a link. */
    int fd = raw_link(&two, 1, 5);
    struct rsm_cluster_msg msg = raw_hello(1, 2, 9);
    AWAIT(two.ups == 1);
    raw_send(fd, &msg);
    raw_expect_closed(fd);
    AWAIT(two.downs == 1);
    assert_int_equal(two.messages, 0);
    side_stop(&two);
}

LINK_TEST(garbage_is_not_read_for_long)
{
    static uint8_t noise[65536];
    struct side two;
    side_run(&two, 2, 2);
    for (unsigned round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t)((i * 2654435761u + round * 40503u) >> (round % 16));
        int fd = raw_call(2);
        raw_bytes(fd, noise, round % 2 == 0 ? 4096 : 5 + round);
        shutdown(fd, SHUT_WR);
        raw_expect_closed(fd);
    }
    assert_int_equal(two.ups + two.messages, 0);
    side_stop(&two);
}

/* Call the node with sockets that say nothing, and let it take each before the backlog is full, for
 * then a call would wait for a node that has no turn. The oldest are called anew until all places
 * for strangers are taken: on a busy machine the first may have used their time up before. */
static void fill_with_strangers(struct side *side, int *idle, int count)
{
    int64_t until = rsm_clock_ms() + LINKS_WAIT_MS;
    for (int i = 0; i < count ||
                    side->cluster->listener.stranger_count != side->cluster->listener.strangers_max;
         i++) {
        if (i >= count)
            close(idle[i % count]);
        idle[i % count] = raw_call(side->node);
        if (i % 8 == 7) { /* half of what it takes in a turn */
            links_turn();
            links_turn();
        }
        assert_true(rsm_clock_ms() < until);
    }
}

/* More connections than there is room for, from one host: only they pay for it. */
LINK_TEST(many_idle_connections_keep_nobody_out)
{
    enum { COUNT = 4 * RSMD_STRANGERS_SPARE };
    struct side one, two;
    int idle[COUNT];
    unsigned before = count_descriptors();
    side_run(&two, 2, 2);
    fill_with_strangers(&two, idle, COUNT);
    side_run(&one, 1, 2);
    AWAIT(one.ups == 1 && two.ups == 1);
    assert_in_range(two.cluster->listener.stranger_count, 0, two.cluster->listener.strangers_max);
    assert_in_range(count_descriptors(), before, before + COUNT + RSMD_STRANGERS_SPARE + 40);
    /* Those that are left have their time, and then they are gone. */
    AWAIT(two.cluster->listener.stranger_count == 0);
    assert_int_equal(two.downs, 0);
    for (int i = 0; i < COUNT; i++)
        close(idle[i]);
    side_stop(&one);
    side_stop(&two);
    AWAIT(count_descriptors() == before); /* threads end in their own time */
}

/* A node that has started is called by all lower ones at once. None of them displaces another. */
LINK_TEST(all_nodes_may_call_at_once)
{
    enum { CALLERS = RSMD_STRANGERS_SPARE + 16 };
    struct side last;
    struct rsm_cluster_msg msg;
    int fds[CALLERS];
    side_configure(&last, CALLERS + 1, CALLERS + 1, "");
    last.conf.peer_timeout_ms = LINKS_WAIT_MS; /* a busy machine takes its time */
    side_start(&last, NULL);
    for (uint32_t i = 0; i < CALLERS; i++) {
        msg = raw_hello(i + 1, CALLERS + 1, 100 + i);
        fds[i] = raw_call(CALLERS + 1);
        raw_send(fds[i], &msg);
        links_turn();
    }
    AWAIT(last.cluster->listener.stranger_count == CALLERS);
    for (uint32_t i = 0; i < CALLERS; i++) {
        msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PROOF};
        raw_send(fds[i], &msg);
        msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_PING, .u.ping.number = 1};
        raw_send(fds[i], &msg);
    }
    AWAIT(last.ups == CALLERS);
    assert_int_equal(last.cluster->listener.stranger_count, 0);
    assert_null(last.cluster->listener.hosts);
    for (uint32_t i = 0; i < CALLERS; i++)
        close(fds[i]);
    side_stop(&last);
}

/* A link that is up takes no harm from whoever calls itself that node. */
LINK_TEST(impostors_do_not_disturb)
{
    struct side one, two;
    struct rsm_cluster_msg msg;
    side_run(&two, 2, 2);
    side_run(&one, 1, 2);
    AWAIT(one.ups == 1 && two.ups == 1);
    for (int i = 0; i < 20; i++) {
        msg = raw_hello(1, 2, (uint64_t)i);
        int fd = raw_call(2);
        raw_send(fd, &msg);
        msg = (struct rsm_cluster_msg){.type = RSM_CLUSTER_REFUSE, .u.refuse.text = "goodbye"};
        raw_send(fd, &msg);
        raw_expect_closed(fd);
    }
    assert_string_equal(side_text(&two, 1), "");
    assert_int_equal(one.downs + two.downs, 0);
    side_stop(&one);
    side_stop(&two);
}

/* ------------------------------------------------------------------ the log */

static unsigned lines;

static void count_line(enum rsmcore_log_level level, const char *text)
{
    lines += level <= RSMCORE_LOG_WARNING;
}

LINK_TEST(the_log_is_not_filled)
{
    struct side one, two;
    side_run(&two, 2, 2);
    lines = 0;
    rsmcore_log_to(count_line, RSMCORE_LOG_WARNING);
    for (uint32_t i = 0; i < 300; i++) {
        struct rsm_cluster_msg msg = raw_hello(1, 2, 9);
        msg.u.hello.version_min = 2 + i; /* another complaint each time */
        msg.u.hello.version_max = 2 + i;
        int fd = raw_call(2);
        raw_send(fd, &msg);
        raw_expect_closed(fd);
    }
    assert_in_range(lines, 1, 3 * RSMD_COMPLAINTS_BURST); /* should a minute have passed */
    side_stop(&two);
    lines = 0;
    side_run(&one, 1, 2); /* calls one that is not there: said once */
    links_turn_for(2000);
    assert_int_equal(lines, 1);
    side_stop(&one);
    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
}

TEST_ALONE(complaints_are_news_again_after_an_hour)
{
    struct rsmd_complaints known = {.next = 0};
    char text[2] = "a";
    assert_true(rsmd_complaint_is_new(&known, text, 1000));
    assert_false(rsmd_complaint_is_new(&known, text, 1001));
    for (int64_t i = 0; i < RSMD_COMPLAINTS_KNOWN - 1; i++) {
        text[0]++;
        assert_true(rsmd_complaint_is_new(&known, text, 2000 + i));
        assert_false(rsmd_complaint_is_new(&known, text, 2001 + i));
    }
    assert_false(rsmd_complaint_is_new(&known, "a", 3000));
    assert_true(rsmd_complaint_is_new(&known, "a", 1000 + RSMD_COMPLAINTS_AGAIN_MS));
    assert_false(rsmd_complaint_is_new(&known, "a", 1001 + RSMD_COMPLAINTS_AGAIN_MS));
    rsmd_complaints_forget(&known);
    assert_true(rsmd_complaint_is_new(&known, "a", 1002 + RSMD_COMPLAINTS_AGAIN_MS));
    struct rsmd_bucket bucket = {.left = 0};
    unsigned dropped = 0;
    for (int i = 0; i < RSMD_COMPLAINTS_BURST; i++)
        assert_true(rsmd_bucket_take(&bucket, 5000, &dropped));
    for (int i = 0; i < 7; i++)
        assert_false(rsmd_bucket_take(&bucket, 5001, &dropped));
    assert_true(rsmd_bucket_take(&bucket, 65000, &dropped));
    assert_int_equal(dropped, 7);
}

/* The address is taken by another program: said once, tried again. */
LINK_TEST(a_listener_waits_for_its_address)
{
    struct side one, two;
    struct rsmd_link_about about;
    int taken = raw_listen(2);
    side_run(&two, 2, 2);
    assert_true(rsmd_cluster_about(two.cluster, 2, &about));
    assert_non_null(strstr(about.text, "cannot listen: Address already in use"));
    close(taken);
    side_run(&one, 1, 2);
    AWAIT(one.ups == 1 && two.ups == 1);
    assert_true(rsmd_cluster_about(two.cluster, 2, &about));
    assert_string_equal(about.text, "");
    side_stop(&one);
    side_stop(&two);
}
