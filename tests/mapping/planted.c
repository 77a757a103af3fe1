/* SPDX-License-Identifier: BSD-3-Clause */
/* The defect of mapping/defects.h whose number is in RSM_PLANTED_DEFECT. */
#include <stdlib.h>

#include "mapping/defects.h"

unsigned rsm_mapping_planted;

__attribute__((constructor)) static void plant(void)
{
    const char *number = getenv("RSM_PLANTED_DEFECT");
    if (number != NULL)
        rsm_mapping_planted = (unsigned)strtoul(number, NULL, 10);
}
