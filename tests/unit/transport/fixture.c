/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include "check.h"

enum { SEGMENT_SIZE = 4096 };

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    const struct rsm_controller_info info = {.name = "fake0", .device = "", .options = ""};
    struct rsm_offer offer;
    assert_status(rsmcore_import_ops_complete(&fake_import_ops, &f->table), RSM_ST_OK);
    f->ops = &f->table.ops;
    f->segment = fake_segment_make(SEGMENT_SIZE);
    assert_non_null(f->segment);
    fake_segment_offer(f->segment, &offer);
    assert_status(rsmcore_port_open(f->ops, &info, &f->port), RSM_ST_OK);
    assert_status(rsmcore_conn_open(f->port, &offer, SEGMENT_SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                    &f->conn),
                  RSM_ST_OK);
    fake_segment_forget(f->segment);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    rsmcore_conn_close(f->conn);
    rsmcore_port_close(f->port);
    fake_segment_free(f->segment);
    free(f);
    return 0;
}
