/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A space of the mapping engine alone, without views, threads and signals: its transport copies
 * memory, and time passes when a test says so.
 */
#pragma once

#include "cases.h"
#include "mapping/space.h"

enum { PAGES = 512, PAGE_BYTES = 4096 };

extern struct mapping_space space;
extern struct mapping_page pages[PAGES];
extern uint8_t remote[PAGES * PAGE_BYTES]; /**< what the segment has */
extern uint8_t copy[PAGES * PAGE_BYTES];   /**< what the views would show */
extern uint64_t time_us;
extern enum rsm_status answer; /**< of puts */
extern unsigned reads;         /**< how many there were */
extern uint64_t bytes_read;
extern unsigned read_us; /**< that a page takes */

int memory_space_begin(void **state);
int memory_space_end(void **state);

/** A test that finds the space as new. */
#define SPACE_TEST(name) TEST_BETWEEN(name, memory_space_begin, memory_space_end)
