/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong: lies, revocation, death, silence, floods. Times are upper bounds only. The
 * environment variables RSM_TEST_CUT and RSM_TEST_MEND are shell commands that make the fabric lose
 * every packet and carry them again; without them that test is left out. */
#include <netinet/in.h>

#include "cases.h"
#include "pair.h"
#include "test_sharing.h"

enum { PAGE = 4096, MIB = 1024 * 1024, SOON_MS = 20000 };

static const uint32_t both = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
#define SHORT_TIMEOUT "timeout=1000"
/* Longer than a loaded machine takes to connect: who waits for it was not told. */
#define REVOKED_TIMEOUT "timeout=10000"

static struct rsm_offer *offer_of(struct pair *pair, const struct remote *remote, uint32_t *made)
{
    struct remote_piece piece = {.remote = remote, .length = remote->length};
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    assert_non_null(offer);
    assert_int_equal(node_offer(pair, &piece, 1, both, offer, made), RSM_ST_OK);
    return offer;
}

static enum rsm_status attempt(struct pair *pair, const struct rsm_offer *offer, uint64_t size)
{
    struct rsm_conn *conn;
    enum rsm_status status = pair->ops->connect(pair->port, offer, size, both, &conn);
    if (status == RSM_ST_OK)
        pair->ops->disconnect(conn);
    return status;
}

/* ------------------------------------------------------------------ lies */

