/* SPDX-License-Identifier: BSD-3-Clause */
/* Which interface has an address, and whether that is one of WireGuard. */
#include "cases.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/interface.h"

static char directory[] = "/tmp/rsm-interface-XXXXXX";

/* What a kernel would say of an interface. */
static void describe(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/uevent");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void forget(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s/uevent", directory, name);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(rmdir(path), 0);
}

TEST_ALONE(what_the_kernel_says_of_interfaces)
{
    static const struct {
        const char *name, *text;
        bool wireguard;
    } cases[] = {
        {"wg0", "DEVTYPE=wireguard\nINTERFACE=wg0\nIFINDEX=7\n", true},
        {"tunnel", "INTERFACE=tunnel\nDEVTYPE=wireguard\nIFINDEX=9\n", true},
        {"eth0", "INTERFACE=eth0\nIFINDEX=2\n", false},
        {"wlan0", "DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=3\n", false},
        {"odd", "INTERFACE=xDEVTYPE=wireguard\nIFINDEX=3\n", false},
        {"empty", "", false},
    };
    assert_non_null(mkdtemp(directory));
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        describe(cases[i].name, cases[i].text);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(rsmd_interface_is_wireguard(directory, cases[i].name), cases[i].wireguard);
    assert_false(rsmd_interface_is_wireguard(directory, "absent"));
    assert_false(rsmd_interface_is_wireguard(directory, "../x"));
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        forget(cases[i].name);
    assert_int_equal(rmdir(directory), 0);
}

/* 127.0.0.1 is that of one interface, whatever its name; 192.0.2.0/24 is nobody's. */
TEST_ALONE(whose_address_it_is)
{
    struct rsmd_addresses found;
    char name[IF_NAMESIZE] = "";
    assert_true(rsmd_address_literal("127.0.0.1", 9247, &found));
    assert_true(rsmd_interface_of(&found.list[0], name));
    assert_true(name[0] != '\0');
    assert_false(rsmd_interface_is_wireguard(RSMD_INTERFACES, name));
    assert_true(rsmd_address_literal("192.0.2.77", 9247, &found));
    assert_false(rsmd_interface_of(&found.list[0], name));
    assert_true(rsmd_address_literal("2001:db8::77", 9247, &found));
    assert_false(rsmd_interface_of(&found.list[0], name));
}
