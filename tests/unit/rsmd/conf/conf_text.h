/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Parsing a configuration that a test has as text: each test program has the latest. */
#ifndef TESTS_RSMD_CONF_TEXT_H
#define TESTS_RSMD_CONF_TEXT_H

#include "cases.h"
#include "conf/conf.h"

static struct rsmd_conf conf;
static struct rsmd_conf_error error;
static bool parsed; /* conf has nodes to be freed */

static bool parse(const char *text)
{
    if (parsed)
        rsmd_conf_free(&conf);
    memset(&conf, 0xa5, sizeof conf);
    error = (struct rsmd_conf_error){.line = 0};
    parsed = rsmd_conf_parse(&conf, text, strlen(text), &error);
    return parsed;
}

static int free_last(void **state)
{
    (void)state;
    if (parsed)
        rsmd_conf_free(&conf);
    return 0;
}

#endif
