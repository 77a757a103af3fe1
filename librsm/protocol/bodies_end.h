/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The end of a list of bodies: what bodies_declare.h or bodies_walk.h defined is no more. */
#undef BODY
#undef END
#undef U32
#undef U64
#undef BOUNDED
#undef STRUCT
#undef STRING
#undef LIST
#undef LIST_U32
#undef DATA
#undef ARRAY
#undef ARRAY_U64
#undef ARRAY_U8
#undef STATUS
#undef ONLY_IF_OK
