/* SPDX-License-Identifier: BSD-3-Clause */
/** @file From the core's status to RSMAPI's error codes. */
#pragma once

#include "rsm/transport.h"

/** Which functions ask: the same outcome has different names in RSMAPI. */
enum rsmapi_family {
    RSMAPI_CONTROLLER, /* get_controller */
    RSMAPI_TOPOLOGY,
    RSMAPI_CREATE,  /* export_create and local memory */
    RSMAPI_PUBLISH, /* publish, republish, unpublish, rebind */
    RSMAPI_CONNECT,
    RSMAPI_MAP,
    RSMAPI_ACCESS, /* put, get, putv, getv */
    RSMAPI_CLOSE,  /* close_barrier and implicit ones */
    RSMAPI_ORDER,
    RSMAPI_POST,
    RSMAPI_WAIT,  /* wait, wait_pollfd, get_pollfd */
    RSMAPI_GROUP, /* of a group: barriers, members, events */
};

/** The RSMERR_ code, or RSM_SUCCESS for RSM_ST_OK. */
int rsmapi_error(enum rsmapi_family family, enum rsm_status status);
