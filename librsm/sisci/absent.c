/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that librsm does not have, for programs that are linked with them: registers of
 * adapters, channels of DMA engines, conditional interrupts, devices. */
#include "export.h"
#include "object.h"

static sci_error_t absent(void)
{
    sci_error_t error = sisci_check(0, 0);
    return error == SCI_ERR_OK ? SCI_ERR_NOT_IMPLEMENTED : error;
}

SISCI_API unsigned int SCIGetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo,
                                         unsigned int SCINodeId, unsigned int CSROffset,
                                         unsigned int flags, sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)SCINodeId;
    (void)CSROffset;
    (void)flags;
    sisci_report(error, absent());
    return 0;
}
SISCI_EXPORT(SCIGetCSRRegister);

SISCI_API void SCISetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId,
                                 unsigned int CSROffset, unsigned int CSRValue, unsigned int flags,
                                 sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)SCINodeId;
    (void)CSROffset;
    (void)CSRValue;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCISetCSRRegister);

SISCI_API unsigned int SCIGetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo,
                                      unsigned int CSROffset, unsigned int flags,
                                      sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)CSROffset;
    (void)flags;
    sisci_report(error, absent());
    return 0;
}
SISCI_EXPORT(SCIGetLocalCSR);

SISCI_API void SCISetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset,
                              unsigned int CSRValue, unsigned int flags, sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)CSROffset;
    (void)CSRValue;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCISetLocalCSR);

/* Transfers are by the processor or the fabric's adapter: there is no engine to be chosen. */

SISCI_API void SCIRequestDMAChannel(sci_desc_t sd, sci_dma_channel_t *channel,
                                    unsigned int localAdapterNo, sci_dma_type_t type,
                                    unsigned int channelId, unsigned int flags, sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)type;
    (void)channelId;
    (void)flags;
    if (channel != NULL)
        *channel = NULL;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIRequestDMAChannel);

SISCI_API void SCIReturnDMAChannel(sci_dma_channel_t channel, sci_error_t *error)
{
    (void)channel;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIReturnDMAChannel);

SISCI_API void SCIAssignDMAChannel(sci_dma_channel_t channel, sci_dma_queue_t dq,
                                   unsigned int flags, sci_error_t *error)
{
    (void)channel;
    (void)dq;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIAssignDMAChannel);

SISCI_API void SCIRegisterInterruptFlag(unsigned int localAdapterNo,
                                        sci_local_interrupt_t *interrupt,
                                        sci_local_segment_t segment, unsigned int offset,
                                        sci_cb_interrupt_t callback, void *callbackArg,
                                        unsigned int flags, sci_error_t *error)
{
    (void)localAdapterNo;
    (void)segment;
    (void)offset;
    (void)callback;
    (void)callbackArg;
    (void)flags;
    if (interrupt != NULL)
        *interrupt = NULL;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIRegisterInterruptFlag);

SISCI_API void SCIEnableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                             sci_error_t *error)
{
    (void)interrupt;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIEnableConditionalInterrupt);

SISCI_API void SCIDisableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                              sci_error_t *error)
{
    (void)interrupt;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIDisableConditionalInterrupt);

SISCI_API void SCIGetConditionalInterruptTrigCounter(sci_local_interrupt_t interrupt,
                                                     unsigned int *interruptTrigCounter,
                                                     unsigned int flags, sci_error_t *error)
{
    (void)interrupt;
    (void)interruptTrigCounter;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIGetConditionalInterruptTrigCounter);

SISCI_API void SCIConnectSCISpace(sci_desc_t sd, unsigned int localAdapterNo,
                                  sci_remote_segment_t *segment, sci_address_t address,
                                  unsigned int size, unsigned int flags, sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)address;
    (void)size;
    (void)flags;
    if (segment != NULL)
        *segment = NULL;
    sci_error_t result = absent();
    sisci_report(error, result == SCI_ERR_NOT_IMPLEMENTED ? SCI_ERR_ACCESS : result);
}
SISCI_EXPORT(SCIConnectSCISpace);

