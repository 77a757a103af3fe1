/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes show each other who they are, by a MUNGE that is made up here and fails as told. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_munge.h"
#include "links.h"

static struct fake_munge *fake;
static const char *library;

static int begin(void **state)
{
    atomic_int *const all[] = {&fake->encode, &fake->decode,  &fake->failing_decode,
                               &fake->uid,    &fake->age,     &fake->hangs,
                               &fake->inside, &fake->encoded, &fake->decoded};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        atomic_store(all[i], 0);
    return links_begin(state);
}

static int load(void **state)
{
    (void)state;
    library = getenv("RSM_FAKE_MUNGE");
    void *handle = library != NULL ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    fake = handle != NULL ? dlsym(handle, "fake_munge") : NULL;
    return fake != NULL ? 0 : -1;
}

static void run(struct side *side, uint32_t node)
{
    side_configure(side, node, 2, "[cluster]\nauth = munge\n");
    side_start(side, library);
}

static void credentials_open_the_link(void **state)
{
    (void)state;
    struct side one, two;
    run(&one, 1);
    run(&two, 2);
    AWAIT(one.ups == 1 && two.ups == 1);
    assert_int_equal(atomic_load(&fake->encoded), 2);
    assert_int_equal(atomic_load(&fake->decoded), 2);
    assert_string_equal(side_text(&two, 1), "");
    side_stop(&one);
    side_stop(&two);
}

/* What the called end shows of a caller who has not proved who he is: none of his words. */
#define BREAKS_OFF "its daemon breaks off: the log there says why"

/* The caller shows the words of whoever checked, the called end its own. */
static void expect_failure(int encode, int decode, int which, const char *checker)
{
    struct side one, two;
    atomic_store(&fake->encode, encode);
    atomic_store(&fake->decode, decode);
    atomic_store(&fake->failing_decode, which);
    run(&two, 2);
    run(&one, 1);
    AWAIT_TEXT(&one, 2, checker);
    AWAIT_TEXT(&two, 1, strstr(checker, "node 1") != NULL ? BREAKS_OFF : checker);
    assert_int_equal(one.ups + two.ups, 0);
    side_stop(&one);
    side_stop(&two);
}

