/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm.conf: any text is either a configuration within its limits or an error with a line. */
#include "conf/conf.h"
#include "fuzz.h"

void fuzz_input(const uint8_t *data, size_t size)
{
    static struct rsmd_conf conf;
    struct rsmd_conf_error error = {.line = 0};
    if (!rsmd_conf_parse(&conf, (const char *)data, size, &error)) {
        if (error.text[0] == '\0' || memchr(error.text, '\0', sizeof error.text) == NULL)
            abort();
        return;
    }
    if (conf.node_count > RSM_NODE_ID_MAX || conf.controller_count > RSMD_CONF_CONTROLLERS_MAX ||
        conf.max_exported_percent > 100 || conf.max_user_share < 1 || conf.max_user_share > 100 ||
        conf.max_segments > RSMD_CONF_SEGMENTS_MAX)
        abort();
    for (uint32_t i = 1; i < conf.node_count; i++)
        if (conf.nodes[i - 1]->id >= conf.nodes[i]->id)
            abort();
    for (uint32_t i = 0; i < conf.controller_count; i++) {
        char type[RSM_PROTO_NAME_MAX];
        uint32_t unit;
        if (!rsmd_controller_name_split(conf.controllers[i].name, type, &unit))
            abort();
    }
    rsmd_conf_free(&conf);
}
