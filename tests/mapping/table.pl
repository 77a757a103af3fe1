#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# What doc/litmus.md says about the litmus tests is so.
#
#   table.pl run DOC BUILD NAME COMMAND...   run COMMAND, which is the run NAME of the document's table,
#                                            and see that it leaves out what the document says
#   table.pl check DOC BUILD SCRIPT LITMUS   the tables have all tests that the program LITMUS has, all
#                                            runs that `ctest -N` tells on standard input, and the
#                                            matrix is that of `print`
#   table.pl print DOC SCRIPT                the matrix; SCRIPT is the lab's
#
# BUILD is plain, asan or tsan.
use strict;
use warnings;

my %letter = (plain => 'P', asan => 'A', tsan => 'T');
my ($action, $doc, @rest) = @ARGV;
die "usage: see the beginning of $0\n" unless defined $doc;

# --- the document ------------------------------------------------------------------------------

my (@numbers, %tests_of, %why, %only, %run, $matrix, %unit);
read_document();

sub cells { return map { s/^\s+|\s+$//gr } (split /\|/, $_[0], -1)[1 .. ($_[0] =~ tr/|//) - 1] }

sub read_document {
    my $section = '';
    open my $file, '<', $doc or die "$doc: $!\n";
    while (my $line = <$file>) {
        chomp $line;
        $section = $1 if $line =~ /^## (.*)/;
        next unless $line =~ /^\|/ && $line !~ /^\|[-|]+$/;
        $matrix .= "$line\n" if $section =~ /^What runs where/;
        my @cell = cells($line);
        my @names = $cell[-1] =~ /`([\w.-]+)`/g;
        if ($section =~ /^The tests/ && $cell[0] ne 'no') {
            push @numbers, $cell[0];
            $tests_of{$cell[0]} = [grep { !/^unit\./ } @names];
            $unit{$cell[0]} = [grep { /^unit\./ } @names] if grep { /^unit\./ } @names;
        } elsif ($section =~ /^What is left out/ && $cell[0] =~ /`/) {
            for my $test ($cell[0] =~ /`(\w+)`/g) {
                my $words = $cell[1];
                my $into = $words =~ s/^all but // ? \%only : \%why;
                $into->{$test}{$_} = 1 for split /, /, $words;
            }
        } elsif ($section =~ /^The runs/ && $cell[0] =~ /`([\w.-]+)`/) {
            $run{$1} = {bed => $cell[1], mode => $cell[2], trap => $cell[3], special => $cell[4],
                builds => $cell[5]};
        } elsif ($section =~ /^Mistakes/ && $cell[0] =~ /^\d+$/) {
            $run{$_} = {bed => '', mode => '', trap => '', special => '', builds => 'P'} for @names;
        }
    }
}

# Whether a run leaves a test out: 1, '' for no, or 'maybe'.
sub leaves_out {
    my ($test, @words) = @_;
    return 1 if grep { $why{$test}{$_} } @words;
    return 1 if $only{$test} && !grep { $only{$test}{$_} } @words;
    return $why{$test}{'sometimes'} ? 'maybe' : '';
}

sub words_of { return @{$_[0]}{qw(bed mode trap special)} }

# --- run ---------------------------------------------------------------------------------------

sub run {
    my ($build, $name, @command) = @_;
    my $run = $run{$name} or die "FAILED: $doc has no run $name\n";
    my %wanted = (mode => $ENV{RSM_MAP_MODE} // 'auto', trap => $ENV{RSM_MAP_TRAP} // 'auto');
    for (sort keys %wanted) {
        die "FAILED: $doc says that $name has the $_ $run->{$_}, it has $wanted{$_}\n"
            unless $run->{$_} eq $wanted{$_};
    }
    my (@complaints, $tests);
    $| = 1;
    open my $output, '-|', @command or die "$command[0]: $!\n";
    while (<$output>) {
        print;
        next unless /^(ok|skipped) +(\w+)$/;
        $tests++;
        my $out = leaves_out($2, words_of($run), $build);
        push @complaints, "$2 was left out" if $1 eq 'skipped' && !$out;
        push @complaints, "$2 was not left out" if $1 eq 'ok' && $out eq '1';
    }
    close $output;
    my $status = $? & 127 ? 1 : $? >> 8;
    if (@complaints && $status == 0) {
        print "FAILED: in $name $_, which is not what $doc says\n" for @complaints;
        $status = 1;
    }
    exit $status;
}

# --- print -------------------------------------------------------------------------------------

my @columns = (
    (map { my $bed = $_; (map { [$bed, $_, 'signal'] } qw(auto precise twin mirror)),
        [$bed, 'auto', 'thread'] } qw(fake shm)),
    (map { ['verbs', $_, 'signal'] } qw(auto precise twin mirror)),
    ['verbs', 'auto', 'thread']);

# "bed mode trap" => test => 1, of the lab.
sub read_script {
    my ($path) = @_;
    my (%list, %has);
    open my $file, '<', $path or die "$path: $!\n";
    my $text = join '', <$file>;
    $text =~ s/\\\n/ /g;
    $list{$1} = $3 while $text =~ /^(\w+)=(['"])(.*?)\2$/msg;
    for my $line (grep { /"\$litmus" / } split /\n/, $text) {
        my $mode = $line =~ /RSM_MAP_MODE=(\w+)/ ? $1 : 'auto';
        my $trap = $line =~ /RSM_MAP_TRAP=(\w+)/ ? $1 : 'signal';
        $trap = 'thread' if $trap eq 'auto'; # on every kernel of the lab, for root
        my ($names) = $line =~ /"\$litmus" (.*?)(?:\|\||$)/;
        1 while $names =~ s/\$(\w+)/$list{$1} \/\/ die "$path: \$$1?\n"/e;
        $has{"verbs $mode $trap"}{$_} = 1 for split ' ', $names;
    }
    return \%has;
}

# In brackets where some of the tests are left out; a dash where all are.
sub mark {
    my ($number, $column, $lab) = @_;
    my ($bed, $mode, $trap) = @$column;
    my @tests = @{$tests_of{$number}};
    if ($bed eq 'verbs') {
        my $there = grep { $lab->{"@$column"}{$_} } @tests;
        return $there == 0 ? '' : $there == @tests ? 'L' : '(L)';
    }
    my @here = grep { leaves_out($_, @$column) ne '1' } @tests;
    return '–' unless @here;
    my $marks = '';
    for my $build (qw(plain asan tsan)) {
        my @runs = grep { $_->{bed} eq $bed && $_->{mode} eq $mode && $_->{trap} eq $trap
            && $_->{special} eq '' && $_->{builds} =~ /$letter{$build}/ } values %run;
        $marks .= $letter{$build} if @runs;
    }
    return @here == @tests || $marks eq '' ? $marks : "($marks)";
}

sub matrix {
    my $lab = read_script($_[0]);
    my $text = '| no | ' . join(' | ', map { join ' ', @$_ } @columns) . " |\n";
    for my $number (grep { $_ ne '–' } @numbers) {
        next if $unit{$number};
        $text .= "| $number | " . join(' | ', map { mark($number, $_, $lab) } @columns) . " |\n";
    }
    return $text =~ s/\|  (?=\|)/| /gr;
}

# --- check -------------------------------------------------------------------------------------

sub check {
    my ($build, $script, $litmus) = @_;
    my (%complaint, %listed, %registered);
    $listed{$_}++ for map { @$_ } values %tests_of;
    chomp(my @tests = `$litmus --list`);
    my %there = map { $_ => 1 } @tests;
    for (sort keys %listed, @tests) {
        $complaint{"$_ is not one test in the table of tests"} = 1 unless ($listed{$_} // 0) == 1;
        $complaint{"there is no test $_"} = 1 unless $there{$_};
    }
    $there{$_} || ($complaint{"there is no test $_ to leave out"} = 1) for keys %why, keys %only;
    my $lab = read_script($script);
    for my $names (values %$lab) {
        $there{$_} || ($complaint{"the lab has a test $_"} = 1) for keys %$names;
    }
    my %number = map { $_ => 1 } @numbers;
    $number{$_} || ($complaint{"litmus $_ has no line"} = 1) for 1 .. 18;
    my %missing = map { $_ => 1 } map { @$_ } values %unit;
    while (<STDIN>) {
        delete $missing{$1} if /: (?:\w+\.)?(unit\.\w+\.\w+)/;
        $registered{$1} = 1 if /: (?:\w+\.)?(mapping\.(?:fake|shm)[\w.-]*|mapping\.defect[\w.-]*)$/;
    }
    $complaint{"there is no test $_"} = 1 for keys %missing;
    for (sort keys %registered) {
        $complaint{"the run $_ is not in the table"} = 1
            unless $run{$_} && $run{$_}{builds} =~ /$letter{$build}/;
    }
    for (sort keys %run) {
        $complaint{"there is no run $_"} = 1
            if $run{$_}{builds} =~ /$letter{$build}/ && !$registered{$_};
    }
    $complaint{"the matrix is another one; tests/mapping/table.pl print doc/litmus.md SCRIPT"} = 1
        unless $matrix eq matrix($script);
    print "FAILED: $doc: $_\n" for sort keys %complaint;
    exit(%complaint ? 1 : 0);
}

if ($action eq 'run') { run(@rest) }
elsif ($action eq 'check') { check(@rest) }
elsif ($action eq 'print') { print matrix(@rest) }
else { die "table.pl: what is $action?\n" }
