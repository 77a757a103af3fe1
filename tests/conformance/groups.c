/* SPDX-License-Identifier: BSD-3-Clause */
/* F: groups (<rsm/group.h>). The test's own process, on the importer's node, is the writer and, unless
 * there is one node only, a member; a peer on the exporter's node is another. */
#include <sys/time.h>

#include <rsm/group.h>

#include "process.h"
#include "stage.h"

enum {
    EVENT_MS = 20000, /* a change is noticed within that time */
    ROUNDS = 200,
    THREADS = 4,
    LATER_ID = SEGMENT_ID + 1
};

static struct actor *member; /* on the exporter's node */
static uint8_t *own;         /* the writer's copy; NULL: it is no member */
static rsm_group_handle_t group;

/* Both members, with so many pages each, and the writer. */
static void gather(size_t count, size_t own_count)
{
    member = exporter_start();
    TELL_OK(member, OFFER, .pages = count);
    act_as_importer();
    if (!one_node()) {
        own = pages(own_count);
        published(own, own_count);
    }
    OK(rsm_group_connect(controller(), SEGMENT_ID, &group));
}

static unsigned member_count(void)
{
    return one_node() ? 1 : 2;
}

static void put64(off_t offset, uint64_t value)
{
    OK(rsm_group_put(group, offset, &value, sizeof value));
}

/* Everybody has everything. */
static void barrier(void)
{
    uint_t lacking = 77;
    OK(rsm_group_close_barrier(group, &lacking));
    HOLDS(lacking == 0);
}

/* At one of the next barriers, with something put before each, a member is reported once. */
static void barrier_that_may_report(void)
{
    uint_t lacking;
    int error = rsm_group_close_barrier(group, &lacking);
    HOLDS(error == RSM_SUCCESS ? lacking == 0 : error == RSMERR_BARRIER_FAILURE && lacking == 1);
}

static int await_change(int change, rsm_node_id_t node)
{
    rsm_group_event_t event;
    do
        OK(rsm_group_event_wait(group, EVENT_MS, &event));
    while (event.change != change || event.node != node);
    return event.error;
}

static void expect_there(off_t offset, uint64_t value)
{
    HOLDS(ASK(member, LOAD, .offset = offset).value == value);
    HOLDS(own == NULL || load64(own + offset) == value);
}

