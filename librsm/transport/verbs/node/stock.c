/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/node/stock.h"

#include <string.h>

enum { STEPS = 4, INITIAL_SHARE = 4, CLASS_SHARE = 4 };

uint64_t verbs_class_pages(int class)
{
    if (class < STEPS - 1)
        return (uint64_t) class + 1;
    unsigned above = (unsigned)class - (STEPS - 1);
    return (uint64_t)(STEPS + above % STEPS) << (above / STEPS);
}

int verbs_class_of(uint64_t pages)
{
    if (pages == 0 || pages > verbs_class_pages(VERBS_CLASSES - 1))
        return VERBS_CLASS_NONE;
    int low = 0;
    int high = VERBS_CLASSES - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (verbs_class_pages(middle) >= pages)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void verbs_stock_init(struct verbs_stock *stock, uint64_t budget)
{
    static const struct {
        uint64_t pages;
        uint32_t count;
    } initial[] = {{1, 8}, {2, 4}, {4, 4}, {16, 4}, {64, 2}, {256, 1}};
    uint64_t left = budget / INITIAL_SHARE;
    memset(stock, 0, sizeof *stock);
    stock->budget = budget;
    for (unsigned i = 0; i < sizeof initial / sizeof initial[0]; i++)
        if (initial[i].pages * initial[i].count <= left) {
            stock->class[verbs_class_of(initial[i].pages)].wanted = initial[i].count;
            left -= initial[i].pages * initial[i].count;
        }
}

/* What may be kept of one size: it must leave room for others. */
static uint32_t most_wanted(const struct verbs_stock *stock, int class)
{
    uint64_t share = stock->budget / CLASS_SHARE / verbs_class_pages(class);
    if (share == 0 && verbs_class_pages(class) <= stock->budget)
        share = 1;
    return share > VERBS_WANTED_MOST ? VERBS_WANTED_MOST : (uint32_t)share;
}

/* The class to serve a request of @p class from. */
static int find_present(const struct verbs_stock *stock, int class)
{
    /* The next larger size will do, too: what lies idle is less than what a registration costs. */
    for (int at = class; at < class + 2 && at < VERBS_CLASSES; at++)
        if (stock->class[at].present > 0)
            return at;
    return VERBS_CLASS_NONE;
}

bool verbs_stock_has(const struct verbs_stock *stock, uint64_t pages)
{
    int class = verbs_class_of(pages);
    return class != VERBS_CLASS_NONE && find_present(stock, class) != VERBS_CLASS_NONE;
}

int verbs_stock_take(struct verbs_stock *stock, uint64_t pages)
{
    int class = verbs_class_of(pages);
    if (class == VERBS_CLASS_NONE)
        return VERBS_CLASS_NONE;
    stock->class[class].asked = ++stock->clock;
    int at = find_present(stock, class);
    if (at != VERBS_CLASS_NONE) {
        stock->class[at].present--;
        stock->pages -= verbs_class_pages(at);
        if (stock->class[class].wanted == 0 && most_wanted(stock, class) > 0)
            stock->class[class].wanted = 1;
        return at;
    }
    uint32_t raised = stock->class[class].wanted * 2 + 1;
    uint32_t most = most_wanted(stock, class);
    stock->class[class].wanted = raised < most ? raised : most;
    return VERBS_CLASS_NONE;
}

/* The class that was asked for longest ago and has extents, among those asked for before @p class;
 * nothing is taken from it that it would get back next. */
static int least_asked(const struct verbs_stock *stock, int class)
{
    int found = VERBS_CLASS_NONE;
    for (int at = 0; at < VERBS_CLASSES; at++)
        if (stock->class[at].present > 0 && stock->class[at].asked < stock->class[class].asked &&
            (found == VERBS_CLASS_NONE || stock->class[at].asked < stock->class[found].asked))
            found = at;
    return found;
}

static int most_asked_shortage(const struct verbs_stock *stock)
{
    int found = VERBS_CLASS_NONE;
    for (int at = 0; at < VERBS_CLASSES; at++)
        if (stock->class[at].present < stock->class[at].wanted &&
            (found == VERBS_CLASS_NONE || stock->class[at].asked > stock->class[found].asked))
            found = at;
    return found;
}

enum verbs_stock_step verbs_stock_next(struct verbs_stock *stock, int *class)
{
    int missing = most_asked_shortage(stock);
    if (missing == VERBS_CLASS_NONE)
        return VERBS_STOCK_REST;
    uint64_t pages = verbs_class_pages(missing);
    if (stock->pages + pages <= stock->budget) {
        *class = missing;
        return VERBS_STOCK_MAKE;
    }
    int victim = least_asked(stock, missing);
    if (victim == VERBS_CLASS_NONE) {
        stock->class[missing].wanted = stock->class[missing].present;
        return verbs_stock_next(stock, class);
    }
    stock->class[victim].present--;
    stock->class[victim].wanted = stock->class[victim].present;
    stock->pages -= verbs_class_pages(victim);
    *class = victim;
    return VERBS_STOCK_DROP;
}

void verbs_stock_made(struct verbs_stock *stock, int class)
{
    stock->class[class].present++;
    stock->pages += verbs_class_pages(class);
}

void verbs_stock_failed(struct verbs_stock *stock)
{
    stock->budget = stock->pages;
    for (int at = 0; at < VERBS_CLASSES; at++)
        stock->class[at].wanted = stock->class[at].present;
}
