/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUT_MIN = 8, /* of a text that loses its middle, so much stays */
    INDENT = 4,  /* of a text below its row */
    GAP = 2,     /* between columns */
};

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

static bool is_right(const char *heading)
{
    return *heading == '#';
}

static const char *heading_text(const char *heading)
{
    return is_right(heading) ? heading + 1 : heading;
}

void table_begin(struct table *table, const char *const headings[], unsigned style)
{
    bool wide = (style & TABLE_WIDE) != 0;
    *table = (struct table){.style = style};
    for (; headings[table->columns] != NULL && table->columns < TABLE_COLUMNS_MAX;
         table->columns++) {
        const char *heading = headings[table->columns];
        size_t marks = strspn(heading, "+?~");
        table->column[table->columns].hidden = !wide && memchr(heading, '+', marks) != NULL;
        table->column[table->columns].optional = !wide && memchr(heading, '?', marks) != NULL;
        table->column[table->columns].flexible = !wide && memchr(heading, '~', marks) != NULL;
        heading += marks;
        table->column[table->columns].heading = heading;
        table->column[table->columns].width = strlen(heading_text(heading));
    }
}

static void add(struct table *table, char *text)
{
    /* Doubled whenever the count is a power of two. */
    if ((table->count & (table->count - 1)) == 0) {
        size_t room = table->count == 0 ? 1 : 2 * table->count;
        void *grown = realloc(table->cells, room * sizeof *table->cells);
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
    table->cells[table->count].text = text;
    table->cells[table->count++].color = TABLE_PLAIN;
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

void table_color(struct table *table, enum table_color color)
{
    if (!table->failed && table->count > 0)
        table->cells[table->count - 1].color = color;
}

/* ------------------------------------------------------------------ widths */

/* The last column that is shown. */
static unsigned last_column(const struct table *table)
{
    unsigned last = table->columns - 1;
    while (last > 0 && table->column[last].hidden)
        last--;
    return last;
}

/* Of a whole row, with what the last column's heading needs if long texts leave the row. */
static size_t row_width(const struct table *table)
{
    unsigned last = last_column(table);
    size_t all = 0;
    for (unsigned i = 0; i < table->columns; i++)
        if (!table->column[i].hidden && (i != last || !table->column[i].flexible))
            all += table->column[i].width + (i != last ? GAP : 0);
    if (table->column[last].flexible)
        all += strlen(heading_text(table->column[last].heading));
    return all;
}

/* The widest column whose texts may still lose something; table->columns: there is none. */
static unsigned widest(const struct table *table)
{
    unsigned found = table->columns, last = last_column(table);
    size_t max = CUT_MIN;
    for (unsigned i = 0; i < last; i++)
        if (!table->column[i].hidden && table->column[i].flexible && table->column[i].width > max) {
            found = i;
            max = table->column[i].width;
        }
    return found;
}

/* In addresses, paths and names the end matters most, and the middle least. */
static void cut_middle(char *text, size_t width)
{
    size_t length = strlen(text), front = (width - 3) / 3, back = width - 3 - front;
    if (length <= width)
        return;
    memset(text + front, '.', 3);
    memmove(text + front + 3, text + length - back, back + 1);
}

/* The rightmost column that may be left out; table->columns: there is none. */
static unsigned spare(const struct table *table)
{
    for (unsigned i = table->columns; i-- > 0;)
        if (table->column[i].optional && !table->column[i].hidden)
            return i;
    return table->columns;
}

static void narrow(struct table *table)
{
    unsigned column;
    while (row_width(table) > TABLE_NARROW)
        if ((column = widest(table)) < table->columns)
            table->column[column].width--;
        else if ((column = spare(table)) < table->columns)
            table->column[column].hidden = true;
        else
            break;
    for (size_t i = 0; i < table->count; i++)
        if (table->column[i % table->columns].flexible && i % table->columns != last_column(table))
            cut_middle(table->cells[i].text, table->column[i % table->columns].width);
}

/* ------------------------------------------------------------------ printing */

static void print_text(const struct table *table, FILE *out, const char *text, const char *sequence)
{
    bool colored = (table->style & TABLE_COLORS) != 0 && *sequence != '\0';
    fprintf(out, "%s%s%s", colored ? sequence : "", text, colored ? "\033[0m" : "");
}

static void print_blanks(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

/* A text on lines of its own, broken at blanks where there are some. */
static void print_below(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t room = TABLE_NARROW - INDENT, length = strlen(text);
        if (length > room) {
            for (length = room; length > 0 && text[length] != ' '; length--)
                ;
            length = length == 0 ? room : length;
        }
        print_blanks(out, INDENT);
        fprintf(out, "%.*s\n", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

/* Row @p first of the cells, or the headings. Blanks are between columns, and not behind the last
 * one. */
static void print_row(const struct table *table, FILE *out, const size_t *first)
{
    static const char *const sequences[] = {"", "\033[31m", "\033[32m", "\033[33m"};
    const char *below = NULL;
    size_t blanks = 0, at = 0; /* owed before the next text; where that begins */
    unsigned last = last_column(table);
    for (unsigned i = 0; i < table->columns; i++) {
        const char *text =
            first != NULL ? table->cells[*first + i].text : heading_text(table->column[i].heading);
        size_t length = strlen(text), width = table->column[i].width;
        if (table->column[i].hidden)
            continue;
        if (i == last && table->column[i].flexible && at + length > TABLE_NARROW) {
            below = text;
            break;
        }
        bool right = is_right(table->column[i].heading);
        print_blanks(out, blanks + (right ? width - length : 0));
        print_text(table, out, text,
                   first != NULL ? sequences[table->cells[*first + i].color] : "\033[1m");
        blanks = GAP + (right ? 0 : width - length);
        at += width + GAP;
    }
    fputc('\n', out);
    if (below != NULL)
        print_below(out, below);
}

int table_end(struct table *table, FILE *out)
{
    if ((table->style & TABLE_WIDE) == 0)
        narrow(table);
    print_row(table, out, NULL);
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(table, out, &i);
    if (table->count == 0 && !table->failed)
        fputs("none\n", out);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    return table->failed ? -1 : 0;
}
