/* SPDX-License-Identifier: BSD-3-Clause */
/* Named interrupts between hosts: triggers, messages, refusals, what a remote node may say. */
#include "hosts.h"
#include "node/interrupts.h"

enum { NUMBER = 9573 };

static struct person owner, sender;

static int set_up(void **state)
{
    hosts_begin(state);
    person_begin(&owner, 1, 500);
    person_begin(&sender, 2, 500);
    return 0;
}

static int tear_down(void **state)
{
    person_end(&sender);
    person_end(&owner);
    deliver_all();
    for (unsigned i = 1; i <= HOSTS; i++) {
        assert_int_equal(hosts.node[i].shares.used[RSMD_RECORDS], 0);
        assert_int_equal(hosts.node[i].shares.used[RSMD_INTERRUPTS], 0);
        assert_int_equal(hosts.node[i].shares.used[RSMD_FORWARDS], 0);
    }
    return hosts_end(state);
}

static uint32_t create(uint32_t kind, uint32_t mode)
{
    struct rsm_msg msg = {.type = RSM_MSG_INTERRUPT_CREATE,
                          .u.interrupt_create = {.kind = kind, .number = NUMBER, .mode = mode}};
    assert_int_equal(ask(&owner, &msg), RSM_ST_OK);
    return owner.reply.u.interrupt_create_reply.interrupt;
}

static struct rsm_msg finding(uint32_t kind)
{
    return (struct rsm_msg){.type = RSM_MSG_INTERRUPT_CONNECT,
                            .u.interrupt_connect = {.node = 1, .kind = kind, .number = NUMBER}};
}

static enum rsm_status find(uint32_t kind)
{
    struct rsm_msg msg = finding(kind);
    return ask(&sender, &msg);
}

static struct rsm_msg triggering(uint32_t kind, uint32_t interrupt, const char *text)
{
    struct rsm_msg msg = {.type = RSM_MSG_INTERRUPT_TRIGGER,
                          .u.interrupt_trigger = {.node = 1,
                                                  .kind = kind,
                                                  .number = NUMBER,
                                                  .interrupt = interrupt,
                                                  .length = (uint32_t)strlen(text)}};
    memcpy(msg.u.interrupt_trigger.data, text, strlen(text));
    return msg;
}

static enum rsm_status trigger(uint32_t kind, uint32_t interrupt, const char *text)
{
    struct rsm_msg msg = triggering(kind, interrupt, text);
    return ask(&sender, &msg);
}

static uint32_t pending(uint32_t interrupt)
{
    return atomic_load(&own_counter(&owner, RSM_EVENT_INTERRUPT, interrupt)->pending);
}

#define TEST(name) TEST_BETWEEN(name, set_up, tear_down)

TEST(plain_ones_are_counted)
{
    assert_int_equal(find(RSM_INTERRUPT_PLAIN), RSM_ST_NOT_FOUND);
    uint32_t interrupt = create(RSM_INTERRUPT_PLAIN, 0600);
    assert_int_equal(find(RSM_INTERRUPT_PLAIN), RSM_ST_OK);
    assert_int_equal(sender.reply.u.interrupt_connect_reply.interrupt, interrupt);
    for (int i = 0; i < 3; i++)
        assert_int_equal(trigger(RSM_INTERRUPT_PLAIN, interrupt, ""), RSM_ST_OK);
    assert_int_equal(pending(interrupt), 3);
    assert_int_equal(trigger(RSM_INTERRUPT_PLAIN, interrupt, "data"), RSM_ST_INVALID);
    assert_int_equal(trigger(RSM_INTERRUPT_PLAIN, interrupt + 1, ""), RSM_ST_NOT_FOUND);
    assert_int_equal(trigger(RSM_INTERRUPT_PLAIN, 0, ""), RSM_ST_NOT_FOUND);
    assert_int_equal(pending(interrupt), 3);
    person_end(&owner);
    assert_int_equal(trigger(RSM_INTERRUPT_PLAIN, interrupt, ""), RSM_ST_NOT_FOUND);
    person_begin(&owner, 1, 500);
}

static enum rsm_status say_posted(struct person *who, uint32_t kind, uint32_t interrupt,
                                  uint32_t posted)
{
    struct rsm_msg msg = triggering(kind, interrupt, "");
    msg.u.interrupt_trigger.posted = posted;
    return ask(who, &msg);
}

