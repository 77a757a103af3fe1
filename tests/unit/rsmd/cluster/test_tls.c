/* SPDX-License-Identifier: BSD-3-Clause */
/* Encrypted links: which certificates open one, what both ends say of the others, and what is seen of
 * it on the network. rsm-tlsd is the real one. */
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "certificates.h"
#include "cluster/internal.h"
#include "links.h"

enum { DAY = 24 * 3600, YEAR = 365 * DAY };

static struct authority ours, theirs;

static int begin(void **state)
{
    certificates_begin();
    ours = authority_new("ours");
    theirs = authority_new("theirs");
    authority_write(&ours, "ca");
    authority_write(&theirs, "other-ca");
    certificates_write(&ours, "one", "URI:rsm:node:1", -60, YEAR);
    certificates_write(&ours, "two", "URI:rsm:node:2", -60, YEAR);
    return links_begin(state);
}

static int end(void **state)
{
    certificates_end();
    authority_free(&ours);
    authority_free(&theirs);
    return links_end(state);
}

#define TLS_TEST(function) TEST_BETWEEN(function, begin, end)

/* Node @p node of two, with the certificate in a file, and a CA. */
static void run_with(struct side *side, uint32_t node, const char *file, const char *ca)
{
    char more[512], pem[40], key[40], ca_pem[40];
    snprintf(pem, sizeof pem, "%s.pem", file);
    snprintf(key, sizeof key, "%s.key", file);
    snprintf(ca_pem, sizeof ca_pem, "%s.pem", ca);
    snprintf(more, sizeof more,
             "[cluster]\nauth = tls\ntls-ca = %s\ntls-certificate = %s\ntls-key = %s\n",
             certificates_path(ca_pem), certificates_path(pem), certificates_path(key));
    side_configure(side, node, 2, more);
    side_start(side, NULL);
}

static void run(struct side *side, uint32_t node)
{
    run_with(side, node, node == 1 ? "one" : "two", "ca");
}

static bool both_up(const struct side *a, const struct side *b)
{
    return side_state(a, b->node) == RSMD_LINK_UP && side_state(b, a->node) == RSMD_LINK_UP;
}

static uint64_t expiry(const struct side *side, uint32_t node)
{
    struct rsmd_link_about about;
    assert_true(rsmd_cluster_about(side->cluster, node, &about));
    return about.expires;
}

static void stop_both(struct side *one, struct side *two)
{
    side_stop(one);
    side_stop(two);
}

/* ------------------------------------------------------------------ what works */

TLS_TEST(messages_go_both_ways)
{
    enum { COUNT = 300 };
    struct side one, two;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_EVENT,
                                  .u.event = {.import = 7, .end = RSM_EVENT_EXPORT, .count = 1}};
    run(&one, 1);
    run(&two, 2);
    two.echo = true;
    AWAIT(both_up(&one, &two));
    for (uint32_t i = 1; i <= COUNT; i++) {
        msg.u.event.count = i;
        assert_true(side_send(&one, 2, &msg));
    }
    AWAIT(two.messages == COUNT && one.messages == COUNT);
    assert_int_equal(one.last.u.event.count, COUNT);
    /* Each shows when both certificates expire. */
    uint64_t expected = (uint64_t)time(NULL) + YEAR;
    assert_in_range(expiry(&one, 1), expected - 300, expected);
    assert_in_range(expiry(&one, 2), expected - 300, expected);
    assert_in_range(expiry(&two, 1), expected - 300, expected);
    links_turn_for(2 * LINKS_TIMEOUT_MS);
    assert_true(both_up(&one, &two));
    side_stop(&one);
    AWAIT(side_state(&two, 1) == RSMD_LINK_DOWN);
    /* The last words arrive, too. */
    assert_string_equal(side_text(&two, 1), "it says: the daemon of node 1 ends");
    assert_int_equal(expiry(&two, 1), 0);
    run(&one, 1);
    AWAIT(both_up(&one, &two));
    stop_both(&one, &two);
}

