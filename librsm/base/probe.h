/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Static probes (USDT) of the provider "librsm", for bpftrace, perf and SystemTap.
 *  rsm-probes(7) has the list of them and of their arguments; tests/headers/check_probes.sh
 *  compares it with what was built.
 *
 *  A probe is one instruction that does nothing, and a note in the object file that says where it
 *  is and where its arguments are. Nothing else is done until a tracer replaces the instruction.
 *  The arguments must be at hand anyway: integers and pointers, without calls. A build without
 *  <sys/sdt.h> has no probes (RSM_WITH_USDT in CMake). */
#pragma once

#ifndef RSM_HAS_USDT
#define RSM_HAS_USDT 0
#endif

/** The probes of put and get fire from this number of bytes on: a tracer stops the thread for a
 *  microsecond or more, which short transfers must not pay. */
#define RSM_PROBE_TRANSFER_BYTES 65536u

#if RSM_HAS_USDT
#include <sys/sdt.h>
#define RSM_PROBE3(name, a, b, c)    DTRACE_PROBE3(librsm, name, a, b, c)
#define RSM_PROBE4(name, a, b, c, d) DTRACE_PROBE4(librsm, name, a, b, c, d)
#else
#define RSM_PROBE_IGNORE(value)      ((void)sizeof(value))
#define RSM_PROBE3(name, a, b, c)    (RSM_PROBE_IGNORE(a), RSM_PROBE_IGNORE(b), RSM_PROBE_IGNORE(c))
#define RSM_PROBE4(name, a, b, c, d) (RSM_PROBE3(name, a, b, c), RSM_PROBE_IGNORE(d))
#endif
