/* SPDX-License-Identifier: BSD-3-Clause */
/* On Linux FIONBIO, FIONREAD and their like are in <sys/ioctl.h>. */
#include <sys/ioctl.h>
