/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that loads the library at run time, by the names that the vendor's library has.
 *
 *     sisci_loads LIBRARY FUNCTIONS
 */
#include <dlfcn.h>
#include <sisci_types.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 65 };

/* The function of that name in one of its forms. */
static void *find(void *library, const char *prefix, const char *name)
{
    char symbol[2 * NAME_BYTES];
    snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    return dlsym(library, symbol);
}

static int check_name(void *library, const char *name)
{
    void *plain = find(library, "", name);
    if (plain != NULL && plain == find(library, "_SISCI_PUBLIC_FUNC_ST_", name) &&
        plain == find(library, "_SISCI_PUBLIC_FUNC_MT_", name))
        return 0;
    printf("%s: its names are not one function\n", name);
    return 1;
}

static int check_calls(void *library)
{
    void (*open)(sci_desc_t *, unsigned, sci_error_t *);
    const char *(*text)(sci_error_t);
    sci_desc_t desc;
    sci_error_t error = SCI_ERR_OK;
    *(void **)&open = find(library, "_SISCI_PUBLIC_FUNC_ST_", "SCIOpen");
    *(void **)&text = find(library, "_SISCI_PUBLIC_FUNC_ST_", "SCIGetErrorString");
    const unsigned *flag = find(library, "_SISCI_PUBLIC_CONST_", "SCI_FLAG_FIXED_INTNO");
    if (open == NULL || text == NULL || flag == NULL || *flag != 2)
        return 1;
    open(&desc, 0, &error);
    return strcmp(text(error), "SCI_ERR_NOT_INITIALIZED") == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char name[NAME_BYTES];
    int bad = 0, count = 0;
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    FILE *functions = library != NULL ? fopen(argv[2], "re") : NULL;
    if (functions == NULL) {
        printf("%s\n", library == NULL && argc == 3 ? dlerror() : "usage: LIBRARY FUNCTIONS");
        return 1;
    }
    while (fscanf(functions, "%64s", name) == 1) {
        bad += check_name(library, name);
        count++;
    }
    fclose(functions);
    bad += check_calls(library);
    return bad == 0 && count > 0 ? 0 : 1;
}
