/* SPDX-License-Identifier: BSD-3-Clause */
/* Members as text, one a line: ID HOST ADDRESS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "members/members.h"

enum { LINE_MAX_BYTES = 1024, FIELDS = 3 };

/* Split a line at blanks. @return how many fields there are, at most FIELDS + 1. */
static unsigned split(char *line, char *fields[FIELDS])
{
    static const char blanks[] = " \t\r";
    unsigned count = 0;
    char *rest = NULL;
    for (char *field = strtok_r(line, blanks, &rest); field != NULL && count <= FIELDS;
         field = strtok_r(NULL, blanks, &rest)) {
        if (count < FIELDS)
            fields[count] = field;
        count++;
    }
    return count;
}

static bool take_line(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                      char *line, char *why)
{
    char *fields[FIELDS];
    uint32_t id = 0;
    unsigned count = split(line, fields);
    if (count == 0 || fields[0][0] == '#')
        return true;
    if (count != FIELDS ||
        (strcmp(fields[0], "-") != 0 && !rsm_number(fields[0], 1, RSM_NODE_ID_MAX, &id))) {
        snprintf(why, RSMD_MEMBERS_WHY_BYTES,
                 "expected ID HOST ADDRESS, ID being a number from 1 to %d or -", RSM_NODE_ID_MAX);
        return false;
    }
    return rsmd_members_add(members, rules, id, strcmp(fields[1], "-") == 0 ? "" : fields[1],
                            fields[2], why);
}

bool rsmd_members_read(struct rsmd_members *members, const struct rsmd_conf_members *rules,
                       const char *text, size_t length, char *why)
{
    const char *end = text + length;
    for (unsigned number = 1; text < end; number++) {
        char line[LINE_MAX_BYTES],
            reason[RSMD_MEMBERS_WHY_BYTES] = "expected a shorter line of text";
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t bytes = (size_t)((newline != NULL ? newline : end) - text);
        bool taken = bytes < sizeof line && memchr(text, '\0', bytes) == NULL;
        if (taken) {
            memcpy(line, text, bytes);
            line[bytes] = '\0';
            taken = take_line(members, rules, line, reason);
        }
        if (!taken) {
            snprintf(why, RSMD_MEMBERS_WHY_BYTES, "line %u: %.480s", number, reason);
            return false;
        }
        text += bytes + (newline != NULL);
    }
    return true;
}

char *rsmd_members_write(const struct rsmd_members *members)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return NULL;
    for (unsigned i = 0; i < members->count; i++) {
        const struct rsmd_conf_node *node = &members->list[i];
        bool six = strchr(node->address, ':') != NULL;
        fprintf(stream, "%u %s %s%s%s:%u\n", (unsigned)node->id, node->host, six ? "[" : "",
                node->address, six ? "]" : "", (unsigned)node->port);
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}
