/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rsm.conf: its contents, and a parser that does no I/O. rsm.conf(5) is the reference. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/proto.h"

enum {
    RSMD_CONF_CONTROLLERS_MAX = 64,
    RSMD_CONF_ADAPTERS_MAX = 64,                        /* their numbers are below */
    RSMD_CONF_MAPS_MAX = RSMD_CONF_CONTROLLERS_MAX + 2, /* all of them, and loopback */
    RSMD_CONF_SEGMENTS_MAX = 65535,  /* every one takes a slot of the generation table */
    RSMD_CONF_FILE_MAX = 1 << 20,    /* bytes */
    RSMD_CONF_EXPORTED_PERCENT = 75, /* defaults */
    RSMD_CONF_USER_SHARE = 75,
    RSMD_CONF_PERMANENT_LINKS = 256,
};

struct rsmd_conf_node {
    uint32_t id;
    unsigned line; /* of its section */
    char host[RSM_PROTO_NAME_MAX];
    char socket[RSM_PROTO_PATH_MAX];  /* "": the usual one in the runtime directory */
    char address[RSM_PROTO_NAME_MAX]; /* where its rsmd listens for other hosts: a name or an
                                         address without brackets; "": it does not */
    uint16_t port;
    unsigned address_line;
    char names[RSM_PROTO_NAME_MAX]; /* of its adapters, in their order, with blanks in between */
    bool member;                    /* the source has named it, and no section */
};

/** Where nodes without a section of their own come from. */
enum rsmd_conf_source {
    RSMD_NODES_FILE, /* there are none */
    RSMD_NODES_DNS,  /* the SRV records of a name */
    RSMD_NODES_EXEC, /* what a program prints */
};

struct rsmd_conf_members {
    enum rsmd_conf_source source;
    unsigned line;
    char name[RSM_PROTO_NAME_MAX]; /* of the records, or the path of the program */
    uint32_t prefix;               /* bits: a node's id is the rest of its address; 0: it is not */
    unsigned prefix_line;
};

/** How the rsmds of two hosts authenticate each other. */
enum rsmd_conf_auth {
    RSMD_AUTH_NONE = 1, /* not at all: only between addresses of this machine */
    RSMD_AUTH_MUNGE = 2,
    RSMD_AUTH_TLS = 3, /* by certificates; the links are encrypted */
};

struct rsmd_conf_controller {
    unsigned line;
    char name[RSM_PROTO_NAME_MAX];
    char transport[RSM_TRANSPORT_NAME_MAX];
    char device[RSM_PROTO_NAME_MAX];
    char options[RSM_PROTO_NAME_MAX];
    uint32_t adapter;      /* its SISCI number, if configured */
    unsigned adapter_line; /* 0: not configured */
};

/** A section [map] or [map NAME]. */
struct rsmd_conf_map {
    unsigned line;
    char controller[RSM_PROTO_NAME_MAX]; /* "": all of them */
    struct mapping_settings settings;
};

struct rsmd_conf {
    uint32_t node_count;
    struct rsmd_conf_node **nodes; /* ascending by id */
    uint32_t controller_count;
    struct rsmd_conf_controller controllers[RSMD_CONF_CONTROLLERS_MAX];
    uint32_t map_count;
    struct rsmd_conf_map maps[RSMD_CONF_MAPS_MAX];
    uint32_t max_exported_percent; /* of physical memory; 0: no limit */
    uint32_t max_segments;         /* exports and imports together */
    uint32_t max_user_share;       /* percent of each limit that one user may take */
    uint32_t peer_timeout_ms;
    uint32_t permanent_links; /* with more nodes, links are made on demand; 0: always */
    uint32_t link_idle_ms;    /* after which such a link is closed */
    bool lend_userfaultfd;    /* clients get /dev/userfaultfd */
    struct rsmd_conf_members members;
    enum rsmd_conf_auth auth;
    unsigned auth_line;                    /* 0: not given */
    bool insecure;                         /* auth = none is permitted even where root runs rsmd */
    char munge_socket[RSM_PROTO_PATH_MAX]; /* "": munged's usual one */
    char tls_ca[RSM_PROTO_PATH_MAX];       /* files of auth = tls; "": rsmd_conf_tls_file() */
    char tls_certificate[RSM_PROTO_PATH_MAX];
    char tls_key[RSM_PROTO_PATH_MAX];
    bool ineffective_keys; /* an obsolete key was given, which has no effect */
};

struct rsmd_conf_error {
    unsigned line;
    char text[512];
};

enum { RSMD_CONF_ERRORS_MAX = 32 }; /* reported for one file */

