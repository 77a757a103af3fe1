/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/softmap/mechanism.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"

/* ---------------------------------------------------------------- page protection */

static int protection_of(const struct softmap_view *view, enum softmap_state state)
{
    if (state == SOFTMAP_NONE || view->rights == 0)
        return PROT_NONE;
    return state == SOFTMAP_RW && (view->rights & RSM_RIGHT_WRITE) ? PROT_READ | PROT_WRITE
                                                                   : PROT_READ;
}

static bool attach_nothing(struct softmap *softmap, const struct softmap_view *view)
{
    (void)softmap, (void)view;
    return true;
}

static bool protect(struct softmap *softmap, const struct softmap_view *view, uint32_t first,
                    uint32_t count, enum softmap_state state)
{
    size_t page = softmap->space.page_size;
    return mprotect(view->address + first * page, count * page, protection_of(view, state)) == 0;
}

const struct softmap_mechanism softmap_by_protection = {
    .name = "SIGSEGV, page protection",
    .signal = SIGSEGV,
    .attach = attach_nothing,
    .protect = protect,
};

/* ---------------------------------------------------------------- the choice */

static bool try_faultfd(struct softmap *softmap, bool signals)
{
    softmap->faultfd = softmap_faultfd_open(signals, &softmap->kernel_faults);
    if (softmap->faultfd < 0)
        return false;
    softmap->mechanism = signals ? &softmap_by_faultfd : &softmap_by_thread;
    return true;
}

/* Where nothing may be read, no page ever becomes accessible, and what is refused is the program's
 * to hear of by SIGSEGV as with any memory. */
static bool may_read(const struct softmap *softmap)
{
    return (softmap->space.rights & RSM_RIGHT_READ) != 0;
}

enum rsm_status softmap_mechanism_choose(struct softmap *softmap)
{
    enum softmap_trap trap = softmap->space.options.trap;
    softmap->faultfd = -1;
    softmap->mechanism = &softmap_by_protection;
    bool wants_faultfd = trap != SOFTMAP_TRAP_SIGNAL && may_read(softmap);
    if (wants_faultfd && !try_faultfd(softmap, trap != SOFTMAP_TRAP_THREAD)) {
        rsm_log_error("mapping with trap=%s is not possible: this kernel or what this process may "
                      "do has no userfaultfd that suffices, see rsm_map(7)",
                      trap == SOFTMAP_TRAP_THREAD ? "thread" : "sigbus");
        return RSM_ST_UNSUPPORTED;
    }
    rsm_log_info("mapping by %s%s", softmap->mechanism->name,
                 softmap->mechanism->signal != 0 ? ""
                 : softmap->kernel_faults        ? ", in system calls too"
                                                 : ", but not in system calls");
    return RSM_ST_OK;
}

void softmap_mechanism_end(struct softmap *softmap)
{
    if (softmap->faultfd >= 0)
        close(softmap->faultfd);
    softmap->faultfd = -1;
}
