/* SPDX-License-Identifier: BSD-3-Clause */
/* The latest answer in the runtime directory: a daemon that starts while the source does not answer
 * has the members of its predecessor. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "members/members.h"

enum { PATH_BYTES = 256, HEAD_BYTES = 512 };

static void path_of(const char *directory, const char *suffix, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/members%s", directory, suffix);
}

/* The first line, which says by what rules the rest was found. */
static void head_of(const struct rsmd_conf_members *rules, char head[HEAD_BYTES])
{
    char source[RSM_PROTO_NAME_MAX + 8];
    rsmd_members_source_text(rules, source, sizeof source);
    snprintf(head, HEAD_BYTES, "# %s %u\n", source, (unsigned)rules->prefix);
}

void rsmd_members_keep(const char *directory, const struct rsmd_conf_members *rules,
                       const struct rsmd_members *members)
{
    char path[PATH_BYTES], fresh[PATH_BYTES], head[HEAD_BYTES];
    char *text = rsmd_members_write(members);
    path_of(directory, "", path);
    path_of(directory, ".new", fresh);
    head_of(rules, head);
    (void)unlink(fresh);
    int fd =
        text != NULL ? open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool written = stream != NULL && fputs(head, stream) >= 0 && fputs(text, stream) >= 0;
    if (stream != NULL)
        written = fclose(stream) == 0 && written;
    else if (fd >= 0)
        close(fd);
    if (!written || rename(fresh, path) != 0)
        rsm_log_warning("cannot keep the members in %s: %m", path);
    free(text);
}

/* Read a file that only this user may write. The caller frees it. */
static char *read_own(const char *path, size_t *length)
{
    struct stat about;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
        (about.st_mode & (S_IWGRP | S_IWOTH)) == 0 && about.st_size <= RSMD_MEMBERS_BYTES_MAX)
        text = malloc((size_t)about.st_size + 1);
    ssize_t got = text != NULL ? read(fd, text, (size_t)about.st_size) : -1;
    close(fd);
    if (got < 0) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    *length = (size_t)got;
    return text;
}

bool rsmd_members_kept(const char *directory, const struct rsmd_conf_members *rules,
                       struct rsmd_members *members)
{
    char path[PATH_BYTES], head[HEAD_BYTES], why[RSMD_MEMBERS_WHY_BYTES];
    size_t length = 0;
    path_of(directory, "", path);
    head_of(rules, head);
    char *text = read_own(path, &length);
    bool found = text != NULL && strncmp(text, head, strlen(head)) == 0 &&
                 rsmd_members_read(members, rules, text, length, why) &&
                 rsmd_members_settle(members, why);
    if (!found)
        rsmd_members_free(members);
    members->ttl_s = RSMD_MEMBERS_RETRY_S;
    free(text);
    return found;
}
