/* SPDX-License-Identifier: BSD-3-Clause */
/* Many requests at once on one connection; the test is the daemon, and answers when it wants. */
#include "cases.h"

#include "control/channel.h"

enum { PATIENCE_MS = 60000, SHORT_MS = 50, CALLERS = 12 };

static int ends[2];
static struct rsmcore_channel *channel;

static void set_patience(uint32_t ms)
{
    assert_int_equal(rsmcore_channel_set_timeout(channel, ms), RSM_ST_OK);
}

static int begin(void **state)
{
    channel = calloc(1, sizeof *channel);
    if (channel == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    rsmcore_channel_init(channel, ends[0]);
    set_patience(PATIENCE_MS);
    return 0;
}

static int end(void **state)
{
    rsmcore_channel_destroy(channel);
    free(channel);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    return 0;
}

/* ------------------------------------------------------------------ the daemon's side */

/* The next request. */
static struct rsm_msg next_request(void)
{
    static uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg;
    struct pollfd readable = {.fd = ends[1], .events = POLLIN};
    assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
    ssize_t length = rsm_packet_receive(ends[1], buffer, sizeof buffer, NULL, NULL);
    assert_true(length > 0);
    assert_int_equal(rsm_msg_decode(&msg, buffer, (size_t)length), RSM_ST_OK);
    return msg;
}

static void send_to_library(const struct rsm_msg *msg, int fd)
{
    static uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = fd >= 0, .fds = {fd}};
    size_t length = rsm_msg_encode(msg, buffer, sizeof buffer);
    assert_true(length > 0);
    assert_int_equal(rsm_packet_send(ends[1], buffer, length, &fds, 0), 0);
}

/* Answer a connect: the import has the number of the segment, a descriptor comes with it. */
static void grant(const struct rsm_msg *request)
{
    assert_int_equal(request->type, RSM_MSG_IMPORT_CONNECT);
    struct rsm_msg reply = {
        .type = RSM_MSG_IMPORT_CONNECT | RSM_MSG_REPLY,
        .sequence = request->sequence,
        .u.import_connect_reply = {.import = request->u.import_connect.segment_id,
                                   .length = 4096,
                                   .rights = 6,
                                   .transport = "shm"}};
    send_to_library(&reply, ends[1]);
}

/* ------------------------------------------------------------------ the library's side */

struct caller {
    pthread_t thread;
    uint32_t segment;
    enum rsm_status status;
    uint32_t import;
    unsigned descriptors;
};

static void connect_once(struct caller *caller)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {.controller = "sci0", .node = 2, .segment_id = caller->segment}};
    caller->status = rsmcore_channel_call(channel, &msg, &fds);
    caller->import = caller->status == RSM_ST_OK ? msg.u.import_connect_reply.import : 0;
    caller->descriptors = fds.count;
    rsm_packet_fds_close(&fds);
}

static void *call(void *argument)
{
    connect_once(argument);
    return NULL;
}

/* Start a call; its request has arrived. */
static struct rsm_msg start(struct caller *caller, uint32_t segment)
{
    *caller = (struct caller){.segment = segment, .status = RSM_ST_BUSY};
    assert_int_equal(pthread_create(&caller->thread, NULL, call, caller), 0);
    struct rsm_msg request = next_request();
    assert_int_equal(request.u.import_connect.segment_id, segment);
    return request;
}

static enum rsm_status join(struct caller *caller)
{
    assert_int_equal(pthread_join(caller->thread, NULL), 0);
    return caller->status;
}

static void expect_granted(struct caller *caller)
{
    assert_int_equal(join(caller), RSM_ST_OK);
    assert_int_equal(caller->import, caller->segment);
    assert_int_equal(caller->descriptors, 1);
}

/* ------------------------------------------------------------------ order */

#define TEST(name) TEST_BETWEEN(name, begin, end)

