/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The machine that figures are of. */
#pragma once

/* With one importer both sides have a processor each, so that neither waits for the other's turn.
 */
enum { PLACE_LOCAL, PLACE_REMOTE };

struct machine {
    char processor[128];
    char system[256]; /**< kernel */
    unsigned processors;
    double load; /**< processes that wanted one during the last minute; negative: unknown */
};

void machine_look(struct machine *machine);

/** Keep to the @p place-th of the processors that this process may use, where it has several. What
 *  it starts later does so too. */
void machine_keep_to(unsigned place);

/** Use all of them again. */
void machine_keep_to_none(void);