CONFORMANCE(F, 01, "wrong arguments are refused in their order")
{
    uint_t count = 1;
    uint64_t word = 0;
    act_as_importer();
    group = (rsm_group_handle_t)&word;
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_group_connect(NULL, SEGMENT_ID, NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_connect(controller(), SEGMENT_ID, NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_disconnect(NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_put(NULL, -1, NULL, 0));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_order_barrier(NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_close_barrier(NULL, NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_signal_post(NULL, 0));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_get_members(NULL, NULL, NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_event_wait(NULL, 0, NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_group_put(group, 0, &word, 8)); /* no group */
    OK(rsm_group_connect(controller(), SEGMENT_ID, &group));
    EXPECT(RSMERR_BAD_ADDR, rsm_group_put(group, -1, NULL, 8));
    EXPECT(RSMERR_BAD_OFFSET, rsm_group_put(group, -1, &word, 8));
    EXPECT(RSMERR_BAD_ADDR, rsm_group_get_members(group, NULL, NULL));
    EXPECT(RSMERR_BAD_ADDR, rsm_group_get_members(group, NULL, &count));
    EXPECT(RSMERR_BAD_ADDR, rsm_group_event_wait(group, 0, NULL));
    OK(rsm_group_disconnect(group));
}

CONFORMANCE(F, 02, "a group without members can be written")
{
    rsm_group_event_t event;
    uint_t count = 0;
    act_as_importer();
    OK(rsm_group_connect(controller(), SEGMENT_ID, &group));
    put64(0, 1);
    put64((off_t)PAGE * 1000, 1);
    OK(rsm_group_order_barrier(group));
    OK(rsm_group_signal_post(group, 0));
    barrier();
    OK(rsm_group_close_barrier(group, NULL));
    OK(rsm_group_get_members(group, NULL, &count));
    HOLDS(count == 0);
    EXPECT(RSMERR_TIMEOUT, rsm_group_event_wait(group, 0, &event));
    int64_t start = now_ms();
    EXPECT(RSMERR_TIMEOUT, rsm_group_event_wait(group, 50, &event));
    HOLDS(now_ms() - start >= 49);
    OK(rsm_group_disconnect(group));
}

CONFORMANCE(F, 03,
            "a put lands in every copy, the writer's own included; a member's store does not")
{
    gather(2, 2);
    put64((off_t)PAGE + 8, 5);
    barrier();
    expect_there((off_t)PAGE + 8, 5);
    TELL_OK(member, STORE, .offset = 16, .value = 6);
    HOLDS(own == NULL || load64(own + 16) == 0);
    if (own != NULL)
        store64(own + 24, 7);
    HOLDS(ASK(member, LOAD, .offset = 24).value == 0);
    HOLDS(ASK(member, LOAD, .offset = 16).value == 6);
    OK(rsm_group_disconnect(group));
}

CONFORMANCE(F, 04, "a block of any length and alignment arrives as it is")
{
    enum { LENGTH = 100001 };
    static uint8_t block[LENGTH];
    size_t count = LENGTH / PAGE + 2;
    gather(count, count);
    for (size_t i = 0; i < LENGTH; i++)
        block[i] = (uint8_t)(i * 7 + 1);
    OK(rsm_group_put(group, 3, block, LENGTH));
    OK(rsm_group_put(group, (off_t)(count * PAGE), block, 0));
    memset(block, 0, 8); /* the caller's again */
    barrier();
    for (off_t offset = 8; offset < LENGTH - 8; offset += 4096) {
        uint64_t wanted;
        memcpy(&wanted, block + (offset - 3 < 8 ? 8 : offset - 3), sizeof wanted);
        if (offset - 3 >= 8)
            expect_there(offset, wanted);
    }
    HOLDS(own == NULL || (own[3] == 1 && own[2] == 0 && own[3 + LENGTH] == 0));
}

CONFORMANCE(F, 05, "what is put before an order barrier is there before what is put later")
{
    gather(1, 1);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        put64(0, i);
        OK(rsm_group_order_barrier(group));
        put64(512, i);
        uint64_t later = ASK(member, LOAD, .offset = 512).value;
        HOLDS(ASK(member, LOAD, .offset = 0).value >= later);
        HOLDS(own == NULL || load64(own) >= load64(own + 512));
    }
    barrier();
    expect_there(0, ROUNDS);
    expect_there(512, ROUNDS);
}

CONFORMANCE(F, 06, "a close barrier says that every member has everything")
{
    gather(1, 1);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        put64((off_t)(i % 8 * 8), i);
        barrier();
        expect_there((off_t)(i % 8 * 8), i);
    }
}

CONFORMANCE(F, 07, "members are listed with their sizes, those that were there are changes")
{
    rsm_group_member_t members[3];
    uint_t count = 3, one = 1;
    gather(1, 2);
    OK(rsm_group_get_members(group, members, &count));
    HOLDS(count == member_count());
    for (uint_t i = 0; i < count; i++) {
        bool is_own = own != NULL && members[i].node == options.importer_node;
        HOLDS(is_own || members[i].node == options.exporter_node);
        HOLDS(members[i].error == RSM_SUCCESS);
        HOLDS(members[i].size == (is_own ? 2 : 1) * PAGE);
    }
    members[1].size = 99;
    OK(rsm_group_get_members(group, members, &one));
    HOLDS(one == member_count() && members[1].size == 99);
    await_change(RSM_GROUP_JOINED, options.exporter_node);
}

CONFORMANCE(F, 08, "who joins while the writer writes gets what is put from then on")
{
    member = exporter_start();
    act_as_importer();
    OK(rsm_group_connect(controller(), SEGMENT_ID, &group));
    put64(0, 1);
    barrier();
    TELL_OK(member, OFFER, .pages = 1);
    int64_t deadline = now_ms() + EVENT_MS;
    uint_t count = 0;
    for (uint64_t i = 2; count == 0; i++) {
        HOLDS(now_ms() < deadline);
        put64(8, i);
        barrier();
        OK(rsm_group_get_members(group, NULL, &count));
    }
    HOLDS(ASK(member, LOAD, .offset = 0).value == 0);
    put64(0, 3);
    barrier();
    expect_there(0, 3);
    OK(await_change(RSM_GROUP_JOINED, options.exporter_node));
}

/* The writer goes on. The one that has gone is missed once at most, the other member has everything. */
static void go_on_without(void)
{
    unsigned missed = 0;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint_t lacking;
        int error = rsm_group_put(group, 0, &i, sizeof i);
        HOLDS(error == RSM_SUCCESS);
        error = rsm_group_close_barrier(group, &lacking);
        HOLDS(error == (lacking == 0 ? RSM_SUCCESS : RSMERR_BARRIER_FAILURE));
        missed += lacking;
        HOLDS(own == NULL || load64(own) == i);
    }
    HOLDS(missed <= 1);
}

CONFORMANCE(F, 09, "who leaves while the writer writes is no member any more, and may come back")
{
    gather(1, 1);
    put64(0, 9);
    barrier();
    TELL_OK(member, UNPUBLISH);
    put64(0, 10);
    barrier_that_may_report();
    HOLDS(ASK(member, LOAD, .offset = 0).value != 10 || two_hosts());
    EXPECT(RSMERR_CONN_ABORTED, await_change(RSM_GROUP_LEFT, options.exporter_node));
    go_on_without();
    TELL_OK(member, PUBLISH);
    OK(await_change(RSM_GROUP_JOINED, options.exporter_node));
    put64(8, 11);
    barrier();
    expect_there(8, 11);
}

CONFORMANCE(F, 10, "who is killed is missed once, and all others have everything")
{
    gather(1, 1);
    put64(0, 9);
    actor_kill(member);
    go_on_without();
    await_change(RSM_GROUP_LEFT, options.exporter_node);
    go_on_without();
    barrier();
}

CONFORMANCE(F, 11, "a stopped member has everything, and delays nobody")
{
    APPLIES_IF(!two_machines(), "the process is on another machine");
    gather(1, 1);
    process_freeze(member->pid);
    int64_t start = now_ms();
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        put64(0, i);
        barrier();
    }
    HOLDS(now_ms() - start < EVENT_MS);
    process_thaw(member->pid);
    expect_there(0, ROUNDS);
}

