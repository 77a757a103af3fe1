/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The importer's way to the mailbox: one set of operations, whether they are done by loads and
 * stores through a mapping or by put and get calls.
 *
 * All functions return an RSMAPI error number, RSM_SUCCESS if all went well, and have reported the
 * error on stderr already. Accesses count only when the channel_end behind them succeeded.
 */
#ifndef RSMTEST_CHANNEL_H
#define RSMTEST_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailbox.h"
#include "options.h"

struct channel {
    rsm_memseg_import_handle_t segment;
    rsmapi_barrier_t barrier;
    enum access_way access;
    char *mapped; /* the segment; NULL unless access is ACCESS_MAPPED */
    size_t base;  /* of the mailbox, bytes from the start of the segment */
    bool broken;  /* the connection is gone: every further span will fail */
};

/** Make @p segment ready for use. On failure the segment is connected as before. */
int channel_open(struct channel *channel, const struct options *options,
                 rsm_memseg_import_handle_t segment);

/** Undo channel_open; the segment stays connected. */
int channel_close(struct channel *channel);

/** Start a span of accesses, order the writes in it, end it and learn whether all of it worked. */
int channel_begin(struct channel *channel);
int channel_order(struct channel *channel);
int channel_end(struct channel *channel);

/** Read all header words, in ascending order, as a span of its own. */
int channel_read_header(struct channel *channel, uint32_t words[BOX_WORDS]);

/** Read @p length bytes of text, as a span of its own. */
int channel_read_text(struct channel *channel, char *text, size_t length);

/** Write length and text, within a span. */
int channel_write_message(struct channel *channel, char *text, size_t length);

/** Write one word, within a span. */
int channel_write_word(struct channel *channel, enum mailbox_word word, uint32_t value);

#endif
