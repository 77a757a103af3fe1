# SPDX-License-Identifier: BSD-3-Clause
# vm_tcp_test(NAME name ... as vm_test): with daemon and tcp transport, on Debian's kernel for clouds. rsm-tcpd lies beside
# its module.
set(tcp_conf ${CMAKE_CURRENT_SOURCE_DIR}/conf/tcp.conf)
function(vm_tcp_test)
    cmake_parse_arguments(T "" "" "PROGRAMS;FILES;ENV" ${ARGN})
    vm_test(${T_UNPARSED_ARGUMENTS} KERNEL cloud
        PROGRAMS rsmd rsm_tcp rsm-tcpd rsm_mapping ${T_PROGRAMS}
        FILES ${short_lived} ${tcp_conf} ${T_FILES}
        ENV RSM_RSMD=${PROJECT_BINARY_DIR}/bin/rsmd
            RSM_SHORT_LIVED_RSMD=${short_lived}
            RSM_MODULE_DIR=$<TARGET_FILE_DIR:rsm_tcp> ${T_ENV})
endfunction()

# Both examples, and the published one where its text is at hand.
vm_tcp_test(NAME vm.tcp.examples MACHINES 2 SCRIPT tcp_examples.sh PROGRAMS rsmstat rsmtest scitest
    ARGS $<TARGET_FILE:rsmd> $<TARGET_FILE:rsmstat> $<TARGET_FILE:rsmtest> $<TARGET_FILE:scitest>)
vm_tcp_test(NAME vm.tcp.published MACHINES 2 SCRIPT tcp_published.sh PROGRAMS ${published}-tcp type_driver
    BY ${published_by} ${published}-tcp
    ARGS $<TARGET_FILE:rsmd> $<TARGET_FILE:type_driver> ${published}-tcp)

# Both suites: what moves data; with the label long the rest, which conformance.tcp-two-hosts has between two name spaces.
set(tcp_machines $<TARGET_FILE:conformance> ${tcp_conf} --area)
set(tcp_sisci $<TARGET_FILE:conformance-sisci> ${tcp_conf} --area)
vm_tcp_test(NAME vm.tcp.conformance MACHINES 2 SCRIPT tcp_conformance.sh PROGRAMS conformance TIMEOUT 900
    ARGS ${tcp_machines} B)
vm_tcp_test(NAME vm.tcp.conformance.rest MACHINES 2 SCRIPT tcp_conformance.sh PROGRAMS conformance TIMEOUT 3000
    LABELS long ARGS ${tcp_machines} ACEFGIKLMNOPRSTV)
vm_tcp_test(NAME vm.tcp.sisci MACHINES 2 SCRIPT tcp_conformance.sh PROGRAMS conformance-sisci TIMEOUT 900
    LABELS sisci ARGS ${tcp_sisci} C)
vm_tcp_test(NAME vm.tcp.sisci.rest MACHINES 2 SCRIPT tcp_conformance.sh PROGRAMS conformance-sisci TIMEOUT 1800
    LABELS sisci long ARGS ${tcp_sisci} BDEIRS)

# Encrypted, what moves data, signals and maps: conformance.tcp-tls has it between two name spaces.
set(tls_conf ${CMAKE_CURRENT_SOURCE_DIR}/conf/tcp-tls.conf)
vm_tcp_test(NAME vm.tcp.encrypted MACHINES 2 SCRIPT tcp_conformance.sh PROGRAMS conformance FILES ${tls_conf} TIMEOUT 1200
    LABELS long ARGS $<TARGET_FILE:conformance> ${tls_conf} --area BEM)

# After unpublish no byte lands, between two network name spaces of a machine.
vm_tcp_test(NAME vm.tcp.hammer SCRIPT tcp_hammer.sh PROGRAMS integration_hammer_tcp LABELS long
    ENV RSM_HAMMER_ROUNDS=60 ARGS $<TARGET_FILE:integration_hammer_tcp>)
