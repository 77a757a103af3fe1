/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/tcp/common/options.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"

enum {
    TIMEOUT_MS = 5000,  /* where the node has none */
    SPIN_US = 50,       /* twice what an answer takes in a local network */
    SERVE_SPIN_US = 20, /* about what an importer takes that goes on at once */
};

static bool set_address(void *settings, const char *text)
{
    struct tcp_options *options = settings;
    uint8_t bytes[sizeof(struct in6_addr)];
    if (strlen(text) >= sizeof options->address ||
        (inet_pton(AF_INET, text, bytes) != 1 && inet_pton(AF_INET6, text, bytes) != 1))
        return false;
    strcpy(options->address, text);
    return true;
}

static bool set_server(void *settings, const char *text)
{
    struct tcp_options *options = settings;
    if (text[0] != '/' || strlen(text) >= sizeof options->server)
        return false;
    strcpy(options->server, text);
    return true;
}

#define OPTION(name_, member, expected_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .expected = (expected_), RSM_OPTION(struct tcp_options, member),          \
        __VA_ARGS__                                                                                \
    }
#define NUMBERS(min_, max_) .min = (min_), .max = (max_), .digits_only = true

static const struct rsm_option known[] = {
    OPTION("address", address, "an IPv4 or IPv6 address of this host", .set = set_address),
    OPTION("port", port, "a port number", NUMBERS(0, 65535)),
    OPTION("timeout", timeout_ms, "10 to 600000 milliseconds", NUMBERS(10, 600000)),
    OPTION("spin-us", spin_us, "0 to 1000000 microseconds", NUMBERS(0, 1000000)),
    OPTION("serve-spin-us", serve_spin_us, "0 to 1000000 microseconds", NUMBERS(0, 1000000)),
    OPTION("encrypt", tls, "none or tls", .words = {{"none", false}, {"tls", true}}),
    OPTION("server", server, "the path of rsm-tcpd", .set = set_server),
};

bool tcp_options_read(const struct rsm_controller_info *info, struct tcp_options *options)
{
    char why[256];
    const char *text = info->options != NULL ? info->options : "";
    uint32_t spin_us = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPIN_US : 0;
    *options = (struct tcp_options){
        .timeout_ms = info->peer_timeout_ms != 0 ? info->peer_timeout_ms : TIMEOUT_MS,
        .spin_us = spin_us,
        .serve_spin_us = spin_us > 0 ? SERVE_SPIN_US : 0,
    };
    if (info->device != NULL && *info->device != '\0') {
        rsm_log_error("tcp has no device: remove \"%s\"", info->device);
        return false;
    }
    if (rsm_options_parse(known, sizeof known / sizeof known[0], "the tcp transport", text, options,
                          why, sizeof why))
        return true;
    rsm_log_error("%s", why);
    return false;
}
