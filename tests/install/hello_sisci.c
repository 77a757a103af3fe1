/* SPDX-License-Identifier: BSD-3-Clause */
/* The least that a program can do with an installed libsisci: trigger an interrupt of its own, and
 * take it. */
#include <sisci_api.h>
#include <stdio.h>

static int failed(const char *what, sci_error_t error)
{
    fprintf(stderr, "hello: %s: %s\n", what, SCIGetErrorString(error));
    return 1;
}

int main(void)
{
    sci_desc_t device;
    sci_local_interrupt_t local;
    sci_remote_interrupt_t remote;
    unsigned int number = 0;
    sci_error_t error;

    SCIInitialize(0, &error);
    if (error != SCI_ERR_OK)
        return failed("SCIInitialize", error);
    SCIOpen(&device, 0, &error);
    if (error != SCI_ERR_OK)
        return failed("SCIOpen", error);
    SCICreateInterrupt(device, &local, 0, &number, NULL, NULL, 0, &error);
    if (error != SCI_ERR_OK)
        return failed("SCICreateInterrupt", error);
    SCIConnectInterrupt(device, &remote, SCI_LOCAL_HOST, 0, number, SCI_INFINITE_TIMEOUT, 0,
                        &error);
    if (error != SCI_ERR_OK)
        return failed("SCIConnectInterrupt", error);
    SCITriggerInterrupt(remote, 0, &error);
    if (error != SCI_ERR_OK)
        return failed("SCITriggerInterrupt", error);
    SCIWaitForInterrupt(local, 10000, 0, &error);
    if (error != SCI_ERR_OK)
        return failed("SCIWaitForInterrupt", error);
    SCITerminate();
    puts("hello");
    return 0;
}
