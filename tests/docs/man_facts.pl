#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# man_facts.pl WHAT PAGE...: what the source of manual pages says, one fact a line.
#
#   names       PAGE NAME              each name of the NAME section
#   prototypes  a C declaration        each function of the SYNOPSIS
#   errors      FUNCTION CODE          each code of the ERRORS section
#   references  PAGE NAME SECTION      each reference to a page of librsm
use strict;
use warnings;

my %facts = (
    names => \&names, prototypes => \&prototypes, errors => \&errors, references => \&references,
);
my $what = shift // '';
die "man_facts.pl: no such fact: '$what'\n" unless $facts{$what};
for my $path (@ARGV) {
    open(my $page, '<', $path) or die "$path: $!\n";
    my ($name) = $path =~ m{([^/]+)$};
    my ($section, %lines) = ('');
    while (my $line = <$page>) {
        chomp $line;
        $section = $1 if $line =~ /^\.Sh (.*)/;
        push @{$lines{$section}}, $line;
    }
    $facts{$what}->($name, \%lines);
}

sub names {
    my ($page, $lines) = @_;
    for (@{$lines->{NAME}}) {
        print "$page $1\n" if /^\.Nm (\S+)/;
    }
}

sub prototypes {
    my ($page, $lines) = @_;
    my ($type, $function, @arguments);
    for (@{$lines->{SYNOPSIS}}) {
        if (/^\.Ft "?([^"]*)"?/) { $type = $1 }
        elsif (/^\.Fo (\S+)/) { ($function, @arguments) = ($1) }
        elsif (/^\.Fa "(.*)"/) { push @arguments, $1 }
        elsif (/^\.Fc/) { print "$type $function(", join(', ', @arguments), ");\n" }
    }
}

# Functions are named in running text, the codes of all of them in the list behind it.
sub errors {
    my ($page, $lines) = @_;
    my (@functions, $depth, $listed);
    ($depth, $listed) = (0, 1);
    for (@{$lines->{ERRORS} // []}) {
        if (/^\.Bl /) { $depth++ }
        elsif (/^\.El/) { $depth--; $listed = 1 }
        elsif ($depth == 0 && /^\.Fn (\S+)/) {
            @functions = () if $listed;
            $listed = 0;
            push @functions, $1;
        }
        elsif ($depth == 1 && /^\.It Bq Er (\S+)/) { print "$_ $1\n" for @functions }
    }
}

sub references {
    my ($page, $lines) = @_;
    for (map { @$_ } values %$lines) {
        print "$page $1 $2\n" if /Xr (\S*rsm\S*) (\S+)/;
    }
}
