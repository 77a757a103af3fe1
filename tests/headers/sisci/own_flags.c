/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 3 and 4: the types without sisci_api.h define no flag, so that programs can; the marks of
 * parameters are there and empty. */
#include <sisci_types.h>

#include <sisci_error.h>

#if defined(SCI_FLAG_USE_CALLBACK) || defined(SCI_FLAG_EMPTY) || defined(SCI_FLAG_DMA_READ) ||     \
    defined(SCI_FLAG_FIXED_INTNO) || defined(SCI_INFINITE_TIMEOUT)
#error "flags belong into sisci_api.h"
#endif

enum { SCI_FLAG_USE_CALLBACK = 1, SCI_FLAG_EMPTY = 2 };

#ifdef __cplusplus
extern "C" {
#endif
sci_callback_action_t own_callback(void IN *arg, sci_local_interrupt_t IN interrupt,
                                   sci_error_t OUT status);
sci_callback_action_t own_callback(void IN *arg, sci_local_interrupt_t IN interrupt,
                                   sci_error_t OUT status)
{
    int IN_OUT number = SCI_FLAG_USE_CALLBACK | SCI_FLAG_EMPTY;
    return arg != 0 && interrupt != 0 && (int)status == number ? SCI_CALLBACK_CANCEL
                                                               : SCI_CALLBACK_CONTINUE;
}
#ifdef __cplusplus
}
#endif
