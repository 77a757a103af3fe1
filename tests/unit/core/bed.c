/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit/core/bed.h"

#include "cases.h"
#include "control/control.h"
#include "transport/generic.h"

static struct rsm_generation_table table;

int bed_begin(void **state, const struct rsm_completion_ops *completions)
{
    struct bed *bed = calloc(1, sizeof *bed);
    assert_non_null(bed);
    struct rsm_offer offer = {.blob_len = 0};
    struct rsm_import_ops given = fake_import_ops;
    const struct rsm_controller_info info = {.name = "fake0", .device = "", .options = ""};
    struct rsm_conn *conn;
    given.completions = completions;
    bed->segment = fake_segment_make(BED_SIZE);
    assert_non_null(bed->segment);
    assert_int_equal(rsmcore_import_ops_complete(&given, &bed->table), RSM_ST_OK);
    assert_int_equal(rsmcore_port_open(&bed->table.ops, &info, &bed->port), RSM_ST_OK);
    fake_segment_offer(bed->segment, &offer);
    assert_int_equal(
        rsmcore_conn_open(bed->port, &offer, BED_SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE, &conn),
        RSM_ST_OK);
    bed->import.slot = &table.slot[1];
    bed->import.table = &table;
    bed->import.generation = atomic_load(&table.slot[1]);
    bed->import.rights = RSM_RIGHT_READ | RSM_RIGHT_WRITE;
    bed->import.length = BED_SIZE;
    bed->import.process_epoch = rsmcore_process_epoch();
    pthread_mutex_init(&bed->import.works.lock, NULL);
    pthread_cond_init(&bed->import.works.taken, NULL);
    bed->import.inner = conn;
    atomic_store(&bed->import.conn, conn);
    *state = bed;
    return 0;
}

int bed_end(void **state)
{
    struct bed *bed = *state;
    rsmcore_conn_close(rsmcore_import_conn(&bed->import));
    rsmcore_port_close(bed->port);
    fake_segment_free(bed->segment);
    pthread_cond_destroy(&bed->import.works.taken);
    pthread_mutex_destroy(&bed->import.works.lock);
    free(bed);
    return 0;
}

void bed_cut(void)
{
    atomic_fetch_add(&table.slot[1], 1);
}
