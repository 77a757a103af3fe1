/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A run on paper: a table and a picture for people, JSON and CSV for programs. */
#pragma once

#include <stdio.h>

#include "run.h"

enum { SHOW_TIME_BYTES = 32 };

/** Three digits or more, in the unit that suits. Returns @p text. */
const char *show_time(char text[SHOW_TIME_BYTES], double ns);

/** At most 80 columns wide unless the options want all. -1: no memory. */
int show_text(FILE *out, const struct run *run);

/** One line, whatever it holds. */
void show_json(FILE *out, const struct run *run);

/** A line of names, then a line for each figure. */
void show_csv(FILE *out, const struct run *run);

/** Times and bandwidths by size, as an SVG picture. */
void show_svg(FILE *out, const struct run *run);
