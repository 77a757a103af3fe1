/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver test's view of the lab and of /dev/rsm_ntbN. Whatever fails ends the program with
 * status 1. */
#ifndef TESTS_VM_NTB_LAB_H
#define TESTS_VM_NTB_LAB_H

#include "../../system.h"
#include "rsm_ntb.h"

#define KIB 1024u

/* An import with all that can be mapped of it. */
struct import {
    int fd;
    uint64_t id;
    volatile uint64_t *data;
    volatile const unsigned char *canary;
    volatile const struct rsm_ntb_status *status;
};

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(__FILE__, __LINE__, #condition, __VA_ARGS__);                                     \
    } while (0)

_Noreturn void fail(const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Between the machines; `order` asks the host (kill, freeze, thaw, restart). */
void note(const char *word);
void await(const char *word);
void order(const char *verb, int machine);

double now(void);

/* Which of the machine's ends of bridges the next calls open; 0 until then. */
void use_port(int number);
int open_port(void);
int open_control(void);
struct rsm_ntb_info info_of(int fd);
/* Wait until there is a session whose epoch is above `after`; its epoch. */
uint32_t await_session(int fd, uint32_t after);
/* Wait for an event of the type, dropping others. */
struct rsm_ntb_event await_event(int control, uint32_t type);

/* 0 or errno; *fd is the descriptor, *id the extent's. */
int export_extent(int control, uint64_t offset, uint64_t length, int *fd, uint64_t *id);
volatile uint64_t *map_export(int fd, uint64_t length);
int import_extent(int control, uint64_t offset, uint64_t length, uint32_t epoch, uint32_t flags,
                  struct import *import);
/* The same, with the counter of a connection. */
int import_posting(int control, uint64_t offset, uint64_t length, uint32_t epoch, uint32_t flags,
                   uint32_t connection, struct import *import);
void close_import(struct import *import, uint64_t length);

/* As in rsm_ntb.h: whether what was stored since the barrier was opened with err_seq has
 * arrived. */
int barrier(const struct import *import, uint32_t err_seq);
/* 0 or errno. */
int revoke_import(int control, uint64_t id);

/* hostile.c */
int hostile(void);
/* many.c */
int many(void);
/* pages.c */
int pages(void);
/* unbind.c: for so many seconds */
int unbind(unsigned long times);
/* posts.c: of the two machines, in the first session; and in the next one */
void posts_of_exporter(int control, int fd, volatile uint64_t *data);
void posts_of_importer(int control, uint32_t epoch);
void posts_begin_anew(int control);
uint64_t post_counter(int control, uint32_t connection);

#endif