/* More than sockets and buffers between the two take. */
TLS_TEST(much_at_once)
{
    enum { COUNT = 60 };
    static struct side one, two;
    static struct rsm_cluster_msg msg;
    run(&one, 1);
    run(&two, 2);
    AWAIT(both_up(&one, &two));
    rsm_cluster_msg_begin(&msg, RSM_CLUSTER_CONNECT_REPLY);
    msg.u.connect_reply.blob_len = RSM_OFFER_MAX_BLOB;
    for (unsigned i = 0; i < COUNT; i++) {
        msg.u.connect_reply.request = i;
        assert_true(side_send(&one, 2, &msg));
        assert_true(side_send(&two, 1, &msg));
    }
    AWAIT(two.messages == COUNT && one.messages == COUNT);
    assert_int_equal(two.last.u.connect_reply.request, COUNT - 1);
    assert_true(both_up(&one, &two));
    stop_both(&one, &two);
}

/* ------------------------------------------------------------------ certificates that are refused */

/* Node 1 with a certificate, and what the two ends say. */
static void expect_refusal(const char *file, const char *ca, const char *caller, const char *called)
{
    struct side one, two;
    run(&two, 2);
    run_with(&one, 1, file, ca);
    AWAIT_TEXT(&one, 2, caller);
    AWAIT_TEXT(&two, 1, called);
    assert_int_equal(one.ups + two.ups, 0);
    stop_both(&one, &two);
}

TLS_TEST(of_another_authority)
{
    certificates_write(&theirs, "alien", "URI:rsm:node:1", -60, YEAR);
    /* The caller sees node 2's first, and refuses it. */
    expect_refusal("alien", "other-ca", "its certificate is not signed by the CA in tls-ca of this",
                   "it does not accept this node's certificate: its tls-ca has another CA");
    /* The caller knows both CAs, and the called end only one. */
    FILE *both = fopen(certificates_path("other-ca.pem"), "a"),
         *ca = fopen(certificates_path("ca.pem"), "r");
    char line[256];
    assert_true(both != NULL && ca != NULL);
    while (fgets(line, sizeof line, ca) != NULL)
        assert_true(fputs(line, both) >= 0);
    fclose(ca);
    fclose(both);
    expect_refusal("alien", "other-ca", "it does not accept this node's certificate: its tls-ca",
                   "its certificate is not signed by the CA in tls-ca of this host");
}

/* Two CAs of the same name are different ones. */
TLS_TEST(of_an_authority_of_the_same_name)
{
    struct authority same = authority_new("ours");
    certificates_write(&same, "alien", "URI:rsm:node:1", -60, YEAR);
    FILE *both = fopen(certificates_path("other-ca.pem"), "w"),
         *ca = fopen(certificates_path("ca.pem"), "r");
    char line[256];
    assert_true(both != NULL && ca != NULL);
    while (fgets(line, sizeof line, ca) != NULL)
        assert_true(fputs(line, both) >= 0);
    fclose(ca);
    fclose(both);
    authority_write(&same, "same");
    both = fopen(certificates_path("other-ca.pem"), "a");
    ca = fopen(certificates_path("same.pem"), "r");
    assert_true(both != NULL && ca != NULL);
    while (fgets(line, sizeof line, ca) != NULL)
        assert_true(fputs(line, both) >= 0);
    fclose(ca);
    fclose(both);
    authority_free(&same);
    expect_refusal("alien", "other-ca", "it does not accept this node's certificate: its tls-ca",
                   "its certificate is not signed by the CA in tls-ca of this host");
}

/* A certificate that expires while rsmd runs: the files are read once. */
TLS_TEST(that_have_expired)
{
    struct side one, two;
    certificates_write(&ours, "short", "URI:rsm:node:1", -60, 4);
    run_with(&one, 1, "short", "ca");
    AWAIT_TEXT(&one, 2, "refused"); /* the port; the certificate was read */
    AWAIT(expiry(&one, 1) != 0);
    AWAIT((uint64_t)time(NULL) > expiry(&one, 1));
    run(&two, 2);
    AWAIT_TEXT(&one, 2, "it does not accept this node's certificate: it has expired");
    AWAIT_TEXT(&two, 1, "its certificate has expired: its host needs a new one, see rsm-cert(8)");
    assert_int_equal(one.ups + two.ups, 0);
    /* A new one, and a reload, mend it. */
    certificates_write(&ours, "short", "URI:rsm:node:1", -60, YEAR);
    rsmd_cluster_reload(one.cluster);
    AWAIT(both_up(&one, &two));
    stop_both(&one, &two);
}

