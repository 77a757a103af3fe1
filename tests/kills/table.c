/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <rsmapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

const char *answer_name(int code)
{
    static char number[16];
    static const struct {
        int code;
        const char *name;
    } names[] = {
        {RSM_SUCCESS, "success"},
        {-1, "WRONG"},
        {LOAD_UNNOTICED, "UNNOTICED"},
        {RSMERR_TIMEOUT, "TIMEOUT"},
        {RSMERR_BAD_SEG_HNDL, "BAD_SEG_HNDL"},
        {RSMERR_CONN_ABORTED, "CONN_ABORTED"},
        {RSMERR_BARRIER_FAILURE, "BARRIER_FAILURE"},
        {RSMERR_SEG_NOT_PUBLISHED, "SEG_NOT_PUBLISHED"},
        {RSMERR_CTLR_NOT_PRESENT, "CTLR_NOT_PRESENT"},
        {RSMERR_REMOTE_NODE_UNREACHABLE, "REMOTE_NODE_UNREACHABLE"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    snprintf(number, sizeof number, "%d", code);
    return number;
}

void tally_add(struct tally *tally, int code, int64_t took_us)
{
    unsigned place = 0;
    while (place < TALLY_CODES - 1 && tally->answers[place].count > 0 &&
           tally->answers[place].code != code)
        place++;
    tally->answers[place].code = code;
    tally->answers[place].count++;
    if (tally->rounds < TALLY_ROUNDS)
        tally->took_us[tally->rounds++] = took_us;
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static void sort(struct tally *tally)
{
    qsort(tally->took_us, tally->rounds, sizeof *tally->took_us, compare);
}

int64_t tally_median_us(struct tally *tally)
{
    sort(tally);
    return tally->rounds > 0 ? tally->took_us[tally->rounds / 2] : 0;
}

int64_t tally_worst_us(struct tally *tally)
{
    sort(tally);
    return tally->rounds > 0 ? tally->took_us[tally->rounds - 1] : 0;
}

const char *tally_answers(const struct tally *tally, char text[TALLY_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < TALLY_CODES && tally->answers[i].count > 0 && used < TALLY_TEXT; i++)
        used += (size_t)snprintf(text + used, TALLY_TEXT - used, "%s%s %u", i > 0 ? ", " : "",
                                 answer_name(tally->answers[i].code), tally->answers[i].count);
    return text;
}
