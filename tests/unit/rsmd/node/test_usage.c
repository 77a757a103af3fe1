/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon says that users have: who is told, and that it is true. */
#include "users.h"

/* What a user has according to a reply; NULL: nothing. */
static const uint64_t *used_by(const struct rsm_shares_reply *reply, uid_t uid)
{
    for (uint32_t i = 0; i < reply->count; i++)
        if (reply->users[i].node == 0 && reply->users[i].uid == uid)
            return reply->users[i].used;
    return NULL;
}

/* Nothing is left of anybody but the one connection of root, which asks. */
static void await_nothing(int fd, const struct daemon *daemon, unsigned descriptors)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct rsm_shares_reply reply = look(fd);
    for (int waited = 0; reply.count != 1 || reply.limits[RSM_SHARES_DESCRIPTORS].used != 2 ||
                         descriptors_of(daemon) != descriptors;
         waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
        reply = look(fd);
    }
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++)
        assert_int_equal(reply.limits[i].used, i == RSM_SHARES_CONNECTIONS   ? 1
                                               : i == RSM_SHARES_DESCRIPTORS ? 2
                                                                             : 0);
    assert_int_equal(reply.users[0].uid, 0);
}

/* ------------------------------------------------------------------ who sees what */

TEST_ALONE(a_user_sees_his_own_share)
{
    struct daemon daemon;
    daemon_start(&daemon, NULL, NULL);
    int one = hello_as(&daemon, GREEDY), other = hello_as(&daemon, MODEST);
    int root = hello_as(&daemon, 0);
    publish_page(one, 0x500000, 0666);
    struct rsm_shares_reply reply = look(root);
    assert_int_equal(reply.count, 3);
    assert_int_equal(reply.more, 0);
    const uint64_t *used = used_by(&reply, GREEDY);
    assert_non_null(used);
    assert_int_equal(used[RSM_SHARES_CONNECTIONS], 1);
    assert_int_equal(used[RSM_SHARES_DESCRIPTORS], 3); /* socket, pidfd, extent */
    assert_int_equal(used[RSM_SHARES_SEGMENTS], 1);
    assert_int_equal(used[RSM_SHARES_BYTES], page);
    assert_int_equal(used[RSM_SHARES_PINNED], 0); /* shm pins nothing */
    assert_int_equal(reply.limits[RSM_SHARES_SEGMENTS].total, 65535);
    assert_int_equal(reply.limits[RSM_SHARES_CONNECTIONS].used, 3);
    be(MODEST);
    reply = look(other);
    be(0);
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.users[0].uid, MODEST);
    assert_int_equal(reply.limits[RSM_SHARES_SEGMENTS].used, 1);
    close(one);
    close(other);
    close(root);
    daemon_stop(&daemon);
}

