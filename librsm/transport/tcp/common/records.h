/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A TCP connection that is plain, or carries the application data of TLS 1.3 (RFC 8446, section 5):
 * records of at most 16 KiB, each sealed by ChaCha20-Poly1305 under its direction's key and its
 * number. What a send takes is sealed at once; a byte is received only when the whole of its record
 * has proved to be the peer's. Nothing is allocated but by tcp_records_make(), and no call waits.
 *
 * Records that no end here sends are refused: empty ones, key updates, padding. So each record
 * that is opened has data.
 */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    TCP_RECORD_KEY_BYTES = 32,
    TCP_RECORD_IV_BYTES = 12,
};

/** The keys of one direction. */
struct tcp_record_key {
    uint8_t key[TCP_RECORD_KEY_BYTES];
    uint8_t iv[TCP_RECORD_IV_BYTES];
};

struct tcp_records;

struct tcp_channel {
    int socket;
    struct tcp_records *records; /**< NULL: plain */
};

/**
 * @param cipher  ChaCha20-Poly1305.
 * @param batch   records that one send or receive of the socket may move.
 * @param ahead   receive what there is. Else no more than the record that is needed, so that the
 *                socket is readable as long as there is something to receive.
 * @return NULL: there is no memory.
 */
struct tcp_records *tcp_records_make(const EVP_CIPHER *cipher, const struct tcp_record_key *send,
                                     const struct tcp_record_key *receive, unsigned batch,
                                     bool ahead);
void tcp_records_free(struct tcp_records *records);

/** As sendmsg(2) without waiting. Bytes that it has taken may still have to be sent: see
 *  tcp_channel_holds(). They leave with the next call, also one without parts, which returns 0. */
ssize_t tcp_records_send(const struct tcp_channel *channel, const struct msghdr *message,
                         int flags);
/** As recvmsg(2) without waiting, from one record at most. EBADMSG: what has arrived is not the
 *  peer's, or is no application data. */
ssize_t tcp_records_receive(const struct tcp_channel *channel, const struct msghdr *message);
bool tcp_records_hold(const struct tcp_records *records);

static inline ssize_t tcp_channel_send(const struct tcp_channel *channel,
                                       const struct msghdr *message, int flags)
{
    if (channel->records == NULL)
        return sendmsg(channel->socket, message, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
    return tcp_records_send(channel, message, flags);
}

static inline ssize_t tcp_channel_receive(const struct tcp_channel *channel, struct msghdr *message)
{
    if (channel->records == NULL)
        return recvmsg(channel->socket, message, MSG_DONTWAIT);
    return tcp_records_receive(channel, message);
}

/** Whether bytes that have been taken wait for the socket. */
static inline bool tcp_channel_holds(const struct tcp_channel *channel)
{
    return channel->records != NULL && tcp_records_hold(channel->records);
}
