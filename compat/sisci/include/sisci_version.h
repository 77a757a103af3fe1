/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The version of the SISCI API that these headers describe. A program asks for that of the
 *  library by SCIQuery(SCI_Q_API). */
#ifndef SISCI_VERSION_H
#define SISCI_VERSION_H

#define SISCI_API_VER_MAJOR 0x02
#define SISCI_API_VER_MINOR 0x000
#define SISCI_API_VER_MICRO 0x000
#define SISCI_API_VERSION                                                                          \
    ((SISCI_API_VER_MAJOR << 24) | (SISCI_API_VER_MINOR << 12) | SISCI_API_VER_MICRO)
/** The part in which a program and the library have to agree. */
#define SISCI_SIGN_VERSION_MASK 0xfffff000
#define API_VERSION             "2.0.0"

#endif
