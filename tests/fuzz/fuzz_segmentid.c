/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm.segmentid: whatever the file says, the answer is a range or one of three errors, and nothing
 * is written unless it is a range. */
#include "fuzz.h"
#include "rsm/rsmapi.h"

enum { UNTOUCHED = 0x5a5a5a5a };

static int open_file(void)
{
    char path[64];
    int fd = memfd_create("segmentid", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("RSM_SEGMENTID_FILE", path, 1);
    return fd;
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static int fd = -1;
    rsm_memseg_id_t base = UNTOUCHED;
    uint32_t length = UNTOUCHED;
    if (fd < 0)
        fd = open_file();
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    switch (rsm_get_segmentid_range("app", &base, &length)) {
    case RSM_SUCCESS:
        return;
    case RSMERR_BAD_CONF:
    case RSMERR_BAD_APPID:
        if (base != UNTOUCHED || length != UNTOUCHED)
            abort();
        return;
    default:
        abort();
    }
}
