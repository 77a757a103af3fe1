/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/mechanism.h"
#include "mapping/mirror.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

static int protection_of(const struct mapping_view *view, enum mapping_state state)
{
    if (state == MAPPING_NONE || view->rights == 0)
        return PROT_NONE;
    return state == MAPPING_RW && (view->rights & RSM_RIGHT_WRITE) ? PROT_READ | PROT_WRITE
                                                                   : PROT_READ;
}

static bool attach_nothing(struct mapping *mapping, const struct mapping_view *view)
{
    (void)mapping, (void)view;
    return true;
}

static bool protect(struct mapping *mapping, const struct mapping_view *view, uint32_t first,
                    uint32_t count, enum mapping_state state)
{
    size_t page = mapping->space.page_size;
    return mprotect(view->address + first * page, count * page, protection_of(view, state)) == 0;
}

const struct mapping_mechanism mapping_by_protection = {
    .name = "SIGSEGV, page protection",
    .signals = true,
    .attach = attach_nothing,
    .protect = protect,
};

static enum rsm_status try_thread(struct mapping *mapping)
{
    mapping->faultfd = mapping_faultfd_open(&mapping->kernel_faults);
    if (mapping->faultfd < 0)
        return RSM_ST_UNSUPPORTED;
    mapping->mechanism = &mapping_by_thread;
    mapping->hands_over = mapping_handover_is_possible();
    if (mapping_faultfd_way() == MAPPING_FAULTFD_SHOWS)
        return RSM_ST_OK;
    mapping->mechanism = &mapping_by_thread_that_copies;
    return mapping_memory_separate(&mapping->space);
}

/* Without the right to read, no page becomes accessible: each store is decoded and sent, which
 * takes a signal, and a load raises the program's SIGSEGV as with any memory. */
static enum rsm_status choose_trap(struct mapping *mapping)
{
    bool wants_thread =
        mapping->space.options.trap == MAPPING_TRAP_THREAD && mapping_may_read(&mapping->space);
    enum rsm_status status = wants_thread ? try_thread(mapping) : RSM_ST_OK;
    if (status == RSM_ST_UNSUPPORTED)
        rsm_log_error("mapping with trap=thread is not possible: this kernel or what this process "
                      "may do has no userfaultfd that suffices, see rsm_map(7)");
    return status;
}

/* Where nothing may be read there is no mirror, and maps are refused. */
static enum rsm_status choose_mirror(struct mapping *mapping)
{
    if (!mapping_may_read(&mapping->space))
        return RSM_ST_OK;
    if (!mapping_notes_open(mapping)) {
        rsm_log_error("mapping with mode=mirror is not possible: this kernel or what this process "
                      "may do does not suffice to learn which pages were stored to, see "
                      "rsm_map(7)");
        return RSM_ST_UNSUPPORTED;
    }
    mapping->mechanism = &mapping_by_notes;
    mapping->kernel_faults = true;
    return mapping_mirror_make(&mapping->space, mapping_notes_look);
}

static void log_choice(const struct mapping *mapping)
{
    bool system_calls = !mapping->mechanism->signals;
    rsm_log_info("mapping by %s%s", mapping->mechanism->name,
                 !system_calls            ? ""
                 : mapping->kernel_faults ? ", in system calls too"
                                          : ", but not in system calls");
}

enum rsm_status mapping_mechanism_choose(struct mapping *mapping)
{
    mapping->faultfd = mapping->pagemap = -1;
    mapping->mechanism = &mapping_by_protection;
    bool mirror = mapping->space.options.mode == MAPPING_MIRROR;
    enum rsm_status status = mirror ? choose_mirror(mapping) : choose_trap(mapping);
    if (status == RSM_ST_OK && mirror == (mapping->space.mirror != NULL))
        log_choice(mapping);
    return status;
}

struct mapping_choice mapping_mechanism_choice(const struct mapping *mapping)
{
    const struct mapping_space *space = &mapping->space;
    if (space->mirror != NULL)
        return (struct mapping_choice){MAPPING_USED_MIRROR, MAPPING_REASON_REQUESTED};
    if (mapping->faultfd >= 0 && !mapping->mechanism->signals)
        return (struct mapping_choice){MAPPING_USED_THREAD, mapping->kernel_faults
                                                                ? MAPPING_REASON_NONE
                                                                : MAPPING_REASON_NO_PERMISSION};
    return (struct mapping_choice){MAPPING_USED_SIGNAL, mapping_may_read(space)
                                                            ? space->options.reason
                                                            : MAPPING_REASON_WRITE_ONLY};
}

void mapping_mechanism_end(struct mapping *mapping)
{
    mapping_mirror_free(&mapping->space);
    if (mapping->faultfd >= 0)
        close(mapping->faultfd);
    if (mapping->pagemap >= 0)
        close(mapping->pagemap);
    mapping->faultfd = mapping->pagemap = -1;
}
