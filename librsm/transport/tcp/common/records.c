/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/records.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
    HEAD_BYTES = 5,
    TAG_BYTES = 16,
    PLAIN_MAX = 1 << 14,
    BODY_MAX = PLAIN_MAX + 1 + TAG_BYTES,
    RECORD_MAX = HEAD_BYTES + BODY_MAX,
    BODY_MIN = 1 + 1 + TAG_BYTES, /* a byte, its type and the tag */
};

enum { TYPE_DATA = 23, VERSION_HIGH = 3, VERSION_LOW = 3 };

/* One direction. The sequence number does not come to its end, and ChaCha20-Poly1305 needs no other
 * key before. */
struct half {
    EVP_CIPHER_CTX *cipher;
    uint8_t iv[TCP_RECORD_IV_BYTES];
    uint64_t number; /* of the next record */
    uint8_t *bytes;
    size_t room, start, end; /* sealed bytes: to be sent, or received */
};

struct tcp_records {
    struct half out, in;
    size_t plain_start, plain_end; /* in in.bytes: opened, and not received yet */
    bool ahead, bad;
};

/* ------------------------------------------------------------------ begin and end */

static bool half_begin(struct half *half, const EVP_CIPHER *cipher,
                       const struct tcp_record_key *key, bool seals, unsigned batch)
{
    half->room = (size_t)batch * RECORD_MAX;
    half->bytes = malloc(half->room);
    half->cipher = EVP_CIPHER_CTX_new();
    memcpy(half->iv, key->iv, sizeof half->iv);
    return half->bytes != NULL && half->cipher != NULL &&
           EVP_CipherInit_ex(half->cipher, cipher, NULL, key->key, key->iv, seals) == 1;
}

static void half_end(struct half *half)
{
    EVP_CIPHER_CTX_free(half->cipher);
    if (half->bytes != NULL)
        explicit_bzero(half->bytes, half->room);
    free(half->bytes);
}

struct tcp_records *tcp_records_make(const EVP_CIPHER *cipher, const struct tcp_record_key *send,
                                     const struct tcp_record_key *receive, unsigned batch,
                                     bool ahead)
{
    struct tcp_records *records = calloc(1, sizeof *records);
    if (records == NULL)
        return NULL;
    records->ahead = ahead;
    if (half_begin(&records->out, cipher, send, true, batch) &&
        half_begin(&records->in, cipher, receive, false, batch))
        return records;
    tcp_records_free(records);
    return NULL;
}

void tcp_records_free(struct tcp_records *records)
{
    if (records == NULL)
        return;
    half_end(&records->out);
    half_end(&records->in);
    explicit_bzero(records, sizeof *records);
    free(records);
}

/* ------------------------------------------------------------------ one record */

/* The nonce is the record's number, hidden by the direction's secret start. */
static bool begin_record(struct half *half, const uint8_t *head)
{
    uint8_t nonce[TCP_RECORD_IV_BYTES];
    int unused;
    memcpy(nonce, half->iv, sizeof nonce);
    for (unsigned i = 0; i < sizeof half->number; i++)
        nonce[sizeof nonce - 1 - i] ^= (uint8_t)(half->number >> (8 * i));
    half->number++;
    return EVP_CipherInit_ex(half->cipher, NULL, NULL, NULL, nonce, -1) == 1 &&
           EVP_CipherUpdate(half->cipher, NULL, &unused, head, HEAD_BYTES) == 1;
}

/* The body has `length` bytes and its type, and gets its tag. */
static bool seal(struct half *half, uint8_t *head, size_t length)
{
    uint8_t *body = head + HEAD_BYTES;
    size_t sealed = length + 1 + TAG_BYTES;
    int done, rest;
    const uint8_t written[HEAD_BYTES] = {TYPE_DATA, VERSION_HIGH, VERSION_LOW,
                                         (uint8_t)(sealed >> 8), (uint8_t)sealed};
    memcpy(head, written, sizeof written);
    body[length] = TYPE_DATA;
    return begin_record(half, head) &&
           EVP_CipherUpdate(half->cipher, body, &done, body, (int)length + 1) == 1 &&
           EVP_CipherFinal_ex(half->cipher, body + done, &rest) == 1 &&
           EVP_CIPHER_CTX_ctrl(half->cipher, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, body + length + 1) ==
               1;
}

/* The body of `sealed` bytes becomes plain in its place. */
static bool open_body(struct half *half, uint8_t *head, size_t sealed)
{
    uint8_t *body = head + HEAD_BYTES;
    int done, rest, length = (int)sealed - TAG_BYTES;
    return begin_record(half, head) &&
           EVP_CipherUpdate(half->cipher, body, &done, body, length) == 1 &&
           EVP_CIPHER_CTX_ctrl(half->cipher, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, body + length) ==
               1 &&
           EVP_CipherFinal_ex(half->cipher, body + done, &rest) == 1;
}

/* ------------------------------------------------------------------ send */

/* Where a walk through a message's parts is. */
struct place {
    const struct msghdr *message;
    size_t part, at;
};

