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
    uint64_t length; /* of what follows the header */
    uint64_t sum;    /* of that */
    uint32_t fd_count;
    uint32_t section_count;
};

/* An entry of the table of sections, which follows the records. */
enum { SECTION_BYTES = 2 * sizeof(uint32_t) };

static void walk_header(struct rsm_codec *c, struct header *header)
{
    rsm_codec_u32(c, &header->magic);
    rsm_codec_u32(c, &header->version);
    rsm_codec_u64(c, &header->length);
    rsm_codec_u64(c, &header->sum);
    rsm_codec_u32(c, &header->fd_count);
    rsm_codec_u32(c, &header->section_count);
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

/* Room for `more` bytes at the end; NULL: failed. */
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

static uint32_t version_of(const struct rsmd_snapshot *snapshot)
{
    return snapshot->version != 0 ? snapshot->version : RSMD_SNAPSHOT_VERSION;
}

void rsmd_snapshot_put(struct rsmd_snapshot *snapshot, uint32_t type, rsmd_walk *walk, void *record)
{
    uint8_t *at = need_room(snapshot, RECORD_HEADER + RSMD_SNAPSHOT_RECORD_MAX);
    if (at == NULL)
        return;
    struct rsm_codec codec = rsm_encoder(at + RECORD_HEADER, RSMD_SNAPSHOT_RECORD_MAX);
    codec.version = version_of(snapshot);
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

void rsmd_snapshot_section(struct rsmd_snapshot *snapshot)
{
    if (snapshot->section_count == snapshot->section_room) {
        uint32_t room = 2 * snapshot->section_room + 64;
        struct rsmd_section *sections = realloc(snapshot->sections, room * sizeof *sections);
        if (sections == NULL || snapshot->section_count >= RSMD_SNAPSHOT_FDS_MAX) {
            snapshot->sections = sections != NULL ? sections : snapshot->sections;
            snapshot->failed = true;
            return;
        }
        snapshot->sections = sections;
        snapshot->section_room = room;
    }
    snapshot->sections[snapshot->section_count++] =
        (struct rsmd_section){(uint32_t)snapshot->length, snapshot->fd_count};
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
    for (uint32_t i = 0; i < snapshot->section_count; i++) {
        put_u32(snapshot, snapshot->sections[i].at);
        put_u32(snapshot, snapshot->sections[i].first_fd);
    }
    if (snapshot->failed)
        return -1;
    struct header header = {.magic = MAGIC,
                            .version = version_of(snapshot),
                            .length = snapshot->length,
                            .sum = checksum(snapshot->bytes, snapshot->length),
                            .fd_count = snapshot->fd_count,
                            .section_count = snapshot->section_count};
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
    free(snapshot->sections);
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

/* Load the whole file, which is sealed. */
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
    if (header.magic != MAGIC || header.version < RSMD_SNAPSHOT_OLDEST ||
        header.version > RSMD_SNAPSHOT_VERSION || header.length != rest ||
        header.fd_count > RSMD_SNAPSHOT_FDS_MAX || header.section_count == 0 ||
        header.section_count > RSMD_SNAPSHOT_FDS_MAX ||
        (size_t)header.section_count * SECTION_BYTES > rest ||
        header.sum != checksum(reader->bytes + RSMD_SNAPSHOT_HEADER, rest))
        return false;
    reader->version = header.version;
    reader->fd_count = header.fd_count;
    reader->section_count = header.section_count;
    return true;
}

/* Find the table at the end, and take it off. */
static bool find_sections(struct rsmd_snapshot_reader *reader)
{
    size_t bytes = reader->section_count * (size_t)SECTION_BYTES;
    size_t records = reader->length - bytes;
    struct rsm_codec codec = rsm_decoder(reader->bytes + records, bytes);
    struct rsmd_section before = {0};
    reader->length = records;
    reader->sections = calloc(reader->section_count + 1, sizeof *reader->sections);
    if (reader->sections == NULL)
        return false;
    for (uint32_t i = 0; i < reader->section_count; i++) {
        struct rsmd_section *section = &reader->sections[i];
        rsm_codec_u32(&codec, &section->at);
        rsm_codec_u32(&codec, &section->first_fd);
        if (section->at < before.at || section->at > records - RSMD_SNAPSHOT_HEADER ||
            section->first_fd < before.first_fd || section->first_fd > reader->fd_count)
            return false;
        before = *section;
    }
    reader->sections[reader->section_count] =
        (struct rsmd_section){(uint32_t)(records - RSMD_SNAPSHOT_HEADER), reader->fd_count};
    return true;
}

static bool keep_fds(struct rsmd_snapshot_reader *reader, const int *fds)
{
    reader->fds = calloc(reader->fd_count + 1, sizeof *reader->fds);
    if (reader->fds == NULL)
        return false;
    if (reader->fd_count > 0)
        memcpy(reader->fds, fds, reader->fd_count * sizeof *fds);
    return true;
}

bool rsmd_snapshot_open(struct rsmd_snapshot_reader *reader, int memfd, const int *fds,
                        uint32_t fd_count)
{
    *reader = (struct rsmd_snapshot_reader){.bytes = NULL};
    if (load(reader, memfd) && check_header(reader) && reader->fd_count == fd_count &&
        find_sections(reader) && keep_fds(reader, fds)) {
        rsmd_snapshot_enter(reader, 0);
        return true;
    }
    for (uint32_t i = 0; reader->fds == NULL && i < fd_count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    rsmd_snapshot_reader_end(reader);
    return false;
}

void rsmd_snapshot_enter_at(struct rsmd_snapshot_reader *reader, uint32_t section, size_t at)
{
    const struct rsmd_section *this = &reader->sections[section];
    reader->at = at;
    reader->end = RSMD_SNAPSHOT_HEADER + (size_t)this[1].at;
    reader->first_fd = this[0].first_fd;
    reader->end_fds = this[1].first_fd;
    reader->bad = false;
}

void rsmd_snapshot_enter(struct rsmd_snapshot_reader *reader, uint32_t section)
{
    rsmd_snapshot_enter_at(reader, section,
                           RSMD_SNAPSHOT_HEADER + (size_t)reader->sections[section].at);
}

bool rsmd_snapshot_is_over(const struct rsmd_snapshot_reader *reader)
{
    return !reader->bad && reader->at == reader->end;
}

/* Decode the header of the next record; false: there is none. */
static bool peek(const struct rsmd_snapshot_reader *reader, uint32_t *type, uint32_t *length)
{
    if (reader->bad || reader->end - reader->at < RECORD_HEADER)
        return false;
    struct rsm_codec codec = rsm_decoder(reader->bytes + reader->at, RECORD_HEADER);
    rsm_codec_u32(&codec, type);
    rsm_codec_u32(&codec, length);
    return *length <= RSMD_SNAPSHOT_RECORD_MAX &&
           *length <= reader->end - reader->at - RECORD_HEADER;
}

void rsmd_snapshot_skip(struct rsmd_snapshot_reader *reader, bool (*goes_on)(uint32_t type))
{
    uint32_t type, length;
    reader->bad = false;
    while (reader->at < reader->end) {
        if (!peek(reader, &type, &length)) {
            reader->at = reader->end;
            return;
        }
        if (goes_on(type))
            return;
        reader->at += RECORD_HEADER + length;
    }
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
    codec.version = reader->version;
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
    if (number <= reader->first_fd || number > reader->end_fds || reader->fds[number - 1] < 0) {
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
    free(reader->sections);
    free(reader->bytes);
    *reader = (struct rsmd_snapshot_reader){.bytes = NULL};
}
