/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Messages to a daemon that say what the fuzzer's bytes say, but whose form is right, so
 * that they get past the codec. */
#ifndef TESTS_FUZZ_REQUESTS_H
#define TESTS_FUZZ_REQUESTS_H

#include "protocol/proto.h"
#include "input.h"
#include "cluster/proto.h"
#include "rsm/rsm_common.h"

/** A request of a client of the node; sequence and status are left at 0. */
void request_make(struct input *in, struct rsm_msg *msg);

/** A message about segments, of a node on another host. */
void peer_message_make(struct input *in, struct rsm_cluster_msg *msg);

#endif
