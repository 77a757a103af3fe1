/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extents in place, and the device that stands for the other host: what is written to
 * /dev/ntb_edu (tests/vm/kernel/ntb_hw_edu) at an offset, it stores at that offset of the
 * window, through the IOMMU.
 */
#ifndef TESTS_VM_NTB_PIN_H
#define TESTS_VM_NTB_PIN_H

#include "lab.h"

#define BLOCK 16 /* words that the device moves at once */

/* How often is_refused() has had the device store, and how many accesses the IOMMU reported
 * then. */
extern unsigned refused_stores, seen_faults;

uint64_t *memory(uint64_t length);

/* The device stores BLOCK words: value, value + 1 and so on; or loads as many, of which this is
 * the first. */
void device_store(uint64_t offset, uint64_t value);
uint64_t device_load(uint64_t offset);
/* The device's stores there are refused, and the IOMMU says so. */
void is_refused(uint64_t offset);
/* Until the window leads to the pool. */
void await_window(void);

/* 0 or errno. */
int in_place(int control, uint64_t offset, uint64_t length, int *fd);
int pin(int fd, const void *address);

/* VmPin of this process, in bytes. */
unsigned long pinned(void);
/* All that was pinned in this machine has been let go of. */
void nothing_is_left(void);

/* The driver of the device: its name there, and "bind" or "unbind" with it. */
void name_of_device(char *name, size_t size);
void driver(const char *file, const char *device);

#endif
