/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The network interfaces that this host's addresses are on. */
#pragma once

#include <net/if.h>
#include <stdbool.h>

#include "conf/address.h"

/** Where the kernel describes the interfaces of this network namespace. */
#define RSMD_INTERFACES "/sys/class/net"

/** Find the interface that has an address, whatever the port. False: none of this host has it. */
bool rsmd_interface_of(const struct rsmd_address *address, char name[IF_NAMESIZE]);

/** Whether an interface is one of WireGuard.
 *  @param directory  RSMD_INTERFACES, except in tests. */
bool rsmd_interface_is_wireguard(const char *directory, const char *name);
