/* SPDX-License-Identifier: BSD-3-Clause */
/* Records between two ends: what is sent arrives, whatever the sockets take at a time; what somebody
 * else has changed, repeated or left out does not arrive at all; nothing is allocated. */
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "cases.h"
#include "transport/tcp/common/records.h"

enum {
    RECORD_MAX = 5 + 16384 + 1 + 16,
    OVERHEAD = 5 + 1 + 16,
    LENGTH = 300000,
};

static unsigned allocations;

static void *count_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return malloc(size);
}

static void *count_realloc(void *at, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return realloc(at, size);
}

static void count_free(void *at, const char *file, int line)
{
    (void)file, (void)line;
    free(at);
}

struct pair {
    EVP_CIPHER *cipher;
    struct tcp_channel from, to;
    struct tcp_record_key there, back;
};

static struct tcp_records *records(const struct pair *pair, bool sends, unsigned batch, bool ahead)
{
    return tcp_records_make(pair->cipher, sends ? &pair->there : &pair->back,
                            sends ? &pair->back : &pair->there, batch, ahead);
}

static int begin(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    int sockets[2];
    pair->cipher = EVP_CIPHER_fetch(NULL, "ChaCha20-Poly1305", NULL);
    assert_non_null(pair->cipher);
    memset(&pair->there, 1, sizeof pair->there);
    memset(&pair->back, 2, sizeof pair->back);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    pair->from = (struct tcp_channel){sockets[0], records(pair, true, 4, true)};
    pair->to = (struct tcp_channel){sockets[1], records(pair, false, 4, true)};
    *state = pair;
    return 0;
}

static int end(void **state)
{
    struct pair *pair = *state;
    tcp_records_free(pair->from.records);
    tcp_records_free(pair->to.records);
    EVP_CIPHER_free(pair->cipher);
    close(pair->from.socket);
    close(pair->to.socket);
    free(pair);
    return 0;
}

static ssize_t send_some(const struct tcp_channel *channel, const void *bytes, size_t length)
{
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return tcp_channel_send(channel, &message, 0);
}

static ssize_t receive_some(const struct tcp_channel *channel, void *bytes, size_t length)
{
    struct iovec part = {bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return tcp_channel_receive(channel, &message);
}

/* More than the sockets hold, in both directions by turns. */
static void all_arrives_in_order(void **state)
{
    struct pair *pair = *state;
    static uint8_t sent[LENGTH], got[LENGTH];
    const int small = 5000;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * 31 + i / 256);
    assert_int_equal(setsockopt(pair->from.socket, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    bool waited = false;
    for (size_t out = 0, in = 0; in < LENGTH;) {
        ssize_t now = send_some(&pair->from, sent + out, LENGTH - out);
        assert_true(now >= 0 || errno == EAGAIN);
        waited |= tcp_channel_holds(&pair->from);
        out += now > 0 ? (size_t)now : 0;
        now = receive_some(&pair->to, got + in, LENGTH - in < 7777 ? LENGTH - in : 7777);
        assert_true(now > 0 || errno == EAGAIN);
        in += now > 0 ? (size_t)now : 0;
    }
    assert_true(waited);
    assert_memory_equal(got, sent, LENGTH);
    assert_int_equal(send_some(&pair->to, "back", 4), 4);
    assert_int_equal(receive_some(&pair->from, got, 100), 4);
    assert_memory_equal(got, "back", 4);
}

static void parts_are_one_record(void **state)
{
    struct pair *pair = *state;
    char head[4], rest[8];
    struct iovec out[] = {{(char[]){"abc"}, 3}, {NULL, 0}, {(char[]){"defgh"}, 5}};
    struct iovec in[] = {{head, 4}, {rest, 8}};
    const struct msghdr message = {.msg_iov = out, .msg_iovlen = 3};
    struct msghdr reply = {.msg_iov = in, .msg_iovlen = 2};
    assert_int_equal(tcp_channel_send(&pair->from, &message, 0), 8);
    int waiting = 0;
    assert_int_equal(ioctl(pair->to.socket, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 8 + OVERHEAD);
    assert_int_equal(tcp_channel_receive(&pair->to, &reply), 8);
    assert_memory_equal(head, "abcd", 4);
    assert_memory_equal(rest, "efgh", 4);
}

/* Who waits for the socket misses nothing that has been received with something else. */
static void nothing_is_received_ahead_unless_told(void **state)
{
    struct pair *pair = *state;
    struct pollfd readable = {.fd = pair->to.socket, .events = POLLIN};
    char got[100];
    tcp_records_free(pair->to.records);
    pair->to.records = records(pair, false, 1, false);
    assert_int_equal(send_some(&pair->from, "one", 3), 3);
    assert_int_equal(send_some(&pair->from, "two", 3), 3);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), 3);
    assert_int_equal(poll(&readable, 1, 0), 1);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), 3);
    assert_memory_equal(got, "two", 3);
    assert_int_equal(poll(&readable, 1, 0), 0);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), -1);
    assert_int_equal(errno, EAGAIN);
}

