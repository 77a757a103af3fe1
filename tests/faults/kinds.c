/* SPDX-License-Identifier: BSD-3-Clause */
#include "inject.h"

const struct fault_kind_info fault_kinds[FAULT_KIND_COUNT] = {
#define FAULT_INFO(name, group, first, second, third) {#name, #group, {first, second, third}},
    FAULT_KINDS(FAULT_INFO)
#undef FAULT_INFO
};
