/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of the process that has loaded the module: the module has its own copy of librsm's. */
#include "transport/entry.h"

#include <stdatomic.h>

#include "base/log.h"

static _Atomic(rsm_transport_log) host_log;

static void to_host(enum rsmcore_log_level level, const char *text)
{
    atomic_load (&host_log)((int)level, text);
}

MODULE_SYMBOL void rsm_transport_log_v1(rsm_transport_log log)
{
    atomic_store(&host_log, log);
    rsmcore_log_to(to_host, RSMCORE_LOG_DEBUG); /* the host knows what it wants to see */
}
