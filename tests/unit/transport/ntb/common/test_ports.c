/* SPDX-License-Identifier: BSD-3-Clause */
/* What devices the module has that is installed: those of the kernel module, and nothing for
 * tests. */
#include "base/log.h"
#include "cases.h"
#include "rsm/transport.h"
#include "transport/ntb/common/ports.h"

extern const struct rsm_node_ops rsm_transport_node_ops_v1;

static char said[512];

static void hear(enum rsmcore_log_level level, const char *text)
{
    if (level == RSMCORE_LOG_ERROR)
        strncat(said, text, sizeof said - 1 - strlen(said));
}

static enum rsm_status open_device(const char *device)
{
    const struct rsm_controller_info info = {
        .size = sizeof info, .name = "ntb0", .device = device, .options = "", .node = 1};
    struct rsm_node_port *port;
    said[0] = '\0';
    assert_int_equal(rsm_transport_node_ops_v1.check(&info),
                     rsm_transport_node_ops_v1.open(&info, &port));
    return rsm_transport_node_ops_v1.check(&info);
}

TEST_ALONE(there_is_one_kind)
{
    assert_int_equal(ntb_port_kind_count, 1);
    assert_ptr_equal(ntb_port_kinds[0].node, &ntb_port_chardev);
    assert_ptr_equal(ntb_port_kinds[0].poster, &ntb_poster_chardev);
}

TEST_ALONE(other_devices_are_refused)
{
    static const char *const others[] = {"ivshmem:/tmp/socket", "", "rsm_ntb0", "ntb:0"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(open_device(others[i]), RSM_ST_INVALID);
        assert_non_null(strstr(said, "controller ntb0: expected device = /dev/rsm_ntbN, not"));
        assert_non_null(strstr(said, others[i]));
    }
}

TEST_ALONE(a_device_that_is_not_there)
{
    assert_int_equal(open_device("/dev/null/rsm_ntb0"), RSM_ST_NO_CONTROLLER);
    assert_non_null(strstr(said, "cannot open /dev/null/rsm_ntb0"));
}

int main(void)
{
    rsmcore_log_to(hear, RSMCORE_LOG_ERROR);
    return cases_run();
}