/* A sender that has posted itself has the poll descriptor made readable, and no more. */
TEST(who_has_posted_only_rings)
{
    struct person neighbour;
    person_begin(&neighbour, 1, 500);
    uint32_t interrupt = create(RSM_INTERRUPT_PLAIN, 0600), data = create(RSM_INTERRUPT_DATA, 0600);
    assert_int_equal(say_posted(&neighbour, RSM_INTERRUPT_PLAIN, interrupt, 1), RSM_ST_OK);
    struct rsm_msg arm = {.type = RSM_MSG_EVENT_ARM,
                          .u.event_arm = {.end = RSM_EVENT_INTERRUPT, .id = interrupt}};
    assert_int_equal(ask(&owner, &arm), RSM_ST_OK);
    struct pollfd end = {.fd = owner.fds.fds[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 0), 0);
    assert_int_equal(say_posted(&neighbour, RSM_INTERRUPT_PLAIN, interrupt, 1), RSM_ST_OK);
    assert_int_equal(poll(&end, 1, 0), 1);
    assert_int_equal(pending(interrupt), 0);
    assert_int_equal(say_posted(&neighbour, RSM_INTERRUPT_PLAIN, interrupt, 2), RSM_ST_INVALID);
    assert_int_equal(say_posted(&neighbour, RSM_INTERRUPT_DATA, data, 1), RSM_ST_INVALID);
    assert_int_equal(say_posted(&sender, RSM_INTERRUPT_PLAIN, interrupt, 1), RSM_ST_INVALID);
    rsm_packet_fds_close(&owner.fds);
    person_end(&neighbour);
}

static enum rsm_status create_stores(struct person *who, uint32_t flags)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_INTERRUPT_CREATE,
        .u.interrupt_create = {
            .kind = RSM_INTERRUPT_STORES, .number = NUMBER, .flags = flags, .mode = 0666}};
    return ask(who, &msg);
}

/* An interrupt of stores is a segment's: no other user can have it, or have its number first. */
TEST(only_a_segments_user_learns_of_stores)
{
    enum { SHARED = RSM_INTERRUPT_SHARED };
    struct person stranger;
    struct rsm_msg segment = {.type = RSM_MSG_EXPORT_CREATE,
                              .u.export_create = {.controller = "sci0",
                                                  .length = (uint64_t)sysconf(_SC_PAGESIZE),
                                                  .mode = 0666,
                                                  .want_extent = 1,
                                                  .claim = RSM_CLAIM_ID,
                                                  .space = RSM_ID_SPACE_SISCI,
                                                  .segment_id = NUMBER}};
    person_begin(&stranger, 1, 501);
    assert_int_equal(create_stores(&owner, SHARED), RSM_ST_DENIED); /* there is no segment */
    assert_int_equal(ask(&owner, &segment), RSM_ST_OK);
    uint32_t exported = owner.reply.u.export_create_reply.export_id;
    rsm_packet_fds_close(&owner.fds);
    assert_int_equal(create_stores(&stranger, SHARED), RSM_ST_DENIED);
    assert_int_equal(create_stores(&owner, RSM_INTERRUPT_ASSIGN_NUMBER), RSM_ST_INVALID);
    assert_int_equal(find(RSM_INTERRUPT_STORES), RSM_ST_NOT_FOUND);
    assert_int_equal(create_stores(&owner, SHARED), RSM_ST_OK);
    uint32_t interrupt = owner.reply.u.interrupt_create_reply.interrupt, owners = interrupt;
    assert_int_equal(create_stores(&stranger, SHARED), RSM_ST_DENIED);
    assert_int_equal(find(RSM_INTERRUPT_STORES), RSM_ST_OK);
    assert_int_equal(trigger(RSM_INTERRUPT_STORES, interrupt, "what was stored"), RSM_ST_OK);
    assert_int_equal(pending(interrupt), 1);
    rsm_packet_fds_close(&owner.fds);

    /* He keeps it longer than his segment, and does not learn of the next one's stores. */
    struct rsm_msg end = {.type = RSM_MSG_EXPORT_DESTROY,
                          .u.export_destroy = {.export_id = exported}};
    assert_int_equal(ask(&owner, &end), RSM_ST_OK);
    assert_int_equal(find(RSM_INTERRUPT_STORES), RSM_ST_NOT_FOUND);
    assert_int_equal(ask(&stranger, &segment), RSM_ST_OK);
    rsm_packet_fds_close(&stranger.fds);
    assert_int_equal(trigger(RSM_INTERRUPT_STORES, interrupt, "what was stored"), RSM_ST_NOT_FOUND);
    assert_int_equal(create_stores(&owner, SHARED), RSM_ST_DENIED);
    assert_int_equal(create_stores(&stranger, SHARED), RSM_ST_OK);
    interrupt = stranger.reply.u.interrupt_create_reply.interrupt;
    assert_int_equal(trigger(RSM_INTERRUPT_STORES, interrupt, "what was stored"), RSM_ST_OK);
    assert_int_equal(pending(owners), 1);
    person_end(&stranger);
}

