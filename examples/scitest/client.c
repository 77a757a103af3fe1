/* SPDX-License-Identifier: BSD-3-Clause */
/* The client: it connects to the server's segment, writes into it and interrupts the server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scitest.h"

enum { RETRY_US = 100000, MS = 1000 };

struct client {
    sci_remote_segment_t segment;
    sci_map_t map;
    volatile struct mailbox *mailbox;
    size_t room; /* for the text */
    sci_sequence_t sequence;
    sci_remote_interrupt_t server;  /* the server's interrupt, which we trigger */
    sci_local_interrupt_t answered; /* ours, which the server triggers */
    uint32_t number;                /* of the last message */
};

/* Connecting does not wait for a server that has not started yet: programs try again. */
static bool connect_segment(struct client *client, sci_desc_t desc, const struct options *options)
{
    sci_error_t error;
    for (time_t end = time(NULL) + (time_t)options->timeout;; (void)usleep(RETRY_US)) {
        SCIConnectSegment(desc, &client->segment, options->node, options->id, options->adapter,
                          NULL, NULL, SCI_INFINITE_TIMEOUT, 0, &error);
        if (error != SCI_ERR_NO_SUCH_SEGMENT || time(NULL) >= end)
            return succeeded("SCIConnectSegment", error);
    }
}

static bool map_segment(struct client *client)
{
    size_t size = SCIGetRemoteSegmentSize(client->segment);
    sci_error_t error;
    if (size <= sizeof(struct mailbox)) {
        complain("a segment of %zu bytes is none of this program's", size);
        return false;
    }
    client->room = size - sizeof(struct mailbox);
    client->mailbox = SCIMapRemoteSegment(client->segment, &client->map, 0, size, NULL, 0, &error);
    return succeeded("SCIMapRemoteSegment", error) &&
           CALL(SCICreateMapSequence, client->map, &client->sequence, 0);
}

/* Create an interrupt, and send its number to the server. */
static bool offer_interrupt(struct client *client, sci_desc_t desc, const struct options *options)
{
    unsigned number = 0, node = 0; /* the library chooses the number */
    if (!CALL(SCICreateInterrupt, desc, &client->answered, options->adapter, &number, NULL, NULL,
              0) ||
        !CALL(SCIGetLocalNodeId, options->adapter, &node, 0))
        return false;
    client->mailbox->client_node = node;
    client->mailbox->client_interrupt = number;
    return true;
}

static bool begin(struct client *client, sci_desc_t desc, const struct options *options)
{
    return connect_segment(client, desc, options) && map_segment(client) &&
           CALL(SCIConnectInterrupt, desc, &client->server, options->node, options->adapter,
                options->id, SCI_INFINITE_TIMEOUT, 0) &&
           offer_interrupt(client, desc, options);
}

/* Write a message until it has arrived: what can be lost is repeated. */
static bool write_message(const struct client *client, const char *text, uint32_t length)
{
    size_t bytes = length == END_OF_MESSAGES ? 0 : length;
    sci_sequence_status_t status;
    sci_error_t error;
    do {
        do {
            status = SCIStartSequence(client->sequence, 0, &error);
            if (!succeeded("SCIStartSequence", error))
                return false;
        } while (status != SCI_SEQ_OK);
        if (!CALL(SCIMemCpy, NULL, (void *)text, client->map, sizeof(struct mailbox), bytes, 0))
            return false;
        client->mailbox->length = length;
        client->mailbox->number = client->number;
        SCIFlush(client->sequence, 0);
        status = SCICheckSequence(client->sequence, 0, &error);
        if (!succeeded("SCICheckSequence", error))
            return false;
    } while (status != SCI_SEQ_OK);
    return true;
}

/* Whether the server has ended. */
static bool server_has_gone(const struct client *client)
{
    sci_error_t error, status;
    sci_segment_cb_reason_t reason =
        SCIWaitForRemoteSegmentEvent(client->segment, &status, 0, 0, &error);
    if (error != SCI_ERR_OK || (reason != SCI_CB_DISCONNECT && reason != SCI_CB_LOST))
        return false;
    complain("the server has gone");
    return true;
}

/* Wait until the server triggers our interrupt. */
static bool wait_for_answer(const struct client *client, unsigned timeout)
{
    sci_error_t error;
    for (unsigned left = timeout * MS / LOOK_MS; left > 0; left--) {
        SCIWaitForInterrupt(client->answered, LOOK_MS, 0, &error);
        if (error != SCI_ERR_TIMEOUT)
            return succeeded("SCIWaitForInterrupt", error);
        if (server_has_gone(client))
            return false;
    }
    complain("the server has not answered for %u s", timeout);
    return false;
}

/* Hand a message over and wait until the server has taken it. */
static bool send_message(struct client *client, const struct options *options, const char *text,
                         uint32_t length)
{
    client->number++;
    return write_message(client, text, length) && CALL(SCITriggerInterrupt, client->server, 0) &&
           wait_for_answer(client, options->timeout);
}

static bool send_line(struct client *client, const struct options *options, char *line)
{
    size_t length = strcspn(line, "\n");
    if (length > client->room) {
        complain("a line of %zu bytes does not fit, the segment has room for %zu", length,
                 client->room);
        return false;
    }
    if (!send_message(client, options, line, (uint32_t)length))
        return false;
    (void)printf("message %u was taken\n", client->mailbox->taken);
    return true;
}

/* Each line of standard input is a message. */
static bool send_all(struct client *client, const struct options *options)
{
    char *line = NULL;
    size_t size = 0;
    bool done = true;
    while (done && getline(&line, &size, stdin) >= 0)
        done = send_line(client, options, line);
    free(line);
    return done && send_message(client, options, "", END_OF_MESSAGES);
}

static bool end(const struct client *client)
{
    bool done = true;
    if (client->answered != NULL)
        done &= CALL(SCIRemoveInterrupt, client->answered, 0);
    if (client->server != NULL)
        done &= CALL(SCIDisconnectInterrupt, client->server, 0);
    if (client->sequence != NULL)
        done &= CALL(SCIRemoveSequence, client->sequence, 0);
    if (client->map != NULL)
        done &= CALL(SCIUnmapSegment, client->map, 0);
    if (client->segment != NULL)
        done &= CALL(SCIDisconnectSegment, client->segment, 0);
    return done;
}

int run_client(sci_desc_t desc, const struct options *options)
{
    struct client client = {.segment = NULL};
    bool done = begin(&client, desc, options);
    if (done) {
        (void)printf("connected to segment %#x of node %u\n", options->id, options->node);
        done = send_all(&client, options);
    }
    done &= end(&client);
    return done ? STATUS_DONE : STATUS_FAILED;
}
