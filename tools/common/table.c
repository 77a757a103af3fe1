/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void make_printable(char *c)
{
    if (*c < ' ' || *c > '~')
        *c = '?';
}

void table_print_safe(FILE *out, const char *text)
{
    for (char c; (c = *text) != '\0'; text++) {
        make_printable(&c);
        fputc(c, out);
    }
}

static int is_right(const char *heading)
{
    return *heading == '#';
}

static const char *heading_text(const char *heading)
{
    return is_right(heading) ? heading + 1 : heading;
}

void table_begin(struct table *table, const char *const headings[])
{
    *table = (struct table){.columns = 0};
    for (; headings[table->columns] != NULL && table->columns < TABLE_COLUMNS_MAX;
         table->columns++) {
        table->column[table->columns].heading = headings[table->columns];
        table->column[table->columns].width = strlen(heading_text(headings[table->columns]));
    }
}

static void add(struct table *table, char *text)
{
    /* Doubled whenever the count is a power of two. */
    if ((table->count & (table->count - 1)) == 0) {
        size_t room = table->count == 0 ? 1 : 2 * table->count;
        char **grown = realloc(table->cells, room * sizeof *grown);
        if (grown == NULL) {
            free(text);
            table->failed = 1;
            return;
        }
        table->cells = grown;
    }
    size_t *width = &table->column[table->count % table->columns].width;
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        make_printable(&text[i]);
    if (length > *width)
        *width = length;
    table->cells[table->count++] = text;
}

void table_cell(struct table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length == 0) {
        free(text);
        length = asprintf(&text, "-");
    }
    if (length < 0)
        table->failed = 1;
    if (length < 0 || table->failed)
        free(length < 0 ? NULL : text);
    else
        add(table, text);
}

/* No blanks behind the last column. */
static void print_cell(const struct table *table, FILE *out, unsigned column, const char *text)
{
    int width = (int)table->column[column].width;
    const char *between = column > 0 ? "  " : "";
    if (is_right(table->column[column].heading))
        fprintf(out, "%s%*s", between, width, text);
    else if (column + 1 < table->columns)
        fprintf(out, "%s%-*s", between, width, text);
    else
        fprintf(out, "%s%s", between, text);
    if (column + 1 == table->columns)
        fputc('\n', out);
}

int table_end(struct table *table, FILE *out)
{
    for (unsigned i = 0; i < table->columns; i++)
        print_cell(table, out, i, heading_text(table->column[i].heading));
    unsigned column = 0;
    for (size_t i = 0; i < table->count; i++) {
        print_cell(table, out, column, table->cells[i]);
        free(table->cells[i]);
        column = column + 1 < table->columns ? column + 1 : 0;
    }
    free(table->cells);
    return table->failed ? -1 : 0;
}