TEST_ALONE(many_users_come_in_pages)
{
    enum { USERS = RSM_PROTO_USERS_MAX + 10 };
    struct daemon daemon;
    int sockets[USERS];
    daemon_start(&daemon, NULL, NULL);
    int root = hello_as(&daemon, 0);
    for (uid_t i = 0; i < USERS; i++)
        sockets[i] = hello_as(&daemon, 5000 + i);
    struct rsm_shares_reply reply = look(root);
    assert_int_equal(reply.count, RSM_PROTO_USERS_MAX);
    assert_int_equal(reply.more, 1);
    uint64_t last = reply.users[reply.count - 1].serial;
    close(sockets[3]); /* one who has been told of goes, and nobody is left out or told twice */
    reply = look_after(root, last);
    assert_int_equal(reply.count, USERS + 1 - RSM_PROTO_USERS_MAX);
    assert_int_equal(reply.more, 0);
    assert_true(reply.users[0].serial > last);
    assert_int_equal(reply.users[reply.count - 1].uid, 5000 + USERS - 1);
    for (uid_t i = 0; i < USERS; i++)
        if (i != 3)
            close(sockets[i]);
    close(root);
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ deaths */

/* Make a bit of everything, say so, and wait for death. */
static void live(const struct daemon *daemon, uid_t uid, int to_test)
{
    int fd = hello_as(daemon, uid);
    be(uid);
    uint32_t id = 0x500000 + uid;
    uint32_t export_id = publish_page(fd, id, 0666);
    struct rsm_import_connect_reply import;
    if (connect_on(fd, "sci0", 1, id, RSM_RIGHT_READ, &import) != RSM_ST_OK)
        _exit(1);
    for (uint32_t end = RSM_EVENT_EXPORT; end <= RSM_EVENT_IMPORT; end++) {
        struct rsm_packet_fds fds;
        struct rsm_msg msg = {
            .type = RSM_MSG_EVENT_OPEN,
            .u.event_open = {end, end == RSM_EVENT_EXPORT ? export_id : import.import}};
        if (ask_with(fd, &msg, NULL, &fds) != RSM_ST_OK)
            _exit(1);
    }
    if (write(to_test, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

TEST_ALONE(nothing_is_left_of_the_dead)
{
    enum { LIVES = 6 };
    struct daemon daemon;
    pid_t pids[LIVES];
    int ends[2];
    char byte;
    daemon_start(&daemon, NULL, NULL);
    int root = hello_as(&daemon, 0);
    unsigned before = descriptors_of(&daemon);
    assert_int_equal(pipe(ends), 0);
    for (uid_t i = 0; i < LIVES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            live(&daemon, GREEDY + i, ends[1]);
    }
    for (int i = 0; i < LIVES; i++)
        assert_int_equal(read(ends[0], &byte, 1), 1);
    struct rsm_shares_reply reply = look(root);
    assert_int_equal(reply.count, LIVES + 1);
    assert_int_equal(reply.limits[RSM_SHARES_SEGMENTS].used, 2 * LIVES);
    assert_int_equal(descriptors_of(&daemon) - before,
                     reply.limits[RSM_SHARES_DESCRIPTORS].used - 2);
    for (int i = 0; i < LIVES; i++) {
        assert_int_equal(kill(pids[i], SIGKILL), 0);
        assert_int_equal(wait_exit(pids[i]), -SIGKILL);
    }
    await_nothing(root, &daemon, before);
    close(ends[0]);
    close(ends[1]);
    close(root);
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ at random */

enum { PARTIES = 12, THINGS = 64, RANDOM_STEPS = 6000 };

static const uid_t party_users[] = {0, GREEDY, GREEDY_TOO, MODEST};

/* A connection and ids of what it may have; some are stale, which is as good. */
static struct party {
    uid_t uid;
    int socket; /* -1: not connected */
    uint32_t extents[THINGS], exports[THINGS], imports[THINGS];
} parties[PARTIES];
static unsigned refusals; /* for want of something */

static uint32_t *thing(uint32_t *things, unsigned *seed)
{
    return &things[(unsigned)rand_r(seed) % THINGS];
}

static enum rsm_status ask_and_drop(const struct party *party, struct rsm_msg *msg)
{
    struct rsm_packet_fds fds = {.count = 0};
    enum rsm_status status = ask_with(party->socket, msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    refusals += status == RSM_ST_NO_RESOURCES || status == RSM_ST_NO_MEMORY;
    return status;
}

static enum rsm_status arm(const struct party *party, uint32_t end, uint32_t id)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_ARM, .u.event_arm = {end, id}};
    return ask_and_drop(party, &msg);
}

static void extent_step(struct party *party, unsigned *seed)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_FREE,
                          .u.extent_free = {.extent = *thing(party->extents, seed),
                                            .flags = (uint32_t)rand_r(seed) % 2}};
    if (rand_r(seed) % 2 == 0) {
        ask_and_drop(party, &msg);
        return;
    }
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXTENT_ALLOC,
        .u.extent_alloc = {.controller = "sci0", .length = page * ((uint64_t)rand_r(seed) % 4096)}};
    if (ask_and_drop(party, &msg) == RSM_ST_OK)
        *thing(party->extents, seed) = msg.u.extent_alloc_reply.extent;
}

static void export_step(struct party *party, unsigned *seed)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci0",
                                              .length = page,
                                              .mode = 0666,
                                              .want_extent = (uint32_t)rand_r(seed) % 2}};
    switch (rand_r(seed) % 4) {
    case 0:
        msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_DESTROY,
                               .u.export_destroy = {.export_id = *thing(party->exports, seed),
                                                    .flags = (uint32_t)rand_r(seed) % 4}};
        ask_and_drop(party, &msg);
        return;
    case 1:
        unpublish(party->socket, *thing(party->exports, seed), (uint32_t)rand_r(seed) % 4, NULL);
        return;
    case 2:
        publish(party->socket, *thing(party->exports, seed), 1 + (uint32_t)rand_r(seed) % 50,
                *thing(party->extents, seed), page, NULL, 0);
        return;
    default:
        if (ask_and_drop(party, &msg) != RSM_ST_OK)
            return;
        *thing(party->exports, seed) = msg.u.export_create_reply.export_id;
        *thing(party->extents, seed) = msg.u.export_create_reply.extent;
    }
}

static void import_step(struct party *party, unsigned *seed)
{
    struct rsm_import_connect_reply reply;
    if (rand_r(seed) % 2 == 0)
        disconnect(party->socket, *thing(party->imports, seed));
    else if (connect_on(party->socket, "sci0", 1, 1 + (uint32_t)rand_r(seed) % 50, RSM_RIGHT_READ,
                        &reply) == RSM_ST_OK)
        *thing(party->imports, seed) = reply.import;
}

