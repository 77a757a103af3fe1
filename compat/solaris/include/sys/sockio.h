/* SPDX-License-Identifier: BSD-3-Clause */
/* On Linux SIOCGIFCONF and its like are in <sys/ioctl.h>. */
#include <sys/ioctl.h>
