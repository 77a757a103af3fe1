/* SPDX-License-Identifier: BSD-3-Clause */
/* Check 10: names of the old helper library are the program's. */
#include <sisci_demolib.h>
#include <stdio.h>

unsigned GetLocalNodeId(unsigned adapter);
int SendInterrupt(int number);
int ReceiveInterrupt(int number);
void SleepMilliseconds(int time);

unsigned GetLocalNodeId(unsigned adapter)
{
    unsigned node = 0;
    sci_error_t error;
    SCIGetLocalNodeId(adapter, &node, 0, &error);
    return error == SCI_ERR_NOT_INITIALIZED ? 77 : node;
}

int SendInterrupt(int number)
{
    return number;
}

int ReceiveInterrupt(int number)
{
    return number;
}

void SleepMilliseconds(int time)
{
    (void)time;
}

int main(void)
{
    SleepMilliseconds(1);
    if (GetLocalNodeId(0) != 77 || SendInterrupt(1) != ReceiveInterrupt(1)) {
        puts("not the program's functions");
        return 1;
    }
    return 0;
}
