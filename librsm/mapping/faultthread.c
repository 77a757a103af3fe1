/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that handles refused accesses, so that the accessing threads get no signal. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/looks.h"
#include "base/probe.h"
#include "fault/uffd.h"
#include "mapping/mechanism.h"
#include "base/status.h"

enum { MESSAGES = 16 };

enum { LOOK_NS = 50000 }; /* for so long after a fault the thread looks for the next one */

/* The space's lock is held. False: this access is never permitted. */
static bool allow(struct mapping *mapping, uint32_t page, bool store)
{
    struct mapping_space *space = &mapping->space;
    space->counters.traps++;
    if (store ? space->page[page].state == MAPPING_RW : space->page[page].state != MAPPING_NONE)
        return mapping_reassert(space, page); /* another thread was faster */
    return store ? mapping_promote(space, page) : mapping_load(space, page);
}

/* The space's lock is held. The faulting thread tries again, whatever has become of the page: the
 * view may have gone since, and a page that the kernel cannot show is made one that raises
 * SIGSEGV. */
static void serve_page(struct mapping *mapping, uintptr_t address, bool store)
{
    struct mapping_space *space = &mapping->space;
    const struct mapping_view *view = mapping_view_at(mapping, address);
    if (view == NULL)
        return;
    uint32_t page =
        view->first + (uint32_t)((address - (uintptr_t)view->address) / space->page_size);
    RSM_PROBE3(map_fault, address, (uint64_t)page * space->page_size, (uint32_t)store);
    if (!allow(mapping, page, store))
        (void)mprotect((void *)address, space->page_size, PROT_NONE);
}

/* What is to be done about a store, as far as its page is concerned. */
enum response {
    PAGE,  /* it gets the page */
    STORE, /* the thread should carry it out itself */
    LOOP,  /* the same, for the sake of the loop that it is one of; else it gets the page */
};

/* The space's lock is held. A copy that goes on gets the page without a look at its instruction,
 * and counts as it would with one. */
static enum response response_for(struct mapping_space *space, uint32_t page, size_t at)
{
    if (space->page[page].state == MAPPING_RW)
        return PAGE;
    if (!mapping_is_passing(space, page))
        return STORE;
    if (space->loops.pay)
        return LOOP;
    return mapping_prefers_twin(space, page, at, 1, 1) ? PAGE : STORE;
}

static enum response response_at(struct mapping *mapping, uintptr_t address)
{
    struct mapping_space *space = &mapping->space;
    enum response response = PAGE;
    if (!mapping->hands_over || space->options.mode == MAPPING_TWIN)
        return PAGE;
    mapping_lock(&space->lock);
    const struct mapping_view *view = mapping_view_at(mapping, address);
    if (view != NULL) {
        size_t from = address - (uintptr_t)view->address;
        uint32_t page = view->first + (uint32_t)(from / space->page_size);
        response = response_for(space, page, from % space->page_size);
    }
    mapping_unlock(&space->lock);
    return response;
}

/* A store that is not decoded gets a twin; it is counted why. The space's lock is held. */
static void serve(struct mapping *mapping, uintptr_t address, bool store, enum mapping_handed why)
{
    struct mapping_let_through *count = &mapping->space.let_through;
    if (why == MAPPING_HANDED_TO_CALL)
        atomic_fetch_add(&count->by_calls, 1);
    else if (why == MAPPING_HANDED_TO_DEAF)
        atomic_fetch_add(&count->blocked, 1);
    else if (why == MAPPING_HANDED_TO_NOBODY)
        atomic_fetch_add(&count->unknown, 1);
    serve_page(mapping, address / mapping->space.page_size * mapping->space.page_size, store);
}

/* Afterwards, without the lock. */
static void served(struct mapping *mapping, uintptr_t address, enum mapping_handed why)
{
    size_t size = mapping->space.page_size;
    rsmcore_uffd_wake(mapping->faultfd, address / size * size, size);
    if (why == MAPPING_HANDED_TO_DEAF)
        mapping_report_blocked();
}

