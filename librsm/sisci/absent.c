/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that librsm does not have, for programs that are linked with them: registers of
 * adapters, channels of DMA engines, devices. */
#include "export.h"
#include "object.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static void refuse(sci_error_t *error, sci_error_t refusal)
{
    sci_error_t result = sisci_check(0, 0);
    sisci_report(error, result == SCI_ERR_OK ? refusal : result);
}

static void absent(sci_error_t *error)
{
    refuse(error, SCI_ERR_NOT_IMPLEMENTED);
}

/* A function that returns nothing, with all its parameters but the last. */
#define ABSENT(name, ...)                                                                          \
    SISCI_API(void, name)(__VA_ARGS__, sci_error_t * error)                                        \
    {                                                                                              \
        absent(error);                                                                             \
    }

SISCI_API(unsigned int, SCIGetCSRRegister)
(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId, unsigned int CSROffset,
 unsigned int flags, sci_error_t *error)
{
    absent(error);
    return 0;
}

ABSENT(SCISetCSRRegister, sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId,
       unsigned int CSROffset, unsigned int CSRValue, unsigned int flags)

SISCI_API(unsigned int, SCIGetLocalCSR)
(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset, unsigned int flags,
 sci_error_t *error)
{
    absent(error);
    return 0;
}

ABSENT(SCISetLocalCSR, sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset,
       unsigned int CSRValue, unsigned int flags)

/* Transfers are by the processor or the fabric's adapter: there is no engine to be chosen. */

SISCI_API(void, SCIRequestDMAChannel)
(sci_desc_t sd, sci_dma_channel_t *channel, unsigned int localAdapterNo, sci_dma_type_t type,
 unsigned int channelId, unsigned int flags, sci_error_t *error)
{
    if (channel != NULL)
        *channel = NULL;
    absent(error);
}

ABSENT(SCIReturnDMAChannel, sci_dma_channel_t channel)

ABSENT(SCIAssignDMAChannel, sci_dma_channel_t channel, sci_dma_queue_t dq, unsigned int flags)

SISCI_API(void, SCIConnectSCISpace)
(sci_desc_t sd, unsigned int localAdapterNo, sci_remote_segment_t *segment, sci_address_t address,
 unsigned int size, unsigned int flags, sci_error_t *error)
{
    if (segment != NULL)
        *segment = NULL;
    refuse(error, SCI_ERR_ACCESS);
}

SISCI_API(void, SCIBorrowDevice)
(sci_desc_t sd, sci_device_t *device, unsigned long long fdid, unsigned int flags,
 sci_error_t *error)
{
    if (device != NULL)
        *device = NULL;
    absent(error);
}

ABSENT(SCIReturnDevice, sci_device_t device, unsigned int flags)

SISCI_API(unsigned long long, SCIGetFabricDeviceId)(sci_device_t device)
{
    return 0;
}

SISCI_API(size_t, SCIGetDeviceList)
(sci_desc_t sd, unsigned int *fdids, size_t length, const void *filter, unsigned int flags,
 sci_error_t *error)
{
    absent(error);
    return 0;
}

ABSENT(SCIRegisterPCIeRequester, sci_desc_t sd, unsigned int localAdapterNo, unsigned int bus,
       unsigned int devfn, unsigned int flags)

ABSENT(SCIUnregisterPCIeRequester, sci_desc_t sd, unsigned int localAdapterNo, unsigned int bus,
       unsigned int devfn, unsigned int flags)

ABSENT(SCIMapLocalSegmentForDevice, sci_local_segment_t segment, unsigned int localAdapterNo,
       sci_device_t device, sci_ioaddr_t *ioaddress, size_t offset, size_t size, unsigned int flags)

ABSENT(SCIUnmapLocalSegmentForDevice, sci_local_segment_t segment, unsigned int localAdapterNo,
       sci_device_t device, unsigned int flags)

ABSENT(SCIMapRemoteSegmentForDevice, sci_remote_segment_t segment, sci_device_t device,
       sci_ioaddr_t *ioaddress, size_t offset, size_t size, unsigned int flags)

ABSENT(SCIUnmapRemoteSegmentForDevice, sci_remote_segment_t segment, sci_device_t device,
       unsigned int flags)

ABSENT(SCICreateDeviceSegment, sci_device_t device, unsigned int segmentId, size_t size,
       unsigned int memoryType, unsigned int access, unsigned int flags)

SISCI_API(void, SCIConnectDeviceSegment)
(sci_device_t device, sci_remote_segment_t *segment, unsigned int segmentId,
 unsigned int memoryType, sci_cb_remote_segment_t callback, void *callbackArg, unsigned int flags,
 sci_error_t *error)
{
    if (segment != NULL)
        *segment = NULL;
    absent(error);
}
