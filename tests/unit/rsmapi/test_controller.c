/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance C-01 to C-16. */
#include "unit/rsmapi/rsmapi_test.h"

static rsmapi_controller_handle_t handle;

static int get(const char *name)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", name);
    return rsm_get_controller(copy, &handle);
}

TEST(get_refuses_a_null_result_first)
{
    char name[] = "loopback";
    char none[] = "";
    assert_int_equal(rsm_get_controller(name, NULL), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_get_controller(none, NULL), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(fake.opens, 0);
}

TEST(null_name_capitals_and_any_unit_are_the_one_loopback)
{
    rsmapi_controller_handle_t first;
    assert_int_equal(rsm_get_controller(NULL, &first), RSM_SUCCESS);
    static const char *const names[] = {"loopback", "loopback7", "LOOPBACK", "LoopBack0"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(get(names[i]), RSM_SUCCESS);
        assert_ptr_equal(handle, first);
        close_controller(handle);
    }
    assert_int_equal(fake.opens, 1);
    assert_string_equal(fake.name, "loopback");
    assert_int_equal(fake.names_asked, 0);
    close_controller(first);
}

TEST(names_are_type_and_unit)
{
    static const char *const configured[] = {"sci0",  "SCI7",          "wrsm",     "mlx5_12",
                                             "mlx5_", "sci2147483647", "loopback", NULL};
    static const struct {
        const char *name, *configured; /* NULL: none of them */
    } cases[] = {{"sci0", "sci0"},       {"SCI0", "sci0"},    {"sci", "sci0"},
                 {"sci007", "SCI7"},     {"wrsm", "wrsm"},    {"Wrsm00", "wrsm"},
                 {"mlx5_12", "mlx5_12"}, {"mlx5_0", "mlx5_"}, {"sci2147483647", "sci2147483647"},
                 {"sci1", NULL},         {"mlx5_1", NULL},    {"mlx5", NULL}};
    fake.configured = configured;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int found = cases[i].configured != NULL ? RSM_SUCCESS : RSMERR_CTLR_NOT_PRESENT;
        assert_int_equal(get(cases[i].name), found);
        if (found != RSM_SUCCESS)
            continue;
        assert_string_equal(fake.name, cases[i].configured);
        close_controller(handle);
    }
}

TEST(impossible_names_are_no_controllers)
{
    char longest[301];
    memset(longest, 'x', 300);
    longest[300] = '\0';
    rsmapi_controller_handle_t untouched = (rsmapi_controller_handle_t)0x1234;
    static const char *const names[] = {"", "123", "sci2147483648", "sci99999999999999999999999"};
    for (size_t i = 0; i < COUNT(names); i++) {
        handle = untouched;
        assert_int_equal(get(names[i]), RSMERR_CTLR_NOT_PRESENT);
        assert_ptr_equal(handle, untouched);
    }
    assert_int_equal(get(longest), RSMERR_CTLR_NOT_PRESENT);
    longest[256] = '\0';
    assert_int_equal(get(longest), RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(fake.opens, 0);
    longest[255] = '\0';
    assert_int_equal(get(longest), RSM_SUCCESS);
    close_controller(handle);
}

TEST(opening_again_gives_the_same_handle)
{
    rsmapi_controller_handle_t first = open_controller("sci0");
    rsmapi_controller_handle_t other = open_controller("sci1");
    assert_ptr_not_equal(first, other);
    assert_ptr_equal(open_controller("SCI0"), first);
    assert_ptr_equal(open_controller("sci"), first);
    assert_int_equal(fake.opens, 2);

    rsmapi_controller_attr_t attr;
    close_controller(first);
    close_controller(first);
    assert_int_equal(rsm_get_controller_attr(first, &attr), RSM_SUCCESS);
    close_controller(first);
    assert_int_equal(fake.controllers, 1);
    first = open_controller("sci0");
    assert_int_equal(fake.opens, 3);
    close_controller(first);
    close_controller(other);
}

TEST(failed_opens_leave_nothing)
{
    assert_int_equal(get("nosuch0"), RSMERR_CTLR_NOT_PRESENT);
    fake.open = RSM_ST_VERSION;
    assert_int_equal(get("sci0"), RSMERR_BAD_LIBRARY_VERSION);
    fake.open = RSM_ST_NO_MEMORY;
    assert_int_equal(get("sci0"), RSMERR_INSUFFICIENT_MEM);
    fake.open = RSM_ST_UNREACHABLE;
    assert_int_equal(get("sci0"), RSMERR_CTLR_NOT_PRESENT);
    fake.open = RSM_ST_OK;
    inject_calloc.error = ENOMEM;
    assert_int_equal(get("sci0"), RSMERR_INSUFFICIENT_MEM);
    assert_int_equal(get("sci0"), RSM_SUCCESS);
    close_controller(handle);
}

TEST(attributes_are_checked_in_order_and_complete)
{
    rsmapi_controller_attr_t attr;
    memset(&attr, 0xff, sizeof attr);
    rsmapi_controller_handle_t controller = open_controller("loopback");
    assert_int_equal(rsm_get_controller_attr(NULL, &attr), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_get_controller_attr(NULL, NULL), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_get_controller_attr(controller, NULL), RSMERR_BAD_ADDR);
    assert_int_equal(rsm_get_controller_attr(controller, &attr), RSM_SUCCESS);
    assert_int_equal(attr.attr_direct_access_sizes, 15);
    assert_int_equal(attr.attr_atomic_sizes, 12);
    assert_int_equal(attr.attr_page_size, page_size());
    assert_int_equal(attr.attr_max_export_segment_size, 8 * page_size());
    assert_int_equal(attr.attr_tot_export_segment_size, 9);
    assert_int_equal(attr.attr_max_export_segments, 10);
    assert_int_equal(attr.attr_max_import_map_size, 11);
    assert_int_equal(attr.attr_tot_import_map_size, 12);
    assert_int_equal(attr.attr_max_import_segments, 13);
    close_controller(controller);
}

TEST(other_handles_are_no_controllers)
{
    rsmapi_controller_attr_t attr;
    rsm_memseg_import_handle_t import = connect_import(RSM_PERM_READ);
    void *other = import;
    assert_int_equal(rsm_get_controller_attr(other, &attr), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_release_controller(other), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_release_controller(NULL), RSMERR_BAD_CTLR_HNDL);
    disconnect_import(import);
}
