/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm.conf: lines, sections and keys. */
#include "conf/conf.h"

#include <ctype.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "conf/parser.h"
#include "transport/registry.h"

/* ------------------------------------------------------------------ mistakes */

void rsmd_conf_errors_vadd(struct rsmd_conf_errors *errors, unsigned line, const char *format,
                           va_list arguments)
{
    unsigned at = errors->count;
    while (at > 0 && errors->list[at - 1].line > line)
        at--;
    if (at == RSMD_CONF_ERRORS_MAX || (at > 0 && errors->list[at - 1].line == line))
        return;
    if (errors->count < RSMD_CONF_ERRORS_MAX)
        errors->count++;
    memmove(errors->list + at + 1, errors->list + at,
            (errors->count - 1 - at) * sizeof errors->list[0]);
    errors->list[at].line = line;
    vsnprintf(errors->list[at].text, sizeof errors->list[at].text, format, arguments);
}

void rsmd_conf_errors_add(struct rsmd_conf_errors *errors, unsigned line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    rsmd_conf_errors_vadd(errors, line, format, arguments);
    va_end(arguments);
}

bool rsmd_conf_fail_at(struct rsmd_conf_parser *p, unsigned line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    rsmd_conf_errors_vadd(p->errors, line, format, arguments);
    va_end(arguments);
    p->section_failed = true;
    return false;
}

bool rsmd_conf_text(char *into, size_t capacity, const char *value)
{
    size_t length = strlen(value);
    if (length == 0 || length >= capacity)
        return false;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)value[i]))
            return false;
    memcpy(into, value, length + 1);
    return true;
}

void rsmd_conf_defaults(struct rsmd_conf *conf)
{
    memset(conf, 0, sizeof *conf);
    conf->max_exported_percent = RSMD_CONF_EXPORTED_PERCENT;
    conf->max_segments = RSMD_CONF_SEGMENTS_MAX;
    conf->max_user_share = RSMD_CONF_USER_SHARE;
    conf->peer_timeout_ms = 3000;
    conf->permanent_links = RSMD_CONF_PERMANENT_LINKS;
    conf->link_idle_ms = 60000;
    conf->auth = RSMD_AUTH_NONE;
    conf->controller_count = 1;
    strcpy(conf->controllers[0].name, "sci0");
    strcpy(conf->controllers[0].transport, RSM_TRANSPORT_LOCAL);
}

/* ------------------------------------------------------------------ [limits] */

static bool set_max_segments(struct rsmd_conf_parser *p, const char *value)
{
    if (!rsm_number(value, 0, RSMD_CONF_SEGMENTS_MAX, &p->conf->max_segments))
        return rsmd_conf_fail(p, "expected a number from 0 (default) to %d after max-segments =",
                              RSMD_CONF_SEGMENTS_MAX);
    if (p->conf->max_segments == 0)
        p->conf->max_segments = RSMD_CONF_SEGMENTS_MAX;
    return true;
}

static bool set_ineffective(struct rsmd_conf_parser *p, const char *value)
{
    uint32_t ignored;
    p->conf->ineffective_keys = true;
    return rsm_number(value, 0, UINT32_MAX, &ignored) ||
           rsmd_conf_fail(p, "expected a number after the =");
}

#define NUMBER(name_, member, min_, max_, expected_)                                               \
    {                                                                                              \
        .name = (name_), .number = {                                                               \
            .expected = (expected_),                                                               \
            .digits_only = true,                                                                   \
            .min = (min_),                                                                         \
            .max = (max_),                                                                         \
            RSM_OPTION(struct rsmd_conf, member)                                                   \
        }                                                                                          \
    }

static const struct rsmd_conf_key limit_keys[] = {
    NUMBER("max-exported-memory", max_exported_percent, 0, 100,
           "a number from 0 (no limit) to 100 (percent of physical memory)"),
    {.name = "max-segments", .set = set_max_segments},
    NUMBER("max-user-share", max_user_share, 1, 100,
           "a number from 1 to 100 (percent of each limit)"),
    NUMBER("peer-timeout-ms", peer_timeout_ms, 100, 60000,
           "a number from 100 to 60000 (milliseconds)"),
    NUMBER("permanent-links", permanent_links, 0, RSM_NODE_ID_MAX,
           "a number of nodes from 0 to 65535"),
    NUMBER("link-idle-ms", link_idle_ms, 100, 86400000,
           "a number from 100 to 86400000 (milliseconds)"),
    {.name = "segment-hashtable-size", .set = set_ineffective},
    {.name = "enable-dynamic-reconfiguration", .set = set_ineffective},
    {.name = NULL},
};

