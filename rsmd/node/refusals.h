/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What is logged about clients that are refused. */
#ifndef RSMD_REFUSALS_H
#define RSMD_REFUSALS_H

#include "node/node.h"

/** Log at level info why somebody was refused: ten lines a minute, whoever causes them, and how
 *  many were left out. @p format: of a sentence without newline. */
__attribute__((format(printf, 2, 3))) void rsmd_refused(struct rsmd_node *node, const char *format,
                                                        ...);

#endif