static void on_message(struct mapping *mapping, const struct uffd_msg *message)
{
    uintptr_t address = message->arg.pagefault.address;
    pid_t thread = (pid_t)message->arg.pagefault.feat.ptid;
    enum mapping_handed handed = MAPPING_HANDED_OVER;
    bool store =
        (message->arg.pagefault.flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0;
    mapping_hands_seen(&mapping->hands, thread);
    enum response response = store ? response_at(mapping, address) : PAGE;
    if (response != PAGE) {
        handed = mapping_hand_over(&mapping->hands, thread, address);
        if (handed == MAPPING_HANDED_OVER)
            return;
        if (response == LOOP) /* the page is to have a twin if there is no loop */
            handed = MAPPING_HANDED_OVER;
    }
    mapping_lock(&mapping->space.lock);
    if (response == LOOP)
        mapping->space.loops.pay = false;
    serve(mapping, address, store, handed);
    mapping_unlock(&mapping->space.lock);
    served(mapping, address, handed);
}

/* The handler needs the lock, so a thread that is found waiting under it has not stored yet. */
static void serve_left(struct mapping *mapping)
{
    struct mapping_hand *hand;
    while ((hand = mapping_hands_suspect(&mapping->hands)) != NULL) {
        mapping_lock(&mapping->space.lock);
        enum mapping_handed handed = mapping_hand_judge(&mapping->hands, hand);
        if (handed != MAPPING_HANDED_OVER)
            serve(mapping, hand->address, true, handed);
        mapping_unlock(&mapping->space.lock);
        if (handed != MAPPING_HANDED_OVER)
            served(mapping, hand->address, handed);
    }
}

/* False: there was no message. */
static bool serve_all(struct mapping *mapping)
{
    struct uffd_msg messages[MESSAGES];
    ssize_t length = read(mapping->faultfd, messages, sizeof messages);
    for (ssize_t i = 0; i < length / (ssize_t)sizeof messages[0]; i++)
        if (messages[i].event == UFFD_EVENT_PAGEFAULT)
            on_message(mapping, &messages[i]);
    if (length < (ssize_t)sizeof messages) /* those were all */
        serve_left(mapping);
    mapping_hands_look(&mapping->hands);
    return length > 0;
}

/* Serve what comes soon after the last fault. */
static void look_for_more(struct mapping *mapping, struct rsm_looks *looks)
{
    if (!rsm_looks_pay(looks))
        return;
    int64_t end = rsm_clock_ns() + LOOK_NS;
    while (rsm_clock_ns() < end)
        if (serve_all(mapping)) {
            rsm_looks_found(looks);
            end = rsm_clock_ns() + LOOK_NS;
        }
    rsm_looks_missed(looks);
}

static void *run(void *argument)
{
    struct mapping *mapping = argument;
    struct pollfd polled[] = {{.fd = mapping->faultfd, .events = POLLIN},
                              {.fd = mapping->stop_fd, .events = POLLIN}};
    struct rsm_looks looks = {.debt = 0};
    (void)prctl(PR_SET_NAME, "rsm-mapping-uf");
    mapping_hands_init(&mapping->hands);
    while (polled[1].revents == 0)
        if (poll(polled, 2, mapping_hands_timeout(&mapping->hands)) >= 0 && serve_all(mapping))
            look_for_more(mapping, &looks);
    mapping_hands_end(&mapping->hands);
    return NULL;
}

static enum rsm_status start(struct mapping *mapping)
{
    mapping->stop_fd = rsmcore_fd_place(eventfd(0, EFD_CLOEXEC));
    if (mapping->stop_fd < 0)
        return rsmcore_status_from_errno(errno);
    enum rsm_status status = mapping_thread_start(mapping, run, &mapping->fault_thread);
    if (status != RSM_ST_OK)
        close(mapping->stop_fd);
    return status;
}

static void stop(struct mapping *mapping)
{
    (void)eventfd_write(mapping->stop_fd, 1);
    mapping_thread_join(&mapping->fault_thread);
    close(mapping->stop_fd);
}

/* Threads whose faults are pending fault again, now at unmapped addresses. */
static void detach(struct mapping *mapping, const struct mapping_view *view)
{
    rsmcore_uffd_wake(mapping->faultfd, (uintptr_t)view->address,
                      (size_t)view->count * mapping->space.page_size);
}

const struct mapping_mechanism mapping_by_thread = {
    .name = "a thread, userfaultfd",
    .start = start,
    .stop = stop,
    .attach = mapping_faultfd_attach,
    .detach = detach,
    .protect = mapping_faultfd_protect,
};

const struct mapping_mechanism mapping_by_thread_that_copies = {
    .name = "a thread, userfaultfd that copies pages",
    .start = start,
    .stop = stop,
    .attach = mapping_faultcopy_attach,
    .detach = detach,
    .protect_all = mapping_faultcopy_protect,
};
