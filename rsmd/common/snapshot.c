/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"

enum {
    MAGIC = 0x48444d52, /* "RMDH" as bytes */
    RECORD_HEADER = 8,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL,
};
static const size_t length_max = (size_t)1 << 30;

struct header {
    uint32_t magic, version;
    uint64_t length; /* of what follows it */
    uint64_t sum;    /* of that */
    uint32_t fd_count;
    uint32_t reserved;
};

static void walk_header(struct rsm_codec *c, struct header *header)
{
    rsm_codec_u32(c, &header->magic);
    rsm_codec_u32(c, &header->version);
    rsm_codec_u64(c, &header->length);
    rsm_codec_u64(c, &header->sum);
    rsm_codec_u32(c, &header->fd_count);
    rsm_codec_u32(c, &header->reserved);
}

/* FNV-1a: against damage, not against forgers. */
static uint64_t checksum(const uint8_t *bytes, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* ------------------------------------------------------------------ writing */

/* Room for `more` bytes at the end; NULL: failed. The numbers of descriptors come last, so the
 * records begin at once. */
static uint8_t *need_room(struct rsmd_snapshot *snapshot, size_t more)
{
    if (snapshot->failed || more > length_max - snapshot->length) {
        snapshot->failed = true;
        return NULL;
    }
    if (snapshot->length + more > snapshot->room) {
        size_t room = 2 * snapshot->room + more;
        uint8_t *bytes = realloc(snapshot->bytes, room);
        if (bytes == NULL) {
            snapshot->failed = true;
            return NULL;
        }
        snapshot->bytes = bytes;
        snapshot->room = room;
    }
    return snapshot->bytes + snapshot->length;
}

static void put_u32(struct rsmd_snapshot *snapshot, uint32_t value)
{
    uint8_t *at = need_room(snapshot, sizeof value);
    if (at == NULL)
        return;
    struct rsm_codec codec = rsm_encoder(at, sizeof value);
    rsm_codec_u32(&codec, &value);
    snapshot->length += sizeof value;
}

void rsmd_snapshot_put(struct rsmd_snapshot *snapshot, uint32_t type, rsmd_walk *walk, void *record)
{
    uint8_t *at = need_room(snapshot, RECORD_HEADER + RSMD_SNAPSHOT_RECORD_MAX);
    if (at == NULL)
        return;
    struct rsm_codec codec = rsm_encoder(at + RECORD_HEADER, RSMD_SNAPSHOT_RECORD_MAX);
    walk(&codec, record);
    if (codec.bad) {
        snapshot->failed = true;
        return;
    }
    uint32_t length = (uint32_t)(RSMD_SNAPSHOT_RECORD_MAX - codec.left);
    put_u32(snapshot, type);
    put_u32(snapshot, length);
    snapshot->length += length;
}

uint32_t rsmd_snapshot_fd(struct rsmd_snapshot *snapshot, int fd)
{
    if (fd < 0)
        return 0;
    if (snapshot->fd_count == snapshot->fd_room) {
        uint32_t room = 2 * snapshot->fd_room + 64;
        int *fds = realloc(snapshot->fds, room * sizeof *fds);
        if (fds == NULL || snapshot->fd_count == RSMD_SNAPSHOT_FDS_MAX) {
            snapshot->fds = fds != NULL ? fds : snapshot->fds;
            snapshot->failed = true;
            return 0;
        }
        snapshot->fds = fds;
        snapshot->fd_room = room;
    }
    snapshot->fds[snapshot->fd_count++] = fd;
    return snapshot->fd_count;
}

static bool write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

int rsmd_snapshot_seal(struct rsmd_snapshot *snapshot)
{
    uint8_t head[RSMD_SNAPSHOT_HEADER];
    put_u32(snapshot, RSMD_SAVED_END);
    put_u32(snapshot, 0);
    for (uint32_t i = 0; i < snapshot->fd_count; i++)
        put_u32(snapshot, (uint32_t)snapshot->fds[i]);
    if (snapshot->failed)
        return -1;
    struct header header = {.magic = MAGIC,
                            .version = RSMD_SNAPSHOT_VERSION,
                            .length = snapshot->length,
                            .sum = checksum(snapshot->bytes, snapshot->length),
                            .fd_count = snapshot->fd_count};
    struct rsm_codec codec = rsm_encoder(head, sizeof head);
    walk_header(&codec, &header);
    int fd = rsmcore_fd_above_stdio(memfd_create("rsmd-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0)
        return -1;
    if (write_all(fd, head, sizeof head) && write_all(fd, snapshot->bytes, snapshot->length) &&
        fchmod(fd, S_IRUSR) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    close(fd);
    return -1;
}

void rsmd_snapshot_free(struct rsmd_snapshot *snapshot)
{
    free(snapshot->bytes);
    free(snapshot->fds);
    *snapshot = (struct rsmd_snapshot){.bytes = NULL};
}

/* ------------------------------------------------------------------ reading */

static bool read_all(int fd, uint8_t *bytes, size_t length)
{
    off_t at = 0;
    while (length > 0) {
        ssize_t got = pread(fd, bytes + at, length, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

/* The whole file; nobody can change it any more. */
static bool load(struct rsmd_snapshot_reader *reader, int memfd)
{
    struct stat file;
    int seals = fcntl(memfd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(memfd, &file) < 0 ||
        file.st_size < RSMD_SNAPSHOT_HEADER || (uint64_t)file.st_size > length_max)
        return false;
    reader->length = (size_t)file.st_size;
    reader->bytes = malloc(reader->length);
    return reader->bytes != NULL && read_all(memfd, reader->bytes, reader->length);
}

static bool check_header(struct rsmd_snapshot_reader *reader)
{
    struct header header;
    struct rsm_codec codec = rsm_decoder(reader->bytes, RSMD_SNAPSHOT_HEADER);
    walk_header(&codec, &header);
    size_t rest = reader->length - RSMD_SNAPSHOT_HEADER;
    if (header.magic != MAGIC || header.version != RSMD_SNAPSHOT_VERSION || header.reserved != 0 ||
        header.length != rest || header.fd_count > RSMD_SNAPSHOT_FDS_MAX ||
        header.fd_count > rest / sizeof(uint32_t) ||
        header.sum != checksum(reader->bytes + RSMD_SNAPSHOT_HEADER, rest))
        return false;
    reader->fd_count = header.fd_count;
    return true;
}

/* A number of the writer's process must be a descriptor here, and not one that stands there twice. */
static bool find_fds(struct rsmd_snapshot_reader *reader, const int *given)
{
    size_t end = reader->length - reader->fd_count * sizeof(uint32_t);
    struct rsm_codec codec = rsm_decoder(reader->bytes + end, reader->length - end);
    reader->length = end;
    reader->at = RSMD_SNAPSHOT_HEADER;
    reader->fds = calloc(reader->fd_count + 1, sizeof *reader->fds);
    if (reader->fds == NULL)
        return false;
    bool all = true;
    for (uint32_t i = 0; i < reader->fd_count; i++) {
        uint32_t number = 0;
        rsm_codec_u32(&codec, &number);
        int fd = given != NULL ? given[i] : number <= INT32_MAX ? (int)number : -1;
        int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;
        /* Handed over is what is not close-on-exec; it is marked so when it is found. */
        bool fresh = flags >= 0 && (given != NULL || (flags & FD_CLOEXEC) == 0);
        reader->fds[i] = fresh && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
        all &= reader->fds[i] >= 0;
    }
    return all;
}

bool rsmd_snapshot_open(struct rsmd_snapshot_reader *reader, int memfd, const int *fds,
                        uint32_t fd_count)
{
    *reader = (struct rsmd_snapshot_reader){.bytes = NULL};
    if (load(reader, memfd) && check_header(reader) &&
        (fds == NULL || reader->fd_count == fd_count) && find_fds(reader, fds))
        return true;
    for (uint32_t i = 0; fds != NULL && reader->fds == NULL && i < fd_count; i++)
        close(fds[i]);
    rsmd_snapshot_reader_end(reader);
    return false;
}

/* Decode the header of the next record; false: there is none. */
static bool peek(const struct rsmd_snapshot_reader *reader, uint32_t *type, uint32_t *length)
{
    if (reader->bad || reader->length - reader->at < RECORD_HEADER)
        return false;
    struct rsm_codec codec = rsm_decoder(reader->bytes + reader->at, RECORD_HEADER);
    rsm_codec_u32(&codec, type);
    rsm_codec_u32(&codec, length);
    return *length <= RSMD_SNAPSHOT_RECORD_MAX &&
           *length <= reader->length - reader->at - RECORD_HEADER;
}

uint32_t rsmd_snapshot_next(const struct rsmd_snapshot_reader *reader)
{
    uint32_t type, length;
    return peek(reader, &type, &length) ? type : RSMD_SAVED_END;
}

bool rsmd_snapshot_get(struct rsmd_snapshot_reader *reader, rsmd_walk *walk, void *record,
                       size_t size)
{
    uint32_t type, length;
    memset(record, 0, size);
    if (!peek(reader, &type, &length)) {
        reader->bad = true;
        return false;
    }
    struct rsm_codec codec = rsm_decoder(reader->bytes + reader->at + RECORD_HEADER, length);
    walk(&codec, record);
    reader->at += RECORD_HEADER + length;
    if (codec.bad || codec.left > 0)
        reader->bad = true;
    return !reader->bad;
}

int rsmd_snapshot_take(struct rsmd_snapshot_reader *reader, uint32_t number)
{
    if (number == 0)
        return -1;
    if (number > reader->fd_count || reader->fds[number - 1] < 0) {
        reader->bad = true;
        return -1;
    }
    int fd = reader->fds[number - 1];
    reader->fds[number - 1] = -1;
    return fd;
}

void rsmd_snapshot_reader_end(struct rsmd_snapshot_reader *reader)
{
    for (uint32_t i = 0; reader->fds != NULL && i < reader->fd_count; i++)
        if (reader->fds[i] >= 0)
            close(reader->fds[i]);
    free(reader->fds);
    free(reader->bytes);
    *reader = (struct rsmd_snapshot_reader){.bytes = NULL};
}
