/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapping/mechanism.h"
#include "mapping/mirror.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

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
    .signals = true,
    .attach = attach_nothing,
    .protect = protect,
};

/* ---------------------------------------------------------------- the choice */

static bool try_thread(struct softmap *softmap)
{
    softmap->faultfd = softmap_faultfd_open(&softmap->kernel_faults);
    if (softmap->faultfd < 0)
        return false;
    softmap->mechanism = &softmap_by_thread;
    return true;
}

/* Where nothing may be read, no page ever becomes accessible: each store is decoded and sent, which
 * takes a signal, and a load is the program's to hear of by SIGSEGV as with any memory. */
static enum rsm_status choose_trap(struct softmap *softmap)
{
    bool wants_thread =
        softmap->space.options.trap == SOFTMAP_TRAP_THREAD && softmap_may_read(&softmap->space);
    if (!wants_thread || try_thread(softmap))
        return RSM_ST_OK;
    rsm_log_error("mapping with trap=thread is not possible: this kernel or what this process may "
                  "do has no userfaultfd that suffices, see rsm_map(7)");
    return RSM_ST_UNSUPPORTED;
}

/* Where nothing may be read there is no mirror, and maps are refused. */
static enum rsm_status choose_mirror(struct softmap *softmap)
{
    if (!softmap_may_read(&softmap->space))
        return RSM_ST_OK;
    if (!softmap_notes_open(softmap)) {
        rsm_log_error("mapping with mode=mirror is not possible: this kernel or what this process "
                      "may do does not suffice to learn which pages were stored to, see "
                      "rsm_map(7)");
        return RSM_ST_UNSUPPORTED;
    }
    softmap->mechanism = &softmap_by_notes;
    softmap->kernel_faults = true;
    return softmap_mirror_make(&softmap->space, softmap_notes_look);
}

static void log_choice(const struct softmap *softmap)
{
    bool system_calls = !softmap->mechanism->signals;
    rsm_log_info("mapping by %s%s", softmap->mechanism->name,
                 !system_calls            ? ""
                 : softmap->kernel_faults ? ", in system calls too"
                                          : ", but not in system calls");
}

enum rsm_status softmap_mechanism_choose(struct softmap *softmap)
{
    softmap->faultfd = softmap->pagemap = -1;
    softmap->mechanism = &softmap_by_protection;
    bool mirror = softmap->space.options.mode == SOFTMAP_MIRROR;
    enum rsm_status status = mirror ? choose_mirror(softmap) : choose_trap(softmap);
    if (status == RSM_ST_OK && mirror == (softmap->space.mirror != NULL))
        log_choice(softmap);
    return status;
}

struct softmap_choice softmap_mechanism_choice(const struct softmap *softmap)
{
    const struct softmap_space *space = &softmap->space;
    if (space->mirror != NULL)
        return (struct softmap_choice){SOFTMAP_USED_MIRROR, SOFTMAP_REASON_REQUESTED};
    if (softmap->mechanism == &softmap_by_thread)
        return (struct softmap_choice){SOFTMAP_USED_THREAD, softmap->kernel_faults
                                                                ? SOFTMAP_REASON_NONE
                                                                : SOFTMAP_REASON_NO_PERMISSION};
    return (struct softmap_choice){SOFTMAP_USED_SIGNAL, softmap_may_read(space)
                                                            ? space->options.reason
                                                            : SOFTMAP_REASON_WRITE_ONLY};
}

void softmap_mechanism_end(struct softmap *softmap)
{
    softmap_mirror_free(&softmap->space);
    if (softmap->faultfd >= 0)
        close(softmap->faultfd);
    if (softmap->pagemap >= 0)
        close(softmap->pagemap);
    softmap->faultfd = softmap->pagemap = -1;
}
