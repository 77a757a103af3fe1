/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Aligned columns under a heading. Cells are added one by one, row after row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 20, TABLE_NARROW = 80 /**< columns of a terminal */ };

/** How a table is printed; bits. */
enum table_style {
    TABLE_WIDE = 1,   /**< all columns, however long */
    TABLE_COLORS = 2, /**< with the escape sequences of ECMA-48 */
};

enum table_color { TABLE_PLAIN, TABLE_RED, TABLE_GREEN, TABLE_YELLOW };

struct table {
    unsigned columns;
    struct {
        const char *heading; /**< "#X": X, and the column is aligned to the right */
        size_t width;
        bool hidden, optional, flexible;
    } column[TABLE_COLUMNS_MAX];
    struct {
        char *text;
        enum table_color color;
    } * cells;
    size_t count;
    unsigned style; /**< enum table_style */
    int failed;     /**< there was no memory */
};

/**
 * A table with these headings, NULL-terminated.
 *
 * "+X" and "+#X" are columns of wide tables alone: in others, their cells are taken and not shown.
 * "~X" is a column whose text may be long. If a table that is not wide would need more than
 * TABLE_NARROW characters, such texts lose their middle; where it is the last column, a text that
 * has no room stands below its row, on as many lines as it needs. If that does not suffice, columns
 * with "?X", "?#X" or "?~X" are left out, the rightmost first.
 *
 * @param style enum table_style
 */
void table_begin(struct table *table, const char *const headings[], unsigned style);

/** The next cell. Characters that are not printable ASCII become question marks: what is shown
 *  comes from others, and must not drive the terminal. Empty text becomes "-". */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Color the cell added last, if the table has colors. */
void table_color(struct table *table, enum table_color color);

/** Print heading and rows, or "none" for the latter, and free. -1: there was no memory for all of
 *  it. */
int table_end(struct table *table, FILE *out);

/** Print untrusted text, made printable as cells are. */
void table_print_safe(FILE *out, const char *text);
