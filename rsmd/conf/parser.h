/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The parts of the parser of rsm.conf, for each other alone. conf.c reads lines, sections and keys;
 * the other files know what the sections of one subject may have and must have.
 */
#ifndef RSMD_CONF_PARSER_H
#define RSMD_CONF_PARSER_H

#include "base/options.h"
#include "conf/conf.h"

enum rsmd_conf_section {
    RSMD_SECTION_NONE,
    RSMD_SECTION_UNKNOWN, /* its first line was wrong: what is in it cannot be judged */
    RSMD_SECTION_NODE,
    RSMD_SECTION_CONTROLLER,
    RSMD_SECTION_CLUSTER,
    RSMD_SECTION_LIMITS,
    RSMD_SECTION_MAP,
    RSMD_SECTIONS,
};

/* The ini library splits keys from values. Sections are read here, from the same lines: it neither
 * tells of a section without keys nor keeps long names whole. */
struct rsmd_conf_parser {
    const char *at;
    const char *end;
    unsigned line; /* of what is being read, from 1 */
    enum rsmd_conf_section section;
    struct rsmd_conf_node *node; /* whose section it is */
    unsigned seen;               /* bits of the section's keys */
    bool limits_seen, cluster_seen;
    bool section_failed; /* there was a mistake in it: it may lack something for that reason */
    bool header_failed;  /* a section is missing for that reason */
    struct rsmd_conf *conf;
    struct rsmd_conf_errors *errors;
};

/** Note what is wrong in a line. Returns false. */
__attribute__((format(printf, 3, 4))) bool
rsmd_conf_fail_at(struct rsmd_conf_parser *p, unsigned line, const char *format, ...);
#define rsmd_conf_fail(p, ...) rsmd_conf_fail_at(p, (p)->line, __VA_ARGS__)

/** Copy printable text; false if it is empty, too long or holds control characters. */
bool rsmd_conf_text(char *into, size_t capacity, const char *value);

/** A key of a section. The last of a list has no name. */
struct rsmd_conf_key {
    const char *name;
    bool (*set)(struct rsmd_conf_parser *p, const char *value); /**< NULL: `number` is it */
    struct rsm_option number; /**< of struct rsmd_conf; what is said after "expected" */
};

/* ---- conf_nodes.c: [node N] and [cluster] */

extern const struct rsmd_conf_key rsmd_conf_node_keys[], rsmd_conf_cluster_keys[];
bool rsmd_conf_begin_node(struct rsmd_conf_parser *p, const char *argument);
/** What a section that ends must have had. */
bool rsmd_conf_end_node(struct rsmd_conf_parser *p);
/** No two nodes have one address. Also of a file that is wrong elsewhere: what comes first in it is
 *  what is told. */
void rsmd_conf_settle_addresses(struct rsmd_conf_parser *p);
/** Nobody on the network is believed without a proof. */
bool rsmd_conf_settle_auth(struct rsmd_conf_parser *p);

/* ---- conf_controllers.c: [controller NAME] and [map NAME] */

extern const struct rsmd_conf_key rsmd_conf_controller_keys[];
bool rsmd_conf_begin_controller(struct rsmd_conf_parser *p, const char *argument);
bool rsmd_conf_end_controller(struct rsmd_conf_parser *p);
/** [map] or [map NAME]; whether NAME exists is seen at the end. */
bool rsmd_conf_begin_map(struct rsmd_conf_parser *p, const char *argument);
/** Tunables of mappings have their names and values from where they are obeyed. */
bool rsmd_conf_take_map_key(struct rsmd_conf_parser *p, const char *name, const char *value);
bool rsmd_conf_settle_maps(struct rsmd_conf_parser *p);

/* ---- conf_limits.c: [limits] */

extern const struct rsmd_conf_key rsmd_conf_limit_keys[];

#endif