/* ------------------------------------------------------------------ keys */

static const struct rsmd_conf_key *const keys_of[RSMD_SECTIONS] = {
    [RSMD_SECTION_NODE] = rsmd_conf_node_keys,
    [RSMD_SECTION_CONTROLLER] = rsmd_conf_controller_keys,
    [RSMD_SECTION_CLUSTER] = rsmd_conf_cluster_keys,
    [RSMD_SECTION_LIMITS] = limit_keys,
};

static bool unknown_key(struct rsmd_conf_parser *p)
{
    char known[160] = "";
    for (const struct rsmd_conf_key *key = keys_of[p->section]; key->name != NULL; key++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", key->name);
    }
    return rsmd_conf_fail(p, "expected one of the keys %s", known);
}

/* Whether a value has no syntax of other formats, such as quotes. */
static bool is_plain(struct rsmd_conf_parser *p, const char *value)
{
    const char *mark = strchr(value, '#');
    while (mark != NULL && mark != value && !isspace((unsigned char)mark[-1]))
        mark = strchr(mark + 1, '#');
    if (mark != NULL)
        return rsmd_conf_fail(p, "expected ; and not # before a comment that follows a value");
    return (*value != '"' && *value != '\'') ||
           rsmd_conf_fail(p, "expected a value without quotes");
}

static bool take_value(struct rsmd_conf_parser *p, const struct rsmd_conf_key *key,
                       const char *value)
{
    if (key->set != NULL)
        return key->set(p, value);
    return rsm_option_set(&key->number, value, p->conf) ||
           rsmd_conf_fail(p, "expected %s after %s =", key->number.expected, key->name);
}

/* Called by the ini library for each `name = value`. */
static int take_key(void *user, const char *section, const char *name, const char *value
#if INI_HANDLER_LINENO
                    ,
                    int line
#endif
)
{
    struct rsmd_conf_parser *p = user;
    (void)section;
#if INI_HANDLER_LINENO
    (void)line; /* the lines are counted where they are read */
#endif
    if (p->section == RSMD_SECTION_UNKNOWN)
        return true;
    if (p->section == RSMD_SECTION_NONE) {
        p->section = RSMD_SECTION_UNKNOWN;
        return rsmd_conf_fail(p, "expected a [section] before the first key");
    }
    if (!is_plain(p, value))
        return false;
    if (p->section == RSMD_SECTION_MAP)
        return rsmd_conf_take_map_key(p, name, value);
    const struct rsmd_conf_key *keys = keys_of[p->section];
    for (unsigned i = 0; keys[i].name != NULL; i++) {
        if (strcmp(keys[i].name, name) != 0)
            continue;
        if ((p->seen & (1u << i)) != 0)
            return rsmd_conf_fail(p, "expected %s once in this section", name);
        p->seen |= 1u << i;
        return take_value(p, &keys[i], value);
    }
    return unknown_key(p);
}

/* ------------------------------------------------------------------ sections */

/* A section without argument. */
static bool begin_single(struct rsmd_conf_parser *p, enum rsmd_conf_section section, bool *seen)
{
    if (*seen)
        return rsmd_conf_fail(p, "expected [%s] once",
                              section == RSMD_SECTION_LIMITS ? "limits" : "cluster");
    *seen = true;
    p->section = section;
    return true;
}

/* Check that the section that ends here has had what it must have. */
static void end_section(struct rsmd_conf_parser *p)
{
    if (p->section == RSMD_SECTION_NODE && !p->section_failed)
        (void)rsmd_conf_end_node(p);
    else if (p->section == RSMD_SECTION_CONTROLLER && !p->section_failed)
        (void)rsmd_conf_end_controller(p);
}

/* A section's name, `[kind]` or `[kind argument]`, brackets removed. */
static bool begin_section(struct rsmd_conf_parser *p, char *name)
{
    char *argument = name + strcspn(name, " \t");
    if (*argument != '\0')
        *argument++ = '\0';
    argument += strspn(argument, " \t");
    for (size_t n = strlen(argument); n > 0 && isspace((unsigned char)argument[n - 1]); n--)
        argument[n - 1] = '\0';
    if (strcmp(name, "node") == 0)
        return rsmd_conf_begin_node(p, argument);
    if (strcmp(name, "controller") == 0)
        return rsmd_conf_begin_controller(p, argument);
    if (strcmp(name, "map") == 0)
        return rsmd_conf_begin_map(p, argument);
    if (strcmp(name, "limits") == 0 && *argument == '\0')
        return begin_single(p, RSMD_SECTION_LIMITS, &p->limits_seen);
    if (strcmp(name, "cluster") == 0 && *argument == '\0')
        return begin_single(p, RSMD_SECTION_CLUSTER, &p->cluster_seen);
    return rsmd_conf_fail(p,
                          "expected [node N], [controller NAME], [map], [map NAME], [cluster] or "
                          "[limits]");
}

