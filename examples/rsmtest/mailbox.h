/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The mailbox: what exporter and importer agree on inside the shared segment.
 *
 * It holds one message. The importer writes the text, then counts `in` up; the exporter prints the
 * text, then counts `out` up. While the two differ the message belongs to the exporter, so the
 * importer writes the next one only when they are equal: nothing is overwritten before it was
 * printed. Every word has one writer and is written as a whole.
 *
 * Both sides read the words in ascending order, and each party's state stands before its counter. A
 * side that sees the other one gone therefore sees its last count, too.
 */
#ifndef RSMTEST_MAILBOX_H
#define RSMTEST_MAILBOX_H

#include <stdint.h>

enum mailbox_word {
    BOX_MAGIC,    /* exporter: MAILBOX_MAGIC, written when the rest is ready */
    BOX_CAPACITY, /* exporter: bytes of text there is room for */
    BOX_EXPORTER, /* exporter: enum mailbox_party */
    BOX_OUT,      /* exporter: messages printed so far */
    BOX_IMPORTER, /* importer: enum mailbox_party */
    BOX_IN,       /* importer: messages written so far */
    BOX_LENGTH,   /* importer: bytes of the message that is in the mailbox */
    BOX_SPARE,
    BOX_WORDS,
};

enum mailbox_party {
    PARTY_ABSENT = 0, /* has not come yet */
    PARTY_PRESENT = 1,
    PARTY_GONE = 2, /* will neither write nor read any more messages */
};

#define MAILBOX_MAGIC       0x72736d78u
#define MAILBOX_HEADER_SIZE (BOX_WORDS * sizeof(uint32_t)) /* the text starts here */

#endif
