/* SPDX-License-Identifier: BSD-3-Clause */
/* What the page swap reads of /proc: maps, in which other users' file names and processes are, and
 * mountinfo. Any text gives mappings that are in order and not empty; a line as the kernel writes
 * it gives what it says. */
#include <sys/sysmacros.h>

#include "check.h"
#include "pageswap/backing.c" /* NOLINT(bugprone-suspicious-include): type_if_device() */
#include "pageswap/vma.h"
#include "fuzz.h"
#include "input.h"

static void begin(struct rsmcore_vma_reader *reader, uintptr_t from)
{
    memset(reader, 0, sizeof *reader);
    CHECK(lseek(reader->file.fd = memfd_create("maps", MFD_CLOEXEC), 0, SEEK_SET) == 0);
    reader->from = from;
    reader->by_query = true; /* which such a file cannot answer */
}

static void write_text(struct rsmcore_vma_reader *reader, const void *text, size_t length)
{
    CHECK(write(reader->file.fd, text, length) == (ssize_t)length);
    CHECK(lseek(reader->file.fd, 0, SEEK_SET) == 0);
}

static void try_text(const uint8_t *text, size_t length, uintptr_t from)
{
    struct rsmcore_vma_reader reader;
    struct rsmcore_vma vma;
    uintptr_t before = from;
    begin(&reader, from);
    write_text(&reader, text, length);
    while (rsmcore_vma_next(&reader, &vma)) {
        CHECK(vma.start < vma.end && vma.end > before);
        CHECK(memchr(vma.path, '\0', sizeof vma.path) != NULL);
        before = vma.end;
    }
    rsmcore_vma_close(&reader);
}

/* seq_file of the kernel: "%08lx-%08lx %c%c%c%c %08llx %02x:%02x %lu ", blanks to column 73, path.
 */
static int print_line(char *line, size_t size, const struct rsmcore_vma *vma)
{
    int length = snprintf(
        line, size, "%08lx-%08lx %c%c%c%c %08llx %02x:%02x %lu ", (unsigned long)vma->start,
        (unsigned long)vma->end, vma->protection & PROT_READ ? 'r' : '-',
        vma->protection & PROT_WRITE ? 'w' : '-', vma->protection & PROT_EXEC ? 'x' : '-',
        vma->shared ? 's' : 'p', (unsigned long long)vma->offset, major(vma->device),
        minor(vma->device), (unsigned long)vma->inode);
    if (vma->path[0] != '\0')
        length += snprintf(line + length, size - (size_t)length, "%*s%s",
                           length < 73 ? 73 - length : 0, "", vma->path);
    line[length++] = '\n';
    return length;
}

static void try_line(struct input *in)
{
    struct rsmcore_vma_reader reader;
    struct rsmcore_vma vma = {.start = (uintptr_t)input_u64(in) & ~(uintptr_t)4095};
    struct rsmcore_vma read;
    char line[1024];
    vma.end = vma.start + ((uintptr_t)input_number(in) + 1) * 4096;
    vma.protection = input_u8(in) & (PROT_READ | PROT_WRITE | PROT_EXEC);
    vma.shared = input_u8(in) & 1;
    vma.offset = input_number(in);
    vma.device = makedev(input_u64(in) & 0xfff, input_u64(in) & 0xfffff);
    vma.inode = input_number(in);
    size_t path = input_bytes(in, vma.path, sizeof vma.path - 1);
    for (size_t i = 0; i < path; i++)
        if (vma.path[i] == '\n' || (i == 0 && vma.path[i] == ' '))
            vma.path[i] = '\\'; /* as the kernel prints a newline; names begin with '/' or '[' */
    if (vma.end <= vma.start)
        return;
    begin(&reader, 0);
    write_text(&reader, line, (size_t)print_line(line, sizeof line, &vma));
    CHECK(rsmcore_vma_next(&reader, &read));
    CHECK(read.start == vma.start && read.end == vma.end && read.protection == vma.protection);
    CHECK(read.shared == vma.shared && read.offset == vma.offset && read.device == vma.device);
    CHECK(read.inode == vma.inode && strcmp(read.path, vma.path) == 0);
    CHECK(!rsmcore_vma_next(&reader, &read));
    rsmcore_vma_close(&reader);
}

static void try_mount(struct input *in)
{
    char line[2048];
    dev_t device = makedev(input_u8(in), input_u8(in));
    size_t length = input_bytes(in, line, sizeof line - 1);
    line[length] = '\0';
    length = strlen(line);
    const char *type = type_if_device(line, device);
    CHECK(type == NULL || (type > line && type <= line + length && strchr(type, ' ') == NULL));
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    switch (input_below(&in, 3)) {
    case 0:
        try_line(&in);
        break;
    case 1:
        try_mount(&in);
        break;
    default:
        try_text(in.at, in.left, 0);
        try_text(in.at, in.left, 0x600000);
    }
}