/* The sealed form of one record. */
static size_t seal(struct pair *pair, const void *bytes, size_t length, uint8_t sealed[RECORD_MAX])
{
    assert_int_equal(send_some(&pair->from, bytes, length), length);
    ssize_t got = recv(pair->to.socket, sealed, RECORD_MAX, MSG_DONTWAIT);
    assert_int_equal(got, length + OVERHEAD);
    return (size_t)got;
}

static void deliver(struct pair *pair, const uint8_t *bytes, size_t length)
{
    assert_int_equal(send(pair->from.socket, bytes, length, MSG_DONTWAIT), length);
}

static void assert_refused(struct pair *pair)
{
    uint8_t got[64];
    for (unsigned i = 0; i < 2; i++) { /* and so is all that follows */
        assert_int_equal(receive_some(&pair->to, got, sizeof got), -1);
        assert_int_equal(errno, EBADMSG);
    }
}

static void every_byte_is_protected(void **state)
{
    struct pair *pair = *state;
    uint8_t sealed[RECORD_MAX], got[64];
    size_t length = seal(pair, "0123456789", 10, sealed);
    for (size_t at = 0; at < length; at++) {
        struct tcp_records *before = pair->to.records;
        pair->to.records = records(pair, false, 1, true);
        sealed[at] ^= 1;
        deliver(pair, sealed, length);
        ssize_t now = receive_some(&pair->to, got, sizeof got);
        assert_int_equal(now, -1);
        /* A longer record, of which the rest has not come? */
        assert_int_equal(errno, at == 3 ? EAGAIN : EBADMSG);
        sealed[at] ^= 1;
        tcp_records_free(pair->to.records);
        pair->to.records = before;
    }
    deliver(pair, sealed, length);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), 10);
}

static void a_record_arrives_once(void **state)
{
    struct pair *pair = *state;
    uint8_t sealed[RECORD_MAX], got[64];
    size_t length = seal(pair, "again", 5, sealed);
    deliver(pair, sealed, length);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), 5);
    deliver(pair, sealed, length);
    assert_refused(pair);
}

static void none_may_be_left_out(void **state)
{
    struct pair *pair = *state;
    uint8_t first[RECORD_MAX], second[RECORD_MAX];
    (void)seal(pair, "first", 5, first);
    size_t length = seal(pair, "second", 6, second);
    deliver(pair, second, length);
    assert_refused(pair);
}

/* The peer's own, but not from the other end: the directions have keys of their own. */
static void nothing_is_reflected(void **state)
{
    struct pair *pair = *state;
    uint8_t sealed[RECORD_MAX], got[64];
    size_t length = seal(pair, "mirror", 6, sealed);
    assert_int_equal(send(pair->to.socket, sealed, length, MSG_DONTWAIT), length);
    assert_int_equal(receive_some(&pair->from, got, sizeof got), -1);
    assert_int_equal(errno, EBADMSG);
}

