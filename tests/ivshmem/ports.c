/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's ports as tests build it: the product's, and the one over an ivshmem server. */
#include "transport/ntb/common/ports.h"

#include "port.h"

const struct ntb_port_kind ntb_port_kinds[] = {
    {"/", "/dev/rsm_ntbN", &ntb_port_chardev, &ntb_poster_chardev},
    {IVSHMEM_PREFIX, IVSHMEM_PREFIX "SOCKET", &ntb_port_ivshmem, &ntb_poster_ivshmem},
};
const unsigned ntb_port_kind_count = sizeof ntb_port_kinds / sizeof ntb_port_kinds[0];
