/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures as a picture: to the left the time of one transfer, to the right the bandwidth of a
 * stream, by size, both axes logarithmic. Each line of ours has its limit beside it, dashed.
 */
#include <math.h>
#include <string.h>

#include "show.h"

enum {
    PANEL_WIDTH = 400,
    PANEL_HEIGHT = 300,
    LEFT = 70, /* of each panel, for the numbers of its axis */
    TOP = 50,
    BOTTOM = 70,
    RIGHT = 20,
    LEGEND_LINE = 18,
    POINTS_MAX = SIZES_MAX,
    LINES_MAX = 8,
};

/* One line: points in the order of their sizes. */
struct line {
    const char *name;
    const struct gauge *gauge; /* whose figures these are; several may have one limit */
    const char *colour;
    bool dashed;
    unsigned count;
    double bytes[POINTS_MAX], value[POINTS_MAX];
};

struct panel {
    const char *title;
    bool stream;
    int left; /* of its axes, in the picture */
    unsigned count;
    struct line lines[LINES_MAX];
    double bytes_from, bytes_to, value_from, value_to; /* ends of the axes */
};

/* Distinguishable for the colour-blind, too. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

static void print_xml(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text >= ' ' && *text <= '~' ? *text : '?', out);
        }
}

/* ---------------------------------------------------------------- what is drawn */

/* NULL: there is no room, or another operation's figures have this line already. */
static struct line *need_line(struct panel *panel, const struct gauge *gauge, const char *name,
                              bool dashed)
{
    for (unsigned i = 0; i < panel->count; i++)
        if (panel->lines[i].dashed == dashed && strcmp(panel->lines[i].name, name) == 0)
            return panel->lines[i].gauge == gauge ? &panel->lines[i] : NULL;
    if (panel->count == LINES_MAX)
        return NULL;
    struct line *line = &panel->lines[panel->count++];
    *line = (struct line){.name = name, .gauge = gauge, .dashed = dashed};
    return line;
}

static void add_point(struct line *line, size_t bytes, double value)
{
    if (line == NULL || line->count == POINTS_MAX || !(value > 0))
        return;
    line->bytes[line->count] = (double)bytes;
    line->value[line->count++] = value;
}

static void add_result(struct panel *panel, const struct result *result)
{
    if (!result->gauge->sized || result->gauge->stream != panel->stream ||
        result->failure[0] != '\0')
        return;
    add_point(need_line(panel, result->gauge, result->gauge->name, false), result->bytes,
              panel->stream ? result->mb_per_s : result->ours.p50);
    if (result->limit_name != NULL)
        add_point(need_line(panel, result->gauge, result->limit_name, true), result->bytes,
                  panel->stream ? result->limit_mb_per_s : result->limit.p50);
}

/* The axes' ends: whole powers, which have numbers. */
static void settle_axes(struct panel *panel)
{
    double min = 0, max = 0, first = 0, last = 0;
    for (unsigned i = 0; i < panel->count; i++)
        for (unsigned p = 0; p < panel->lines[i].count; p++) {
            double value = panel->lines[i].value[p], bytes = panel->lines[i].bytes[p];
            min = min == 0 || value < min ? value : min;
            max = value > max ? value : max;
            first = first == 0 || bytes < first ? bytes : first;
            last = bytes > last ? bytes : last;
        }
    panel->value_from = min > 0 ? pow(10, floor(log10(min))) : 1;
    panel->value_to = fmax(max > 0 ? pow(10, ceil(log10(max))) : 10, panel->value_from * 10);
    panel->bytes_from = first > 0 ? first : 1;
    panel->bytes_to = fmax(last, panel->bytes_from * 2);
}

static void collect(struct panel *panel, const struct run *run)
{
    unsigned ours = 0;
    for (unsigned i = 0; i < run->count; i++)
        add_result(panel, &run->results[i]);
    for (unsigned i = 0; i < panel->count; i++)
        panel->lines[i].colour = panel->lines[i].dashed
                                     ? "#666666"
                                     : colours[ours++ % (sizeof colours / sizeof *colours)];
    settle_axes(panel);
}

/* ---------------------------------------------------------------- drawing */

static double place_x(const struct panel *panel, double bytes)
{
    return panel->left +
           PANEL_WIDTH * log(bytes / panel->bytes_from) / log(panel->bytes_to / panel->bytes_from);
}

static double place_y(const struct panel *panel, double value)
{
    return TOP + PANEL_HEIGHT * (1 - log(value / panel->value_from) /
                                         log(panel->value_to / panel->value_from));
}

/* The number at a tick of the vertical axis. */
static void print_value(FILE *out, bool stream, double value)
{
    if (stream)
        fprintf(out, value < 1000 ? "%g MB/s" : "%g GB/s", value < 1000 ? value : value / 1000);
    else
        fprintf(out,
                value < 1e3   ? "%g ns"
                : value < 1e6 ? "%g us"
                              : "%g ms",
                value < 1e3   ? value
                : value < 1e6 ? value / 1e3
                              : value / 1e6);
}

