/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"

#include <errno.h>

const char *rsmcore_status_text(enum rsm_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case RSM_ST_##name:                                                                            \
        return text;
        RSM_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

bool rsmcore_status_known(uint32_t number)
{
    switch (number) {
#define STATUS_CASE(name, value, text) case value:
        RSM_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
        return true;
    default:
        return false;
    }
}

enum rsm_status rsmcore_status_from_errno(int error)
{
    switch (error) {
    case 0:
        return RSM_ST_OK;
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return RSM_ST_NO_RESOURCES;
    case EACCES:
    case EPERM:
        return RSM_ST_DENIED;
    case EFAULT:
        return RSM_ST_FAULT;
    case EINTR:
        return RSM_ST_INTERRUPTED;
    case ETIMEDOUT:
        return RSM_ST_TIMEOUT;
    case EINVAL:
        return RSM_ST_INVALID;
    default:
        return RSM_ST_NO_MEMORY;
    }
}
