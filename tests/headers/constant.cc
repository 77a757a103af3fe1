/* SPDX-License-Identifier: BSD-3-Clause */
/* C++ programs name a controller by all that C++ has for a string, and include the header as C. */
extern "C" {
#include <rsmapi.h>
}

/* As programs declare it themselves. */
extern "C" int rsm_get_controller(char *, rsmapi_controller_handle_t *);

static int (*const typed)(char *, rsmapi_controller_handle_t *) = rsm_get_controller;

static int open_all(char *variable, const char *pointer, rsmapi_controller_handle_t *handle)
{
    static const char constant[] = "loopback";
    char array[] = "loopback";
    return rsm_get_controller("loopback", handle) + rsm_get_controller(variable, handle) +
           rsm_get_controller(pointer, handle) + rsm_get_controller(constant, handle) +
           rsm_get_controller(array, handle) + rsm_get_controller(NULL, handle) +
           rsm_get_controller(0, handle) + typed(array, handle)
#if __cplusplus >= 201103L
           + rsm_get_controller(nullptr, handle)
#endif
        ;
}

int main(void)
{
    rsmapi_controller_handle_t handle;
    char name[] = "loopback";
    int error = open_all(name, "loopback", &handle);
    for (int i = __cplusplus >= 201103L ? 9 : 8; error == 0 && i > 0; i--)
        error = rsm_release_controller(handle);
    return error;
}
