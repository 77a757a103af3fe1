/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections [controller NAME], [map] and [map NAME]. */
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "conf/parser.h"

/* ------------------------------------------------------------------ controllers */

static struct rsmd_conf_controller *this_controller(struct rsmd_conf_parser *p)
{
    return &p->conf->controllers[p->conf->controller_count - 1];
}

static bool set_transport(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    bool plain =
        *value != '\0' && strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(value);
    return (plain && rsmd_conf_text(controller->transport, sizeof controller->transport, value)) ||
           rsmd_conf_fail(p, "expected the name of a transport, like shm, after transport =");
}

static bool set_device(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    return rsmd_conf_text(controller->device, sizeof controller->device, value) ||
           rsmd_conf_fail(p, "expected the name of a device after device =");
}

static bool set_options(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    return rsmd_conf_text(controller->options, sizeof controller->options, value) ||
           rsmd_conf_fail(p, "expected the transport's options after options =");
}

static bool set_adapter(struct rsmd_conf_parser *p, const char *value)
{
    struct rsmd_conf_controller *controller = this_controller(p);
    uint32_t number;
    if (!rsm_number(value, 0, RSMD_CONF_ADAPTERS_MAX - 1, &number))
        return rsmd_conf_fail(
            p, "expected a number from 0 to %d after adapter =", RSMD_CONF_ADAPTERS_MAX - 1);
    for (const struct rsmd_conf_controller *other = p->conf->controllers; other != controller;
         other++)
        if (other->adapter_line != 0 && other->adapter == number)
            return rsmd_conf_fail(
                p, "expected another number after adapter =: %s has this one in line %u",
                other->name, other->adapter_line);
    controller->adapter = number;
    controller->adapter_line = p->line;
    return true;
}

const struct rsmd_conf_key rsmd_conf_controller_keys[] = {
    {.name = "transport", .set = set_transport},
    {.name = "device", .set = set_device},
    {.name = "options", .set = set_options},
    {.name = "adapter", .set = set_adapter},
    {.name = NULL}};

bool rsmd_conf_begin_controller(struct rsmd_conf_parser *p, const char *argument)
{
    char type[RSM_PROTO_NAME_MAX];
    uint32_t unit;
    if (strpbrk(argument, " \t/") != NULL || !rsmd_controller_name_split(argument, type, &unit))
        return rsmd_conf_fail(
            p, "expected a controller name of letters and a unit, as in [controller sci0]");
    if (strcasecmp(type, "loopback") == 0)
        return rsmd_conf_fail(p, "expected another name: loopback is always there");
    const struct rsmd_conf_controller *other = rsmd_conf_controller(p->conf, argument);
    if (other != NULL)
        return rsmd_conf_fail(p, "expected each controller once: %s is also in line %u", argument,
                              other->line);
    if (p->conf->controller_count == RSMD_CONF_CONTROLLERS_MAX)
        return rsmd_conf_fail(p, "expected at most %d controllers", RSMD_CONF_CONTROLLERS_MAX);
    struct rsmd_conf_controller *made = &p->conf->controllers[p->conf->controller_count++];
    *made = (struct rsmd_conf_controller){.line = p->line};
    strcpy(made->name, argument);
    p->section = RSMD_SECTION_CONTROLLER;
    return true;
}

bool rsmd_conf_end_controller(struct rsmd_conf_parser *p)
{
    return this_controller(p)->transport[0] != '\0' ||
           rsmd_conf_fail_at(p, this_controller(p)->line,
                             "expected transport = in the section of controller %s",
                             this_controller(p)->name);
}

/* ------------------------------------------------------------------ software mappings */

static struct rsmd_conf_map *this_map(struct rsmd_conf_parser *p)
{
    return &p->conf->maps[p->conf->map_count - 1];
}

enum { SEEN_LEND = MAPPING_TUNABLES };

static bool set_lend_userfaultfd(struct rsmd_conf_parser *p, const char *value)
{
    if (this_map(p)->controller[0] != '\0')
        return rsmd_conf_fail(p, "expected lend-userfaultfd in the section [map] alone");
    if (p->seen >> SEEN_LEND & 1)
        return rsmd_conf_fail(p, "expected lend-userfaultfd once in this section");
    p->seen |= 1u << SEEN_LEND;
    p->conf->lend_userfaultfd = strcmp(value, "yes") == 0;
    return p->conf->lend_userfaultfd || strcmp(value, "no") == 0 ||
           rsmd_conf_fail(p, "expected yes or no after lend-userfaultfd =");
}

bool rsmd_conf_take_map_key(struct rsmd_conf_parser *p, const char *name, const char *value)
{
    if (strcmp(name, "lend-userfaultfd") == 0)
        return set_lend_userfaultfd(p, value);
    enum mapping_tunable tunable = rsmcore_map_tunable_by_name(name);
    if (tunable == MAPPING_TUNABLES)
        return rsmd_conf_fail(
            p, "expected one of the keys mode, trap, k, flush-us, refresh-us, grain, "
               "atomics, cache-mib, lend-userfaultfd");
    if (p->seen >> tunable & 1)
        return rsmd_conf_fail(p, "expected %s once in this section", name);
    p->seen |= 1u << tunable;
    return rsmcore_map_settings_parse(&this_map(p)->settings, tunable, value) ||
           rsmd_conf_fail(p, "expected %s after %s =", rsmcore_map_tunable_expected(tunable), name);
}

bool rsmd_conf_begin_map(struct rsmd_conf_parser *p, const char *argument)
{
    char type[RSM_PROTO_NAME_MAX];
    uint32_t unit;
    struct rsmd_conf *conf = p->conf;
    if (*argument != '\0' &&
        (strpbrk(argument, " \t/") != NULL || !rsmd_controller_name_split(argument, type, &unit)))
        return rsmd_conf_fail(p, "expected [map] or the name of a controller, as in [map sci0]");
    for (uint32_t i = 0; i < conf->map_count; i++)
        if (strcmp(conf->maps[i].controller, argument) == 0 ||
            rsmd_controller_same_name(conf->maps[i].controller, argument))
            return rsmd_conf_fail(p, "expected each [map] once: this one is also in line %u",
                                  conf->maps[i].line);
    if (conf->map_count == RSMD_CONF_MAPS_MAX)
        return rsmd_conf_fail(p, "expected the name of a controller of this file");
    conf->maps[conf->map_count++] = (struct rsmd_conf_map){.line = p->line};
    strcpy(this_map(p)->controller, argument);
    p->section = RSMD_SECTION_MAP;
    return true;
}

bool rsmd_conf_settle_maps(struct rsmd_conf_parser *p)
{
    bool all = true;
    for (uint32_t i = 0; i < p->conf->map_count; i++) {
        const struct rsmd_conf_map *map = &p->conf->maps[i];
        if (map->controller[0] != '\0' && !rsmd_controller_same_name(map->controller, "loopback") &&
            rsmd_conf_controller(p->conf, map->controller) == NULL)
            all = rsmd_conf_fail_at(p, map->line, "expected the name of a controller of this file");
    }
    return all;
}