static void event_step(struct party *party, unsigned *seed)
{
    uint32_t end = 1 + (uint32_t)rand_r(seed) % 4;
    bool of_export = end == RSM_EVENT_EXPORT || end == RSM_EVENT_EXPORT_RECORDS;
    uint32_t id = *thing(of_export ? party->exports : party->imports, seed);
    struct rsm_msg records = {.type = RSM_MSG_MAILBOX_TAKE,
                              .u.mailbox_take = {end, id, rand_r(seed) % 2 == 0 ? 0 : UINT64_MAX}};
    struct rsm_msg open = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {end, id}};
    struct rsm_msg peers = {.type = RSM_MSG_EVENT_RECEIVERS, .u.event_receivers = {end, id, 0}};
    switch (rand_r(seed) % 4) {
    case 0:
        ask_and_drop(party, &open);
        return;
    case 2:
        ask_and_drop(party, &records);
        return;
    case 1:
        ask_and_drop(party, &peers);
        return;
    default:
        arm(party, end, id);
    }
}

static void random_step(const struct daemon *daemon, struct party *party, unsigned *seed)
{
    be(party->uid);
    if (party->socket < 0) {
        party->socket = connect_patiently(daemon);
        if (greet(party->socket) != RSM_ST_OK) {
            close(party->socket);
            party->socket = -1;
        }
    } else if (rand_r(seed) % 200 == 0) {
        close(party->socket);
        party->socket = -1;
        memset(party->extents, 0, sizeof party->extents);
        memset(party->exports, 0, sizeof party->exports);
        memset(party->imports, 0, sizeof party->imports);
    } else {
        void (*const steps[])(struct party *, unsigned *) = {extent_step, export_step, import_step,
                                                             event_step};
        steps[(unsigned)rand_r(seed) % 4](party, seed);
    }
    be(0);
}

/* All exports, or imports, that there are. */
static unsigned count_items(int root, uint32_t what)
{
    unsigned count = 0;
    uint32_t after = 0;
    do {
        struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = what, .after = after}};
        assert_int_equal(ask(root, &msg), RSM_ST_OK);
        count += msg.u.inspect_reply.count;
        after = msg.u.inspect_reply.next;
    } while (after != 0);
    return count;
}

/* Whether the daemon's sums agree with each other and with its descriptors. */
static bool sums_agree(int root, const struct daemon *daemon, unsigned descriptors)
{
    struct rsm_shares_reply reply = look(root);
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++) {
        uint64_t sum = 0;
        for (uint32_t u = 0; u < reply.count; u++) {
            sum += reply.users[u].used[i];
            assert_true(reply.users[u].uid == 0 || reply.users[u].used[i] <= reply.limits[i].one);
        }
        assert_int_equal(sum, reply.limits[i].used);
        assert_true(sum <= reply.limits[i].total);
    }
    /* A client that closed may not have been noticed yet, or its descriptors not been closed. */
    return reply.limits[RSM_SHARES_SEGMENTS].used ==
               count_items(root, RSM_INSPECT_EXPORTS) + count_items(root, RSM_INSPECT_IMPORTS) &&
           descriptors_of(daemon) - descriptors == reply.limits[RSM_SHARES_DESCRIPTORS].used - 2;
}

static void await_agreement(int root, const struct daemon *daemon, unsigned descriptors)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; !sums_agree(root, daemon, descriptors); waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

TEST_ALONE(random_users)
{
    struct daemon daemon;
    unsigned seed = 4711; /* fixed, so that a failure repeats */
    start_with_files(&daemon,
                     "[controller sci0]\ntransport = shm\n[limits]\nmax-segments = 150\n"
                     "max-exported-memory = 5\nmax-user-share = 40\n",
                     700);
    int root = hello_as(&daemon, 0);
    unsigned descriptors = descriptors_of(&daemon);
    for (unsigned i = 0; i < PARTIES; i++) {
        memset(&parties[i], 0, sizeof parties[i]);
        parties[i].uid = party_users[i % 4];
        parties[i].socket = -1;
    }
    for (unsigned step = 0; step < RANDOM_STEPS; step++) {
        random_step(&daemon, &parties[(unsigned)rand_r(&seed) % PARTIES], &seed);
        if (step % 100 == 0)
            await_agreement(root, &daemon, descriptors);
    }
    for (unsigned i = 0; i < PARTIES; i++)
        if (parties[i].socket >= 0)
            close(parties[i].socket);
    await_nothing(root, &daemon, descriptors);
    assert_true(refusals > 10); /* else nothing has been tried */
    close(root);
    daemon_stop(&daemon);
}

TESTS_BETWEEN(need_root, NULL)
