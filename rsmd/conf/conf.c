/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf.h"

#include <ctype.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "transport/registry.h"
#include "conf/address.h"

enum section {
    SECTION_NONE,
    SECTION_NODE,
    SECTION_CONTROLLER,
    SECTION_CLUSTER,
    SECTION_LIMITS,
    SECTION_MAP
};

/* The ini library splits keys from values. Sections are read here, from the same lines: it neither
 * tells of a section without keys nor keeps long names whole. */
struct parser {
    const char *at;
    const char *end;
    unsigned line; /* of what is being read, from 1 */
    enum section section;
    struct rsmd_conf_node *node; /* whose section it is */
    unsigned seen;               /* bits of the section's keys */
    bool limits_seen, cluster_seen;
    bool failed;
    struct rsmd_conf *conf;
    struct rsmd_conf_error *error;
};

__attribute__((format(printf, 3, 4))) static bool fail_at(struct parser *p, unsigned line,
                                                          const char *format, ...)
{
    va_list arguments;
    if (p->failed && p->error->line <= line)
        return false;
    p->failed = true;
    p->error->line = line;
    va_start(arguments, format);
    vsnprintf(p->error->text, sizeof p->error->text, format, arguments);
    va_end(arguments);
    return false;
}

#define fail(p, ...) fail_at(p, (p)->line, __VA_ARGS__)

void rsmd_conf_defaults(struct rsmd_conf *conf)
{
    memset(conf, 0, sizeof *conf);
    conf->max_exported_percent = RSMD_CONF_EXPORTED_PERCENT;
    conf->max_segments = RSMD_CONF_SEGMENTS_MAX;
    conf->max_user_share = RSMD_CONF_USER_SHARE;
    conf->peer_timeout_ms = 3000;
    conf->auth = RSMD_AUTH_NONE;
    conf->controller_count = 1;
    strcpy(conf->controllers[0].name, "sci0");
    strcpy(conf->controllers[0].transport, RSM_TRANSPORT_LOCAL);
}

bool rsmd_controller_name_split(const char *name, char *type, uint32_t *unit)
{
    size_t length = strnlen(name, RSM_PROTO_NAME_MAX);
    if (length == RSM_PROTO_NAME_MAX)
        return false;
    size_t digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits == 0)
        return false;
    *unit = 0;
    if (digits < length && !rsm_number(name + digits, 0, UINT32_MAX, unit))
        return false;
    memcpy(type, name, digits);
    type[digits] = '\0';
    return true;
}

/* ------------------------------------------------------------------ values */

static struct rsmd_conf_map *this_map(struct parser *p)
{
    return &p->conf->maps[p->conf->map_count - 1];
}

/* Copy printable text; false if it is empty, too long or holds control characters. */
static bool text_value(char *into, size_t capacity, const char *value)
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

static struct rsmd_conf_node *this_node(struct parser *p)
{
    return p->node;
}

static struct rsmd_conf_controller *this_controller(struct parser *p)
{
    return &p->conf->controllers[p->conf->controller_count - 1];
}

static bool set_host(struct parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    return text_value(node->host, sizeof node->host, value) ||
           fail(p, "expected a host name or address after host =");
}

static bool set_socket(struct parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    return (*value == '/' && text_value(node->socket, sizeof node->socket, value)) ||
           fail(p, "expected an absolute path of at most %zu characters after socket =",
                sizeof node->socket - 1);
}

static bool set_address(struct parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    if (!rsmd_address_parse(value, node->address, &node->port)) {
        node->address[0] = '\0';
        return fail(p, "expected HOST, HOST:PORT, [IPv6] or [IPv6]:PORT after address =, HOST "
                       "being a name or an IPv4 address of one machine");
    }
    node->address_line = p->line;
    return true;
}

static bool set_names(struct parser *p, const char *value)
{
    struct rsmd_conf_node *node = this_node(p);
    return text_value(node->names, sizeof node->names, value) ||
           fail(p,
                "expected names of at most %zu characters after names =", sizeof node->names - 1);
}

static bool set_auth(struct parser *p, const char *value)
{
    p->conf->auth_line = p->line;
    p->conf->auth = strcmp(value, "munge") == 0  ? RSMD_AUTH_MUNGE
                    : strcmp(value, "none") == 0 ? RSMD_AUTH_NONE
                                                 : 0;
    return p->conf->auth != 0 || fail(p, "expected munge or none after auth =");
}