/* Valid, and of another node: each end finds out. */
TLS_TEST(of_another_node)
{
    struct side one, three;
    char more[512];
    certificates_write(&ours, "three", "URI:rsm:node:3", -60, YEAR);
    run(&one, 1);
    /* Node 3 listens at the address of node 2. */
    snprintf(more, sizeof more,
             "[cluster]\nauth = tls\ntls-ca = %s\ntls-certificate = %s\ntls-key = %s\n"
             "[node 3]\nhost = localhost\naddress = %s:9999\n",
             certificates_path("ca.pem"), certificates_path("three.pem"),
             certificates_path("three.key"), links_address(2));
    side_configure(&three, 3, 2, more);
    struct rsmd_conf_node *swapped = three.conf.nodes[2], *two = three.conf.nodes[1];
    memcpy(swapped->address, links_address(2), strlen(links_address(2)) + 1);
    swapped->port = two->port;
    two->port = 9998;
    side_start(&three, NULL);
    AWAIT_TEXT(&one, 2, "the certificate at the address of node 2 is that of node 3");
    assert_int_equal(one.ups + three.ups, 0);
    stop_both(&one, &three);
}

/* ------------------------------------------------------------------ peers made by hand */

static SSL_CTX *client_context(const char *file, int version)
{
    char pem[40], key[40];
    snprintf(pem, sizeof pem, "%s.pem", file);
    snprintf(key, sizeof key, "%s.key", file);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    assert_non_null(context);
    assert_int_equal(SSL_CTX_set_max_proto_version(context, version), 1);
    if (*file != '\0') {
        assert_int_equal(
            SSL_CTX_use_certificate_file(context, certificates_path(pem), SSL_FILETYPE_PEM), 1);
        assert_int_equal(
            SSL_CTX_use_PrivateKey_file(context, certificates_path(key), SSL_FILETYPE_PEM), 1);
    }
    return context;
}

/* Shake hands while the loop turns. 1: done. */
static int shake_hands(SSL *ssl, int fd)
{
    int result = -1, error = SSL_ERROR_WANT_READ;
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(SSL_set_fd(ssl, fd), 1);
    AWAIT((result = SSL_connect(ssl)) == 1 ||
          ((error = SSL_get_error(ssl, result)) != SSL_ERROR_WANT_READ &&
           error != SSL_ERROR_WANT_WRITE));
    return result;
}