/* Copy the next `length` bytes at most from the parts, or into them. */
static size_t move(struct place *place, uint8_t *bytes, size_t length, bool into)
{
    size_t moved = 0;
    while (moved < length && place->part < place->message->msg_iovlen) {
        const struct iovec *part = &place->message->msg_iov[place->part];
        size_t left = part->iov_len - place->at;
        size_t now = left < length - moved ? left : length - moved;
        if (now > 0 && into)
            memcpy((uint8_t *)part->iov_base + place->at, bytes + moved, now);
        else if (now > 0)
            memcpy(bytes + moved, (const uint8_t *)part->iov_base + place->at, now);
        moved += now;
        place->at += now;
        if (place->at == part->iov_len) {
            place->part++;
            place->at = 0;
        }
    }
    return moved;
}

/* 0, or -1 with errno. */
static int send_sealed(struct half *out, int socket, int flags)
{
    while (out->start < out->end) {
        struct iovec part = {out->bytes + out->start, out->end - out->start};
        const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
        if (sent < 0)
            return -1;
        out->start += (size_t)sent;
    }
    out->start = out->end = 0;
    return 0;
}

ssize_t tcp_records_send(const struct tcp_channel *channel, const struct msghdr *message, int flags)
{
    struct half *out = &channel->records->out;
    struct place place = {.message = message};
    size_t taken = 0;
    if (send_sealed(out, channel->socket, flags) != 0)
        return -1;
    while (out->room - out->end >= RECORD_MAX) {
        uint8_t *head = out->bytes + out->end;
        size_t length = move(&place, head + HEAD_BYTES, PLAIN_MAX, false);
        if (length == 0)
            break;
        if (!seal(out, head, length)) {
            errno = EIO;
            return -1;
        }
        out->end += HEAD_BYTES + length + 1 + TAG_BYTES;
        taken += length;
    }
    if (send_sealed(out, channel->socket, flags) != 0 && errno != EAGAIN && errno != EINTR)
        return -1;
    return (ssize_t)taken;
}

bool tcp_records_hold(const struct tcp_records *records)
{
    return records->out.start < records->out.end;
}

/* ------------------------------------------------------------------ receive */

/* Bytes of the record that begins there, as far as it says; less than have arrived: it is whole. */
static size_t record_bytes(const struct half *in)
{
    const uint8_t *head = in->bytes + in->start;
    if (in->end - in->start < HEAD_BYTES)
        return HEAD_BYTES;
    return HEAD_BYTES + ((size_t)head[3] << 8 | head[4]);
}

static bool head_makes_sense(const uint8_t *head)
{
    size_t sealed = (size_t)head[3] << 8 | head[4];
    return head[0] == TYPE_DATA && head[1] == VERSION_HIGH && head[2] == VERSION_LOW &&
           sealed >= BODY_MIN && sealed <= BODY_MAX;
}

/* 1; 0: the record is not whole; -1: it is not the peer's, or no data. */
static int open_next(struct tcp_records *records)
{
    struct half *in = &records->in;
    uint8_t *head = in->bytes + in->start;
    size_t bytes = record_bytes(in);
    if (in->end - in->start < HEAD_BYTES)
        return 0;
    if (!head_makes_sense(head))
        return -1;
    if (in->end - in->start < bytes)
        return 0;
    if (!open_body(in, head, bytes - HEAD_BYTES) || head[bytes - TAG_BYTES - 1] != TYPE_DATA)
        return -1;
    records->plain_start = in->start + HEAD_BYTES;
    records->plain_end = in->start + bytes - TAG_BYTES - 1;
    in->start += bytes;
    return 1;
}

/* Receive sealed bytes; nothing opened is left. As recv(2). */
static ssize_t fill(struct tcp_records *records, int socket)
{
    struct half *in = &records->in;
    size_t have = in->end - in->start;
    if (have == 0 || in->room - in->start < RECORD_MAX) {
        memmove(in->bytes, in->bytes + in->start, have);
        in->start = 0;
        in->end = have;
    }
    size_t wanted = records->ahead ? in->room - in->end : record_bytes(in) - have;
    ssize_t got = recv(socket, in->bytes + in->end, wanted, MSG_DONTWAIT);
    in->end += got > 0 ? (size_t)got : 0;
    return got;
}

ssize_t tcp_records_receive(const struct tcp_channel *channel, const struct msghdr *message)
{
    struct tcp_records *records = channel->records;
    struct place place = {.message = message};
    while (records->plain_start == records->plain_end) {
        int opened = records->bad ? -1 : open_next(records);
        if (opened < 0) {
            records->bad = true;
            errno = EBADMSG;
            return -1;
        }
        if (opened > 0)
            break;
        ssize_t got = fill(records, channel->socket);
        if (got <= 0)
            return got;
    }
    size_t moved = move(&place, records->in.bytes + records->plain_start,
                        records->plain_end - records->plain_start, true);
    records->plain_start += moved;
    return (ssize_t)moved;
}