static void what_munge_says_is_told(void **state)
{
    (void)state;
    static const struct {
        int result, age;
        const char *text;
    } cases[] = {
        {14, 0, "the MUNGE keys of the two hosts differ"},
        {15, 1000, "it has expired, its clock being 17 minutes behind or the network that slow"},
        {15, 90000, "it has expired, its clock being 25 hours behind"},
        {16, -600, "it is from the future, its clock being 10 minutes ahead"},
        {17, 0, "it was used before, in a replay"},
        {8, 0, "it is no MUNGE credential"},
        {9, 0, "it is no MUNGE credential"},
        {18, 0, "it is for another user to check"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        atomic_store(&fake->age, cases[i].age);
        snprintf(text, sizeof text, "node 2 does not accept the credential of node 1: %s",
                 cases[i].text);
        struct side one, two;
        atomic_store(&fake->decode, cases[i].result);
        run(&two, 2);
        run(&one, 1);
        AWAIT_TEXT(&one, 2, text);
        AWAIT_TEXT(&two, 1, text);
        assert_int_equal(one.ups + two.ups, 0);
        side_stop(&one);
        side_stop(&two);
    }
}

/* The second check is the caller's. */
static void the_caller_checks_as_well(void **state)
{
    (void)state;
    struct side one, two;
    atomic_store(&fake->decode, 14);
    atomic_store(&fake->failing_decode, 2);
    run(&two, 2);
    run(&one, 1);
    AWAIT_TEXT(&one, 2, "node 1 does not accept the credential of node 2: the MUNGE keys");
    AWAIT_TEXT(&two, 1, BREAKS_OFF);
    assert_int_equal(two.ups, 0);
    AWAIT(one.ups == 1 && two.ups == 1); /* the next attempt */
    side_stop(&one);
    side_stop(&two);
}

static void without_munged_both_hosts_say_whose_it_is(void **state)
{
    (void)state;
    expect_failure(6, 0, 0, "MUNGE on the host of node 1 fails: no munged at all");
}

static void without_munged_at_the_other_end(void **state)
{
    (void)state;
    expect_failure(0, 6, 0, "MUNGE on the host of node 2 fails: no munged at all");
}

static void a_private_munged_is_asked(void **state)
{
    (void)state;
    struct side one, two;
    atomic_store(&fake->encode, 6);
    side_configure(&one, 1, 2, "[cluster]\nauth = munge\nmunge-socket = /nowhere\n");
    side_start(&one, library);
    run(&two, 2);
    AWAIT_TEXT(&one, 2, "no munged at the socket given");
    side_stop(&one);
    side_stop(&two);
}

static void users_prove_nothing(void **state)
{
    (void)state;
    struct side one, two;
    atomic_store(&fake->uid, 31337);
    run(&two, 2);
    run(&one, 1);
    AWAIT_TEXT(&one, 2, "does not accept the credential of node 1: it is that of user 31337");
    assert_int_equal(one.ups + two.ups, 0);
    atomic_store(&fake->uid, (int)geteuid());
    AWAIT(one.ups == 1 && two.ups == 1);
    side_stop(&one);
    side_stop(&two);
}

static void one_with_and_one_without_do_not_fit(void **state)
{
    (void)state;
    struct side one, two;
    run(&two, 2);
    side_run(&one, 1, 2);
    AWAIT_TEXT(&one, 2, "node 1 has auth = none, and node 2 auth = munge");
    side_stop(&one);
    side_stop(&two);
    side_run(&two, 2, 2);
    run(&one, 1);
    AWAIT_TEXT(&one, 2, "node 1 has auth = munge, and node 2 auth = none");
    side_stop(&one);
    side_stop(&two);
}

/* A stranger gets no credential out of a node, and cannot use one that it saw elsewhere. */
static void credentials_are_good_for_one_connection(void **state)
{
    (void)state;
    struct side one, two;
    struct rsm_cluster_msg msg, proof = {.type = 0};
    int listener = raw_listen(2);
    run(&one, 1);
    int fd = raw_accept(listener);
    assert_true(raw_next_of(fd, RSM_CLUSTER_HELLO, &msg));
    msg = raw_hello(2, 1, 5);
    raw_send(fd, &msg);
    assert_true(raw_next_of(fd, RSM_CLUSTER_PROOF, &proof));
    assert_true(proof.u.proof.length > 0);
    close(fd);
    close(listener);
    side_stop(&one);

    run(&two, 2);
    fd = raw_call(2);
    msg = raw_hello(1, 2, 5);
    raw_send(fd, &msg);
    assert_true(raw_next(fd, &msg));
    assert_int_equal(msg.type, RSM_CLUSTER_HELLO);
    raw_send(fd, &proof);
    assert_true(raw_next(fd, &msg));
    assert_int_equal(msg.type, RSM_CLUSTER_REFUSE); /* and no PROOF of the node's own */
    assert_non_null(strstr(msg.u.refuse.text, "it is for another connection"));
    raw_expect_closed(fd);
    side_stop(&two);
}

/* ------------------------------------------------------------------ addresses */

/* Root of another host of the realm has good credentials for every node, but not its address. */
static void credentials_count_from_the_nodes_address(void **state)
{
    (void)state;
    struct side one, two;
    char text[256], at[20], expected[20];
    snprintf(at, sizeof at, "%s", links_address(9));
    snprintf(expected, sizeof expected, "%s", links_address(1));
    side_configure(&one, 1, 2, "[cluster]\nauth = munge\n");
    strcpy(one.conf.nodes[0]->address, at);
    run(&two, 2);
    side_start(&one, library);
    snprintf(text, sizeof text, "node 1 calls from %s, but node 2 has %s (%s) as its address", at,
             expected, expected);
    AWAIT_TEXT(&one, 2, text);
    AWAIT_TEXT(&two, 1, text);
    /* The kernel's choice is no better. */
    AWAIT_TEXT(&one, 2, "node 1 calls from 127.0.0.1, but node 2 has");
    assert_int_equal(one.ups + two.ups, 0);
    side_stop(&one);
    run(&one, 1);
    AWAIT(one.ups == 1 && two.ups == 1);
    side_stop(&one);
    side_stop(&two);
}

/* A caller without a credential, from an address (NULL: the kernel's choice), who is refused. */
static void call_as_node_1(const struct side *two, const char *from, uint32_t version)
{
    char text[80];
    struct rsm_cluster_msg msg = raw_hello(1, 2, 9);
    msg.u.hello.version_min = msg.u.hello.version_max = version;
    int fd = raw_call_from(from, two->node);
    raw_send(fd, &msg);
    snprintf(text, sizeof text, "node 1 speaks versions %u to %u ", (unsigned)version,
             (unsigned)version);
    assert_true(raw_next_of(fd, RSM_CLUSTER_REFUSE, &msg));
    assert_non_null(strstr(msg.u.refuse.text, text));
    raw_expect_closed(fd);
}

/* Anybody can call and give a node's id. What that leads to is told about the node if the call came from
 * its host. */
static void callers_from_elsewhere_are_not_the_node(void **state)
{
    (void)state;
    struct side two;
    char at[20];
    snprintf(at, sizeof at, "%s", links_address(1));
    run(&two, 2);
    call_as_node_1(&two, NULL, 71);
    call_as_node_1(&two, links_address(9), 72);
    assert_string_equal(side_text(&two, 1), "");
    call_as_node_1(&two, at, 73);
    AWAIT_TEXT(&two, 1, "node 1 speaks versions 73 to 73 ");
    call_as_node_1(&two, links_address(9), 74);
    AWAIT_TEXT(&two, 1, "node 1 speaks versions 73 to 73 ");
    side_stop(&two);
}

/* ... whose name is looked up meanwhile. */
static void callers_from_where_the_name_leads_are_the_node(void **state)
{
    (void)state;
    struct side two;
    side_configure(&two, 2, 2, "[cluster]\nauth = munge\n");
    strcpy(two.conf.nodes[0]->address, "localhost");
    side_start(&two, library);
    int64_t until = rsm_clock_ms() + LINKS_WAIT_MS;
    while (strstr(side_text(&two, 1), "node 1 speaks versions 73") == NULL) {
        assert_true(rsm_clock_ms() < until);
        call_as_node_1(&two, "127.0.0.1", 73);
    }
    call_as_node_1(&two, links_address(9), 74);
    AWAIT_TEXT(&two, 1, "node 1 speaks versions 73");
    side_stop(&two);
}

/* Whoever calls from an own address that the other end does not know may have another one. */
static void an_address_of_the_kernels_choice_is_tried(void **state)
{
    (void)state;
    struct side one, two;
    side_configure(&one, 1, 2, "[cluster]\nauth = munge\n");
    strcpy(one.conf.nodes[0]->address, links_address(9));
    side_configure(&two, 2, 2, "[cluster]\nauth = munge\n");
    strcpy(two.conf.nodes[0]->address, "127.0.0.1"); /* that choice */
    side_start(&two, library);
    side_start(&one, library);
    AWAIT(one.ups == 1 && two.ups == 1);
    side_stop(&one);
    side_stop(&two);
}

/* A name is asked for, and all of its addresses count. */
static void names_are_looked_up(void **state)
{
    (void)state;
    struct side one, two;
    side_configure(&one, 1, 2, "[cluster]\nauth = munge\n");
    strcpy(one.conf.nodes[0]->address, "localhost");
    side_configure(&two, 2, 2, "[cluster]\nauth = munge\n");
    strcpy(two.conf.nodes[0]->address, "localhost");
    side_start(&two, library);
    side_start(&one, library);
    AWAIT(one.ups == 1 && two.ups == 1);
    side_stop(&one);
    side_stop(&two);
}

static struct rsmd_address literal(const char *text)
{
    struct rsmd_addresses found;
    assert_true(rsmd_address_literal(text, 1, &found));
    return found.list[0];
}

static void addresses_are_compared(void **state)
{
    (void)state;
    struct rsmd_addresses known = {3,
                                   {literal("10.0.0.1"), literal("fd00::1"), literal("fe80::1")}};
    static const struct {
        const char *text;
        bool is_known;
    } cases[] = {
        {"10.0.0.1", true},  {"fd00::1", true},    {"fe80::1", true},          {"fe80::1%lo", true},
        {"10.0.0.2", false}, {"fd00::2", false},   {"::ffff:10.0.0.1", false}, {"1.0.0.10", false},
        {"::a00:1", false},  {"fd00::1:0", false}, {"fe80::2%lo", false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rsmd_address address = literal(cases[i].text);
        assert_int_equal(rsmd_addresses_have(&known, &address), cases[i].is_known);
    }
    known.count = 0;
    struct rsmd_address address = literal("10.0.0.1");
    assert_false(rsmd_addresses_have(&known, &address));
}

/* Bytes that wait in one direction. */
static void carry(int from, int to)
{
    char bytes[4096];
    ssize_t got = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0)
        raw_bytes(to, bytes, (size_t)got);
}

/* Somebody between two honest nodes passes on what they say, and would be both of them. */
static void who_passes_messages_on_is_not_believed(void **state)
{
    (void)state;
    struct side one, two;
    int listener = raw_listen(3);
    side_configure(&one, 1, 2, "[cluster]\nauth = munge\n");
    strcpy(one.conf.nodes[1]->address, links_address(3)); /* the way to node 2 is a trap */
    run(&two, 2);
    side_start(&one, library);
    int left = raw_accept(listener), right = raw_call(2);
    int64_t until = rsm_clock_ms() + LINKS_WAIT_MS;
    while (strstr(side_text(&one, 2), "another connection") == NULL) {
        assert_true(rsm_clock_ms() < until);
        carry(left, right);
        carry(right, left);
        links_turn();
    }
    assert_int_equal(one.ups + two.ups, 0);
    close(left);
    close(right);
    close(listener);
    side_stop(&one);
    side_stop(&two);
}

/* The loop goes on, the reason is told, and the end does not wait. */
static void a_munged_that_hangs_hangs_nobody(void **state)
{
    (void)state;
    struct side one, two;
    atomic_store(&fake->hangs, 1);
    run(&two, 2);
    run(&one, 1);
    AWAIT(atomic_load(&fake->inside) == 1);
    int64_t before = rsm_clock_ms();
    links_turn();
    assert_in_range(rsm_clock_ms() - before, 0, LINKS_WAIT_MS / 2);
    AWAIT_TEXT(&one, 2, "munged on the host of node 1 does not answer");
    AWAIT_TEXT(&two, 1, BREAKS_OFF);
    assert_int_equal(atomic_load(&fake->inside), 1);
    side_stop(&one);
    side_stop(&two);
    assert_int_equal(atomic_load(&fake->inside), 1);
    atomic_store(&fake->hangs, 0);
    AWAIT(atomic_load(&fake->inside) == 0);
    run(&two, 2);
    run(&one, 1);
    AWAIT(one.ups == 1 && two.ups == 1);
    side_stop(&one);
    side_stop(&two);
}

static void without_the_library_there_is_no_start(void **state)
{
    (void)state;
    struct side one;
    char why[256];
    const struct rsmd_cluster_user user = {.context = &one};
    side_configure(&one, 1, 2, "[cluster]\nauth = munge\n");
    assert_null(
        rsmd_cluster_start(links_base(), &one.conf, 1, &user, "libno-munge.so.2", why, sizeof why));
    assert_non_null(strstr(why, "auth = munge needs libno-munge.so.2: "));
    assert_null(
        rsmd_cluster_start(links_base(), &one.conf, 1, &user, "libc.so.6", why, sizeof why));
    assert_non_null(strstr(why, "it has no munge_ctx_create"));
    rsmd_conf_free(&one.conf);
}

#define AUTH_TEST(function) cmocka_unit_test_setup_teardown(function, begin, links_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUTH_TEST(credentials_open_the_link),
        AUTH_TEST(what_munge_says_is_told),
        AUTH_TEST(the_caller_checks_as_well),
        AUTH_TEST(without_munged_both_hosts_say_whose_it_is),
        AUTH_TEST(without_munged_at_the_other_end),
        AUTH_TEST(a_private_munged_is_asked),
        AUTH_TEST(users_prove_nothing),
        AUTH_TEST(one_with_and_one_without_do_not_fit),
        AUTH_TEST(credentials_are_good_for_one_connection),
        AUTH_TEST(who_passes_messages_on_is_not_believed),
        AUTH_TEST(credentials_count_from_the_nodes_address),
        AUTH_TEST(callers_from_elsewhere_are_not_the_node),
        AUTH_TEST(callers_from_where_the_name_leads_are_the_node),
        AUTH_TEST(an_address_of_the_kernels_choice_is_tried),
        AUTH_TEST(names_are_looked_up),
        AUTH_TEST(addresses_are_compared),
        AUTH_TEST(a_munged_that_hangs_hangs_nobody),
        AUTH_TEST(without_the_library_there_is_no_start),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