TEST(replies_come_in_any_order)
{
    struct caller callers[CALLERS];
    struct rsm_msg *requests = calloc(CALLERS, sizeof *requests);
    assert_non_null(requests);
    /* Steps that reach each of the callers once: in order, against it and across. */
    const unsigned steps[] = {1, CALLERS - 1, 5, 7};
    for (size_t round = 0; round < sizeof steps / sizeof steps[0]; round++) {
        for (unsigned i = 0; i < CALLERS; i++)
            requests[i] = start(&callers[i], 100 + i);
        for (unsigned i = 0, at = 0; i < CALLERS; i++, at = (at + steps[round]) % CALLERS) {
            grant(&requests[at]);
            expect_granted(&callers[at]);
        }
    }
    free(requests);
}

TEST(one_waits_and_the_others_go_on)
{
    struct caller slow, quick;
    struct rsm_msg held = start(&slow, 1);
    for (uint32_t i = 2; i < 50; i++) {
        struct rsm_msg request = start(&quick, i);
        grant(&request);
        expect_granted(&quick);
    }
    grant(&held);
    expect_granted(&slow);
}

/* One that has no room for its request does not keep replies from others. */
TEST(replies_come_while_one_waits_to_send)
{
    struct caller first, second;
    static const uint8_t filler[1024];
    struct rsm_msg held = start(&first, 1);
    unsigned fillers = 0;
    while (rsm_packet_send(ends[0], filler, sizeof filler, NULL, 1) == 0)
        fillers++;
    second = (struct caller){.segment = 2};
    assert_int_equal(pthread_create(&second.thread, NULL, call, &second), 0);
    grant(&held);
    expect_granted(&first);
    while (fillers-- > 0) {
        uint8_t buffer[sizeof filler];
        assert_int_equal(rsm_packet_receive(ends[1], buffer, sizeof buffer, NULL, NULL),
                         sizeof buffer);
    }
    struct rsm_msg request = next_request();
    grant(&request);
    expect_granted(&second);
}

/* ------------------------------------------------------------------ what does not come */

TEST(nobody_waits_for_ever)
{
    struct caller callers[CALLERS];
    set_patience(SHORT_MS);
    for (unsigned i = 0; i < CALLERS; i++)
        start(&callers[i], i + 1);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(join(&callers[i]), RSM_ST_TIMEOUT);
    set_patience(PATIENCE_MS);
    struct caller later;
    struct rsm_msg request = start(&later, 7);
    grant(&request);
    expect_granted(&later);
}

TEST(what_comes_too_late_is_given_back)
{
    struct caller caller;
    set_patience(SHORT_MS);
    struct rsm_msg late = start(&caller, 33);
    assert_int_equal(join(&caller), RSM_ST_TIMEOUT);
    set_patience(PATIENCE_MS);
    grant(&late);
    struct rsm_msg request = start(&caller, 34);
    struct rsm_msg undo = next_request();
    assert_int_equal(undo.type, RSM_MSG_IMPORT_DISCONNECT);
    assert_int_equal(undo.u.import_disconnect.import, 33);
    grant(&request);
    expect_granted(&caller);
}

/* A daemon that reads nothing: what it need not know is dropped, and the connection stays. */
TEST(what_finds_no_room_is_dropped)
{
    struct caller caller;
    struct rsm_msg mention = {.type = RSM_MSG_IMPORT_TRAP, .u.import_trap = {.import = 5}};
    struct pollfd writable = {.fd = ends[0], .events = POLLOUT};
    while (poll(&writable, 1, 0) == 1)
        rsmcore_channel_try_post(channel, &mention);
    for (unsigned i = 0; i < 10; i++)
        rsmcore_channel_try_post(channel, &mention);
    assert_false(atomic_load(&channel->broken));
    struct pollfd readable = {.fd = ends[1], .events = POLLIN};
    while (poll(&readable, 1, 0) == 1)
        assert_int_equal(next_request().type, RSM_MSG_IMPORT_TRAP);
    struct rsm_msg request = start(&caller, 36);
    grant(&request);
    expect_granted(&caller);
    close(ends[1]);
    ends[1] = -1;
    rsmcore_channel_try_post(channel, &mention); /* raises no SIGPIPE either */
    assert_true(atomic_load(&channel->broken));
}

