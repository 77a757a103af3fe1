/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The command line of rsmstat. */
#pragma once

#include <stdbool.h>

/** Parts of what is shown; bits. */
enum section {
    SECTION_CONTROLLERS = 1,
    SECTION_TOPOLOGY = 2,
    SECTION_EXPORTS = 4,
    SECTION_IMPORTS = 8,
    SECTION_LINKS = 16,
    SECTION_SHARES = 32,
    SECTION_INTERRUPTS = 64,
    SECTION_GROUPS = 128,
    SECTIONS_ALL = 255,
};

struct options {
    unsigned sections; /**< enum section */
    bool json;
    bool prometheus;
    bool wide; /**< tables of more than 80 columns */
    bool colors;
    bool human; /**< sizes with units */
    bool all_nodes;
    unsigned interval;     /**< of --watch, seconds; 0: once */
    const char *node;      /**< NULL: as the environment says */
    const char *directory; /**< NULL: as the environment says */
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_SHOWN, /**< help or version, which is all that was wanted */
    OPTIONS_WRONG, /**< said why */
};

enum options_result options_parse(int argc, char *argv[], struct options *options);
