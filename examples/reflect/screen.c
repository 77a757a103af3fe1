/* SPDX-License-Identifier: BSD-3-Clause */
#include "reflect.h"

#include <stdio.h>
#include <stdlib.h>

enum { STALLED_MS = 500, SCREEN_MS = 100, LINES_MS = 1000 };

/* What is known of a node, by its slot. */
struct row {
    struct slot state;  /* the latest that was whole */
    int64_t changed_at; /* clock; when that came */
    uint64_t before;    /* its count at the last show */
    bool known, member;
};

struct screen {
    struct row rows[SLOTS];
    bool lines;
    int64_t shown_at; /* 0: never */
};

struct screen *screen_begin(bool lines)
{
    struct screen *screen = calloc(1, sizeof *screen);
    if (screen == NULL)
        return NULL;
    screen->lines = lines;
    if (!lines)
        printf("\033[?25l\033[2J"); /* no cursor; clear */
    return screen;
}

void screen_end(struct screen *screen)
{
    if (!screen->lines)
        printf("\033[?25h\n");
    free(screen);
}

static void look(struct screen *screen, const struct publisher *publisher, int64_t now)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct row *row = &screen->rows[i];
        struct slot state;
        if (!slot_read(&publisher->copy[i], &state) || state.node != i + 1)
            continue;
        if (!row->known || state.ended != row->state.ended)
            row->changed_at = now;
        row->known = true;
        row->state = state;
    }
}

/* Who is connected, whether or not it says anything. */
static void look_for_members(struct screen *screen, const struct publisher *publisher)
{
    rsm_group_member_t members[SLOTS];
    uint_t count = SLOTS;
    if (rsm_group_get_members(publisher->group, members, &count) != RSM_SUCCESS)
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        screen->rows[i].member = false;
    for (unsigned i = 0; i < count && i < SLOTS; i++)
        if (members[i].error == RSM_SUCCESS && members[i].node <= SLOTS)
            screen->rows[members[i].node - 1].member = true;
}

static const char *state_of(const struct row *row, int64_t now)
{
    if (!row->member)
        return "gone";
    return now - row->changed_at < STALLED_MS ? "live" : "stalled";
}

static void print_row(const struct screen *screen, struct row *row, int64_t now, int64_t since)
{
    double rate = row->before == 0 || row->state.ended < row->before
                      ? 0
                      : (double)(row->state.ended - row->before) * 1000 / (double)since;
    printf("node %-3u %-8s %6.0f/s %6lld ms %10llu ", (unsigned)row->state.node, state_of(row, now),
           rate, (long long)(now - row->changed_at), (unsigned long long)row->state.ended);
    for (unsigned i = 0; i < VALUES; i += screen->lines ? 4 : 2)
        printf(" %5.2f", (double)row->state.values[i]);
    printf(screen->lines ? "\n" : "\033[K\n");
    row->before = row->state.ended;
}

void screen_show(struct screen *screen, const struct publisher *publisher, int64_t now)
{
    int64_t since = now - screen->shown_at;
    look(screen, publisher, now);
    if (since < (screen->lines ? LINES_MS : SCREEN_MS))
        return;
    look_for_members(screen, publisher);
    if (!screen->lines)
        printf("\033[Hnode     state    updates       age      count  values\033[K\n");
    for (unsigned i = 0; i < SLOTS; i++)
        if (screen->rows[i].known)
            print_row(screen, &screen->rows[i], now, since);
    if (!screen->lines)
        printf("\033[J");
    fflush(stdout);
    screen->shown_at = now;
}
