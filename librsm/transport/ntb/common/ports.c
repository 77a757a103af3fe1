/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/ntb/common/ports.h"

const struct ntb_port_kind ntb_port_kinds[] = {
    {"/", "/dev/rsm_ntbN", &ntb_port_chardev, &ntb_poster_chardev},
};
const unsigned ntb_port_kind_count = sizeof ntb_port_kinds / sizeof ntb_port_kinds[0];
