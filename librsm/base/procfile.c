/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "base/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool rsmcore_procfile_open(struct rsmcore_procfile *file, int directory, const char *path)
{
    file->have = file->next = 0;
    file->failed = false;
    file->fd = rsmcore_fd_place(openat(directory, path, O_RDONLY | O_CLOEXEC));
    return file->fd >= 0;
}

/* The next character, or -1. */
static int next_char(struct rsmcore_procfile *file)
{
    if (file->next == file->have) {
        ssize_t got;
        do
            got = read(file->fd, file->buffer, sizeof file->buffer);
        while (got < 0 && errno == EINTR);
        if (got <= 0) {
            file->failed = got < 0;
            return -1;
        }
        file->have = (size_t)got;
        file->next = 0;
    }
    return (unsigned char)file->buffer[file->next++];
}

bool rsmcore_procfile_line(struct rsmcore_procfile *file, char *line, size_t size)
{
    size_t length = 0;
    int c = next_char(file);
    if (c < 0)
        return false;
    for (; c >= 0 && c != '\n'; c = next_char(file))
        if (length + 1 < size)
            line[length++] = (char)c;
    line[length] = '\0';
    return true;
}

void rsmcore_procfile_close(struct rsmcore_procfile *file)
{
    close(file->fd);
}

DIR *rsmcore_procfile_directory(const char *path)
{
    int fd = rsmcore_fd_place(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL && fd >= 0)
        close(fd);
    return directory;
}
