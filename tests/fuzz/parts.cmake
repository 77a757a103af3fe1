# SPDX-License-Identifier: BSD-3-Clause
# What is fuzzed: each part is fuzz_PART.c, with seeds in corpus/PART.
set(fuzz_parts proto peer_proto conf offer segmentid verbs_wire verbs_receive verbs_accept ntb ntb_posts tcp records rsmd crowd
               saved queue listen handshake munge members tlsd client tunables maps decode)