/* A daemon drops a client that leaves its replies unread. */
TEST(replies_to_what_nobody_waits_for_are_read)
{
    enum { POSTS = 2000 };
    struct pollfd readable = {.fd = ends[0], .events = POLLIN};
    for (unsigned i = 0; i < POSTS; i++) {
        struct rsm_msg mention = {.type = RSM_MSG_IMPORT_TRAP, .u.import_trap = {.import = 5}};
        rsmcore_channel_try_post(channel, &mention);
        assert_int_equal(poll(&readable, 1, 0), 0);
        struct rsm_msg request = next_request();
        struct rsm_msg reply = {.type = request.type | RSM_MSG_REPLY,
                                .sequence = request.sequence,
                                .status = i % 2 == 0 ? RSM_ST_OK : RSM_ST_NOT_FOUND};
        send_to_library(&reply, -1);
    }
    assert_false(atomic_load(&channel->broken));
    /* What is not a reply at all ends it. */
    assert_int_equal(send(ends[1], "what?", 5, MSG_NOSIGNAL), 5);
    struct rsm_msg mention = {.type = RSM_MSG_IMPORT_TRAP, .u.import_trap = {.import = 5}};
    rsmcore_channel_try_post(channel, &mention);
    assert_true(atomic_load(&channel->broken));
}

/* No room for the descriptor that comes with a reply: that call fails, and no other one. */
TEST(a_descriptor_too_many)
{
    struct caller unlucky, other;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t usual = limit.rlim_cur;
    struct rsm_msg request = start(&unlucky, 1), held = start(&other, 2);
    int next = dup(ends[1]);
    assert_true(next >= 0);
    close(next);
    limit.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    grant(&request);
    assert_int_equal(join(&unlucky), RSM_ST_NO_RESOURCES);
    limit.rlim_cur = usual;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    grant(&held);
    expect_granted(&other);
}

TEST(an_end_is_everybodys)
{
    struct caller callers[CALLERS];
    for (unsigned i = 0; i < CALLERS; i++)
        start(&callers[i], i + 1);
    close(ends[1]);
    ends[1] = -1;
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(join(&callers[i]), RSM_ST_STALE);
    assert_true(atomic_load(&channel->broken));
    connect_once(&callers[0]);
    assert_int_equal(callers[0].status, RSM_ST_STALE);
}

TEST(nonsense_ends_it_for_all)
{
    struct caller wronged, other;
    struct rsm_msg request = start(&wronged, 1);
    start(&other, 2);
    struct rsm_msg reply = {.type = RSM_MSG_EXTENT_FREE | RSM_MSG_REPLY,
                            .sequence = request.sequence};
    send_to_library(&reply, -1);
    assert_int_equal(join(&wronged), RSM_ST_PROTOCOL);
    assert_int_equal(join(&other), RSM_ST_STALE);
    assert_true(atomic_load(&channel->broken));
}

/* ------------------------------------------------------------------ cancellation */

/* The descriptor of the reply is not wanted, and closed by the call. The thread is cancelled within
 * the call or not at all, because sanitizers do not survive the unwinding of their frames. */
static void *call_and_be_cancelled(void *argument)
{
    struct caller *caller = argument;
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {.node = 2, .segment_id = caller->segment}};
    enum rsm_status status = rsmcore_channel_call(channel, &msg, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    caller->status = status;
    caller->import = msg.u.import_connect_reply.import;
    return caller;
}

/* A cancelled thread finishes its call, and leaves nothing locked. */
TEST(a_call_is_no_cancellation_point)
{
    struct caller cancelled = {.segment = 5}, other;
    void *result;
    assert_int_equal(pthread_create(&cancelled.thread, NULL, call_and_be_cancelled, &cancelled), 0);
    struct rsm_msg held = next_request();
    assert_int_equal(pthread_cancel(cancelled.thread), 0);
    struct rsm_msg request = start(&other, 6);
    grant(&request);
    expect_granted(&other);
    grant(&held);
    assert_int_equal(pthread_join(cancelled.thread, &result), 0);
    assert_ptr_equal(result, &cancelled);
    assert_int_equal(cancelled.status, RSM_ST_OK);
    assert_int_equal(cancelled.import, 5);
    request = start(&other, 7);
    grant(&request);
    expect_granted(&other);
}