static bool set_munge_socket(struct parser *p, const char *value)
{
    struct rsmd_conf *conf = p->conf;
    return (*value == '/' && text_value(conf->munge_socket, sizeof conf->munge_socket, value)) ||
           fail(p, "expected an absolute path of at most %zu characters after munge-socket =",
                sizeof conf->munge_socket - 1);
}

static bool set_insecure(struct parser *p, const char *value)
{
    p->conf->insecure = strcmp(value, "yes") == 0;
    return p->conf->insecure || strcmp(value, "no") == 0 ||
           fail(p, "expected yes or no after insecure =");
}

static bool set_transport(struct parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    bool plain =
        *value != '\0' && strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(value);
    return (plain && text_value(controller->transport, sizeof controller->transport, value)) ||
           fail(p, "expected the name of a transport, like shm, after transport =");
}

static bool set_device(struct parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    return text_value(controller->device, sizeof controller->device, value) ||
           fail(p, "expected the name of a device after device =");
}

static bool set_options(struct parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    return text_value(controller->options, sizeof controller->options, value) ||
           fail(p, "expected the transport's options after options =");
}

static bool set_adapter(struct parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    uint32_t number;
    if (!rsm_number(value, 0, RSMD_CONF_ADAPTERS_MAX - 1, &number))
        return fail(p,
                    "expected a number from 0 to %d after adapter =", RSMD_CONF_ADAPTERS_MAX - 1);
    for (const struct rsmd_conf_controller *other = p->conf->controllers; other != controller;
         other++)
        if (other->adapter_line != 0 && other->adapter == number)
            return fail(p, "expected another number after adapter =: %s has this one in line %u",
                        other->name, other->adapter_line);
    controller->adapter = number;
    controller->adapter_line = p->line;
    return true;
}

static bool set_max_exported_memory(struct parser *p, const char *value)
{
    return rsm_number(value, 0, 100, &p->conf->max_exported_percent) ||
           fail(p, "expected a number from 0 (no limit) to 100 (percent of physical memory) after "
                   "max-exported-memory =");
}

static bool set_max_segments(struct parser *p, const char *value)
{
    if (!rsm_number(value, 0, RSMD_CONF_SEGMENTS_MAX, &p->conf->max_segments))
        return fail(p, "expected a number from 0 (default) to %d after max-segments =",
                    RSMD_CONF_SEGMENTS_MAX);
    if (p->conf->max_segments == 0)
        p->conf->max_segments = RSMD_CONF_SEGMENTS_MAX;
    return true;
}

static bool set_max_user_share(struct parser *p, const char *value)
{
    return rsm_number(value, 1, 100, &p->conf->max_user_share) ||
           fail(p, "expected a number from 1 to 100 (percent of each limit) after "
                   "max-user-share =");
}

static bool set_peer_timeout(struct parser *p, const char *value)
{
    return rsm_number(value, 100, 60000, &p->conf->peer_timeout_ms) ||
           fail(p, "expected a number from 100 to 60000 (milliseconds) after peer-timeout-ms =");
}

static bool set_ineffective(struct parser *p, const char *value)
{
    uint32_t ignored;
    p->conf->ineffective_keys = true;
    return rsm_number(value, 0, UINT32_MAX, &ignored) || fail(p, "expected a number after the =");
}

/* ------------------------------------------------------------------ keys */