CONFORMANCE(F, 12, "who does not let the writer write is named, and nothing of it is written")
{
    rsm_group_member_t members[2];
    uint_t count = 2;
    APPLIES_IF(!one_node(), "a list that does not name this node");
    gather(1, 1);
    TELL_OK(member, UNPUBLISH);
    await_change(RSM_GROUP_LEFT, options.exporter_node);
    TELL_OK(member, PUBLISH, .acl_count = 1, .acl = {{options.exporter_node, 0666}});
    EXPECT(RSMERR_SEG_NOT_PUBLISHED_TO_NODE,
           await_change(RSM_GROUP_REFUSED, options.exporter_node));
    put64(0, 5);
    barrier();
    HOLDS(ASK(member, LOAD, .offset = 0).value == 0 && load64(own) == 5);
    OK(rsm_group_get_members(group, members, &count));
    HOLDS(count == 2);
    unsigned refuser = members[0].node == options.exporter_node ? 0 : 1;
    EXPECT(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, members[refuser].error);
    OK(members[1 - refuser].error);
    TELL_OK(member, REPUBLISH, .acl_count = 1, .acl = {{options.importer_node, 0666}});
    OK(await_change(RSM_GROUP_JOINED, options.exporter_node));
    put64(0, 6);
    barrier();
    expect_there(0, 6);
}

CONFORMANCE(F, 13, "a member whose copy is too small is missed, and the others have it")
{
    uint_t lacking;
    APPLIES_IF(!one_node(), "one member");
    gather(1, 2);
    put64((off_t)PAGE, 1);
    EXPECT(RSMERR_BARRIER_FAILURE, rsm_group_close_barrier(group, &lacking));
    HOLDS(lacking == 1);
    HOLDS(load64(own + PAGE) == 1);
    put64((off_t)PAGE - 8, 2);
    barrier();
    expect_there((off_t)PAGE - 8, 2);
    uint64_t word = 3;
    EXPECT(RSMERR_BAD_OFFSET, rsm_group_put(group, 2 * (off_t)PAGE - 4, &word, sizeof word));
    EXPECT(RSMERR_BAD_OFFSET, rsm_group_put(group, INT64_MAX, &word, sizeof word));
    barrier();
}

CONFORMANCE(F, 14, "an event reaches every member, behind the data")
{
    gather(1, 1);
    BEGIN(member, WAIT, .timeout = EVENT_MS);
    put64(0, 5);
    OK(rsm_group_signal_post(group, 0));
    OK(peer_answer(member).result);
    HOLDS(ASK(member, LOAD, .offset = 0).value == 5);
    OK(rsm_group_signal_post(group, 0));
    OK(rsm_group_signal_post(group, 0));
    TELL_OK(member, WAIT, .timeout = EVENT_MS);
    TELL_OK(member, WAIT, .timeout = EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, member, WAIT, .timeout = 50);
}

