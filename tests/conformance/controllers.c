/* SPDX-License-Identifier: BSD-3-Clause */
/* C: controllers. */
#include <ctype.h>

#include "stage.h"

CONFORMANCE(C, 01, "get_controller with nowhere to put the handle")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_CTLR_HNDL, get_controller("loopback", NULL));
}

/* The same controller by that name. */
static void expect_same(rsmapi_controller_handle_t wanted, const char *name)
{
    rsmapi_controller_handle_t handle;
    OK(get_controller(name, &handle));
    HOLDS(handle == wanted);
    OK(rsm_release_controller(handle));
}

CONFORMANCE(C, 02, "no name means loopback, one handle for both")
{
    rsmapi_controller_handle_t handle;
    act_as_exporter();
    OK(rsm_get_controller(NULL, &handle));
    expect_same(handle, "loopback");
    OK(rsm_release_controller(handle));
}

CONFORMANCE(C, 03, "the unit of loopback does not matter")
{
    act_as_exporter();
    expect_same(loopback(), "loopback7");
}

/* The handle is written on success only. */
static void expect_absent(const char *name)
{
    rsmapi_controller_handle_t untouched = (rsmapi_controller_handle_t)&untouched;
    rsmapi_controller_handle_t handle = untouched;
    EXPECT(RSMERR_CTLR_NOT_PRESENT, get_controller(name, &handle));
    HOLDS(handle == untouched);
}

CONFORMANCE(C, 04, "a controller that does not exist")
{
    act_as_exporter();
    expect_absent("nosuch0");
}

CONFORMANCE(C, 05, "an empty name")
{
    act_as_exporter();
    expect_absent("");
}

CONFORMANCE(C, 06, "a unit without a type")
{
    act_as_exporter();
    expect_absent("123");
}

CONFORMANCE(C, 07, "a second get gives the same handle, whatever the case of letters")
{
    char upper[MAXNAMELEN] = "";
    act_as_exporter();
    for (size_t i = 0; options.controller[i] != '\0'; i++)
        upper[i] = (char)toupper((unsigned char)options.controller[i]);
    expect_same(controller(), options.controller);
    expect_same(controller(), upper);
    expect_same(loopback(), "LoopBack");
}

CONFORMANCE(C, 08, "a name without digits means unit 0")
{
    char name[MAXNAMELEN];
    size_t length = strlen(options.controller);
    act_as_exporter();
    expect_same(loopback(), "loopback0");
    bool unit_is_0 = length > 1 && options.controller[length - 1] == '0' &&
                     !isdigit((unsigned char)options.controller[length - 2]);
    APPLIES_IF(unit_is_0 || on_loopback(), "the controller's unit is not 0");
    snprintf(name, sizeof name, "%s", options.controller);
    if (!on_loopback())
        name[length - 1] = '\0';
    expect_same(controller(), name);
}

CONFORMANCE(C, 09, "two gets need two releases")
{
    rsmapi_controller_handle_t first, second;
    rsmapi_controller_attr_t attr;
    rsm_memseg_export_handle_t segment;
    act_as_exporter();
    OK(get_controller(options.controller, &first));
    OK(get_controller(options.controller, &second));
    OK(rsm_release_controller(first));
    OK(rsm_get_controller_attr(second, &attr));
    OK(rsm_memseg_export_create(second, &segment, pages(1), PAGE, 0));
    OK(rsm_memseg_export_destroy(segment));
    OK(rsm_release_controller(second));
}

CONFORMANCE(C, 10, "release of no controller")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_release_controller(NULL));
}

CONFORMANCE(C, 11, "attributes of no controller")
{
    rsmapi_controller_attr_t attr;
    act_as_exporter();
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_get_controller_attr(NULL, &attr));
}

CONFORMANCE(C, 12, "attributes to nowhere")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_ADDR, rsm_get_controller_attr(controller(), NULL));
}

CONFORMANCE(C, 13, "attributes: the controller is checked first")
{
    act_as_exporter();
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_get_controller_attr(NULL, NULL));
}

/* Filled from two different backgrounds, every field must come out the same. */
CONFORMANCE(C, 14, "loopback's attributes: all nine fields are filled")
{
    rsmapi_controller_attr_t first, second;
    act_as_exporter();
    memset(&first, 0x5a, sizeof first);
    memset(&second, 0xa5, sizeof second);
    OK(rsm_get_controller_attr(loopback(), &first));
    OK(rsm_get_controller_attr(loopback(), &second));
    HOLDS(first.attr_direct_access_sizes == second.attr_direct_access_sizes);
    HOLDS(first.attr_atomic_sizes == second.attr_atomic_sizes);
    HOLDS(first.attr_page_size == second.attr_page_size && first.attr_page_size != 0);
    HOLDS(first.attr_max_export_segment_size == second.attr_max_export_segment_size);
    HOLDS(first.attr_tot_export_segment_size == second.attr_tot_export_segment_size);
    HOLDS(first.attr_max_export_segments == second.attr_max_export_segments);
    HOLDS(first.attr_max_import_map_size == second.attr_max_import_map_size);
    HOLDS(first.attr_tot_import_map_size == second.attr_tot_import_map_size);
    HOLDS(first.attr_max_import_segments == second.attr_max_import_segments);
}

CONFORMANCE(C, 15, "a name of 300 characters")
{
    char name[301];
    act_as_exporter();
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    expect_absent(name);
}

CONFORMANCE(C, 16, "after the last release a new get works again")
{
    act_as_exporter();
    for (int i = 0; i < 3; i++) {
        rsmapi_controller_handle_t handle;
        rsmapi_controller_attr_t attr;
        OK(get_controller(options.controller, &handle));
        OK(rsm_get_controller_attr(handle, &attr));
        OK(rsm_release_controller(handle));
    }
}

enum { C_THREADS = 8, C_ROUNDS = 300 };

static void *get_and_release(void *held)
{
    rsmapi_controller_handle_t handle;
    rsmapi_controller_attr_t attr;
    for (int i = 0; i < C_ROUNDS; i++) {
        if (get_controller(options.controller, &handle) != RSM_SUCCESS ||
            (held != NULL && held != handle) ||
            rsm_get_controller_attr(handle, &attr) != RSM_SUCCESS ||
            rsm_release_controller(handle) != RSM_SUCCESS)
            return held != NULL ? held : &options;
    }
    return NULL;
}

static void race(void *held)
{
    pthread_t threads[C_THREADS];
    void *failed;
    for (int i = 0; i < C_THREADS; i++)
        HOLDS(pthread_create(&threads[i], NULL, get_and_release, held) == 0);
    for (int i = 0; i < C_THREADS; i++) {
        HOLDS(pthread_join(threads[i], &failed) == 0);
        HOLDS(failed == NULL);
    }
}

CONFORMANCE(C, 17, "threads that get and release leave a consistent count")
{
    rsmapi_controller_handle_t handle, other;
    rsmapi_controller_attr_t attr;
    act_as_exporter();
    race(NULL); /* the controller comes and goes */
    OK(get_controller(options.controller, &handle));
    race(handle);
    OK(get_controller(options.controller, &other));
    HOLDS(other == handle);
    OK(rsm_release_controller(handle));
    OK(rsm_get_controller_attr(handle, &attr));
    OK(rsm_release_controller(handle));
}
