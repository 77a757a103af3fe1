/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that is told of refused accesses, so that those who are refused need no signal. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/probe.h"
#include "fault/uffd.h"
#include "mapping/mechanism.h"
#include "base/status.h"

enum { MESSAGES = 16 };

/* The space's lock is held. False: nobody will ever be allowed to do this. */
static bool allow(struct softmap *softmap, uint32_t page, bool store)
{
    struct softmap_space *space = &softmap->space;
    space->counters.traps++;
    if (store ? space->page[page].state == SOFTMAP_RW : space->page[page].state != SOFTMAP_NONE)
        return softmap_reassert(space, page); /* another thread was faster */
    return store ? softmap_promote(space, page) : softmap_load(space, page);
}

/* The faulting thread tries again, whatever has become of the page: the view may have gone since,
 * and a page that the kernel cannot show is made one that raises SIGSEGV. */
static void serve(struct softmap *softmap, const struct uffd_msg *message)
{
    struct softmap_space *space = &softmap->space;
    uintptr_t address = message->arg.pagefault.address / space->page_size * space->page_size;
    bool store =
        (message->arg.pagefault.flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0;
    softmap_lock(&space->lock);
    const struct softmap_view *view = softmap_view_at(softmap, address);
    if (view != NULL) {
        uint32_t first = (uint32_t)((address - (uintptr_t)view->address) / space->page_size);
        RSM_PROBE3(map_fault, address, (uint64_t)(view->first + first) * space->page_size,
                   (uint32_t)store);
        if (!allow(softmap, view->first + first, store))
            (void)mprotect((void *)address, space->page_size, PROT_NONE);
    }
    softmap_unlock(&space->lock);
    rsmcore_uffd_wake(softmap->faultfd, address, space->page_size);
}

static void *run(void *argument)
{
    struct softmap *softmap = argument;
    struct uffd_msg messages[MESSAGES];
    struct pollfd polled[] = {{.fd = softmap->faultfd, .events = POLLIN},
                              {.fd = softmap->stop_fd, .events = POLLIN}};
    (void)prctl(PR_SET_NAME, "rsm-softmap-uf");
    while (polled[1].revents == 0) {
        if (poll(polled, 2, -1) < 0)
            continue;
        ssize_t length = read(softmap->faultfd, messages, sizeof messages);
        for (ssize_t i = 0; i < length / (ssize_t)sizeof messages[0]; i++)
            if (messages[i].event == UFFD_EVENT_PAGEFAULT)
                serve(softmap, &messages[i]);
    }
    return NULL;
}

static enum rsm_status start(struct softmap *softmap)
{
    softmap->stop_fd = rsmcore_fd_place(eventfd(0, EFD_CLOEXEC));
    if (softmap->stop_fd < 0)
        return rsmcore_status_from_errno(errno);
    enum rsm_status status = softmap_thread_start(softmap, run, &softmap->fault_thread);
    if (status != RSM_ST_OK)
        close(softmap->stop_fd);
    return status;
}

static void stop(struct softmap *softmap)
{
    (void)eventfd_write(softmap->stop_fd, 1);
    softmap_thread_join(&softmap->fault_thread);
    close(softmap->stop_fd);
}

/* Those who were refused and not yet served fault again, now where there is nothing. */
static void detach(struct softmap *softmap, const struct softmap_view *view)
{
    rsmcore_uffd_wake(softmap->faultfd, (uintptr_t)view->address,
                      (size_t)view->count * softmap->space.page_size);
}

const struct softmap_mechanism softmap_by_thread = {
    .name = "a thread, userfaultfd",
    .start = start,
    .stop = stop,
    .attach = softmap_faultfd_attach,
    .detach = detach,
    .protect = softmap_faultfd_protect,
};
