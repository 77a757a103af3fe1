/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A run on paper: a table for people, JSON for programs. */
#ifndef RSMPERF_SHOW_H
#define RSMPERF_SHOW_H

#include <stdio.h>

#include "run.h"

/** -1: no memory. */
int show_text(FILE *out, const struct run *run);

/** One line, whatever it holds. */
void show_json(FILE *out, const struct run *run);

#endif
