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

void table_begin(struct table *table, const char *const headings[], int wide)
{
    *table = (struct table){.columns = 0};
    for (; headings[table->columns] != NULL && table->columns < TABLE_COLUMNS_MAX;
         table->columns++) {
        const char *heading = headings[table->columns];
        int is_wide = *heading == '+';
        table->column[table->columns].hidden = is_wide && !wide;
        table->column[table->columns].heading = heading + is_wide;
        table->column[table->columns].width = strlen(heading_text(heading + is_wide));
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

/* Blanks are between columns, and not behind the last one. */
static void print_row(const struct table *table, FILE *out, char *const cells[])
{
    const char *between = "";
    int missing = 0; /* blanks that the column before is still to have */
    for (unsigned i = 0; i < table->columns; i++) {
        const char *text = cells != NULL ? cells[i] : heading_text(table->column[i].heading);
        int width = (int)table->column[i].width;
        if (table->column[i].hidden)
            continue;
        fprintf(out, "%*s%s", missing, "", between);
        if (is_right(table->column[i].heading))
            missing = 0, fprintf(out, "%*s", width, text);
        else
            missing = width - fprintf(out, "%s", text);
        between = "  ";
    }
    fputc('\n', out);
}

int table_end(struct table *table, FILE *out)
{
    print_row(table, out, NULL);
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(table, out, table->cells + i);
    if (table->count == 0 && !table->failed)
        fputs("none\n", out);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    return table->failed ? -1 : 0;
}