static void print_bytes(FILE *out, double bytes)
{
    if (bytes >= 1 << 20)
        fprintf(out, "%gM", bytes / (1 << 20));
    else if (bytes >= 1 << 10)
        fprintf(out, "%gK", bytes / (1 << 10));
    else
        fprintf(out, "%g", bytes);
}

static void draw_values(FILE *out, const struct panel *panel)
{
    int decades = (int)lround(log10(panel->value_to / panel->value_from));
    for (int i = 0; i <= decades; i++) {
        double value = panel->value_from * pow(10, i), y = place_y(panel, value);
        fprintf(out, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/>\n", panel->left, y,
                panel->left + PANEL_WIDTH, y);
        fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>", panel->left - 6, y + 4);
        print_value(out, panel->stream, value);
        fputs("</text>\n", out);
    }
}

/* At most ten numbers, each some power of two times the one before. */
static void draw_sizes(FILE *out, const struct panel *panel)
{
    int doublings = (int)floor(log2(panel->bytes_to / panel->bytes_from));
    int step = doublings > 9 ? (doublings + 8) / 9 : 1;
    for (int i = 0; i <= doublings; i += step) {
        double bytes = panel->bytes_from * pow(2, i), x = place_x(panel, bytes);
        fprintf(out, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ddd'/>\n", x, TOP, x,
                TOP + PANEL_HEIGHT);
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>", x, TOP + PANEL_HEIGHT + 16);
        print_bytes(out, bytes);
        fputs("</text>\n", out);
    }
}

static void draw_axes(FILE *out, const struct panel *panel)
{
    draw_values(out, panel);
    draw_sizes(out, panel);
    fprintf(out, "<text x='%d' y='%d' text-anchor='middle'>bytes</text>\n",
            panel->left + PANEL_WIDTH / 2, TOP + PANEL_HEIGHT + 34);
    fprintf(out, "<text x='%d' y='%d' text-anchor='middle' font-weight='bold'>%s</text>\n",
            panel->left + PANEL_WIDTH / 2, TOP - 12, panel->title);
    fprintf(out, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#333'/>\n",
            panel->left, TOP, PANEL_WIDTH, PANEL_HEIGHT);
}

static void draw_line(FILE *out, const struct panel *panel, const struct line *line)
{
    const char *dashes = line->dashed ? " stroke-dasharray='6 4'" : "";
    fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2'%s points='", line->colour,
            dashes);
    for (unsigned p = 0; p < line->count; p++)
        fprintf(out, "%s%.1f,%.1f", p > 0 ? " " : "", place_x(panel, line->bytes[p]),
                place_y(panel, line->value[p]));
    fputs("'/>\n", out);
    for (unsigned p = 0; p < line->count && !line->dashed; p++)
        fprintf(out, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n",
                place_x(panel, line->bytes[p]), place_y(panel, line->value[p]), line->colour);
}

/* In the corner that curves leave free: times and bandwidths both rise to the right. */
static void draw_legend(FILE *out, const struct panel *panel)
{
    for (unsigned i = 0; i < panel->count; i++) {
        const struct line *line = &panel->lines[i];
        int x = panel->left + 12, y = TOP + 16 + (int)i * LEGEND_LINE;
        fprintf(out, "<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='%s' stroke-width='2'%s/>\n", x,
                y, x + 28, y, line->colour, line->dashed ? " stroke-dasharray='6 4'" : "");
        fprintf(out, "<text x='%d' y='%d'>", x + 34, y + 4);
        print_xml(out, line->name);
        fputs(line->dashed ? " (limit)</text>\n" : "</text>\n", out);
    }
}

static void draw_panel(FILE *out, struct panel *panel, const struct run *run)
{
    collect(panel, run);
    draw_axes(out, panel);
    for (unsigned i = 0; i < panel->count; i++)
        draw_line(out, panel, &panel->lines[i]);
    draw_legend(out, panel);
}

void show_svg(FILE *out, const struct run *run)
{
    static struct panel panels[2];
    int width = 2 * (LEFT + PANEL_WIDTH + RIGHT), height = TOP + PANEL_HEIGHT + BOTTOM;
    panels[0] = (struct panel){.title = "one transfer (median)", .left = LEFT};
    panels[1] = (struct panel){
        .title = "stream of transfers", .stream = true, .left = 2 * LEFT + PANEL_WIDTH + RIGHT};
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' "
            "font-family='sans-serif' font-size='12'>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            width, height, width, height);
    for (unsigned i = 0; i < 2; i++)
        draw_panel(out, &panels[i], run);
    fprintf(out, "<text x='%d' y='%d'>rsmperf (librsm) " RSM_RELEASE ", controller ", LEFT,
            height - 12);
    print_xml(out, run->options->controller);
    fputs(", ", out);
    print_xml(out, run->machine.processor);
    fputs(", ", out);
    print_xml(out, run->machine.system);
    fputs("</text>\n</svg>\n", out);
}
