/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Several users of a real daemon, in one test process that becomes each of them in turn. */
#ifndef TESTS_RSMD_USERS_H
#define TESTS_RSMD_USERS_H

#include "descriptors.h"
#include "fixture.h"

enum { GREEDY = 4001, GREEDY_TOO = 4002, MODEST = 4003 };

/** cmocka group setup, of the page size, too: the program is skipped unless root runs it. */
int need_root(void **state);

/** What follows is done as that user; by be(0) as root again. */
void be(uid_t uid);

/** Connect although very many do. */
int connect_patiently(const struct daemon *daemon);
/** Say HELLO on a connection: the status, or -1: the daemon hung up. */
int greet(int fd);
/** Connect and greet as that user, which must work; root again. */
int hello_as(const struct daemon *daemon, uid_t uid);

/** An extent of so many bytes, or a segment of one page with or without. */
enum rsm_status alloc(int fd, uint64_t length);
enum rsm_status create(int fd, uint32_t want_extent);

/** daemon_start(), with so many descriptors. */
void start_with_files(struct daemon *daemon, const char *configuration, unsigned files);

/** A page of SHARES, as whoever asks. */
struct rsm_shares_reply look_after(int fd, uint64_t after);
struct rsm_shares_reply look(int fd);

#endif
