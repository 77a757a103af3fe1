#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# The published example program has come down to us in a document that flattened it onto one line.
# This takes it out, from its copyright notice to its last brace, and gives back the line breaks that
# the preprocessor needs: around every #include and #define. Nothing else is changed.
#
#   unflatten.pl DOCUMENT > program.c
use strict;
use warnings;

die "usage: $0 DOCUMENT\n" unless @ARGV == 1;
open(my $document, '<', $ARGV[0]) or die "$ARGV[0]: $!\n";
my $text = do { local $/; <$document> };
$text =~ m{(/\* \* Copyright.*\})}s or die "$ARGV[0]: there is no program in it\n";
my $program = $1;

# A definition ends after one token, or after the parenthesis that it starts with.
my $group = qr/(\((?:[^()]++|(?-1))*\))/;
$program =~ s/ ?(#include\s+(?:<[^>]*>|"[^"]*"))/\n$1\n/g;
$program =~ s/ ?(#define\s+\w+\s+(?:$group|\S+))/\n$1\n/g;
print "$program\n";