CONFORMANCE(F, 15, "two groups of one writer are independent of each other")
{
    rsm_group_handle_t other, same;
    gather(1, 1);
    TELL_OK(member, OFFER, .slot = 1, .pages = 1, .id = LATER_ID);
    OK(rsm_group_connect(controller(), LATER_ID, &other));
    OK(rsm_group_connect(controller(), SEGMENT_ID, &same));
    uint64_t word = 4;
    OK(rsm_group_put(other, 0, &word, sizeof word));
    OK(rsm_group_close_barrier(other, NULL));
    HOLDS(ASK(member, LOAD, .slot = 1, .offset = 0).value == 4);
    HOLDS(ASK(member, LOAD, .offset = 0).value == 0);
    OK(rsm_group_disconnect(same));
    OK(rsm_group_disconnect(other));
    put64(0, 5);
    barrier();
    expect_there(0, 5);
}

static int use_in_child(void *unused)
{
    uint64_t word = 9;
    uint_t count = 0;
    rsm_group_event_t event;
    bool refused = rsm_group_put(group, 0, &word, sizeof word) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_order_barrier(group) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_close_barrier(group, NULL) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_signal_post(group, 0) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_get_members(group, NULL, &count) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_event_wait(group, 0, &event) == RSMERR_BAD_SEG_HNDL;
    if (!refused || rsm_group_disconnect(group) != RSM_SUCCESS)
        return 1;
    /* A writer of its own. */
    return rsm_group_connect(controller(), SEGMENT_ID, &group) == RSM_SUCCESS &&
                   rsm_group_put(group, 8, &word, sizeof word) == RSM_SUCCESS &&
                   rsm_group_close_barrier(group, NULL) == RSM_SUCCESS &&
                   rsm_group_disconnect(group) == RSM_SUCCESS
               ? 0
               : 2;
}

CONFORMANCE(F, 16, "in a child the parent's handle can be disconnected; the parent goes on")
{
    gather(1, 1);
    put64(0, 1);
    EXPECT(0, in_child(use_in_child, NULL));
    put64(0, 2);
    barrier();
    expect_there(0, 2);
    expect_there(8, 9);
}

static void *put_many(void *argument)
{
    off_t offset = *(off_t *)argument;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (rsm_group_put(group, offset, &i, sizeof i) != RSM_SUCCESS ||
            rsm_group_close_barrier(group, NULL) != RSM_SUCCESS)
            return argument;
    }
    return NULL;
}

CONFORMANCE(F, 17, "threads share a handle")
{
    pthread_t threads[THREADS];
    off_t offsets[THREADS];
    gather(1, 1);
    for (int i = 0; i < THREADS; i++) {
        offsets[i] = i * 64;
        HOLDS(pthread_create(&threads[i], NULL, put_many, &offsets[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        HOLDS(pthread_join(threads[i], &failed) == 0 && failed == NULL);
        expect_there(offsets[i], ROUNDS);
    }
}

static void *put_until_cancelled(void *asynchronous)
{
    int type = asynchronous != NULL ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(type, NULL);
    for (uint64_t i = 1;; i++) {
        (void)rsm_group_put(group, 0, &i, sizeof i);
        (void)rsm_group_close_barrier(group, NULL);
        pthread_testcancel();
    }
    return NULL;
}

CONFORMANCE(F, 18, "a thread that is cancelled in a call leaves the group usable")
{
    gather(1, 1);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        HOLDS(pthread_create(&thread, NULL, put_until_cancelled, i % 2 == 0 ? NULL : &group) == 0);
        usleep(500);
        HOLDS(pthread_cancel(thread) == 0);
        HOLDS(pthread_join(thread, NULL) == 0);
        put64(64, (uint64_t)i);
        barrier();
        expect_there(64, (uint64_t)i);
    }
}

static void on_alarm(int number)
{
}

CONFORMANCE(F, 19, "a signal handler ends a wait for changes")
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_interval.tv_usec = 20000, .it_value.tv_usec = 20000};
    rsm_group_event_t event;
    act_as_importer();
    OK(rsm_group_connect(controller(), SEGMENT_ID, &group));
    HOLDS(sigaction(SIGALRM, &action, NULL) == 0);
    HOLDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    EXPECT(RSMERR_INTERRUPTED, rsm_group_event_wait(group, -1, &event));
}
