/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of the loaded library has an underscore alias at the same address, and both are
 * found under the library's version (H-12, H-13); a program's own globals of the plainest names
 * stay the program's (H-15). */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include <rsmapi.h>

enum { FUNCTIONS = 42, NAME_SIZE = 64 };

static const char *library_path, *list_path;

/* The names, from the list that the symbol check uses too. */
static void read_names(char names[FUNCTIONS][NAME_SIZE])
{
    char line[NAME_SIZE * 2];
    int count = 0;
    FILE *list = fopen(list_path, "re");
    assert_non_null(list);
    while (fgets(line, sizeof line, list) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        assert_in_range(strlen(line), 1, NAME_SIZE - 1);
        assert_true(count < FUNCTIONS);
        memcpy(names[count++], line, strlen(line) + 1);
    }
    fclose(list);
    assert_int_equal(count, FUNCTIONS);
}

TEST_ALONE(aliases_equal_functions)
{
    char names[FUNCTIONS][NAME_SIZE];
    char alias[NAME_SIZE + 1];
    read_names(names);
    void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail_msg("%s", dlerror());
    for (int i = 0; i < FUNCTIONS; i++) {
        alias[0] = '_';
        memcpy(alias + 1, names[i], NAME_SIZE);
        void *function = dlsym(library, names[i]);
        if (function == NULL)
            fail_msg("no %s", names[i]);
        if (dlsym(library, alias) != function ||
            dlvsym(library, names[i], "SUNWprivate_1.1") != function ||
            dlvsym(library, alias, "SUNWprivate_1.1") != function)
            fail_msg("%s and its alias differ", names[i]);
    }
    dlclose(library);
}

/* Other linkage and types than the library could have under these names. */
#define OWN_GLOBALS(X) X(tp) X(buf) X(list) X(mode) X(status) X(attr) X(seg) X(offset) X(test)
#define DECLARE(name)                                                                              \
    extern char name[32];                                                                          \
    char name[32] = #name;
OWN_GLOBALS(DECLARE)

TEST_ALONE(globals_stay_the_programs)
{
    rsm_memseg_export_handle_t handle;
    assert_int_equal(rsm_get_interconnect_topology(NULL), RSMERR_BAD_TOPOLOGY_PTR);
    assert_int_equal(rsm_memseg_export_create(NULL, &handle, NULL, 0, 0), RSMERR_BAD_CTLR_HNDL);
#define UNCHANGED(name) assert_string_equal(name, #name);
    OWN_GLOBALS(UNCHANGED)
}

int main(int argc, char *argv[])
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s librsm.so functions.txt\n", argv[0]);
        return 2;
    }
    library_path = argv[1];
    list_path = argv[2];
    return cases_run();
}