/* Root of node 3's host, which has a valid certificate, says that it is node 1. */
TLS_TEST(a_node_that_says_it_is_another)
{
    struct side two;
    struct rsm_cluster_msg hello, got;
    uint8_t frame[4 + RSM_CLUSTER_FRAME_MAX];
    certificates_write(&ours, "three", "URI:rsm:node:3", -60, YEAR);
    run(&two, 2);
    AWAIT(expiry(&two, 2) != 0);
    hello = raw_hello(1, 2, 77);
    size_t length = rsm_cluster_encode(&hello, frame + 4, RSM_CLUSTER_FRAME_MAX);
    frame[0] = (uint8_t)length;
    frame[1] = (uint8_t)(length >> 8);
    frame[2] = frame[3] = 0;
    SSL_CTX *context = client_context("three", TLS1_3_VERSION);
    SSL *ssl = SSL_new(context);
    int fd = raw_call(2), got_length = -1;
    assert_int_equal(shake_hands(ssl, fd), 1);
    assert_int_equal(SSL_write(ssl, frame, (int)(length + 4)), (int)length + 4);
    /* Its HELLO, and the refusal. */
    size_t all = 0;
    AWAIT((got_length = SSL_read(ssl, frame + all, (int)(sizeof frame - all))) > 0
              ? (all += (size_t)got_length, false)
              : SSL_get_error(ssl, got_length) != SSL_ERROR_WANT_READ);
    size_t first = 4u + frame[0] + 256u * frame[1];
    assert_true(all > first + 4);
    assert_int_equal(
        rsm_cluster_decode(&got, frame + first + 4, frame[first] + 256u * frame[first + 1]),
        RSM_ST_OK);
    assert_int_equal(got.type, RSM_CLUSTER_REFUSE);
    assert_string_equal(got.u.refuse.text, "node 1 shows the certificate of node 3");
    assert_int_equal(two.ups, 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    side_stop(&two);
}

/* Without a certificate, with one that names no node or several, with an older TLS, or none. */
TLS_TEST(callers_that_are_no_node)
{
    static const char *const names[] = {
        "",
        "DNS:rsm:node:1",
        "URI:rsm:node:0",
        "URI:rsm:node:01x",
        "URI:rsm:node:65536",
        "URI:rsm:node:1,URI:rsm:node:2",
        "URI:rsm:node:1/",
    };
    struct side two;
    char byte;
    run(&two, 2);
    AWAIT(expiry(&two, 2) != 0);
    for (unsigned i = 0; i < sizeof names / sizeof names[0] + 3; i++) {
        bool named = i < sizeof names / sizeof names[0];
        if (named)
            certificates_write(&ours, "odd", names[i], -60, YEAR);
        SSL_CTX *context = client_context(i == sizeof names / sizeof names[0] ? ""
                                          : named                             ? "odd"
                                                                              : "one",
                                          i == sizeof names / sizeof names[0] + 1 ? TLS1_2_VERSION
                                                                                  : TLS1_3_VERSION);
        SSL *ssl = SSL_new(context);
        int fd = raw_call(2), result = -1, error = SSL_ERROR_WANT_READ;
        if (i == sizeof names / sizeof names[0] + 2)
            raw_bytes(fd, "GET / HTTP/1.0\r\n\r\n", 18);
        /* The caller's part may be done; then reading says it. */
        if (shake_hands(ssl, fd) == 1) {
            AWAIT((result = SSL_read(ssl, &byte, 1)) == 1 ||
                  (error = SSL_get_error(ssl, result)) != SSL_ERROR_WANT_READ);
            assert_int_not_equal(result, 1);
            assert_int_not_equal(error, SSL_ERROR_NONE);
        }
        SSL_free(ssl);
        SSL_CTX_free(context);
        close(fd);
    }
    assert_int_equal(two.ups, 0);
    side_stop(&two);
}

/* Whoever connects and stalls is dropped in time, and disturbs no link. */
TLS_TEST(strangers_that_stall)
{
    enum { COUNT = 40 };
    struct side one, two;
    int fds[COUNT];
    static const uint8_t half[] = {22, 3, 1, 2, 0, 1, 0};
    run(&two, 2);
    AWAIT(expiry(&two, 2) != 0);
    for (unsigned i = 0; i < COUNT; i++) {
        fds[i] = raw_call(2);
        if (i % 2 == 1)
            raw_bytes(fds[i], half, sizeof half);
    }
    run(&one, 1);
    AWAIT(both_up(&one, &two));
    for (unsigned i = 0; i < COUNT; i++) {
        char byte;
        ssize_t got = -1;
        AWAIT((got = recv(fds[i], &byte, 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
        assert_true(got <= 0);
        close(fds[i]);
    }
    assert_int_equal(one.ups, 1);
    assert_int_equal(one.downs + two.downs, 0);
    stop_both(&one, &two);
}

/* One end with TLS, the other without. */
TLS_TEST(plain_peers)
{
    struct side one, two;
    run(&two, 2);
    side_run(&one, 1, 2);
    /* What does not even speak TLS says nothing about a node. */
    AWAIT_TEXT(&one, 2, "it closed the connection");
    assert_string_equal(side_text(&two, 1), "");
    assert_int_equal(one.ups + two.ups, 0);
    stop_both(&one, &two);
    side_run(&two, 2, 2);
    run(&one, 1);
    AWAIT_TEXT(&one, 2, "it closed the connection during the TLS handshake: has its node auth =");
    assert_int_equal(one.ups + two.ups, 0);
    stop_both(&one, &two);
}

/* ------------------------------------------------------------------ this node's own files */

TLS_TEST(files_that_are_refused)
{
    struct side one;
    struct rsmd_link_about about;
    certificates_write(&ours, "past", "URI:rsm:node:1", -2 * DAY, -DAY);
    certificates_write(&ours, "open", "URI:rsm:node:1", -60, YEAR);
    assert_int_equal(chmod(certificates_path("open.key"), 0640), 0);
    const struct {
        const char *file, *ca, *text;
    } cases[] = {
        {"past", "ca", "this node's certificate has expired: make a new one, see rsm-cert(8)"},
        {"two", "ca", "tls-certificate is that of node 2, and this is node 1"},
        {"one", "other-ca", "this node's certificate is not signed by the CA in tls-ca"},
        {"open", "ca", "open.key: others than its owner can use it: chmod 600"},
        {"absent", "ca", "absent.pem: No such file or directory"},
        {"one", "absent", "tls-ca"},
    };
    int listener = raw_listen(2);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[512] = "";
        run_with(&one, 1, cases[i].file, cases[i].ca);
        AWAIT(rsmd_cluster_about(one.cluster, 1, &about) &&
              strstr(about.text, cases[i].text) != NULL);
        AWAIT_TEXT(&one, 2, cases[i].text);
        assert_false(rsmd_tls_check(&one.conf, 1, why, sizeof why));
        assert_non_null(strstr(why, cases[i].text));
        side_stop(&one);
    }
    char why[512];
    run(&one, 1);
    assert_true(rsmd_tls_check(&one.conf, 1, why, sizeof why));
    side_stop(&one);
    close(listener);
}

/* New files that are wrong leave the former ones in use. */
TLS_TEST(a_reload_of_wrong_files_changes_nothing)
{
    struct side one, two;
    run(&one, 1);
    AWAIT(expiry(&one, 1) != 0);
    certificates_write(&theirs, "one", "URI:rsm:node:1", -60, YEAR);
    rsmd_cluster_reload(one.cluster);
    links_turn_for(200);
    run(&two, 2);
    AWAIT(both_up(&one, &two));
    /* What is right holds for the next link. */
    certificates_write(&ours, "one", "URI:rsm:node:1", -60, 10 * DAY);
    rsmd_cluster_reload(one.cluster);
    AWAIT(expiry(&one, 1) < (uint64_t)time(NULL) + 20 * DAY);
    side_stop(&two);
    run(&two, 2);
    AWAIT(both_up(&one, &two));
    assert_true(expiry(&two, 1) < (uint64_t)time(NULL) + 20 * DAY);
    stop_both(&one, &two);
}

/* ------------------------------------------------------------------ rsm-tlsd */

/* The processes rsm-tlsd that this one has started. */
static unsigned children(pid_t *pids, unsigned max)
{
    char path[64], line[256];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(line, sizeof line, file) != NULL)
        for (char *at = strtok(line, " "); at != NULL && count < max; at = strtok(NULL, " "))
            pids[count++] = (pid_t)atoi(at);
    fclose(file);
    return count;
}

/* Its links end, and come up by another one; nothing of it is left at the end. */
TLS_TEST(the_process_ends)
{
    struct side one, two;
    pid_t pids[4], now[4];
    run(&one, 1);
    run(&two, 2);
    AWAIT(both_up(&one, &two));
    unsigned count = children(pids, 4);
    if (count == 0)
        skip(); /* a kernel without lists of children */
    assert_int_equal(count, 2);
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    AWAIT(one.downs == 1 && two.downs == 1);
    AWAIT(both_up(&one, &two));
    assert_int_equal(children(now, 4), 2);
    /* Stopped, it holds nobody up but its own links. */
    assert_int_equal(kill(now[0], SIGSTOP), 0);
    AWAIT(one.downs == 2 && two.downs == 2);
    assert_int_equal(kill(now[0], SIGCONT), 0);
    AWAIT(both_up(&one, &two));
    stop_both(&one, &two);
    assert_int_equal(children(now, 4), 0);
}

/* ------------------------------------------------------------------ on the network */

enum { RECORDED_MAX = 1 << 20 };

struct relay {
    int listener, ends[2]; /* the caller's connection, and that to node 2 */
    uint8_t *bytes;
    size_t length;
};

/* Carry what there is, and keep a copy. */
static void relay_turn(struct relay *relay)
{
    uint8_t bytes[4096];
    if (relay->ends[0] < 0) {
        relay->ends[0] = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
        if (relay->ends[0] >= 0)
            relay->ends[1] = raw_call(2);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        ssize_t got = recv(relay->ends[i], bytes, sizeof bytes, MSG_DONTWAIT);
        if (got <= 0)
            continue;
        assert_true(relay->length + (size_t)got <= RECORDED_MAX);
        memcpy(relay->bytes + relay->length, bytes, (size_t)got);
        relay->length += (size_t)got;
        assert_int_equal(send(relay->ends[1 - i], bytes, (size_t)got, MSG_NOSIGNAL), got);
    }
}

#define AWAIT_RELAYED(condition) AWAIT((relay_turn(&relay), (condition)))

/* A token that a message carries is in no byte of the connection. Without TLS it is. */
static bool is_seen(bool encrypted)
{
    static const char token[] = "a token of thirty-two bytes: 0123";
    static struct side one, two;
    static struct rsm_cluster_msg msg;
    struct relay relay = {.ends = {-1, -1}, .bytes = malloc(RECORDED_MAX)};
    assert_non_null(relay.bytes);
    if (encrypted) {
        run(&two, 2);
        run(&one, 1);
        side_stop(&one);
    } else {
        side_run(&two, 2, 2);
    }
    /* Node 1 finds node 2 at the relay's address, which is that of a node 3. */
    relay.listener = raw_listen(3);
    char more[512] = "";
    if (encrypted)
        snprintf(more, sizeof more,
                 "[cluster]\nauth = tls\ntls-ca = %s\ntls-certificate = %s\ntls-key = %s\n",
                 certificates_path("ca.pem"), certificates_path("one.pem"),
                 certificates_path("one.key"));
    side_configure(&one, 1, 2, more);
    strcpy(one.conf.nodes[1]->address, links_address(3));
    side_start(&one, NULL);
    AWAIT_RELAYED(both_up(&one, &two));
    rsm_cluster_msg_begin(&msg, RSM_CLUSTER_CONNECT_REPLY);
    msg.u.connect_reply.blob_len = sizeof token;
    memcpy(msg.u.connect_reply.blob, token, sizeof token);
    assert_true(side_send(&two, 1, &msg));
    AWAIT_RELAYED(one.messages == 1);
    assert_memory_equal(one.last.u.connect_reply.blob, token, sizeof token);
    bool seen = memmem(relay.bytes, relay.length, token, sizeof token) != NULL;
    stop_both(&one, &two);
    close(relay.listener);
    close(relay.ends[0]);
    close(relay.ends[1]);
    free(relay.bytes);
    return seen;
}

TLS_TEST(no_token_is_seen_on_the_network)
{
    assert_true(is_seen(false));
    assert_false(is_seen(true));
}

/* Who changes a byte on the way ends the link, and nothing else comes of it. */
TLS_TEST(a_changed_byte_ends_the_link)
{
    static struct side one, two;
    struct relay relay = {.ends = {-1, -1}, .bytes = malloc(RECORDED_MAX)};
    char more[512];
    assert_non_null(relay.bytes);
    run(&two, 2);
    relay.listener = raw_listen(3);
    snprintf(more, sizeof more,
             "[cluster]\nauth = tls\ntls-ca = %s\ntls-certificate = %s\ntls-key = %s\n",
             certificates_path("ca.pem"), certificates_path("one.pem"),
             certificates_path("one.key"));
    side_configure(&one, 1, 2, more);
    strcpy(one.conf.nodes[1]->address, links_address(3));
    side_start(&one, NULL);
    AWAIT_RELAYED(both_up(&one, &two));
    static const uint8_t record[] = {23, 3,  3,  0,  32, 1,  2,  3,  4,  5,  6,  7,  8,
                                     9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                     22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
    raw_bytes(relay.ends[1], record, sizeof record);
    AWAIT_RELAYED(two.downs == 1);
    assert_int_equal(two.messages + one.messages, 0);
    AWAIT_TEXT(&two, 1, "TLS: ");
    stop_both(&one, &two);
    close(relay.listener);
    close(relay.ends[0]);
    close(relay.ends[1]);
    free(relay.bytes);
}
