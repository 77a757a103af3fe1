/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The kinds of bridges that this module knows: one, the kernel module's. Tests build the
 *  module with one more (tests/ivshmem), which needs neither hardware nor a kernel module. */
#pragma once

/** A port has a half in rsmd, which makes descriptors, and a half in the processes that get
 *  them. */
struct ntb_port_kind {
    const char *prefix;                  /**< what a controller's device begins with */
    const char *device;                  /**< what it looks like, for messages */
    const struct ntb_port_ops *node;     /**< node/port.h */
    const struct ntb_poster_ops *poster; /**< import/poster.h */
};

/** A kind's place here is its number in tickets. */
extern const struct ntb_port_kind ntb_port_kinds[];
extern const unsigned ntb_port_kind_count;

extern const struct ntb_port_ops ntb_port_chardev;
extern const struct ntb_poster_ops ntb_poster_chardev;
