/* SPDX-License-Identifier: BSD-3-Clause */
/** @file As `<sys/note.h>`, by the name that programs use. */
#ifndef _RSM_SOLARIS_NOTE_H
#define _RSM_SOLARIS_NOTE_H

#include <sys/note.h>

#define NOTE _NOTE

#endif