/* What the peer could say by its keys, and never does: the type is the last byte of the body. */
static void seal_by_hand(struct pair *pair, const uint8_t *body, size_t length)
{
    uint8_t bytes[128] = {23, 3, 3, 0, (uint8_t)(length + 16)};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int unused;
    assert_int_equal(
        EVP_EncryptInit_ex(context, pair->cipher, NULL, pair->there.key, pair->there.iv), 1);
    assert_int_equal(EVP_EncryptUpdate(context, NULL, &unused, bytes, 5), 1);
    assert_int_equal(EVP_EncryptUpdate(context, bytes + 5, &unused, body, (int)length), 1);
    assert_int_equal(EVP_EncryptFinal_ex(context, bytes + 5 + length, &unused), 1);
    assert_int_equal(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, bytes + 5 + length),
                     1);
    EVP_CIPHER_CTX_free(context);
    deliver(pair, bytes, 5 + length + 16);
}

static void only_data_is_taken(void **state)
{
    struct pair *pair = *state;
    static const struct {
        uint8_t body[4];
        size_t length;
        bool well;
    } cases[] = {
        {{'x', 23}, 2, true},
        {{23}, 1, false},            /* empty: each record costs, and this one brings nothing */
        {{1, 0, 21}, 3, false},      /* an alert */
        {{24, 0, 22}, 3, false},     /* a handshake */
        {{'x', 23, 0, 0}, 4, false}, /* padded */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t got[8];
        tcp_records_free(pair->to.records);
        pair->to.records = records(pair, false, 1, true);
        seal_by_hand(pair, cases[i].body, cases[i].length);
        if (cases[i].well)
            assert_int_equal(receive_some(&pair->to, got, sizeof got), 1);
        else
            assert_refused(pair);
    }
}

static void lengths_are_bounded(void **state)
{
    struct pair *pair = *state;
    static const uint8_t heads[][5] = {
        {23, 3, 3, 0x40, 18}, {23, 3, 3, 0xff, 0xff}, {23, 3, 3, 0, 17}, {23, 3, 3, 0, 0}};
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        tcp_records_free(pair->to.records);
        pair->to.records = records(pair, false, 1, true);
        deliver(pair, heads[i], sizeof heads[i]);
        assert_refused(pair);
    }
}

static void an_end_is_an_end(void **state)
{
    struct pair *pair = *state;
    uint8_t got[8];
    assert_int_equal(send_some(&pair->from, "last", 4), 4);
    assert_int_equal(shutdown(pair->from.socket, SHUT_WR), 0);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), 4);
    assert_int_equal(receive_some(&pair->to, got, sizeof got), 0);
    assert_int_equal(shutdown(pair->to.socket, SHUT_RDWR), 0);
    assert_int_equal(send_some(&pair->from, "more", 4), -1);
    assert_int_equal(errno, EPIPE);
}

/* They are called by handlers of SIGSEGV, within malloc(), too; also a record that is refused is. */
static void nothing_is_allocated(void **state)
{
    struct pair *pair = *state;
    static uint8_t bytes[70000], got[70000];
    uint8_t sealed[RECORD_MAX];
    unsigned before = allocations;
    assert_true(before > 0); /* it is counted */
    for (unsigned i = 0; i < 20; i++) {
        size_t length = i % 2 == 0 ? 8 : sizeof bytes;
        assert_true(send_some(&pair->from, bytes, length) > 0);
        while (receive_some(&pair->to, got, sizeof got) > 0)
            (void)send_some(&pair->from, NULL, 0);
    }
    size_t length = seal(pair, "changed", 7, sealed);
    sealed[8] ^= 1;
    deliver(pair, sealed, length);
    assert_refused(pair);
    assert_int_equal(allocations, before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(all_arrives_in_order),
        TEST(parts_are_one_record),
        TEST(nothing_is_received_ahead_unless_told),
        TEST(every_byte_is_protected),
        TEST(a_record_arrives_once),
        TEST(none_may_be_left_out),
        TEST(nothing_is_reflected),
        TEST(only_data_is_taken),
        TEST(lengths_are_bounded),
        TEST(an_end_is_an_end),
        TEST(nothing_is_allocated),
    };
    if (CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free) != 1)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
