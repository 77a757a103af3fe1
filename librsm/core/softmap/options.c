/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/softmap/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/softmap/decode.h"

enum { US_MOST = 1000000 };

struct softmap_options softmap_options_default(void)
{
    return (struct softmap_options){
        .mode = SOFTMAP_AUTO, .threshold = 64, .flush_us = 50, .refresh_us = 50, .grain = 1};
}

static enum rsm_status bad_value(const char *name, const char *value, const char *expected)
{
    rsm_log_error("%s=%s is not valid: expected %s", name, value, expected);
    return RSM_ST_INVALID;
}

static enum rsm_status read_mode(const char *text, enum softmap_mode *mode)
{
    if (strcmp(text, "auto") == 0)
        *mode = SOFTMAP_AUTO;
    else if (strcmp(text, "twin") == 0)
        *mode = SOFTMAP_TWIN;
    else if (strcmp(text, "off") == 0)
        *mode = SOFTMAP_OFF;
    else if (strcmp(text, "precise") == 0 && SOFTMAP_HAS_DECODER)
        *mode = SOFTMAP_PRECISE;
    else if (strcmp(text, "precise") == 0 || strcmp(text, "mirror") == 0) {
        rsm_log_error("RSM_MAP_MODE=%s is not available here", text);
        return RSM_ST_UNSUPPORTED;
    } else {
        return bad_value("RSM_MAP_MODE", text, "auto, precise, twin or off");
    }
    return RSM_ST_OK;
}

static enum rsm_status read_trap(const char *text)
{
    if (strcmp(text, "signal") == 0)
        return RSM_ST_OK;
    if (strcmp(text, "thread") != 0)
        return bad_value("RSM_MAP_TRAP", text, "signal");
    rsm_log_error("RSM_MAP_TRAP=thread is not available");
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status read_number(const char *name, uint32_t least, uint32_t most, uint32_t *value)
{
    const char *text = secure_getenv(name);
    if (text == NULL)
        return RSM_ST_OK;
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number < least || number > most)
        return bad_value(name, text, "a number in its range, see rsm_map(7)");
    *value = (uint32_t)number;
    return RSM_ST_OK;
}

static enum rsm_status read_threshold(struct softmap_options *options)
{
    const char *text = secure_getenv("RSM_MAP_K");
    if (text != NULL && strcmp(text, "inf") == 0) {
        options->threshold = SOFTMAP_THRESHOLD_NEVER;
        return RSM_ST_OK;
    }
    return read_number("RSM_MAP_K", 1, UINT16_MAX, &options->threshold);
}

static enum rsm_status read_grain(struct softmap_options *options)
{
    enum rsm_status status = read_number("RSM_MAP_GRAIN", 1, 64, &options->grain);
    uint32_t grain = options->grain;
    if (status == RSM_ST_OK && grain != 1 && grain != 2 && grain != 4 && grain != 8 && grain != 64)
        return bad_value("RSM_MAP_GRAIN", secure_getenv("RSM_MAP_GRAIN"), "1, 2, 4, 8 or 64");
    return status;
}

enum rsm_status softmap_options_read(struct softmap_options *options)
{
    *options = softmap_options_default();
    const char *mode = secure_getenv("RSM_MAP_MODE");
    const char *trap = secure_getenv("RSM_MAP_TRAP");
    enum rsm_status status = mode != NULL ? read_mode(mode, &options->mode) : RSM_ST_OK;
    if (status == RSM_ST_OK && trap != NULL)
        status = read_trap(trap);
    if (status == RSM_ST_OK)
        status = read_threshold(options);
    if (status == RSM_ST_OK)
        status = read_number("RSM_MAP_FLUSH_US", 1, US_MOST, &options->flush_us);
    if (status == RSM_ST_OK)
        status = read_number("RSM_MAP_REFRESH_US", 0, US_MOST, &options->refresh_us);
    if (status == RSM_ST_OK)
        status = read_grain(options);
    return status;
}