static const struct key {
    enum section section;
    const char *name;
    bool (*set)(struct parser *p, const char *value);
} keys[] = {
    {SECTION_NODE, "host", set_host},
    {SECTION_NODE, "socket", set_socket},
    {SECTION_NODE, "address", set_address},
    {SECTION_NODE, "names", set_names},
    {SECTION_CLUSTER, "auth", set_auth},
    {SECTION_CLUSTER, "munge-socket", set_munge_socket},
    {SECTION_CLUSTER, "insecure", set_insecure},
    {SECTION_CONTROLLER, "transport", set_transport},
    {SECTION_CONTROLLER, "device", set_device},
    {SECTION_CONTROLLER, "options", set_options},
    {SECTION_CONTROLLER, "adapter", set_adapter},
    {SECTION_LIMITS, "max-exported-memory", set_max_exported_memory},
    {SECTION_LIMITS, "max-segments", set_max_segments},
    {SECTION_LIMITS, "max-user-share", set_max_user_share},
    {SECTION_LIMITS, "peer-timeout-ms", set_peer_timeout},
    {SECTION_LIMITS, "segment-hashtable-size", set_ineffective},
    {SECTION_LIMITS, "enable-dynamic-reconfiguration", set_ineffective},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

enum { SEEN_LEND = SOFTMAP_TUNABLES };

static bool set_lend_userfaultfd(struct parser *p, const char *value)
{
    if (this_map(p)->controller[0] != '\0')
        return fail(p, "expected lend-userfaultfd in the section [map] alone");
    if (p->seen >> SEEN_LEND & 1)
        return fail(p, "expected lend-userfaultfd once in this section");
    p->seen |= 1u << SEEN_LEND;
    p->conf->lend_userfaultfd = strcmp(value, "yes") == 0;
    return p->conf->lend_userfaultfd || strcmp(value, "no") == 0 ||
           fail(p, "expected yes or no after lend-userfaultfd =");
}

/* Knobs of mappings have their names and values from where they are obeyed. */
static bool take_map_key(struct parser *p, const char *name, const char *value)
{
    if (strcmp(name, "lend-userfaultfd") == 0)
        return set_lend_userfaultfd(p, value);
    enum softmap_tunable tunable = rsmcore_map_tunable_by_name(name);
    if (tunable == SOFTMAP_TUNABLES)
        return fail(p, "expected one of the keys mode, trap, k, flush-us, refresh-us, grain, "
                       "atomics, lend-userfaultfd");
    if (p->seen >> tunable & 1)
        return fail(p, "expected %s once in this section", name);
    p->seen |= 1u << tunable;
    return rsmcore_map_settings_parse(&this_map(p)->settings, tunable, value) ||
           fail(p, "expected %s after %s =", rsmcore_map_tunable_expected(tunable), name);
}

static bool unknown_key(struct parser *p)
{
    char known[160] = "";
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (keys[i].section != p->section)
            continue;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", keys[i].name);
    }
    return fail(p, "expected one of the keys %s", known);
}

/* Called by the ini library for each `name = value`. */
static int take_key(void *user, const char *section, const char *name, const char *value
#if INI_HANDLER_LINENO
                    ,
                    int line
#endif
)
{
    struct parser *p = user;
    (void)section;
#if INI_HANDLER_LINENO
    (void)line; /* the lines are counted where they are read */
#endif
    if (p->section == SECTION_NONE)
        return fail(p, "expected a [section] before the first key");
    if (p->section == SECTION_MAP)
        return take_map_key(p, name, value);
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (keys[i].section != p->section || strcmp(keys[i].name, name) != 0)
            continue;
        if ((p->seen & (1u << i)) != 0)
            return fail(p, "expected %s once in this section", name);
        p->seen |= 1u << i;
        return keys[i].set(p, value);
    }
    return unknown_key(p);
}

/* ------------------------------------------------------------------ sections */

/* Room grows by doubling: nodes are many in some files and few in most. */
static bool make_room(struct rsmd_conf *conf)
{
    uint32_t count = conf->node_count;
    if ((count & (count - 1)) != 0)
        return true;
    struct rsmd_conf_node **grown =
        realloc(conf->nodes, (count > 0 ? 2 * (size_t)count : 1) * sizeof(struct rsmd_conf_node *));
    if (grown == NULL)
        return false;
    conf->nodes = grown;
    return true;
}

/* A node that is not there yet, in its place. NULL: no memory. */
static struct rsmd_conf_node *add_node(struct rsmd_conf *conf, uint32_t id)
{
    uint32_t at = rsmd_conf_node_from(conf, id);
    if (!make_room(conf))
        return NULL;
    struct rsmd_conf_node *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->id = id;
    memmove(conf->nodes + at + 1, conf->nodes + at,
            (conf->node_count - at) * sizeof(struct rsmd_conf_node *));
    conf->nodes[at] = made;
    conf->node_count++;
    return made;
}

static bool begin_node(struct parser *p, const char *argument)
{
    uint32_t id;
    if (!rsm_number(argument, 1, RSM_NODE_ID_MAX, &id))
        return fail(p, "expected a node id from 1 to %d, as in [node 1]", RSM_NODE_ID_MAX);
    const struct rsmd_conf_node *other = rsmd_conf_node(p->conf, id);
    if (other != NULL)
        return fail(p, "expected each node once: node %u is also in line %u", id, other->line);
    p->node = add_node(p->conf, id);
    if (p->node == NULL)
        return fail(p, "out of memory");
    p->node->line = p->line;
    p->section = SECTION_NODE;
    return true;
}