/** The errors of a file, ascending by line: the first one of each line. */
struct rsmd_conf_errors {
    unsigned count;
    struct rsmd_conf_error list[RSMD_CONF_ERRORS_MAX];
};

/** Add an error. If there is no room, the one with the highest line is dropped. */
__attribute__((format(printf, 3, 4))) void
rsmd_conf_errors_add(struct rsmd_conf_errors *errors, unsigned line, const char *format, ...);
__attribute__((format(printf, 3, 0))) void rsmd_conf_errors_vadd(struct rsmd_conf_errors *errors,
                                                                 unsigned line, const char *format,
                                                                 va_list arguments);

/** The configuration without rsm.conf: controller sci0 on shm, no nodes named, default limits. */
void rsmd_conf_defaults(struct rsmd_conf *conf);

/** Free the nodes. Copies of the structure share them. */
void rsmd_conf_free(struct rsmd_conf *conf);

/** Parse the text of a file into *conf, which has nothing to be freed. False: *error has the line
 *  and what was expected, and nothing is to be freed. */
bool rsmd_conf_parse(struct rsmd_conf *conf, const char *text, size_t length,
                     struct rsmd_conf_error *error);

/** The same, but continue after an error. *conf has what was valid; the caller frees it by
 *  rsmd_conf_free(), also if there are errors. */
void rsmd_conf_parse_all(struct rsmd_conf *conf, const char *text, size_t length,
                         struct rsmd_conf_errors *errors);

/** Index of the first node with this id or a greater one; `node_count`: there is none. */
uint32_t rsmd_conf_node_from(const struct rsmd_conf *conf, uint32_t id);

/** The node's entry, or NULL. */
const struct rsmd_conf_node *rsmd_conf_node(const struct rsmd_conf *conf, uint32_t id);

/** The host of the node's address, "" where it has none; at most RSM_PROTO_NAME_MAX - 1 bytes, and
 *  valid as long as the configuration. */
const char *rsmd_conf_address(const struct rsmd_conf *conf, uint32_t id);

/** The section of that controller, by rsmd_controller_same_name(), or NULL. */
const struct rsmd_conf_controller *rsmd_conf_controller(const struct rsmd_conf *conf,
                                                        const char *name);

/** The controller with this SISCI number: the one configured with it, or, if none has a number, the
 *  one at this place of the file. NULL: there is none. */
const struct rsmd_conf_controller *rsmd_conf_adapter(const struct rsmd_conf *conf, uint32_t number);

/** Add a copy of another configuration's node, whose id is not there yet. NULL: no memory. */
struct rsmd_conf_node *rsmd_conf_add_node(struct rsmd_conf *conf,
                                          const struct rsmd_conf_node *like);

/**
 * Add the nodes that the source has named. A node with a section of its own is not changed. The
 * whole is judged anew: no two nodes have one address, and nodes of other hosts authenticate.
 * @param errors  receives what is wrong, at the line of `nodes =`.
 */
void rsmd_conf_add_members(struct rsmd_conf *conf, const struct rsmd_conf_node *list,
                           unsigned count, struct rsmd_conf_errors *errors);

/** Whether two configurations ask the same source in the same way. */
bool rsmd_conf_same_source(const struct rsmd_conf_members *one,
                           const struct rsmd_conf_members *other);

/** Whether any node has an address, so that there are links to keep. */
bool rsmd_conf_has_address(const struct rsmd_conf *conf);

/** The name of a method as rsm.conf has it. */
const char *rsmd_conf_auth_name(enum rsmd_conf_auth auth);

/** The files of auth = tls. */
enum rsmd_conf_tls_file { RSMD_TLS_CA, RSMD_TLS_CERTIFICATE, RSMD_TLS_KEY, RSMD_TLS_FILES };

/** The path of one of them at node @p node: the configured one, else below RSM_CONFIG_DIR. @p path
 *  has RSM_PROTO_PATH_MAX bytes. */
void rsmd_conf_tls_path(const struct rsmd_conf *conf, enum rsmd_conf_tls_file file, uint32_t node,
                        char *path);

/** The settings of the mapping engine for a controller of that name. */
struct mapping_settings rsmd_conf_map(const struct rsmd_conf *conf, const char *controller);

/** Split a controller name into type and unit, the unit being the trailing digits (none: 0).
 *  False if it is empty, has no type or its unit is above 4294967295. @p type has
 *  RSM_PROTO_NAME_MAX bytes. */
bool rsmd_controller_name_split(const char *name, char *type, uint32_t *unit);

/** Whether two names are those of one controller: the same type, upper and lower case being the
 *  same, and unit; loopback has no units. */
bool rsmd_controller_same_name(const char *one, const char *other);
