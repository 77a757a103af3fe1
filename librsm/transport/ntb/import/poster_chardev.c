/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel module counts for the process, which needs nothing but the descriptor of a piece. */
#include <errno.h>
#include <rsm_ntb.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/status.h"
#include "transport/ntb/common/ports.h"
#include "transport/ntb/import/poster.h"

static enum rsm_status begin(struct ntb_poster *poster, const struct ntb_ticket *ticket,
                             int first_piece, const int *fds)
{
    (void)ticket, (void)fds;
    poster->device = rsmcore_fd_place_copy(first_piece);
    return poster->device >= 0 ? RSM_ST_OK : rsmcore_status_from_errno(errno);
}

static void end(struct ntb_poster *poster)
{
    close(poster->device);
}

/* A post of an ended import has no receiver, and barriers report it. */
static enum rsm_status post(const struct ntb_poster *poster, bool coalesce)
{
    if (ioctl(poster->device, RSM_NTB_POST, coalesce ? RSM_NTB_POST_COALESCE : 0) == 0)
        return RSM_ST_OK;
    return errno == ESTALE || errno == ENODEV ? RSM_ST_OK : rsmcore_status_from_errno(errno);
}

const struct ntb_poster_ops ntb_poster_chardev = {.begin = begin, .end = end, .post = post};
