/* SPDX-License-Identifier: BSD-3-Clause */
#include "documented.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODES_MAX = 128, FUNCTIONS_MAX = 64, NAME_MAX_BYTES = 64 };

static char code_names[CODES_MAX][NAME_MAX_BYTES];

static struct {
    char name[NAME_MAX_BYTES];
    bool may[CODES_MAX];
} functions[FUNCTIONS_MAX];
static int function_count;

static FILE *open_source(const char *path)
{
    char full[PATH_MAX];
    const char *source = getenv("RSM_SOURCE_DIR");
    snprintf(full, sizeof full, "%s/%s", source != NULL ? source : ".", path);
    FILE *file = fopen(full, "re");
    if (file == NULL)
        fprintf(stderr, "cannot open %s: %m (RSM_SOURCE_DIR?)\n", full);
    return file;
}

static bool read_codes(void)
{
    char line[256], name[NAME_MAX_BYTES];
    int code;
    FILE *file = open_source("include/rsm/rsm_common.h");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "#define RSMERR_%63s %d", name, &code) == 2 && code < CODES_MAX)
            strcpy(code_names[code], name);
    fclose(file);
    strcpy(code_names[0], "SUCCESS");
    return true;
}

static int code_of(const char *name)
{
    for (int i = 0; i < CODES_MAX; i++)
        if (strcmp(code_names[i], name) == 0)
            return i;
    return -1;
}

static bool take_line(char *line)
{
    char *rest = line, *word;
    bool begins = !isspace((unsigned char)line[0]);
    while ((word = strtok_r(rest, " \t\n", &rest)) != NULL) {
        if (begins) {
            if (function_count == FUNCTIONS_MAX)
                return false;
            snprintf(functions[function_count++].name, NAME_MAX_BYTES, "%s", word);
            begins = false;
            continue;
        }
        int code = code_of(word);
        if (code < 0 || function_count == 0)
            return false;
        functions[function_count - 1].may[code] = true;
    }
    return true;
}

bool documented_read(void)
{
    char line[512];
    bool good = read_codes();
    FILE *file = good ? open_source("tests/docs/errors.txt") : NULL;
    if (file == NULL)
        return false;
    while (good && fgets(line, sizeof line, file) != NULL)
        good = line[0] == '#' || take_line(line);
    fclose(file);
    if (!good || function_count == 0)
        fprintf(stderr, "tests/docs/errors.txt: not understood\n");
    return good && function_count > 0;
}

bool documented(const char *function, int error)
{
    for (int i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, function) == 0)
            return error >= 0 && error < CODES_MAX && functions[i].may[error];
    return false;
}

const char *documented_name(int error)
{
    return error >= 0 && error < CODES_MAX && code_names[error][0] != '\0' ? code_names[error]
                                                                           : "no code of RSMAPI";
}