TEST(messages_cross_and_a_full_queue_refuses)
{
    uint32_t interrupt = create(RSM_INTERRUPT_DATA, 0600);
    for (unsigned i = 0; i < RSM_MAILBOX_MAX; i++)
        assert_int_equal(trigger(RSM_INTERRUPT_DATA, interrupt, i == 0 ? "first" : ""), RSM_ST_OK);
    assert_int_equal(trigger(RSM_INTERRUPT_DATA, interrupt, "late"), RSM_ST_NO_RESOURCES);
    assert_int_equal(pending(interrupt), RSM_MAILBOX_MAX);
    struct rsm_msg take = {.type = RSM_MSG_MAILBOX_TAKE,
                           .u.mailbox_take = {.end = RSM_EVENT_INTERRUPT, .id = interrupt}};
    for (int i = 0; i < 2; i++) { /* kept until it is acknowledged */
        struct rsm_msg again = take;
        assert_int_equal(ask(&owner, &again), RSM_ST_OK);
        const struct rsm_mailbox_take_reply *reply = &owner.reply.u.mailbox_take_reply;
        assert_int_equal(reply->count, RSM_PROTO_ENTRIES_MAX);
        assert_int_equal(reply->entries[0].record.node, 2);
        assert_int_equal(reply->entries[0].length, 5);
        assert_memory_equal(reply->entries[0].data, "first", 5);
        assert_int_equal(reply->entries[1].length, 0);
    }
    assert_int_equal(hosts.node[1].shares.used[RSMD_RECORDS], RSM_MAILBOX_MAX);
    take.u.mailbox_take.after = owner.reply.u.mailbox_take_reply.entries[1].record.order;
    assert_int_equal(ask(&owner, &take), RSM_ST_OK);
    assert_int_equal(hosts.node[1].shares.used[RSMD_RECORDS], RSM_MAILBOX_MAX - 2);
    assert_int_equal(trigger(RSM_INTERRUPT_DATA, interrupt, "late"), RSM_ST_OK);
}

TEST(rights_and_shares_hold)
{
    (void)create(RSM_INTERRUPT_PLAIN, 0600);
    struct person stranger;
    person_begin(&stranger, 2, 600);
    struct rsm_msg msg = finding(RSM_INTERRUPT_PLAIN);
    assert_int_equal(ask(&stranger, &msg), RSM_ST_DENIED);
    person_end(&stranger);
    rsmd_shares_limit(&hosts.node[1].shares, RSMD_INTERRUPTS, 4);
    unsigned made = 1;
    for (; made < 10; made++) {
        msg = (struct rsm_msg){.type = RSM_MSG_INTERRUPT_CREATE,
                               .u.interrupt_create = {.kind = RSM_INTERRUPT_DATA,
                                                      .flags = RSM_INTERRUPT_ASSIGN_NUMBER,
                                                      .mode = 0600}};
        if (ask(&owner, &msg) != RSM_ST_OK)
            break;
    }
    assert_int_equal(owner.reply.status, RSM_ST_NO_RESOURCES);
    assert_int_equal(made, 3);
    assert_true(rsmd_shares_are_sound(&hosts.node[1].shares));
}

TEST(a_link_that_goes_ends_what_waits)
{
    uint32_t interrupt = create(RSM_INTERRUPT_PLAIN, 0600);
    struct rsm_msg msg = triggering(RSM_INTERRUPT_PLAIN, interrupt, "");
    begin(&sender, &msg);
    assert_int_equal(sender.answers, 0);
    link_down(1, 2);
    assert_int_equal(sender.answers, 1);
    assert_int_equal(sender.reply.status, RSM_ST_UNREACHABLE);
    assert_int_equal(sender.reply.type, RSM_MSG_INTERRUPT_TRIGGER | RSM_MSG_REPLY);
    assert_int_equal(trigger(RSM_INTERRUPT_PLAIN, interrupt, ""), RSM_ST_UNREACHABLE);
    assert_int_equal(pending(interrupt), 0);
}

TEST(answers_of_a_far_node_are_checked)
{
    struct rsm_msg msg = finding(RSM_INTERRUPT_PLAIN);
    begin(&sender, &msg);
    struct rsm_cluster_msg asked = intercept(RSM_CLUSTER_INTERRUPT);
    uint32_t request = asked.u.interrupt.request;
    assert_int_equal(asked.u.interrupt.who.uid, 500);
    /* Of another request, of another kind, from another node. */
    struct rsm_cluster_msg wrong = {.type = RSM_CLUSTER_INTERRUPT_REPLY,
                                    .u.interrupt_reply = {request + 1, RSM_ST_OK, 5}};
    forge(1, 2, wrong);
    wrong.u.interrupt_reply.request = request;
    forge(3, 2, wrong);
    wrong = (struct rsm_cluster_msg){
        .type = RSM_CLUSTER_CONNECT_REPLY,
        .u.connect_reply = {.request = request, .status = RSM_ST_NOT_FOUND}};
    forge(1, 2, wrong);
    assert_int_equal(sender.answers, 0);
    wrong = (struct rsm_cluster_msg){.type = RSM_CLUSTER_INTERRUPT_REPLY,
                                     .u.interrupt_reply = {request, RSM_ST_OK, 0}};
    forge(1, 2, wrong);
    assert_int_equal(sender.answers, 1);
    assert_int_equal(sender.reply.status, RSM_ST_UNREACHABLE);
    forge(1, 2, wrong); /* nobody waits for it any more */
    assert_int_equal(sender.answers, 1);
}
