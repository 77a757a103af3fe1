/* SPDX-License-Identifier: BSD-3-Clause */
/* The encrypted connections of the transport tcp, at the end that receives. The first byte chooses: a network that
 * alters, drops, inserts and cuts what an honest peer sends; or a peer that has the keys and sends records of its own
 * making. What is received is what the peer has sent, up to the first record that is not as it should be, and nothing
 * after that. */
#include <openssl/evp.h>

#include "check.h"
#include "fuzz.h"
#include "input.h"
#include "transport/tcp/common/records.h"

enum {
    HEAD = 5,
    TAG = 16,
    PLAIN_MAX = 1 << 14,
    WIRE_MAX = 1 << 18,
    PIECE_MAX = 3 * PLAIN_MAX, /* that one call sends or receives */
};

static const struct tcp_record_key key = {"a key of this test that nobody", "a start"};
static uint8_t plain[PIECE_MAX];

/* What the network has of the honest peer's records, and has not delivered. */
static struct {
    uint8_t bytes[WIRE_MAX];
    size_t begin, end;
    bool altered;
} wire;

static int near = -1, far = -1; /* the receiver's socket, and the network's */
static struct tcp_channel receiver;
static uint64_t received, readable; /* bytes: so far, and at most */
static bool is_over;

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

static void connect_both(int *one, int *other)
{
    int sockets[2], size = 1 << 20;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0);
    for (unsigned i = 0; i < 2; i++)
        (void)setsockopt(sockets[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    *one = sockets[0];
    *other = sockets[1];
}

/* ------------------------------------------------------------------ the end that receives */

static void receive(size_t most)
{
    struct iovec parts[2] = {{plain, most / 2}, {plain + most / 2, most - most / 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    memset(plain, 0, most);
    ssize_t got = tcp_channel_receive(&receiver, &message);
    if (got < 0 && errno == EAGAIN) {
        CHECK(!is_over);
        return;
    }
    if (got <= 0) {
        CHECK(got == 0 || errno == EBADMSG);
        is_over |= got < 0;
        return;
    }
    CHECK(!is_over && (size_t)got <= most && received + (uint64_t)got <= readable);
    for (ssize_t i = 0; i < got; i++)
        CHECK(plain[i] == pattern(received + (uint64_t)i));
    for (size_t i = (size_t)got; i < most; i++)
        CHECK(plain[i] == 0); /* nothing that has not proved to be the peer's */
    received += (uint64_t)got;
}

static void receive_all(void)
{
    for (unsigned i = 0; i < WIRE_MAX / PLAIN_MAX * 2 && !is_over; i++)
        receive(PIECE_MAX);
}

/* ------------------------------------------------------------------ a network */

static void deliver(size_t most)
{
    size_t have = wire.end - wire.begin, now = most < have ? most : have;
    ssize_t sent = send(far, wire.bytes + wire.begin, now, MSG_DONTWAIT | MSG_NOSIGNAL);
    wire.begin += sent > 0 ? (size_t)sent : 0;
}

static void alter(struct input *in)
{
    size_t have = wire.end - wire.begin, at = have > 0 ? input_number(in) % have : 0;
    uint8_t extra[64];
    wire.altered = true;
    uint8_t *place = wire.bytes + wire.begin + at;
    size_t after = have - at, count;
    switch (input_below(in, 3)) {
    case 0:
        if (have > 0)
            *place ^= (uint8_t)(1u << input_below(in, 8));
        break;
    case 1:
        count = input_u8(in) < after ? 1 : after;
        memmove(place, place + count, after - count);
        wire.end -= count;
        break;
    default:
        count = input_bytes(in, extra, 1 + input_below(in, sizeof extra));
        if (wire.end + count > WIRE_MAX)
            return;
        memmove(place + count, place, after);
        memcpy(place, extra, count);
        wire.end += count;
    }
}

/* Take what the peer's socket has. */
static void carry(int from)
{
    memmove(wire.bytes, wire.bytes + wire.begin, wire.end - wire.begin);
    wire.end -= wire.begin;
    wire.begin = 0;
    ssize_t got = recv(from, wire.bytes + wire.end, WIRE_MAX - wire.end, MSG_DONTWAIT);
    wire.end += got > 0 ? (size_t)got : 0;
}

static void send_plain(const struct tcp_channel *peer, size_t length)
{
    for (size_t i = 0; i < length; i++)
        plain[i] = pattern(readable + i);
    struct iovec part = {plain, length};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t taken = tcp_channel_send(peer, &message, 0);
    CHECK(taken <= (ssize_t)length);
    readable += taken > 0 ? (uint64_t)taken : 0;
}

static void try_network(struct input *in)
{
    int out, in_between;
    connect_both(&out, &in_between);
    struct tcp_channel peer = {
        out, tcp_records_make(EVP_chacha20_poly1305(), &key, &key, 1 + input_below(in, 3), false)};
    wire.begin = wire.end = 0;
    wire.altered = false;
    while (!input_ends(in)) {
        switch (input_below(in, 4)) {
        case 0:
            send_plain(&peer, input_number(in) % PIECE_MAX);
            carry(in_between);
            break;
        case 1:
            deliver(input_number(in) % WIRE_MAX);
            break;
        case 2:
            receive(input_number(in) % PIECE_MAX + 1);
            break;
        default:
            if (input_below(in, 4) == 0)
                alter(in);
        }
    }
    uint64_t before = UINT64_MAX;
    while (received != before || wire.begin != wire.end) {
        before = received;
        send_plain(&peer, 0);
        carry(in_between);
        deliver(WIRE_MAX);
        receive_all();
        if (is_over)
            break;
    }
    CHECK(wire.altered || (!is_over && received == readable));
    tcp_records_free(peer.records);
    close(out);
    close(in_between);
}

/* ------------------------------------------------------------------ a peer with the keys */

static size_t seal(uint8_t *record, uint64_t number, size_t length, uint8_t type, size_t padding)
{
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    uint8_t nonce[TCP_RECORD_IV_BYTES], *body = record + HEAD;
    size_t sealed = length + 1 + padding + TAG;
    int done, rest;
    memcpy(nonce, key.iv, sizeof nonce);
    for (unsigned i = 0; i < 8; i++)
        nonce[sizeof nonce - 1 - i] ^= (uint8_t)(number >> (8 * i));
    record[3] = (uint8_t)(sealed >> 8);
    record[4] = (uint8_t)sealed;
    body[length] = type;
    memset(body + length + 1, 0, padding);
    CHECK(EVP_EncryptInit_ex(cipher, EVP_chacha20_poly1305(), NULL, key.key, nonce) == 1 &&
          EVP_EncryptUpdate(cipher, NULL, &done, record, HEAD) == 1 &&
          EVP_EncryptUpdate(cipher, body, &done, body, (int)(sealed - TAG)) == 1 &&
          EVP_EncryptFinal_ex(cipher, body + done, &rest) == 1 &&
          EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, TAG, body + sealed - TAG) == 1);
    EVP_CIPHER_CTX_free(cipher);
    return HEAD + sealed;
}

static void try_peer(struct input *in)
{
    static uint8_t record[HEAD + UINT16_MAX];
    uint64_t sent = 0;
    bool good = true;
    for (uint64_t number = 0; !input_ends(in) && number < 64; number++) {
        const uint8_t heads[][3] = {{23, 3, 3}, {23, 3, 3}, {23, 3, 3},
                                    {22, 3, 3}, {23, 3, 1}, {21, 3, 3}};
        unsigned head = input_below(in, 6);
        size_t length = input_number(in) % (PLAIN_MAX + 3);
        uint8_t type = input_below(in, 4) != 0 ? 23 : input_u8(in);
        size_t padding = input_below(in, 4) != 0 ? 0 : input_u8(in);
        memcpy(record, heads[head], 3);
        for (size_t i = 0; i < length; i++)
            record[HEAD + i] = pattern(sent + i);
        size_t bytes = seal(record, number, length, type, padding);
        good &= head < 3 && length > 0 && length <= PLAIN_MAX && type == 23 && padding == 0;
        sent += length;
        readable = good ? sent : readable;
        /* The socket has room: what was sent before has been received. */
        CHECK(send(far, record, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)bytes);
        receive_all();
        CHECK(received == readable && is_over == !good);
        if (is_over)
            return;
    }
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    struct input in = {data + 1, size - 1};
    connect_both(&near, &far);
    receiver =
        (struct tcp_channel){near, tcp_records_make(EVP_chacha20_poly1305(), &key, &key,
                                                    1 + data[0] / 2 % 3, (data[0] & 64) != 0)};
    received = readable = 0;
    is_over = false;
    if ((data[0] & 1) != 0)
        try_peer(&in);
    else
        try_network(&in);
    tcp_records_free(receiver.records);
    close(near);
    close(far);
}
