/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs.h"

#include <string.h>

const char *const beside_names[BESIDES] = {[BESIDE_UCX] = "ucx", [BESIDE_MPI] = "mpi"};

static double (*const ways[BESIDES])(const struct options *options, const struct result *result,
                                     unsigned window) = {
    [BESIDE_UCX] = beside_ucx,
    [BESIDE_MPI] = beside_mpi,
};

static bool is_common(const struct gauge *gauge)
{
    static const char *const common[] = {"put", "get", "put-stream", "get-stream", "pingpong"};
    size_t i = 0, count = sizeof common / sizeof *common;
    while (i < count && strcmp(common[i], gauge->name) != 0)
        i++;
    return i < count;
}

void beside_measure(const struct options *options, struct result *result)
{
    for (unsigned i = 0; i < BESIDES && is_common(result->gauge); i++) {
        struct alternative *other = &result->beside[i];
        if (!options->beside[i])
            continue;
        other->p50 =
            ways[i](options, result, result->gauge->stream ? gauge_window(result->bytes) : 1);
        if (other->p50 == 0)
            continue;
        if (result->gauge->sized)
            other->mb_per_s = (double)result->bytes / other->p50 * 1e3;
        other->ratio =
            result->gauge->stream ? other->p50 / result->ours.p50 : result->ours.p50 / other->p50;
    }
}

void beside_end(void)
{
    beside_mpi_end();
}
