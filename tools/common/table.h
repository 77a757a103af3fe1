/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Aligned columns under a heading. Cells are added one by one, row after row. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 12 };

struct table {
    unsigned columns;
    struct {
        const char *heading; /**< "#X": X, and the column is aligned to the right */
        size_t width;
        int hidden;
    } column[TABLE_COLUMNS_MAX];
    char **cells;
    size_t count;
    int failed; /**< there was no memory */
};

/** A table with these headings, NULL-terminated. "+X" and "+#X" are columns of wide tables alone:
 *  unless @p wide, their cells are taken and not shown. */
void table_begin(struct table *table, const char *const headings[], int wide);

/** The next cell. Characters that are not printable ASCII become question marks: what is shown
 *  comes from others, and must not drive the terminal. Empty text becomes "-". */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Print heading and rows, or "none" for the latter, and free. -1: there was no memory for all of it. */
int table_end(struct table *table, FILE *out);

/** A word of somebody else's, made printable as cells are. */
void table_print_safe(FILE *out, const char *text);

#endif
