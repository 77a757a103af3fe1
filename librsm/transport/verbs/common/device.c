/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "transport/verbs/common/gid.h"

enum { GIDS_MAX = 512 };

const char *verbs_where(const struct sockaddr_storage *address, char text[VERBS_WHERE_TEXT])
{
    char ip[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &four->sin_addr, ip, sizeof ip);
        port = ntohs(four->sin_port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &six->sin6_addr, ip, sizeof ip);
        port = ntohs(six->sin6_port);
    }
    snprintf(text, VERBS_WHERE_TEXT, "%s port %u", ip, port);
    return text;
}

void verbs_explain(const struct verbs_device *device, const char *what, int error)
{
    struct rlimit locked = {0};
    const struct ibv_device_attr *attr = &device->attr;
    getrlimit(RLIMIT_MEMLOCK, &locked);
    errno = error;
    if (error == ENOMEM && locked.rlim_cur != RLIM_INFINITY)
        rsm_log_error("verbs: %s: %m; the process may lock %llu KiB (RLIMIT_MEMLOCK), the device "
                      "has %d regions, %d windows, %d queue pairs",
                      what, (unsigned long long)locked.rlim_cur >> 10, attr->max_mr, attr->max_mw,
                      attr->max_qp);
    else
        rsm_log_error("verbs: %s: %m; the device has %d regions (max_mr), %d windows (max_mw), %d "
                      "queue pairs (max_qp), %d completion queues (max_cq)",
                      what, attr->max_mr, attr->max_mw, attr->max_qp, attr->max_cq);
}

/* Bind to an address of this host; the device that has it is ours unless another was wanted. */
static bool drop_anchor(const struct sockaddr *address, const char *name,
                        struct verbs_device *device)
{
    struct rdma_cm_id *id;
    if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) != 0)
        return false;
    struct sockaddr_storage copy = {0};
    memcpy(&copy, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                         : sizeof(struct sockaddr_in6));
    if (rdma_bind_addr(id, (struct sockaddr *)&copy) != 0 || id->verbs == NULL ||
        (name[0] != '\0' && strcmp(ibv_get_device_name(id->verbs->device), name) != 0)) {
        rdma_destroy_id(id);
        return false;
    }
    *device = (struct verbs_device){
        .anchor = id, .context = id->verbs, .address = copy, .port_num = id->port_num};
    return true;
}

static bool parse_address(const char *text, struct sockaddr_storage *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
        four->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
        six->sin6_family = AF_INET6;
    else
        return false;
    return true;
}

/* Read the routable entries of one port, and those of RoCE v1, which an index in the options can
 * select. */
static size_t read_gids(struct ibv_context *context, uint32_t port, struct verbs_gid *table)
{
    static const size_t max = GIDS_MAX;
    struct ibv_gid_entry *entries = calloc(max, sizeof *entries);
    ssize_t found = entries == NULL ? 0 : ibv_query_gid_table(context, entries, max, 0);
    size_t count = 0;
    for (ssize_t i = 0; i < found; i++) {
        if (entries[i].port_num != port)
            continue;
        table[count].index = entries[i].gid_index;
        table[count].rocev2 = entries[i].gid_type == IBV_GID_TYPE_ROCE_V2;
        memcpy(table[count++].bytes, entries[i].gid.raw, 16);
    }
    free(entries);
    return count;
}

/* The address of a RoCE port, chosen from its GIDs. */
static bool address_of_port(struct ibv_context *context, uint8_t port, int wanted,
                            struct sockaddr_storage *address)
{
    struct ibv_port_attr attr;
    if (ibv_query_port(context, port, &attr) != 0 || attr.state != IBV_PORT_ACTIVE ||
        attr.link_layer != IBV_LINK_LAYER_ETHERNET)
        return false;
    struct verbs_gid *table = calloc(GIDS_MAX, sizeof *table);
    if (table == NULL)
        return false;
    size_t count = read_gids(context, port, table);
    const struct verbs_gid *chosen = verbs_gid_choose(table, count, wanted);
    bool found = chosen != NULL && verbs_gid_address(chosen->bytes, address);
    free(table);
    return found;
}

/* Say which GID the address resulted in: what a wrong route is found by. */
static void report(const struct verbs_device *device)
{
    char where[VERBS_WHERE_TEXT];
    uint8_t wanted[16];
    struct verbs_gid *table = calloc(GIDS_MAX, sizeof *table);
    size_t count = table == NULL ? 0 : read_gids(device->context, device->port_num, table);
    int index = -1;
    verbs_gid_of_address((const struct sockaddr *)&device->address, wanted);
    for (size_t i = 0; i < count; i++)
        if (table[i].rocev2 && memcmp(table[i].bytes, wanted, sizeof wanted) == 0)
            index = (int)table[i].index;
    free(table);
    verbs_where(&device->address, where);
    *strchr(where, ' ') = '\0';
    if (index >= 0)
        rsm_log_info("verbs: device %s port %u, address %s, RoCE v2 GID index %d",
                     ibv_get_device_name(device->context->device), device->port_num, where, index);
    else
        rsm_log_info("verbs: device %s port %u, address %s, no RoCE v2 GID (InfiniBand or iWARP)",
                     ibv_get_device_name(device->context->device), device->port_num, where);
}

