/* SPDX-License-Identifier: BSD-3-Clause */
/* Check 91: broadcast by data interrupts. broadcast_segments.c has that by segments. */
#include "peer.h"

enum { NUMBER = 77, ALL = DIS_BROADCAST_NODEID_GROUP_ALL };

CONFORMANCE(B, 91, "a group without members is absent, at once")
{
    sci_remote_segment_t remote = (sci_remote_segment_t)8;
    sci_remote_data_interrupt_t group = (sci_remote_data_interrupt_t)8;
    sci_local_interrupt_t plain;
    unsigned number = NUMBER;
    begin_as_a();
    /* 252 is a node like others, unless BROADCAST says that it is the group. */
    sci_error_t error =
        ERROR_OF(SCIConnectSegment, desc(), &remote, ALL, 1, ADAPTER, NULL, NULL, 0, 0);
    HOLDS((error == SCI_ERR_NO_SUCH_SEGMENT || error == SCI_ERR_NO_SUCH_NODEID) && remote == NULL);
    SUCCEEDS(SCICreateInterrupt, desc(), &plain, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO);
    int64_t before = now_ms();
    GIVES(SCI_ERR_NO_SUCH_INTNO, SCIConnectDataInterrupt, desc(), &group, ALL, ADAPTER, NUMBER,
          SCI_INFINITE_TIMEOUT, SCI_FLAG_BROADCAST);
    HOLDS(now_ms() - before < LONG_MS && group == NULL);
    GIVES(SCI_ERR_ILLEGAL_NODEID, SCIConnectDataInterrupt, desc(), &group, node_b(), ADAPTER,
          NUMBER, 0, SCI_FLAG_BROADCAST);
    sci_remote_interrupt_t none;
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIConnectInterrupt, desc(), &none, ALL, ADAPTER, NUMBER, 0,
          SCI_FLAG_BROADCAST);
}

/* ---------------------------------------------------------------- data interrupts */

static sci_local_data_interrupt_t create_data(unsigned flags)
{
    sci_local_data_interrupt_t made;
    unsigned number = NUMBER;
    SUCCEEDS(SCICreateDataInterrupt, desc(), &made, ADAPTER, &number, NULL, NULL,
             SCI_FLAG_FIXED_INTNO | flags);
    return made;
}

static sci_remote_data_interrupt_t connect_group(void)
{
    sci_remote_data_interrupt_t group;
    SUCCEEDS(SCIConnectDataInterrupt, desc(), &group, ALL, ADAPTER, NUMBER, 0, SCI_FLAG_BROADCAST);
    return group;
}

/* The next message of this process's interrupt. */
static void expect_message(sci_local_data_interrupt_t interrupt, unsigned wanted)
{
    unsigned message = 0, length = sizeof message;
    SUCCEEDS(SCIWaitForDataInterrupt, interrupt, &message, &length, LONG_MS, 0);
    EXPECT((int)wanted, (int)message);
}

static void expect_message_at(struct actor *b, unsigned wanted)
{
    struct b_order order = {.data = true, .length = sizeof wanted, .timeout = LONG_MS};
    EXPECT(SCI_ERR_OK, b_tell(b, b_wait, &order));
    HOLDS(order.length == sizeof wanted && memcmp(order.bytes, &wanted, sizeof wanted) == 0);
}

static void send_one(sci_remote_data_interrupt_t group, unsigned message)
{
    SUCCEEDS(SCITriggerDataInterrupt, group, &message, sizeof message, 0);
}

/* B has just created the number: from now on it gets what is sent. Where the machine has stalled while
 * its node was asked, that may take a second. Returns the next message. */
static unsigned send_until_there(sci_remote_data_interrupt_t group, sci_local_data_interrupt_t own,
                                 struct actor *b, unsigned message)
{
    for (int64_t end = now_ms() + LONG_MS;; message++) {
        struct b_order order = {.data = true, .length = sizeof message};
        send_one(group, message);
        expect_message(own, message);
        int error = b_tell(b, b_wait, &order);
        if (error != SCI_ERR_TIMEOUT || now_ms() >= end) {
            EXPECT(SCI_ERR_OK, error);
            HOLDS(memcmp(order.bytes, &message, sizeof message) == 0);
            return message + 1;
        }
        usleep(100000);
    }
}

CONFORMANCE(X, 14, "a trigger of a group reaches all who have the number, also who comes later")
{
    APPLIES_IF(!one_node(), "there is one node");
    struct actor *b = b_start();
    begin_as_a();
    sci_local_data_interrupt_t own = create_data(0);
    sci_remote_data_interrupt_t group = connect_group();
    send_one(group, 1);
    expect_message(own, 1);
    B_OK(b, create, .data = true, .number = NUMBER);
    unsigned next = send_until_there(group, own, b, 2);
    send_one(group, next);
    expect_message(own, next);
    expect_message_at(b, next);
    /* One that goes, and comes again. */
    B_OK(b, remove, .data = true);
    send_one(group, 4);
    expect_message(own, 4);
    B_OK(b, create, .data = true, .number = NUMBER);
    (void)send_until_there(group, own, b, 5);
    /* B has a group of its own. */
    B_OK(b, connect, .data = true, .node = ALL, .number = NUMBER, .flags = SCI_FLAG_BROADCAST);
    B_OK(b, trigger, .data = true, .length = 4, .bytes = {6, 0, 0, 0});
    expect_message(own, 6);
    expect_message_at(b, 6);
    actor_kill(b);
    send_one(group, 7);
    expect_message(own, 7);
    SUCCEEDS(SCIRemoveDataInterrupt, own, 0);
    GIVES(SCI_ERR_NOT_CONNECTED, SCITriggerDataInterrupt, group, &own, 4, 0);
    own = create_data(0);
    send_one(group, 8);
    expect_message(own, 8);
    SUCCEEDS(SCIDisconnectDataInterrupt, group, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITriggerDataInterrupt, group, &own, 4, 0);
}

CONFORMANCE(X, 15,
            "a group tells who is full; others have the message; what is too long has nobody")
{
    enum { KEPT = 256 };
    APPLIES_IF(!one_node(), "there is one node");
    char bytes[B_DATA + 1] = {0};
    struct actor *b = b_start();
    begin_as_a();
    sci_local_data_interrupt_t own = create_data(0);
    B_OK(b, create, .data = true, .number = NUMBER);
    sci_remote_data_interrupt_t group = connect_group();
    GIVES(SCI_ERR_OUT_OF_RANGE, SCITriggerDataInterrupt, group, bytes, B_DATA + 1, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCITriggerDataInterrupt, group, NULL, 1, 0);
    for (unsigned i = 0; i < KEPT; i++) {
        send_one(group, i);
        expect_message(own, i);
    }
    unsigned message = KEPT, length = sizeof message;
    GIVES(SCI_ERR_NOSPC, SCITriggerDataInterrupt, group, &message, sizeof message, 0);
    expect_message(own, KEPT);
    for (unsigned i = 0; i < KEPT; i++)
        expect_message_at(b, i);
    send_one(group, KEPT + 1);
    expect_message(own, KEPT + 1);
    expect_message_at(b, KEPT + 1);
    GIVES(SCI_ERR_TIMEOUT, SCIWaitForDataInterrupt, own, &message, &length, 0, 0);
}
