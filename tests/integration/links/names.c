/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names FILE: a DNS server at port 53 of all addresses, over UDP. FILE is read again for each query:
 *
 *     SRV NAME TTL PORT TARGET
 *     A NAME TTL ADDRESS
 *     silent         no query gets an answer
 *     damaged        answers to SRV are cut short
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { A = 1, SRV = 33, HEAD = 12, MESSAGE = 1400 };

struct message {
    uint8_t bytes[MESSAGE];
    size_t length;
};

static void put(struct message *message, unsigned value, unsigned bytes)
{
    while (bytes-- > 0 && message->length < MESSAGE)
        message->bytes[message->length++] = (uint8_t)(value >> 8 * bytes);
}

static void put_name(struct message *message, const char *name)
{
    while (*name != '\0') {
        size_t label = strcspn(name, ".");
        put(message, (unsigned)label, 1);
        for (size_t i = 0; i < label; i++)
            put(message, (uint8_t)name[i], 1);
        name += label + (name[label] == '.');
    }
    put(message, 0, 1);
}

/* The name and type that are asked for. @return the length of query up to its end; 0: it is none. */
static size_t read_question(const struct message *query, char name[256], unsigned *type)
{
    size_t at = HEAD, used = 0;
    while (at < query->length && query->bytes[at] != 0) {
        size_t label = query->bytes[at++];
        if (label > 63 || at + label + 5 > query->length || used + label + 2 > 256)
            return 0;
        memcpy(name + used, query->bytes + at, label);
        used += label;
        at += label;
        name[used++] = '.';
    }
    if (used == 0 || at + 5 > query->length)
        return 0;
    name[used - 1] = '\0';
    *type = (unsigned)(query->bytes[at + 1] << 8 | query->bytes[at + 2]);
    return at + 5;
}

static void answer(struct message *reply, unsigned type, unsigned ttl, unsigned port,
                   const char *data)
{
    put(reply, 0xc000 | HEAD, 2); /* the name of the question */
    put(reply, type, 2);
    put(reply, 1, 2);
    put(reply, ttl, 4);
    size_t length_at = reply->length;
    put(reply, 0, 2);
    if (type == SRV) {
        put(reply, 0, 4);
        put(reply, port, 2);
        put_name(reply, data);
    } else {
        put(reply, ntohl(inet_addr(data)), 4);
    }
    reply->bytes[length_at + 1] = (uint8_t)(reply->length - length_at - 2);
    reply->bytes[7]++;
}

/* @return whether there is an answer at all. */
static int look_up(const char *file, const char *wanted, unsigned type, struct message *reply)
{
    char line[512], kind[16], name[256], data[256];
    unsigned ttl, port;
    int known = 0, damaged = 0, silent = 0;
    FILE *stream = fopen(file, "r");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        silent |= strncmp(line, "silent", 6) == 0;
        damaged |= strncmp(line, "damaged", 7) == 0;
        if (sscanf(line, "%15s %255s", kind, name) != 2 || strcasecmp(name, wanted) != 0)
            continue;
        known = 1;
        if (type == SRV && sscanf(line, "SRV %*s %u %u %255s", &ttl, &port, data) == 3)
            answer(reply, SRV, ttl, port, data);
        if (type == A && sscanf(line, "A %*s %u %255s", &ttl, data) == 2)
            answer(reply, A, ttl, 0, data);
    }
    if (stream != NULL)
        fclose(stream);
    if (!known)
        reply->bytes[3] |= 3; /* NXDOMAIN */
    if (damaged && type == SRV && reply->length > 10)
        reply->length -= 10;
    return !silent;
}

int main(int argc, char **argv)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(53)}, from;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (argc != 2 || fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof here) != 0) {
        perror("names");
        return EXIT_FAILURE;
    }
    for (;;) {
        struct message query, reply;
        char name[256];
        unsigned type;
        socklen_t size = sizeof from;
        ssize_t got =
            recvfrom(fd, query.bytes, sizeof query.bytes, 0, (struct sockaddr *)&from, &size);
        query.length = got > 0 ? (size_t)got : 0;
        size_t end = query.length > HEAD ? read_question(&query, name, &type) : 0;
        if (end == 0)
            continue;
        memcpy(reply.bytes, query.bytes, end);
        reply.length = end;
        memcpy(reply.bytes + 2, "\x85\x80\0\1\0\0\0\0\0\0", 10);
        if (look_up(argv[1], name, type, &reply))
            sendto(fd, reply.bytes, reply.length, 0, (const struct sockaddr *)&from, size);
    }
}
