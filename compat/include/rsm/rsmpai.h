/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * RSMAPI as a family of old programs knows it, of before its release: an access list entry has
 * another name, rsm_memseg_export_create() and rsm_intr_signal_post() may lack their last argument,
 * the flags, and getopt() is declared, which Solaris's <stdio.h> did. New programs use <rsmapi.h>.
 *
 * Such programs declare sleep() and others by hand, so neither this header nor any that it includes
 * may bring <unistd.h>; <sys/param.h> and <signal.h> do, with _GNU_SOURCE.
 */
#ifndef _RSM_RSMPAI_H
#define _RSM_RSMPAI_H

#include <getopt.h>
#include <rsm/rsmapi.h>

typedef rsmapi_access_entry_t rsm_access_entry_t;

/*
 * The flags become 0 if they are missing: the appended zeros are the missing argument, or are
 * ignored. Parentheses call the function itself. Its name without an argument list is not touched,
 * so its address can be taken.
 */
#define rsm_memseg_export_create(...) RSM_PAI_EXPORT_CREATE(__VA_ARGS__, 0, 0)
#define RSM_PAI_EXPORT_CREATE(controller, memseg, vaddr, size, flags, ...)                         \
    (rsm_memseg_export_create)(controller, memseg, vaddr, size, flags)

#define rsm_intr_signal_post(...)               RSM_PAI_SIGNAL_POST(__VA_ARGS__, 0, 0)
#define RSM_PAI_SIGNAL_POST(memseg, flags, ...) (rsm_intr_signal_post)(memseg, flags)

#endif