static bool begin_controller(struct parser *p, const char *argument)
{
    char type[RSM_PROTO_NAME_MAX];
    uint32_t unit;
    if (strpbrk(argument, " \t/") != NULL || !rsmd_controller_name_split(argument, type, &unit))
        return fail(p, "expected a controller name of letters and a unit, as in [controller sci0]");
    if (strcasecmp(type, "loopback") == 0)
        return fail(p, "expected another name: loopback is always there");
    const struct rsmd_conf_controller *other = rsmd_conf_controller(p->conf, argument);
    if (other != NULL)
        return fail(p, "expected each controller once: %s is also in line %u", argument,
                    other->line);
    if (p->conf->controller_count == RSMD_CONF_CONTROLLERS_MAX)
        return fail(p, "expected at most %d controllers", RSMD_CONF_CONTROLLERS_MAX);
    struct rsmd_conf_controller *made = &p->conf->controllers[p->conf->controller_count++];
    *made = (struct rsmd_conf_controller){.line = p->line};
    strcpy(made->name, argument);
    p->section = SECTION_CONTROLLER;
    return true;
}

/* [map] or [map NAME]; whether NAME exists is seen at the end. */
static bool begin_map(struct parser *p, const char *argument)
{
    char type[RSM_PROTO_NAME_MAX];
    uint32_t unit;
    struct rsmd_conf *conf = p->conf;
    if (*argument != '\0' &&
        (strpbrk(argument, " \t/") != NULL || !rsmd_controller_name_split(argument, type, &unit)))
        return fail(p, "expected [map] or the name of a controller, as in [map sci0]");
    for (uint32_t i = 0; i < conf->map_count; i++)
        if (strcmp(conf->maps[i].controller, argument) == 0 ||
            rsmd_controller_same_name(conf->maps[i].controller, argument))
            return fail(p, "expected each [map] once: this one is also in line %u",
                        conf->maps[i].line);
    if (conf->map_count == RSMD_CONF_MAPS_MAX)
        return fail(p, "expected the name of a controller of this file");
    conf->maps[conf->map_count++] = (struct rsmd_conf_map){.line = p->line};
    strcpy(this_map(p)->controller, argument);
    p->section = SECTION_MAP;
    return true;
}

/* A section without argument. */
static bool begin_single(struct parser *p, enum section section, bool *seen)
{
    if (*seen)
        return fail(p, "expected [%s] once", section == SECTION_LIMITS ? "limits" : "cluster");
    *seen = true;
    p->section = section;
    return true;
}

/* What the section that ends here must have had. */
static bool end_section(struct parser *p)
{
    if (p->section == SECTION_NODE && this_node(p)->host[0] == '\0')
        return fail_at(p, this_node(p)->line, "expected host = in the section of node %u",
                       this_node(p)->id);
    if (p->section == SECTION_CONTROLLER && this_controller(p)->transport[0] == '\0')
        return fail_at(p, this_controller(p)->line,
                       "expected transport = in the section of controller %s",
                       this_controller(p)->name);
    return true;
}

static int by_address(const void *left, const void *right)
{
    const struct rsmd_conf_node *const *pair[] = {left, right};
    const struct rsmd_conf_node *one = *pair[0], *other = *pair[1];
    int order = strcasecmp(one->address, other->address);
    if (order == 0)
        order = (one->port > other->port) - (one->port < other->port);
    if (order == 0)
        order =
            (one->address_line > other->address_line) - (one->address_line < other->address_line);
    return order;
}

/* No two nodes have one address. Also of a file that is wrong elsewhere: what comes first in it is
 * what is told. */
static void settle_addresses(struct parser *p)
{
    const struct rsmd_conf *conf = p->conf;
    if (conf->node_count == 0)
        return;
    struct rsmd_conf_node **sorted = malloc(conf->node_count * sizeof(struct rsmd_conf_node *));
    if (sorted == NULL) {
        fail(p, "out of memory");
        return;
    }
    memcpy(sorted, conf->nodes, conf->node_count * sizeof(struct rsmd_conf_node *));
    qsort(sorted, conf->node_count, sizeof(struct rsmd_conf_node *), by_address);
    for (uint32_t i = 1; i < conf->node_count; i++) {
        const struct rsmd_conf_node *first = sorted[i - 1], *second = sorted[i];
        if (second->address[0] != '\0' && first->port == second->port &&
            strcasecmp(first->address, second->address) == 0)
            fail_at(p, second->address_line,
                    "expected another address or port: node %u has this one in line %u", first->id,
                    first->address_line);
    }
    free(sorted);
}

