/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Which address of a RoCE port to use. Index 0 of its table is the link-local RoCE v1
 *  address more often than not, which no router forwards and many peers do not answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct verbs_gid {
    uint32_t index;    /**< into the port's table */
    bool rocev2;       /**< carried by UDP */
    uint8_t bytes[16]; /**< network order, as in the packet */
};

/**
 * Choose from a table: RoCE v2 with an IPv4 address first, then with an IPv6 address of global (or
 * unique local) scope; the lowest index of equals.
 * @param wanted  an index that must be taken if it is there, -1 for none.
 * @return the entry, NULL if there is none that fits.
 */
const struct verbs_gid *verbs_gid_choose(const struct verbs_gid *table, size_t count, int wanted);

/** The IP address that a GID stands for; false if it stands for none that can be routed. */
bool verbs_gid_address(const uint8_t bytes[16], struct sockaddr_storage *address);

/** The GID that an IP address has on RoCE. */
void verbs_gid_of_address(const struct sockaddr *address, uint8_t bytes[16]);
