/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The parser of rsm.conf, from the inside. conf.c reads lines, sections and keys; each other file
 * has the rules of the sections of one subject.
 */
#pragma once

#include "base/options.h"
#include "conf/conf.h"

enum rsmd_conf_section {
    RSMD_SECTION_NONE,
    RSMD_SECTION_UNKNOWN, /* its header is wrong: its keys are not checked */
    RSMD_SECTION_NODE,
    RSMD_SECTION_CONTROLLER,
    RSMD_SECTION_CLUSTER,
    RSMD_SECTION_LIMITS,
    RSMD_SECTION_MAP,
    RSMD_SECTIONS,
};

/* The ini library splits keys from values. Sections are read here, from the same lines: the library
 * does not report a section without keys, and truncates long names. */
struct rsmd_conf_parser {
    const char *at;
    const char *end;
    unsigned line; /* number of the current line, from 1 */
    enum rsmd_conf_section section;
    struct rsmd_conf_node *node; /* whose section it is */
    unsigned seen;               /* bits of the section's keys */
    bool limits_seen, cluster_seen;
    bool section_failed; /* it has an error, which may be why a key is missing */
    bool header_failed;  /* a header has an error, which may be why a section is missing */
    struct rsmd_conf *conf;
    struct rsmd_conf_errors *errors;
};

/** Note an error in a line. Returns false. */
__attribute__((format(printf, 3, 4))) bool
rsmd_conf_fail_at(struct rsmd_conf_parser *p, unsigned line, const char *format, ...);
#define rsmd_conf_fail(p, ...) rsmd_conf_fail_at(p, (p)->line, __VA_ARGS__)

/** Copy printable text; false if it is empty, too long or holds control characters. */
bool rsmd_conf_text(char *into, size_t capacity, const char *value);

/** A key of a section. The last of a list has no name. */
struct rsmd_conf_key {
    const char *name;
    bool (*set)(struct rsmd_conf_parser *p, const char *value); /**< NULL: `number` is it */
    struct rsm_option number; /**< of struct rsmd_conf; the text after "expected" */
};

/* ---- conf_nodes.c: [node N] and [cluster] */

extern const struct rsmd_conf_key rsmd_conf_node_keys[], rsmd_conf_cluster_keys[];
bool rsmd_conf_begin_node(struct rsmd_conf_parser *p, const char *argument);
/** Check at its end that a section has had what it must have. */
bool rsmd_conf_end_node(struct rsmd_conf_parser *p);
/** Check that no two nodes have the same address, also in a file with other errors: the first error
 *  in the file is reported. */
void rsmd_conf_settle_addresses(struct rsmd_conf_parser *p);
/** Check that nodes on the network authenticate. */
bool rsmd_conf_settle_auth(struct rsmd_conf_parser *p);

/* ---- conf_members.c: nodes that have no sections */

bool rsmd_conf_set_nodes(struct rsmd_conf_parser *p, const char *value);
bool rsmd_conf_set_node_ids(struct rsmd_conf_parser *p, const char *value);
/** Check that there is a source where there is a rule for its nodes. */
bool rsmd_conf_settle_members(struct rsmd_conf_parser *p);

/* ---- conf_controllers.c: [controller NAME] and [map NAME] */

extern const struct rsmd_conf_key rsmd_conf_controller_keys[];
bool rsmd_conf_begin_controller(struct rsmd_conf_parser *p, const char *argument);
bool rsmd_conf_end_controller(struct rsmd_conf_parser *p);
/** Begin [map] or [map NAME]. Whether NAME exists is checked at the end. */
bool rsmd_conf_begin_map(struct rsmd_conf_parser *p, const char *argument);
/** Set a tunable of mappings. The mapping engine's table has the names and bounds. */
bool rsmd_conf_take_map_key(struct rsmd_conf_parser *p, const char *name, const char *value);
bool rsmd_conf_settle_maps(struct rsmd_conf_parser *p);
