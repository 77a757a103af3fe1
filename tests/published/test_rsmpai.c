/* SPDX-License-Identifier: BSD-3-Clause */
/* What <rsm/rsmpai.h> makes of calls with and without flags. The two functions are
 * this program's own and remember their arguments. */
#include <string.h>

#include "cases.h"
#include <rsm/rsmpai.h>

static struct {
    int calls;
    rsmapi_controller_handle_t controller;
    rsm_memseg_export_handle_t *memseg;
    void *pointer;
    size_t size;
    uint_t flags;
} last;

int(rsm_memseg_export_create)(rsmapi_controller_handle_t controller,
                              rsm_memseg_export_handle_t *memseg, void *vaddr, size_t size,
                              uint_t flags)
{
    last.calls++;
    last.controller = controller;
    last.memseg = memseg;
    last.pointer = vaddr;
    last.size = size;
    last.flags = flags;
    return 71;
}

int(rsm_intr_signal_post)(void *memseg, uint_t flags)
{
    last.calls++;
    last.pointer = memseg;
    last.flags = flags;
    return 72;
}

static int forget(void **state)
{
    (void)state;
    memset(&last, 0, sizeof last);
    last.flags = 0xdead;
    return 0;
}

static rsm_memseg_export_handle_t handle;
static char memory[16];

#define TEST(test) TEST_BETWEEN(test, forget, NULL)

TEST(missing_flags_are_zero)
{
    int length = 8192; /* as old programs have it: to be widened */
    assert_int_equal(rsm_memseg_export_create(NULL, &handle, memory, (unsigned)length), 71);
    assert_ptr_equal(last.memseg, &handle);
    assert_ptr_equal(last.pointer, memory);
    assert_int_equal(last.size, 8192);
    assert_int_equal(last.flags, 0);

    last.flags = 0xdead;
    assert_int_equal(rsm_intr_signal_post(memory), 72);
    assert_ptr_equal(last.pointer, memory);
    assert_int_equal(last.flags, 0);
}

TEST(given_flags_arrive)
{
    rsmapi_controller_handle_t controller = (rsmapi_controller_handle_t)(void *)memory;
    assert_int_equal(rsm_memseg_export_create(controller, &handle, memory, 4096, RSM_ALLOW_REBIND),
                     71);
    assert_ptr_equal(last.controller, controller);
    assert_int_equal(last.size, 4096);
    assert_int_equal(last.flags, RSM_ALLOW_REBIND);

    assert_int_equal(rsm_intr_signal_post(memory, RSM_SIGPOST_NO_ACCUMULATE), 72);
    assert_int_equal(last.flags, RSM_SIGPOST_NO_ACCUMULATE);
}

TEST(arguments_are_evaluated_once)
{
    size_t size = 1;
    uint_t flags = 5;
    char *where = memory;
    rsm_memseg_export_create(NULL, &handle, where++, size++);
    rsm_memseg_export_create(NULL, &handle, where++, size++, flags++);
    rsm_intr_signal_post(where++);
    rsm_intr_signal_post(where++, flags++);
    assert_int_equal(last.calls, 4);
    assert_int_equal(where - memory, 4);
    assert_int_equal(size, 3);
    assert_int_equal(flags, 7);
}

TEST(addresses_can_be_taken)
{
    int (*create)(rsmapi_controller_handle_t, rsm_memseg_export_handle_t *, void *, size_t,
                  uint_t) = rsm_memseg_export_create;
    int (*post)(void *, uint_t) = &rsm_intr_signal_post;
    assert_int_equal(create(NULL, &handle, memory, 1, 3), 71);
    assert_int_equal(last.flags, 3);
    assert_int_equal(post(memory, 4), 72);
    assert_int_equal(last.flags, 4);
    assert_int_equal((rsm_intr_signal_post)(memory, 6), 72);
    assert_int_equal(last.flags, 6);
}
