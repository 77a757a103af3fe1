/* SPDX-License-Identifier: BSD-3-Clause */
/* rsm_get_segmentid_range(3RSM): the ranges of segment ids that /etc/rsm/rsm.segmentid reserves. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "rsmapi/export.h"
#include "rsm/rsmapi.h"

enum {
    LINE_PIECE = 256, /* a longer line counts as several, as it always has */
    FIELDS = 4,
};

/* A line that says nothing about the application that is asked for. */
#define NEXT_LINE (-1)

static FILE *open_file(void)
{
    const char *path = secure_getenv("RSM_SEGMENTID_FILE");
    int fd = rsmcore_fd_place(
        open(path != NULL ? path : RSM_CONFIG_DIR "/rsm.segmentid", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return NULL;
    FILE *file = fdopen(fd, "r");
    if (file == NULL)
        close(fd);
    return file;
}

/* Text that is no number is 0, as it always has been. */
static bool parse_number(const char *text, int base, uint32_t *number)
{
    errno = 0;
    unsigned long long value = strtoull(text, NULL, base);
    if (errno == ERANGE || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

static int parse_line(char *line, const char *appid, rsm_memseg_id_t *baseid, uint32_t *length)
{
    char *field[FIELDS];
    char *rest = line;
    uint32_t base_found;
    uint32_t length_found;

    if (line[strspn(line, " \t")] == '#')
        return NEXT_LINE;
    for (int i = 0; i < FIELDS; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " \t\n", &rest);
        if (field[i] == NULL)
            return RSMERR_BAD_CONF;
    }
    if (strcasecmp(field[1], appid) != 0)
        return NEXT_LINE;
    /* Some editions of the manual spell it "reserve". */
    if (strcasecmp(field[0], "reserved") != 0 && strcasecmp(field[0], "reserve") != 0)
        return RSMERR_BAD_CONF;
    if (!parse_number(field[2], 16, &base_found) || !parse_number(field[3], 10, &length_found))
        return RSMERR_BAD_CONF;
    *baseid = base_found;
    *length = length_found;
    return RSM_SUCCESS;
}

RSM_API(int, rsm_get_segmentid_range)(const char *appid, rsm_memseg_id_t *baseid, uint32_t *length)
{
    RSM_UNCANCELLABLE;
    char line[LINE_PIECE];
    if (appid == NULL || baseid == NULL || length == NULL)
        return RSMERR_BAD_ADDR;
    FILE *file = open_file();
    if (file == NULL)
        return RSMERR_BAD_CONF;
    int result = NEXT_LINE;
    while (result == NEXT_LINE && fgets(line, sizeof line, file) != NULL)
        result = parse_line(line, appid, baseid, length);
    if (result == NEXT_LINE)
        result = ferror(file) ? RSMERR_BAD_CONF : RSMERR_BAD_APPID;
    fclose(file);
    return result;
}
