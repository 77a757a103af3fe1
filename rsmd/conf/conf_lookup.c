/* SPDX-License-Identifier: BSD-3-Clause */
/* Look-ups in a configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "conf/conf.h"

uint32_t rsmd_conf_node_from(const struct rsmd_conf *conf, uint32_t id)
{
    uint32_t low = 0, high = conf->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (conf->nodes[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct rsmd_conf_node *rsmd_conf_node(const struct rsmd_conf *conf, uint32_t id)
{
    uint32_t at = rsmd_conf_node_from(conf, id);
    return at < conf->node_count && conf->nodes[at]->id == id ? conf->nodes[at] : NULL;
}

const char *rsmd_conf_address(const struct rsmd_conf *conf, uint32_t id)
{
    const struct rsmd_conf_node *node = rsmd_conf_node(conf, id);
    return node != NULL ? node->address : "";
}

void rsmd_conf_free(struct rsmd_conf *conf)
{
    while (conf->node_count > 0)
        free(conf->nodes[--conf->node_count]);
    free(conf->nodes);
    conf->nodes = NULL;
}

bool rsmd_conf_has_address(const struct rsmd_conf *conf)
{
    for (uint32_t i = 0; i < conf->node_count; i++)
        if (conf->nodes[i]->address[0] != '\0')
            return true;
    return false;
}

const char *rsmd_conf_auth_name(enum rsmd_conf_auth auth)
{
    return auth == RSMD_AUTH_MUNGE ? "munge" : auth == RSMD_AUTH_TLS ? "tls" : "none";
}

void rsmd_conf_tls_path(const struct rsmd_conf *conf, enum rsmd_conf_tls_file file, uint32_t node,
                        char *path)
{
    const char *given = file == RSMD_TLS_CA            ? conf->tls_ca
                        : file == RSMD_TLS_CERTIFICATE ? conf->tls_certificate
                                                       : conf->tls_key;
    if (*given != '\0')
        memcpy(path, given, RSM_PROTO_PATH_MAX);
    else if (file == RSMD_TLS_CA)
        snprintf(path, RSM_PROTO_PATH_MAX, "%s/tls/ca.pem", RSM_CONFIG_DIR);
    else
        snprintf(path, RSM_PROTO_PATH_MAX, "%s/tls/node-%u.%s", RSM_CONFIG_DIR, (unsigned)node,
                 file == RSMD_TLS_CERTIFICATE ? "pem" : "key");
}

const struct rsmd_conf_controller *rsmd_conf_controller(const struct rsmd_conf *conf,
                                                        const char *name)
{
    for (uint32_t i = 0; i < conf->controller_count; i++)
        if (rsmd_controller_same_name(conf->controllers[i].name, name))
            return &conf->controllers[i];
    return NULL;
}

const struct rsmd_conf_controller *rsmd_conf_adapter(const struct rsmd_conf *conf, uint32_t number)
{
    bool any = false;
    for (uint32_t i = 0; i < conf->controller_count; i++) {
        const struct rsmd_conf_controller *controller = &conf->controllers[i];
        any |= controller->adapter_line != 0;
        if (controller->adapter_line != 0 && controller->adapter == number)
            return controller;
    }
    return !any && number < conf->controller_count ? &conf->controllers[number] : NULL;
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

bool rsmd_controller_same_name(const char *one, const char *other)
{
    char types[2][RSM_PROTO_NAME_MAX];
    uint32_t units[2];
    return rsmd_controller_name_split(one, types[0], &units[0]) &&
           rsmd_controller_name_split(other, types[1], &units[1]) &&
           strcasecmp(types[0], types[1]) == 0 &&
           (units[0] == units[1] || strcasecmp(types[0], "loopback") == 0);
}

struct mapping_settings rsmd_conf_map(const struct rsmd_conf *conf, const char *controller)
{
    struct mapping_settings settings = {.given = 0};
    for (int own = 0; own <= 1; own++)
        for (uint32_t i = 0; i < conf->map_count; i++) {
            const char *name = conf->maps[i].controller;
            if (own ? *name != '\0' && rsmd_controller_same_name(name, controller) : *name == '\0')
                rsmcore_map_settings_overlay(&settings, &conf->maps[i].settings);
        }
    return settings;
}
