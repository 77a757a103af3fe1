/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Each C excerpt of doc/transports.md is, to the letter, in the skeleton that is compiled.
 */
#include "check.h"

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t length = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, length, file), length);
    fclose(file);
    return text;
}

/* How many excerpts of the document are in the source; fails at one that is not. */
static unsigned compare(char *document, const char *source)
{
    unsigned excerpts = 0;
    char *rest = document;
    for (char *start; (start = strstr(rest, "\n```c\n")) != NULL; excerpts++) {
        start += strlen("\n```c\n");
        char *end = strstr(start, "\n```\n");
        assert_non_null(end);
        rest = end + 1; /* the newline ends the excerpt's last line */
        char kept = *rest;
        *rest = '\0';
        if (strstr(source, start) == NULL)
            fail_msg("not in the skeleton:\n%s", start);
        *rest = kept;
    }
    return excerpts;
}

TEST_ALONE(excerpts_are_from_the_skeleton)
{
    char *document = read_whole(TEST_DOCUMENT);
    char *source = read_whole(TEST_SKELETON);
    assert_in_range(compare(document, source), 6, 100);
    free(document);
    free(source);
}
