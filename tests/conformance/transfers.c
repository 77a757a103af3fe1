/* SPDX-License-Identifier: BSD-3-Clause */
#include "transfers.h"

#define ELEMENT(name, type)                                                                        \
    static int call_##name(rsm_memseg_import_handle_t handle, off_t offset, void *data,            \
                           size_t count)                                                           \
    {                                                                                              \
        return rsm_memseg_import_##name(handle, offset, (type *)data, count);                      \
    }
ELEMENT(get8, uint8_t)
ELEMENT(get16, uint16_t)
ELEMENT(get32, uint32_t)
ELEMENT(get64, uint64_t)
ELEMENT(put8, uint8_t)
ELEMENT(put16, uint16_t)
ELEMENT(put32, uint32_t)
ELEMENT(put64, uint64_t)

const struct transfer transfers[TRANSFERS] = {
    {"get8", 1, false, false, call_get8},           {"get16", 2, false, false, call_get16},
    {"get32", 4, false, false, call_get32},         {"get64", 8, false, false, call_get64},
    {"get", 1, true, false, rsm_memseg_import_get}, {"put8", 1, false, true, call_put8},
    {"put16", 2, false, true, call_put16},          {"put32", 4, false, true, call_put32},
    {"put64", 8, false, true, call_put64},          {"put", 1, true, true, rsm_memseg_import_put},
};
