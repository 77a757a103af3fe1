/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Mechanisms that trap accesses to a view: how its pages become inaccessible, readable and
 *  writable, and where refused accesses go. One is chosen for each connection; the other parts do
 *  not depend on the choice. */
#pragma once

#include "mapping/mapping_internal.h"

struct mapping_mechanism {
    const char *name; /**< for the log */
    bool signals;     /**< a refused access raises SIGSEGV; else it goes to the engine's thread */

    /** Get ready for the first view, and end after the last has gone. NULL: nothing to do. */
    enum rsm_status (*start)(struct mapping *mapping);
    void (*stop)(struct mapping *mapping);

    /** The addresses of a new view, which are PROT_NONE: accesses are learnt of from now on, and
     *  all are refused. */
    bool (*attach)(struct mapping *mapping, const struct mapping_view *view);
    /** Stop stores to the view, before the last flush. What was stored must remain. NULL: the flush
     *  does it. */
    void (*seal)(struct mapping *mapping, const struct mapping_view *view);
    /** They have been unmapped. NULL: nothing to do. */
    void (*detach)(struct mapping *mapping, const struct mapping_view *view);

    /** Give pages of the view, @p first counted from its beginning, the access that @p state allows
     *  within its rights. With MAPPING_RW @p count is 1. On return no thread stores where it must
     *  not. False: the kernel refused, some of a run may be accessible. NULL: not called, because
     *  pages of views are always accessible. */
    bool (*protect)(struct mapping *mapping, const struct mapping_view *view, uint32_t first,
                    uint32_t count, enum mapping_state state);
    /** The same for all views at once, and pages counted from the segment's beginning. NULL: they
     *  are done one after the other. */
    bool (*protect_all)(struct mapping *mapping, uint32_t first, uint32_t count,
                        enum mapping_state state);
};

/** Page protection and SIGSEGV: works everywhere. */
extern const struct mapping_mechanism mapping_by_protection;

/** userfaultfd and a thread: works for threads that block signals and, if the kernel permits it,
 *  for system calls. The second is for kernels that cannot do the first. */
extern const struct mapping_mechanism mapping_by_thread;
extern const struct mapping_mechanism mapping_by_thread_that_copies;

/** Nothing is refused; the kernel notes which pages were stored to. */
extern const struct mapping_mechanism mapping_by_notes;

/** Choose what options.mode and options.trap ask for out of what there is here, and log it.
 * RSM_ST_UNSUPPORTED, with a message: that is not there. Afterwards, whatever it returned:
 * mapping_mechanism_end(). */
enum rsm_status mapping_mechanism_choose(struct mapping *mapping);
void mapping_mechanism_end(struct mapping *mapping);
/** What was chosen, and why. */
struct mapping_choice mapping_mechanism_choice(const struct mapping *mapping);

/* ---- faultfd.c */

enum mapping_faultfd_way {
    MAPPING_FAULTFD_NONE,
    MAPPING_FAULTFD_SHOWS,  /**< the kernel shows pages of the copy: faultfd.c */
    MAPPING_FAULTFD_COPIES, /**< it copies them: faultcopy.c */
};

/** What this kernel can do. */
enum mapping_faultfd_way mapping_faultfd_way(void);
/** Open a userfaultfd for a connection's views. -1: this kernel has not what it takes.
 *  *kernel_faults: it also works inside system calls. */
int mapping_faultfd_open(bool *kernel_faults);
/** One with all features; -1: there is none. */
int mapping_faultfd_new(bool user_only);
/** What PROT_* the rights of a view come to. */
int mapping_faultfd_protection(const struct mapping_view *view);
/** Get messages of accesses to these addresses. @p minor: also where the page is there, but not
 *  shown. */
bool mapping_faultfd_take(int fd, uintptr_t address, size_t length, bool minor);

bool mapping_faultfd_attach(struct mapping *mapping, const struct mapping_view *view);
bool mapping_faultfd_protect(struct mapping *mapping, const struct mapping_view *view,
                             uint32_t first, uint32_t count, enum mapping_state state);

/* ---- faultcopy.c */

/** Whether this kernel can do that with @p memory, a memfd of a page. */
bool mapping_faultcopy_works(int memory);
bool mapping_faultcopy_attach(struct mapping *mapping, const struct mapping_view *view);
bool mapping_faultcopy_protect(struct mapping *mapping, uint32_t first, uint32_t count,
                               enum mapping_state state);

/* ---- notes.c */

/** Get the descriptors that mapping_by_notes works with. False: this kernel, or what this process
 * may do, does not suffice. What was got is mapping_mechanism_end()'s to close. */
bool mapping_notes_open(struct mapping *mapping);
/** struct mapping_mirror's look. */
void mapping_notes_look(struct mapping_space *space);