static bool find_by_address(const char *name, const struct verbs_options *options,
                            struct verbs_device *device)
{
    struct sockaddr_storage address;
    struct sockaddr_storage of_gid;
    if (!parse_address(options->address, &address) ||
        !drop_anchor((struct sockaddr *)&address, name, device)) {
        rsm_log_error("verbs: address %s belongs to no RDMA device%s%s", options->address,
                      name[0] != '\0' ? " named " : "", name);
        return false;
    }
    if (options->gid == VERBS_GID_AUTO ||
        (address_of_port(device->context, device->port_num, options->gid, &of_gid) &&
         memcmp(&of_gid, &address, sizeof address) == 0))
        return true;
    rsm_log_error("verbs: GID index %d is not that of address %s", options->gid, options->address);
    verbs_device_close(device);
    return false;
}

static bool find_by_gid(struct ibv_device *candidate, const struct verbs_options *options,
                        struct verbs_device *device)
{
    struct ibv_context *context = ibv_open_device(candidate);
    struct ibv_device_attr attr;
    struct sockaddr_storage address;
    bool found = false;
    if (context == NULL)
        return false;
    if (ibv_query_device(context, &attr) == 0)
        for (uint8_t port = 1; port <= attr.phys_port_cnt && !found; port++)
            found =
                address_of_port(context, port, options->gid, &address) &&
                drop_anchor((struct sockaddr *)&address, ibv_get_device_name(candidate), device);
    ibv_close_device(context);
    return found;
}

static bool find_among_devices(const char *name, const struct verbs_options *options,
                               struct verbs_device *device)
{
    int count = 0;
    bool found = false;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; i < count && !found; i++)
        if (name[0] == '\0' || strcmp(ibv_get_device_name(list[i]), name) == 0)
            found = find_by_gid(list[i], options, device);
    if (list != NULL)
        ibv_free_device_list(list);
    return found;
}

/* InfiniBand and iWARP: the addresses are those of network devices that lead to the adapter. */
static bool find_among_interfaces(const char *name, struct verbs_device *device)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *list;
    bool found = false;
    if (getifaddrs(&list) != 0)
        return false;
    for (int pass = 0; pass < 2 && !found; pass++)
        for (const struct ifaddrs *at = list; at != NULL && !found; at = at->ifa_next) {
            uint8_t gid[16];
            struct sockaddr_storage address;
            if (at->ifa_addr == NULL || at->ifa_addr->sa_family != families[pass])
                continue;
            verbs_gid_of_address(at->ifa_addr, gid);
            found = verbs_gid_address(gid, &address) &&
                    drop_anchor((struct sockaddr *)&address, name, device);
        }
    freeifaddrs(list);
    return found;
}

/* Say what was looked for, what there is, and what to do. */
static void explain_missing(const char *name, const struct verbs_options *options)
{
    char names[128] = "";
    int count = 0;
    bool there = name[0] == '\0';
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list != NULL && i < count; i++) {
        size_t used = strlen(names);
        const char *found = ibv_get_device_name(list[i]);
        snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", found);
        there |= strcmp(found, name) == 0;
    }
    if (list != NULL)
        ibv_free_device_list(list);
    if (count == 0)
        rsm_log_error(
            "verbs: there is no RDMA device%s%s: load the driver of the adapter, or make a "
            "soft-RoCE device by rdma link add (rsm-verbs(7))",
            name[0] != '\0' ? " " : "", name);
    else if (!there)
        rsm_log_error(
            "verbs: there is no RDMA device %s: correct device = in rsm.conf; there are %s", name,
            names);
    else
        rsm_log_error("verbs: no RDMA device%s%s has an active port with %s: set the link of its "
                      "network interface up, and give that an address",
                      name[0] != '\0' ? " named " : "", name,
                      options->gid != VERBS_GID_AUTO ? "the wanted GID" : "an IP address");
}

static bool open_device(const char *name, const struct verbs_options *options,
                        struct verbs_device *device)
{
    int error = ibv_fork_init(); /* before anything else, or it comes too late */
    if (error != 0)
        rsm_log_warning("verbs: no protection of registered memory over fork(): %s",
                        strerror(error));
    if (options->address[0] != '\0') {
        if (!find_by_address(name, options, device))
            return false;
    } else if (!find_among_devices(name, options, device) &&
               (options->gid != VERBS_GID_AUTO || !find_among_interfaces(name, device))) {
        explain_missing(name, options);
        return false;
    }
    if (ibv_query_device(device->context, &device->attr) != 0) {
        rsm_log_error("verbs: cannot query device: %m");
        verbs_device_close(device);
        return false;
    }
    report(device);
    return true;
}

enum rsm_status verbs_device_open_for(const struct rsm_controller_info *info,
                                      struct verbs_options *options, struct verbs_device *device)
{
    char why[256];
    if (!verbs_options_parse(info->options, info->peer_timeout_ms, options, why, sizeof why)) {
        rsm_log_error("verbs: controller %s: %s", info->name, why);
        return RSM_ST_INVALID;
    }
    return open_device(info->device, options, device) ? RSM_ST_OK : RSM_ST_NO_CONTROLLER;
}

void verbs_device_close(struct verbs_device *device)
{
    rdma_destroy_id(device->anchor);
    device->anchor = NULL;
    device->context = NULL;
}

bool verbs_device_active(const struct verbs_device *device)
{
    struct ibv_port_attr attr;
    return ibv_query_port(device->context, device->port_num, &attr) != 0 ||
           attr.state == IBV_PORT_ACTIVE;
}
