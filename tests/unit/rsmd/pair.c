/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

struct person exporter, importer;
uint32_t export_id;

void pair_meet(void)
{
    person_begin(&exporter, 1, 500);
    person_begin(&importer, 2, 500);
    export_id = offer_page(&exporter, 0600);
}

int pair_begin(void **state)
{
    hosts_begin(state);
    pair_meet();
    return 0;
}

int pair_end(void **state)
{
    person_end(&importer);
    person_end(&exporter);
    deliver_all();
    return hosts_end(state);
}
