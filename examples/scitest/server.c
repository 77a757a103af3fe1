/* SPDX-License-Identifier: BSD-3-Clause */
/* The server: it creates the segment, makes it available and waits to be interrupted. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scitest.h"

struct server {
    sci_local_segment_t segment;
    sci_map_t map;
    volatile struct mailbox *mailbox;
    sci_local_interrupt_t interrupt;
    sci_remote_interrupt_t answer; /* the client's; NULL: there was no message yet */
    size_t room;                   /* for the text */
    char *text;                    /* as much of it */
};

static bool open_mailbox(struct server *server, sci_desc_t desc, const struct options *options)
{
    sci_error_t error;
    unsigned number = options->id;
    server->room = options->size - sizeof(struct mailbox);
    server->text = malloc(server->room);
    if (server->text == NULL) {
        complain("no memory for a message of %zu bytes", server->room);
        return false;
    }
    if (!CALL(SCICreateSegment, desc, &server->segment, options->id, options->size, NULL, NULL, 0))
        return false;
    server->mailbox =
        SCIMapLocalSegment(server->segment, &server->map, 0, options->size, NULL, 0, &error);
    if (!succeeded("SCIMapLocalSegment", error))
        return false;
    /* The interrupt is there before the segment: who has connected to the one finds the other. */
    return CALL(SCICreateInterrupt, desc, &server->interrupt, options->adapter, &number, NULL, NULL,
                SCI_FLAG_FIXED_INTNO) &&
           CALL(SCIPrepareSegment, server->segment, options->adapter, 0) &&
           CALL(SCISetSegmentAvailable, server->segment, options->adapter, 0);
}

/* Whether the client has gone without saying so. Others may connect and disconnect again. */
static bool client_has_gone(const struct server *server)
{
    unsigned node = 0, adapter = 0;
    sci_error_t error;
    sci_segment_cb_reason_t reason =
        SCIWaitForLocalSegmentEvent(server->segment, &node, &adapter, 0, 0, &error);
    if (error != SCI_ERR_OK || (reason != SCI_CB_DISCONNECT && reason != SCI_CB_LOST))
        return false;
    complain("the client on node %u has gone", node);
    return true;
}

/* Wait until the client triggers our interrupt. */
static bool wait_for_message(const struct server *server)
{
    sci_error_t error;
    do {
        SCIWaitForInterrupt(server->interrupt, LOOK_MS, 0, &error);
        if (error == SCI_ERR_TIMEOUT && client_has_gone(server))
            return false;
    } while (error == SCI_ERR_TIMEOUT);
    return succeeded("SCIWaitForInterrupt", error);
}

/* Print a message. The client may write what it likes, whenever it likes: everything is read
 * once. */
static bool print_message(struct server *server, uint32_t number, uint32_t length)
{
    if (length > server->room) {
        complain("message %u has %u bytes, which the segment has not", number, length);
        return false;
    }
    memcpy(server->text, (const char *)(const void *)(server->mailbox + 1), length);
    (void)printf("message %u: ", number);
    for (uint32_t i = 0; i < length; i++)
        (void)putchar(isprint((unsigned char)server->text[i]) ? server->text[i] : '?');
    (void)putchar('\n');
    return true;
}

/* Report to the client that there is room for another one. */
static bool report_taken(struct server *server, sci_desc_t desc, const struct options *options,
                         uint32_t number)
{
    if (server->answer == NULL &&
        !CALL(SCIConnectInterrupt, desc, &server->answer, server->mailbox->client_node,
              options->adapter, server->mailbox->client_interrupt, SCI_INFINITE_TIMEOUT, 0))
        return false;
    server->mailbox->taken = number;
    SCIFlush(NULL, 0);
    return CALL(SCITriggerInterrupt, server->answer, 0);
}

static bool serve(struct server *server, sci_desc_t desc, const struct options *options)
{
    for (;;) {
        if (!wait_for_message(server))
            return false;
        atomic_thread_fence(memory_order_acquire);
        uint32_t number = server->mailbox->number, length = server->mailbox->length;
        bool end = length == END_OF_MESSAGES;
        if (!end && !print_message(server, number, length))
            return false;
        if (!report_taken(server, desc, options, number))
            return false;
        if (end)
            return true;
    }
}

/* In the order in which one thing depends on the other. */
static bool close_mailbox(const struct server *server)
{
    bool done = true;
    if (server->answer != NULL)
        done &= CALL(SCIDisconnectInterrupt, server->answer, 0);
    if (server->interrupt != NULL)
        done &= CALL(SCIRemoveInterrupt, server->interrupt, 0);
    if (server->map != NULL)
        done &= CALL(SCIUnmapSegment, server->map, 0);
    if (server->segment != NULL)
        done &= CALL(SCIRemoveSegment, server->segment, 0);
    free(server->text);
    return done;
}

int run_server(sci_desc_t desc, const struct options *options)
{
    struct server server = {.segment = NULL};
    bool done = open_mailbox(&server, desc, options);
    if (done) {
        (void)printf("segment %#x of %u bytes is available\n", options->id, options->size);
        done = serve(&server, desc, options);
    }
    done &= close_mailbox(&server);
    return done ? STATUS_DONE : STATUS_FAILED;
}