/* Nobody on the network is believed without a proof. */
static bool settle_auth(struct parser *p)
{
    const struct rsmd_conf_node *far = NULL;
    for (uint32_t i = 0; i < p->conf->node_count && far == NULL; i++)
        if (p->conf->nodes[i]->address[0] != '\0' &&
            !rsmd_host_is_loopback(p->conf->nodes[i]->address))
            far = p->conf->nodes[i];
    if (far == NULL)
        return true;
    if (p->conf->auth_line == 0)
        p->conf->auth = RSMD_AUTH_MUNGE;
    return p->conf->auth == RSMD_AUTH_MUNGE ||
           fail_at(p, p->conf->auth_line,
                   "expected auth = munge: node %u, line %u, has an address that is no loopback "
                   "address",
                   far->id, far->address_line);
}

static bool settle_maps(struct parser *p)
{
    for (uint32_t i = 0; i < p->conf->map_count; i++) {
        const struct rsmd_conf_map *map = &p->conf->maps[i];
        if (map->controller[0] != '\0' && !rsmd_controller_same_name(map->controller, "loopback") &&
            rsmd_conf_controller(p->conf, map->controller) == NULL)
            return fail_at(p, map->line, "expected the name of a controller of this file");
    }
    return true;
}

/* A section's name, `[kind]` or `[kind argument]`, brackets removed. */
static bool begin_section(struct parser *p, char *name)
{
    char *argument = name + strcspn(name, " \t");
    if (*argument != '\0')
        *argument++ = '\0';
    argument += strspn(argument, " \t");
    for (size_t n = strlen(argument); n > 0 && isspace((unsigned char)argument[n - 1]); n--)
        argument[n - 1] = '\0';
    if (!end_section(p))
        return false;
    p->seen = 0;
    if (strcmp(name, "node") == 0)
        return begin_node(p, argument);
    if (strcmp(name, "controller") == 0)
        return begin_controller(p, argument);
    if (strcmp(name, "map") == 0)
        return begin_map(p, argument);
    if (strcmp(name, "limits") == 0 && *argument == '\0')
        return begin_single(p, SECTION_LIMITS, &p->limits_seen);
    if (strcmp(name, "cluster") == 0 && *argument == '\0')
        return begin_single(p, SECTION_CLUSTER, &p->cluster_seen);
    return fail(p, "expected [node N], [controller NAME], [map], [map NAME], [cluster] or "
                   "[limits]");
}

/* ------------------------------------------------------------------ lines */

/* If the line begins a section, take that. */
static void look_for_section(struct parser *p, const char *line)
{
    char name[RSM_PROTO_NAME_MAX];
    line += strspn(line, " \t");
    if (*line != '[')
        return;
    const char *close = strchr(++line, ']');
    if (close == NULL || close - line >= (ptrdiff_t)sizeof name) {
        fail(p, "expected a ] at the end of the section's name");
        return;
    }
    const char *rest = close + 1 + strspn(close + 1, " \t\r\n");
    if (*rest != '\0' && *rest != ';' && *rest != '#') {
        fail(p, "expected nothing behind the ]");
        return;
    }
    memcpy(name, line, (size_t)(close - line));
    name[close - line] = '\0';
    begin_section(p, name);
}

/* Hands the ini library one line after the other, as fgets does. */
static char *read_line(char *into, int size, void *stream)
{
    struct parser *p = stream;
    if (p->failed || p->at == p->end)
        return NULL;
    p->line++;
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    const char *next = newline != NULL ? newline + 1 : p->end;
    size_t length = (size_t)(next - p->at);
    if (length >= (size_t)size) {
        fail(p, "expected a line of at most %d characters", size - 2);
        return NULL;
    }
    if (memchr(p->at, '\0', length) != NULL) {
        fail(p, "expected text: there is a NUL character");
        return NULL;
    }
    memcpy(into, p->at, length);
    into[length] = '\0';
    p->at = next;
    look_for_section(p, into);
    return p->failed ? NULL : into;
}

bool rsmd_conf_parse(struct rsmd_conf *conf, const char *text, size_t length,
                     struct rsmd_conf_error *error)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    struct parser p = {.at = text, .end = text + length, .conf = conf, .error = error};
    rsmd_conf_defaults(conf);
    conf->controller_count = 0;
    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0)
        p.at += 3;
    ini_allow_multiline = false;
    int result = ini_parse_stream(read_line, &p, take_key, &p);
    if (result > 0)
        fail_at(&p, (unsigned)result, "expected key = value, a [section] or a comment");
    else if (result < 0)
        fail(&p, "out of memory");
    settle_addresses(&p);
    if (!p.failed && end_section(&p))
        (void)(settle_auth(&p) && settle_maps(&p));
    if (p.failed)
        rsmd_conf_free(conf);
    return !p.failed;
}