TEST_ALONE(lying_offers)
{
    uint32_t made;
    struct pair *pair = pair_open("", SHORT_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_offer *good = offer_of(pair, &remote, &made);
    struct rsm_offer bad = *good;
    bad.blob[0] ^= 0xff;
    assert_int_equal(attempt(pair, &bad, PAGE), RSM_ST_VERSION);
    bad = *good;
    bad.blob_len--;
    assert_int_equal(attempt(pair, &bad, PAGE), RSM_ST_PROTOCOL);
    bad = *good;
    bad.fd_count = 1;
    assert_int_equal(attempt(pair, &bad, PAGE), RSM_ST_PROTOCOL);
    assert_int_equal(attempt(pair, good, 2 * PAGE), RSM_ST_PROTOCOL);
    assert_int_equal(attempt(pair, good, PAGE / 2), RSM_ST_PROTOCOL);
    assert_int_equal(attempt(pair, good, PAGE), RSM_ST_OK);
    free(good);
    remote_free(pair, &remote);
    pair_close(pair);
}

TEST_ALONE(tokens_open_once)
{
    uint32_t made[2];
    uint64_t word = 7;
    struct rsm_conn *conn;
    struct pair *pair = pair_open("", "");
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_offer *offer = offer_of(pair, &remote, &made[0]);
    struct rsm_offer *unused = offer_of(pair, &remote, &made[1]);
    assert_int_equal(pair->ops->connect(pair->port, offer, PAGE, both, &conn), RSM_ST_OK);
    assert_int_equal(attempt(pair, offer, PAGE), RSM_ST_ABORTED);
    node_revoke(pair, made[1]);
    assert_int_equal(attempt(pair, unused, PAGE), RSM_ST_ABORTED);
    assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    assert_int_equal(remote.bytes[0], 7);
    pair->ops->disconnect(conn);
    free(unused);
    free(offer);
    remote_free(pair, &remote);
    pair_close(pair);
}

TEST_ALONE(nobody_there)
{
    struct verbs_offer lie;
    struct rsm_offer *bad = calloc(1, sizeof *bad);
    uint32_t made;
    assert_non_null(bad);
    struct pair *pair = pair_open("", SHORT_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_offer *good = offer_of(pair, &remote, &made);
    assert_int_equal(verbs_offer_decode(good->blob, good->blob_len, PAGE, both, &lie), RSM_ST_OK);
    struct sockaddr_in *where = (struct sockaddr_in *)&lie.address;
    where->sin_port = htons(1);
    bad->blob_len = (uint32_t)verbs_offer_encode(&lie, bad->blob, sizeof bad->blob);
    int64_t start = clock_ms();
    assert_int_equal(attempt(pair, bad, PAGE), RSM_ST_UNREACHABLE);
    where->sin_addr.s_addr = htonl(0x0a090063); /* an address that nobody has */
    bad->blob_len = (uint32_t)verbs_offer_encode(&lie, bad->blob, sizeof bad->blob);
    assert_int_equal(attempt(pair, bad, PAGE), RSM_ST_UNREACHABLE);
    assert_true(clock_ms() - start < SOON_MS);
    free(good);
    free(bad);
    remote_free(pair, &remote);
    pair_close(pair);
}

/* An importer that uses its queue pair as it likes: the device lets it no further than its keys. */
static void keys_reach_no_further(const char *options)
{
    enum trials { BEFORE, BEYOND, WRONG_KEY, KEY_OF_ANOTHER, TRIALS };
    uint32_t made[2];
    uint64_t word = 9;
    struct remote_piece middle = {.offset = PAGE, .length = PAGE};
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    struct rsm_conn *conn;
    assert_non_null(offer);
    struct pair *pair = pair_open(options, "");
    struct remote remote = remote_make(pair, 3 * PAGE);
    struct rsm_conn *other = pair_connect(pair, &remote, both, &made[1]);
    middle.remote = &remote;
    for (int trial = BEFORE; trial < TRIALS; trial++) {
        assert_int_equal(node_offer(pair, &middle, 1, both, offer, &made[0]), RSM_ST_OK);
        assert_int_equal(pair->ops->connect(pair->port, offer, PAGE, both, &conn), RSM_ST_OK);
        assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
        assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
        struct verbs_conn *inside = verbs_of(conn);
        if (trial == BEFORE)
            inside->piece[0].address -= PAGE;
        else if (trial == BEYOND)
            inside->piece[0].address += PAGE - 4;
        else if (trial == WRONG_KEY)
            inside->piece[0].key ^= 1;
        else /* which reaches all of the extent, but from there */
            inside->piece[0].key = verbs_of(other)->piece[0].key;
        assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
        if (pair_complete(pair, conn) != RSM_ST_TRANSFER)
            fail_msg("trial %d was not refused", trial);
        pair->ops->disconnect(conn);
        node_revoke(pair, made[0]);
        uint64_t expected[3 * PAGE / 8] = {[PAGE / 8] = 9};
        assert_memory_equal(remote.bytes, expected, sizeof expected);
    }
    assert_int_equal(pair->ops->get(other, PAGE, &word, 8), RSM_ST_OK); /* it has not suffered */
    assert_int_equal(word, 9);
    pair->ops->disconnect(other);
    free(offer);
    remote_free(pair, &remote);
    pair_close(pair);
}

TEST_ALONE(windows_are_tight)
{
    keys_reach_no_further("");
}

TEST_ALONE(registrations_are_tight)
{
    keys_reach_no_further("windows=no");
}

/* ------------------------------------------------------------------ revocation */

struct connector {
    struct pair *pair;
    struct rsm_offer *offer;
    atomic_bool started;
    atomic_bool ended;
    enum rsm_status status;
};

static void *connect_once(void *argument)
{
    struct connector *c = argument;
    atomic_store(&c->started, true);
    c->status = attempt(c->pair, c->offer, PAGE);
    atomic_store(&c->ended, true);
    return NULL;
}

TEST_ALONE(revoked_mid_connect)
{
    uint32_t made;
    pthread_t thread;
    struct pair *pair = pair_open("", REVOKED_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    for (int round = 0; round < 40; round++) {
        struct connector c = {.pair = pair, .offer = offer_of(pair, &remote, &made)};
        int64_t start = clock_ms();
        assert_int_equal(pthread_create(&thread, NULL, connect_once, &c), 0);
        while (!atomic_load(&c.started))
            sched_yield();
        for (int i = 0; i < round; i++)
            node_report(pair); /* some round trips later each time */
        node_revoke(pair, made);
        pthread_join(thread, NULL);
        if (c.status != RSM_ST_OK && c.status != RSM_ST_ABORTED)
            fail_msg("round %d: status %d", round, (int)c.status);
        assert_true(clock_ms() - start < SOON_MS);
        free(c.offer);
    }
    uint32_t last;
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &last); /* the node is well */
    pair->ops->disconnect(conn);
    remote_free(pair, &remote);
    pair_close(pair);
}

/* The node accepts a connection, signals_armed nothing of it afterwards, and revokes the offer
 * `wait_us` later. */
static enum rsm_status revoke_accepted(struct pair *pair, const struct remote *remote,
                                       int64_t wait_us)
{
    uint32_t made;
    pthread_t thread;
    struct connector c = {.pair = pair, .offer = offer_of(pair, remote, &made)};
    node_pause(pair);
    assert_int_equal(pthread_create(&thread, NULL, connect_once, &c), 0);
    while (!node_report(pair).paused && !atomic_load(&c.ended))
        sched_yield();
    usleep((useconds_t)wait_us);
    node_revoke(pair, made);
    pthread_join(thread, NULL);
    free(c.offer);
    return c.status;
}

/* The revocation meets the last message of the handshake: the importer takes the connection for
 * made when the node rejects it. Whenever that is, the importer is told, and does not wait for a
 * time-out. */
TEST_ALONE(revoked_before_it_stands)
{
    struct pair *pair = pair_open("", REVOKED_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    int stood = 0;
    for (int round = 0; round < 60; round++) {
        enum rsm_status status = revoke_accepted(pair, &remote, round * 100L);
        stood += status == RSM_ST_OK; /* the whole handshake met the node at once */
        if (status != RSM_ST_ABORTED && status != RSM_ST_OK)
            fail_msg("round %d: status %d", round, (int)status);
    }
    assert_in_range(stood, 0, 30);
    remote_free(pair, &remote);
    pair_close(pair);
}

struct putter {
    struct pair *pair;
    struct rsm_conn *conn;
    atomic_ulong puts;
    enum rsm_status status;
};

static void *put_until_error(void *argument)
{
    struct putter *putter = argument;
    static uint8_t data[256 * 1024];
    memset(data, 0x55, sizeof data);
    do {
        putter->status = putter->pair->ops->put(putter->conn, 0, data, sizeof data);
        atomic_fetch_add(&putter->puts, 1);
    } while (putter->status == RSM_ST_OK);
    return NULL;
}

static void revoked_mid_put(const char *options)
{
    uint32_t made;
    pthread_t thread;
    struct pair *pair = pair_open(options, "");
    struct remote remote = remote_make(pair, MIB);
    for (int round = 0; round < 6; round++) {
        struct putter putter = {.pair = pair, .conn = pair_connect(pair, &remote, both, &made)};
        assert_int_equal(pthread_create(&thread, NULL, put_until_error, &putter), 0);
        while (atomic_load(&putter.puts) < (unsigned)round)
            sched_yield();
        node_revoke(pair, made);
        memset(remote.bytes, 0xaa, remote.length);
        pthread_join(thread, NULL);
        assert_int_equal(putter.status, RSM_ST_TRANSFER);
        assert_int_not_equal(pair->ops->health(putter.conn), RSM_ST_OK);
        for (size_t i = 0; i < remote.length; i++)
            if (remote.bytes[i] != 0xaa)
                fail_msg("byte %zu landed after revoke() had returned", i);
        pair->ops->disconnect(putter.conn);
    }
    remote_free(pair, &remote);
    pair_close(pair);
}

TEST_ALONE(revoke_ends_windows)
{
    revoked_mid_put("");
}

TEST_ALONE(revoke_ends_registrations)
{
    revoked_mid_put("windows=no");
}

/* ------------------------------------------------------------------ death and silence */

static void expect_end(struct pair *pair, struct rsm_conn *conn)
{
    uint64_t word = 1;
    int64_t start = clock_ms();
    enum rsm_status status = pair->ops->put(conn, 0, &word, 8);
    if (status == RSM_ST_OK)
        status = pair_complete(pair, conn);
    assert_int_equal(status, RSM_ST_TRANSFER);
    assert_int_equal(pair->ops->get(conn, 0, &word, 8), RSM_ST_TRANSFER);
    assert_int_equal(pair->ops->signals->post(conn, false), RSM_ST_TRANSFER);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    assert_int_equal(rsm_conn_failures(conn), 1); /* the first is the last, and stays */
    assert_int_not_equal(pair->ops->health(conn), RSM_ST_OK);
    assert_true(clock_ms() - start < SOON_MS);
}

TEST_ALONE(node_killed)
{
    uint32_t made;
    uint64_t word = 1;
    struct pair *pair = pair_open("", SHORT_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made);
    assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    siginfo_t ended;
    kill(pair->node, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pair->node, &ended, WEXITED | WNOWAIT), 0);
    expect_end(pair, conn);
    pair->ops->disconnect(conn);
    munmap(remote.bytes, remote.length);
    pair_close(pair);
}

TEST_ALONE(fabric_cut)
{
    uint32_t made[2];
    uint64_t word = 1;
    const char *cut = getenv("RSM_TEST_CUT");
    const char *mend = getenv("RSM_TEST_MEND");
    if (cut == NULL || mend == NULL)
        skip();
    struct pair *pair = pair_open(SHORT_TIMEOUT, SHORT_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made[0]);
    assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    struct rsm_offer *offer = offer_of(pair, &remote, &made[1]);
    assert_int_equal(system(cut), 0);
    expect_end(pair, conn);
    int64_t start = clock_ms();
    assert_int_equal(attempt(pair, offer, PAGE), RSM_ST_UNREACHABLE);
    assert_true(clock_ms() - start < SOON_MS);
    pair->ops->disconnect(conn);
    node_revoke(pair, made[0]); /* nobody has told the node */
    assert_int_equal(system(mend), 0);
    assert_int_equal(attempt(pair, offer, PAGE), RSM_ST_OK);
    free(offer);
    remote_free(pair, &remote);
    pair_close(pair);
}

/* The node's process has no part in the data path. */
TEST_ALONE(node_stopped)
{
    uint32_t made;
    uint64_t word = 3;
    unsigned sent = 0;
    enum rsm_status status;
    struct pair *pair = pair_open("", SHORT_TIMEOUT);
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made);
    kill(pair->node, SIGSTOP);
    assert_int_equal(pair->ops->put(conn, 0, &word, 8), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    while ((status = pair->ops->signals->post(conn, false)) == RSM_ST_OK && sent < 100000)
        sent++;
    assert_int_equal(status, RSM_ST_TIMEOUT); /* and not the connection's end */
    assert_int_equal(pair->ops->put(conn, 8, &word, 8), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    kill(pair->node, SIGCONT);
    assert_int_equal(pair->ops->signals->post(conn, false), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    while (node_report(pair).signals < sent + 1)
        continue;
    assert_int_equal(node_report(pair).signals, sent + 1);
    assert_int_equal(remote.bytes[8], 3);
    pair->ops->disconnect(conn);
    remote_free(pair, &remote);
    pair_close(pair);
}

TEST_ALONE(importer_lost)
{
    uint32_t made;
    struct pair *pair = pair_open("", "");
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made);
    assert_int_equal(node_report(pair).lost, 0);
    pair->ops->disconnect(conn);
    while (node_report(pair).lost == 0)
        continue; /* the test's time limit ends it */
    node_revoke(pair, made);
    assert_int_equal(node_report(pair).lost, 1);
    remote_free(pair, &remote);
    pair_close(pair);
}

/* ------------------------------------------------------------------ signals */

TEST_ALONE(signal_flood)
{
    enum { SIGNALS = 5000 };
    uint32_t made;
    struct pair *pair = pair_open("", "");
    struct remote remote = remote_make(pair, PAGE);
    struct rsm_conn *conn = pair_connect(pair, &remote, both, &made);
    for (int i = 0; i < SIGNALS; i++)
        assert_int_equal(pair->ops->signals->post(conn, i % 5 == 0), RSM_ST_OK);
    assert_int_equal(pair->ops->complete(conn), RSM_ST_OK);
    struct node_report report;
    do
        report = node_report(pair);
    while (report.signals + report.coalesced < SIGNALS);
    assert_int_equal(report.coalesced, SIGNALS / 5);
    assert_int_equal(report.signals, SIGNALS - SIGNALS / 5);
    assert_int_equal(report.lost, 0);
    pair->ops->disconnect(conn);
    remote_free(pair, &remote);
    pair_close(pair);
}

int main(int argc, char **argv)
{
    pair_main(argc, argv);
    int failed = sharing_tests();
    return failed + cases_run();
}
