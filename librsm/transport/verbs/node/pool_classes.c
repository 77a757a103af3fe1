/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/node/pool_classes.h"

#include <string.h>

enum { STEPS = 4, INITIAL_SHARE = 4, CLASS_SHARE = 4 };

uint64_t verbs_class_pages(int size_class)
{
    if (size_class < STEPS - 1)
        return (uint64_t)size_class + 1;
    unsigned above = (unsigned)size_class - (STEPS - 1);
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

void verbs_pool_classes_init(struct verbs_pool_classes *classes, uint64_t budget)
{
    static const struct {
        uint64_t pages;
        uint32_t count;
    } initial[] = {{1, 8}, {2, 4}, {4, 4}, {16, 4}, {64, 2}, {256, 1}};
    uint64_t left = budget / INITIAL_SHARE;
    memset(classes, 0, sizeof *classes);
    classes->budget = budget;
    for (unsigned i = 0; i < sizeof initial / sizeof initial[0]; i++)
        if (initial[i].pages * initial[i].count <= left) {
            classes->size_class[verbs_class_of(initial[i].pages)].wanted = initial[i].count;
            left -= initial[i].pages * initial[i].count;
        }
}

/* What may be kept of one size: it must leave room for others. */
static uint32_t max_wanted(const struct verbs_pool_classes *classes, int size_class)
{
    uint64_t share = classes->budget / CLASS_SHARE / verbs_class_pages(size_class);
    if (share == 0 && verbs_class_pages(size_class) <= classes->budget)
        share = 1;
    return share > VERBS_WANTED_MAX ? VERBS_WANTED_MAX : (uint32_t)share;
}

/* The size_class to serve a request of @p size_class from. */
static int find_present(const struct verbs_pool_classes *classes, int size_class)
{
    /* The next larger size will do, too: what lies idle is less than what a registration costs. */
    for (int at = size_class; at < size_class + 2 && at < VERBS_CLASSES; at++)
        if (classes->size_class[at].present > 0)
            return at;
    return VERBS_CLASS_NONE;
}

bool verbs_pool_classes_has(const struct verbs_pool_classes *classes, uint64_t pages)
{
    int size_class = verbs_class_of(pages);
    return size_class != VERBS_CLASS_NONE && find_present(classes, size_class) != VERBS_CLASS_NONE;
}

int verbs_pool_classes_take(struct verbs_pool_classes *classes, uint64_t pages)
{
    int size_class = verbs_class_of(pages);
    if (size_class == VERBS_CLASS_NONE)
        return VERBS_CLASS_NONE;
    classes->size_class[size_class].asked = ++classes->clock;
    int at = find_present(classes, size_class);
    if (at != VERBS_CLASS_NONE) {
        classes->size_class[at].present--;
        classes->pages -= verbs_class_pages(at);
        if (classes->size_class[size_class].wanted == 0 && max_wanted(classes, size_class) > 0)
            classes->size_class[size_class].wanted = 1;
        return at;
    }
    uint32_t raised = classes->size_class[size_class].wanted * 2 + 1;
    uint32_t max = max_wanted(classes, size_class);
    classes->size_class[size_class].wanted = raised < max ? raised : max;
    return VERBS_CLASS_NONE;
}

/* The size_class that was asked for longest ago and has extents, among those asked for before @p
 * size_class; nothing is taken from it that it would get back next. */
static int min_asked(const struct verbs_pool_classes *classes, int size_class)
{
    int found = VERBS_CLASS_NONE;
    for (int at = 0; at < VERBS_CLASSES; at++)
        if (classes->size_class[at].present > 0 &&
            classes->size_class[at].asked < classes->size_class[size_class].asked &&
            (found == VERBS_CLASS_NONE ||
             classes->size_class[at].asked < classes->size_class[found].asked))
            found = at;
    return found;
}

static int max_asked_shortage(const struct verbs_pool_classes *classes)
{
    int found = VERBS_CLASS_NONE;
    for (int at = 0; at < VERBS_CLASSES; at++)
        if (classes->size_class[at].present < classes->size_class[at].wanted &&
            (found == VERBS_CLASS_NONE ||
             classes->size_class[at].asked > classes->size_class[found].asked))
            found = at;
    return found;
}

enum verbs_pool_step verbs_pool_classes_next(struct verbs_pool_classes *classes, int *size_class)
{
    int missing = max_asked_shortage(classes);
    if (missing == VERBS_CLASS_NONE)
        return VERBS_POOL_REST;
    uint64_t pages = verbs_class_pages(missing);
    if (classes->pages + pages <= classes->budget) {
        *size_class = missing;
        return VERBS_POOL_MAKE;
    }
    int victim = min_asked(classes, missing);
    if (victim == VERBS_CLASS_NONE) {
        classes->size_class[missing].wanted = classes->size_class[missing].present;
        return verbs_pool_classes_next(classes, size_class);
    }
    classes->size_class[victim].present--;
    classes->size_class[victim].wanted = classes->size_class[victim].present;
    classes->pages -= verbs_class_pages(victim);
    *size_class = victim;
    return VERBS_POOL_DROP;
}

void verbs_pool_classes_made(struct verbs_pool_classes *classes, int size_class)
{
    classes->size_class[size_class].present++;
    classes->pages += verbs_class_pages(size_class);
}

void verbs_pool_classes_failed(struct verbs_pool_classes *classes)
{
    classes->budget = classes->pages;
    for (int at = 0; at < VERBS_CLASSES; at++)
        classes->size_class[at].wanted = classes->size_class[at].present;
}
