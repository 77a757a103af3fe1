/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/systeminfo.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Longest string, its NUL included. */
#define VALUE_MAX 257

static int fail(int error)
{
    errno = error;
    return -1;
}

/* --- the machine --- */

/* First line of a file without the blanks around it; 0, or -1 where there is none. */
static int first_line(const char *path, char value[VALUE_MAX])
{
    char text[VALUE_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0)
        return -1;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    char *start = text + strspn(text, " \t");
    size_t end = strlen(start);
    while (end > 0 && (start[end - 1] == ' ' || start[end - 1] == '\t'))
        end--;
    start[end] = '\0';
    strlcpy(value, start, VALUE_MAX);
    return end > 0 ? 0 : -1;
}

static int is_x86_32(const char *machine)
{
    return machine[0] == 'i' && strcmp(machine + 2, "86") == 0;
}

/* Solaris's names of instruction sets; other machines' are uname's. */
static int instruction_set(int command, const char *machine, char value[VALUE_MAX])
{
    int x86_64 = strcmp(machine, "x86_64") == 0;
    int x86 = x86_64 || is_x86_32(machine);
    int wide = sizeof(void *) == 8 || x86_64;
    const char *wide_name = x86_64 ? "amd64" : machine;
    const char *name = NULL;
    switch (command) {
    case SI_ARCHITECTURE:
        name = x86 ? "i386" : machine;
        break;
    case SI_ARCHITECTURE_32:
        name = x86 ? "i386" : wide ? NULL : machine;
        break;
    case SI_ARCHITECTURE_64:
        name = wide ? wide_name : NULL;
        break;
    case SI_ISALIST:
        name = x86_64 ? "amd64 i386" : x86 ? "i386" : machine;
        break;
    default: /* SI_ARCHITECTURE_K, SI_ARCHITECTURE_NATIVE */
        name = wide ? wide_name : x86 ? "i386" : machine;
        break;
    }
    if (name == NULL)
        return -1;
    strlcpy(value, name, VALUE_MAX);
    return 0;
}

static int platform(const char *machine, char value[VALUE_MAX])
{
    if (first_line("/sys/class/dmi/id/product_name", value) != 0 &&
        first_line("/proc/device-tree/model", value) != 0)
        strlcpy(value, machine, VALUE_MAX);
    return 0;
}

/* --- get --- */

/* Returns 0, or -1 if the machine does not provide it. */
static int look_up(int command, char value[VALUE_MAX])
{
    struct utsname names;
    if (uname(&names) != 0)
        return -1;
    switch (command) {
    case SI_SYSNAME:
        strlcpy(value, names.sysname, VALUE_MAX);
        return 0;
    case SI_HOSTNAME:
        strlcpy(value, names.nodename, VALUE_MAX);
        return 0;
    case SI_RELEASE:
        strlcpy(value, names.release, VALUE_MAX);
        return 0;
    case SI_VERSION:
        strlcpy(value, names.version, VALUE_MAX);
        return 0;
    case SI_MACHINE:
        strlcpy(value, names.machine, VALUE_MAX);
        return 0;
    case SI_SRPC_DOMAIN:
        return getdomainname(value, VALUE_MAX);
    case SI_HW_SERIAL:
        snprintf(value, VALUE_MAX, "%lu", (unsigned long)(uint32_t)gethostid());
        return 0;
    case SI_HW_PROVIDER:
        return first_line("/sys/class/dmi/id/sys_vendor", value);
    case SI_PLATFORM:
        return platform(names.machine, value);
    case SI_ARCHITECTURE:
    case SI_ARCHITECTURE_32:
    case SI_ARCHITECTURE_64:
    case SI_ARCHITECTURE_K:
    case SI_ARCHITECTURE_NATIVE:
    case SI_ISALIST:
        return instruction_set(command, names.machine, value);
    default:
        return -1;
    }
}

static int get(int command, char *buf, long count)
{
    char value[VALUE_MAX];
    if (look_up(command, value) != 0)
        return fail(EINVAL);
    if (count > 0 && buf == NULL)
        return fail(EFAULT);
    return (int)strlcpy(buf, value, (size_t)count) + 1;
}

/* --- set --- */

static int set(int command, const char *buf, long count)
{
    if (buf == NULL)
        return fail(EFAULT);
    size_t length = strnlen(buf, (size_t)count);
    if (length == (size_t)count)
        return fail(EINVAL);
    int result = command == SI_SET_HOSTNAME ? sethostname(buf, length) : setdomainname(buf, length);
    return result == 0 ? (int)length + 1 : -1;
}

int sysinfo(int command, char *buf, long count)
{
    if (count < 0)
        return fail(EINVAL);
    if (command == SI_SET_HOSTNAME || command == SI_SET_SRPC_DOMAIN)
        return set(command, buf, count);
    return get(command, buf, count);
}