SISCI_API void SCIBorrowDevice(sci_desc_t sd, sci_device_t *device, unsigned long long fdid,
                               unsigned int flags, sci_error_t *error)
{
    (void)sd;
    (void)fdid;
    (void)flags;
    if (device != NULL)
        *device = NULL;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIBorrowDevice);

SISCI_API void SCIReturnDevice(sci_device_t device, unsigned int flags, sci_error_t *error)
{
    (void)device;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIReturnDevice);

SISCI_API unsigned long long SCIGetFabricDeviceId(sci_device_t device)
{
    (void)device;
    return 0;
}
SISCI_EXPORT(SCIGetFabricDeviceId);

SISCI_API size_t SCIGetDeviceList(sci_desc_t sd, unsigned int *fdids, size_t length,
                                  const void *filter, unsigned int flags, sci_error_t *error)
{
    (void)sd;
    (void)fdids;
    (void)length;
    (void)filter;
    (void)flags;
    sisci_report(error, absent());
    return 0;
}
SISCI_EXPORT(SCIGetDeviceList);

SISCI_API void SCIRegisterPCIeRequester(sci_desc_t sd, unsigned int localAdapterNo,
                                        unsigned int bus, unsigned int devfn, unsigned int flags,
                                        sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)bus;
    (void)devfn;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIRegisterPCIeRequester);

SISCI_API void SCIUnregisterPCIeRequester(sci_desc_t sd, unsigned int localAdapterNo,
                                          unsigned int bus, unsigned int devfn, unsigned int flags,
                                          sci_error_t *error)
{
    (void)sd;
    (void)localAdapterNo;
    (void)bus;
    (void)devfn;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIUnregisterPCIeRequester);

SISCI_API void SCIMapLocalSegmentForDevice(sci_local_segment_t segment, unsigned int localAdapterNo,
                                           sci_device_t device, sci_ioaddr_t *ioaddress,
                                           size_t offset, size_t size, unsigned int flags,
                                           sci_error_t *error)
{
    (void)segment;
    (void)localAdapterNo;
    (void)device;
    (void)ioaddress;
    (void)offset;
    (void)size;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIMapLocalSegmentForDevice);

SISCI_API void SCIUnmapLocalSegmentForDevice(sci_local_segment_t segment,
                                             unsigned int localAdapterNo, sci_device_t device,
                                             unsigned int flags, sci_error_t *error)
{
    (void)segment;
    (void)localAdapterNo;
    (void)device;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIUnmapLocalSegmentForDevice);

SISCI_API void SCIMapRemoteSegmentForDevice(sci_remote_segment_t segment, sci_device_t device,
                                            sci_ioaddr_t *ioaddress, size_t offset, size_t size,
                                            unsigned int flags, sci_error_t *error)
{
    (void)segment;
    (void)device;
    (void)ioaddress;
    (void)offset;
    (void)size;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIMapRemoteSegmentForDevice);

SISCI_API void SCIUnmapRemoteSegmentForDevice(sci_remote_segment_t segment, sci_device_t device,
                                              unsigned int flags, sci_error_t *error)
{
    (void)segment;
    (void)device;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIUnmapRemoteSegmentForDevice);

SISCI_API void SCICreateDeviceSegment(sci_device_t device, unsigned int segmentId, size_t size,
                                      unsigned int memoryType, unsigned int access,
                                      unsigned int flags, sci_error_t *error)
{
    (void)device;
    (void)segmentId;
    (void)size;
    (void)memoryType;
    (void)access;
    (void)flags;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCICreateDeviceSegment);

SISCI_API void SCIConnectDeviceSegment(sci_device_t device, sci_remote_segment_t *segment,
                                       unsigned int segmentId, unsigned int memoryType,
                                       sci_cb_remote_segment_t callback, void *callbackArg,
                                       unsigned int flags, sci_error_t *error)
{
    (void)device;
    (void)segmentId;
    (void)memoryType;
    (void)callback;
    (void)callbackArg;
    (void)flags;
    if (segment != NULL)
        *segment = NULL;
    sisci_report(error, absent());
}
SISCI_EXPORT(SCIConnectDeviceSegment);
