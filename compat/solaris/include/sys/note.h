/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Notes for Sun's lint and lock_lint, which the compiler does not read. */
#ifndef _RSM_SOLARIS_SYS_NOTE_H
#define _RSM_SOLARIS_SYS_NOTE_H

#define _NOTE(note)

#endif
