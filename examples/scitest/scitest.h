/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What server and client of the example have in common: options, what lies in the segment, and how
 * a failed call is reported.
 */
#ifndef SCITEST_H
#define SCITEST_H

#include <sisci_api.h>
#include <stdbool.h>
#include <stdint.h>

enum { STATUS_DONE, STATUS_FAILED, STATUS_USAGE };
enum { LOOK_MS = 200 }; /* how long to wait until looking whether the other side lives */

struct options {
    bool client;
    unsigned adapter;
    unsigned node;    /* the server's, for the client */
    unsigned id;      /* of the segment and of the server's interrupt */
    unsigned size;    /* of the segment, bytes */
    unsigned timeout; /* seconds that the client tries to connect, and waits for an answer */
};

/**
 * The start of the segment; the text follows. The client writes everything but `taken` and triggers
 * the server's interrupt. The server reads the text, writes `taken` and triggers the client's.
 */
struct mailbox {
    uint32_t client_node;      /* where the client's interrupt is */
    uint32_t client_interrupt; /* its number */
    uint32_t number;           /* of the message, from 1 on */
    uint32_t length;           /* of the text, bytes; END_OF_MESSAGES: there is none, and no more */
    uint32_t taken;            /* number of the last message that the server has printed */
};

#define END_OF_MESSAGES UINT32_MAX

/** The roles. Both return an exit status. */
int run_server(sci_desc_t desc, const struct options *options);
int run_client(sci_desc_t desc, const struct options *options);

/** Whether a call has succeeded; if not, say which one and why on standard error. */
bool succeeded(const char *function, sci_error_t error);
/** "scitest: ..." on standard error, as printf(). */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Call a function whose last argument is the error: true if it succeeded, else it is reported. */
#define CALL(function, ...)                                                                        \
    __extension__({                                                                                \
        sci_error_t error_ = SCI_ERR_OK;                                                           \
        function(__VA_ARGS__, &error_);                                                            \
        succeeded(#function, error_);                                                              \
    })

#endif
