/* SPDX-License-Identifier: BSD-3-Clause */
/** @file uthash and utlist, as all of rsmd uses them. */
#pragma once

/* A table that cannot grow must not end the daemon: after an addition, check hh.tbl. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>
