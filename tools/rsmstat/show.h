/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Snapshots on paper: tables for people, JSON for programs. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "collect.h"
#include "options.h"

/** Tables, one node after the other. Nodes with a failure are left out. -1: no memory. */
int show_text(FILE *out, struct snapshot *const snapshots[], size_t count,
              const struct options *options);

/** One line, whatever it holds. Nodes with a failure have a member that says so. */
void show_json(FILE *out, struct snapshot *const snapshots[], size_t count,
               const struct options *options);

/** Gauges for Prometheus, of nodes with a failure, too. The options' sections do not matter. */
void show_prometheus(FILE *out, struct snapshot *const snapshots[], size_t count);
