/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Answers and times of many rounds, and how a table shows them. */
#ifndef TESTS_KILLS_TABLE_H
#define TESTS_KILLS_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { TALLY_CODES = 6, TALLY_ROUNDS = 2000, TALLY_TEXT = 200 };

/** What one survivor answered, and when. */
struct tally {
    unsigned rounds;
    struct {
        int code;
        unsigned count;
    } answers[TALLY_CODES]; /* further codes are counted in the last one */
    int64_t took_us[TALLY_ROUNDS];
};

void tally_add(struct tally *tally, int code, int64_t took_us);
int64_t tally_median_us(struct tally *tally);
int64_t tally_worst_us(struct tally *tally);

/** The codes with their counts, as in "CONN_ABORTED 19, BARRIER_FAILURE 1". */
const char *tally_answers(const struct tally *tally, char text[TALLY_TEXT]);

/** The name of an answer without "RSMERR_". */
const char *answer_name(int code);

#endif