/* ------------------------------------------------------------------ lines */

/* Take a line that begins a section; it has a `[`. */
static bool take_section(struct rsmd_conf_parser *p, const char *line)
{
    char name[RSM_PROTO_NAME_MAX];
    const char *close = strchr(++line, ']');
    if (close == NULL || close - line >= (ptrdiff_t)sizeof name)
        return rsmd_conf_fail(p, "expected a ] at the end of the section's name");
    const char *rest = close + 1 + strspn(close + 1, " \t\r\n");
    if (*rest != '\0' && *rest != ';' && *rest != '#')
        return rsmd_conf_fail(p, "expected nothing behind the ]");
    memcpy(name, line, (size_t)(close - line));
    name[close - line] = '\0';
    return begin_section(p, name);
}

/* Whether the ini library finds a key and a value: it stops at a comment. */
static bool has_separator(const char *line)
{
    for (const char *at = line; *at != '\0'; at++) {
        if (*at == '=' || *at == ':')
            return true;
        if (*at == ';' && at != line && isspace((unsigned char)at[-1]))
            return false;
    }
    return false;
}

/* Whether to pass a line to the ini library, which would report only one error. */
static bool examine(struct rsmd_conf_parser *p, const char *line)
{
    line += strspn(line, " \t\r\n");
    if (*line == '\0' || *line == ';' || *line == '#')
        return true;
    if (*line != '[')
        return has_separator(line) ||
               rsmd_conf_fail(p, "expected key = value, a [section] or a comment");
    end_section(p);
    p->seen = 0;
    p->section_failed = false;
    if (take_section(p, line))
        return true;
    p->section = RSMD_SECTION_UNKNOWN;
    p->header_failed = true;
    return false;
}

/* Pass the ini library one line after the other, as fgets() does; an empty one instead of one with
 * an error. */
static char *read_line(char *into, int size, void *stream)
{
    struct rsmd_conf_parser *p = stream;
    if (p->at == p->end)
        return NULL;
    p->line++;
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    const char *line = p->at, *next = newline != NULL ? newline + 1 : p->end;
    size_t length = (size_t)(next - line);
    p->at = next;
    strcpy(into, "\n");
    if (length >= (size_t)size) {
        rsmd_conf_fail(p, "expected a line of at most %d characters", size - 2);
    } else if (memchr(line, '\0', length) != NULL) {
        rsmd_conf_fail(p, "expected text: there is a NUL character");
    } else {
        memcpy(into, line, length);
        into[length] = '\0';
        if (!examine(p, into))
            strcpy(into, "\n");
    }
    return into;
}

void rsmd_conf_parse_all(struct rsmd_conf *conf, const char *text, size_t length,
                         struct rsmd_conf_errors *errors)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    struct rsmd_conf_parser p = {.at = text, .end = text + length, .conf = conf, .errors = errors};
    errors->count = 0;
    rsmd_conf_defaults(conf);
    conf->controller_count = 0;
    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0)
        p.at += 3;
    ini_allow_multiline = false;
    int result = ini_parse_stream(read_line, &p, take_key, &p);
    end_section(&p);
    if (result > 0 && errors->count == 0)
        rsmd_conf_fail_at(&p, (unsigned)result, "expected key = value, a [section] or a comment");
    else if (result < 0)
        rsmd_conf_fail(&p, "out of memory");
    (void)rsmd_conf_settle_members(&p);
    rsmd_conf_settle_addresses(&p);
    if (errors->count == 0)
        (void)rsmd_conf_settle_auth(&p);
    if (!p.header_failed)
        (void)rsmd_conf_settle_maps(&p);
}

bool rsmd_conf_parse(struct rsmd_conf *conf, const char *text, size_t length,
                     struct rsmd_conf_error *error)
{
    struct rsmd_conf_errors errors;
    rsmd_conf_parse_all(conf, text, length, &errors);
    if (errors.count == 0)
        return true;
    *error = errors.list[0];
    rsmd_conf_free(conf);
    return false;
}
