#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# Hold the comments and the names of the product's sources to doc/glossary.md's table "Words to avoid", a
# file or a heading that a comment refers to, to its existence, and all lines to 100 columns.
#
#   words.pl SOURCE_DIR [FILE...]       these files alone
use strict;
use warnings;
use File::Find;

use constant COLUMNS => 100;

my ($source, @only) = @ARGV;
chdir $source or die "$source: $!\n";
my $failed = 0;

sub complain {
    print @_, "\n";
    $failed = 1;
}

sub content_of {
    my ($file) = @_;
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    return <$in>;
}

# The table's words, in backquotes: "word" => what to write, for comments and for names; and the phrases
# in which a comment may use one.
my (%in_comments, %in_names, @phrases, $any_word);
sub read_table {
    my $text = content_of('doc/glossary.md');
    my ($table) = $text =~ /^## Words to avoid\n(.*?)(?=^## |\z)/ms;
    for (split /\n/, $table // '') {
        my @cell = split /\s*\|\s*/;
        next unless @cell >= 4 && $cell[1] =~ /`/;
        for my $word ($cell[1] =~ /`([^`]+)`/g) {
            $in_comments{lc $word} = $cell[3] if $cell[2] =~ /comments/;
            $in_names{lc $word} = $cell[3] if $cell[2] =~ /names/;
        }
        push @phrases, ($cell[4] // '') =~ /`([^`]+)`/g;
    }
    complain('doc/glossary.md has no table "Words to avoid" any more')
        if keys %in_comments < 15 || keys %in_names < 10;
    my $words = join '|', map { join '\s+', map { quotemeta } split / / }
        sort { length $b <=> length $a } keys %in_comments;
    $any_word = qr/(?<!\w)(?:$words)(?!\w)/i;
}

# What is in these folders is the product; files of all folders can be referred to.
my @product = qw(include librsm rsmd tools compat examples kernel);
my (@sources, %files, %names, %system);
sub list_files {
    find({no_chdir => 1, preprocess => sub { grep { !/^(?:\.git|build)$/ } @_ }, wanted => sub {
        return unless -f;
        (my $file = $_) =~ s{^\./}{};
        my ($name) = $file =~ m{([^/]+)$};
        $files{$file} = 1;
        push @{$names{$name}}, $file;
        push @sources, $file if $file =~ /\.(?:[ch]|def|in)$/ && $file =~ m{^(?:@{[join '|', @product]})/};
    }}, '.');
}

# The headings of a document, without their marks and numbers; and the numbers.
my %headings;
sub headings_of {
    my ($document) = @_;
    return $headings{$document} //= do {
        my $of = {texts => {}, numbers => {}};
        for (content_of($document) =~ /^#+ (.*)$/mg) {
            $of->{numbers}{$1} = 1 if s/^(\d+(?:\.\d+)*)\.?\s+//;
            $of->{texts}{lc s/[`*]//gr} = 1;
        }
        $of;
    };
}

# The file that a comment names: a path from the root, from a folder of headers or from a folder above
# the comment's file, or the name alone.
my @roots = ('', 'librsm/', 'rsmd/', 'tools/', 'include/', 'compat/include/', 'compat/sisci/include/',
             'compat/solaris/include/', 'librsm/transport/', 'doc/', 'kernel/');
sub find_named {
    my ($named, $from) = @_;
    return $names{$named}[0] if $named !~ m{/};
    my @folders = @roots;
    push @folders, $from while $from =~ s{[^/]*/?$}{} && $from ne '';
    for my $root (@folders) {
        return $root . $named if $files{$root . $named};
    }
    return undef;
}

sub check_references {
    my ($at, $file, $text) = @_;
    while ($text =~ m{(?<![\w./<*-])([\w.-]+(?:/[\w.-]+)*\.(?:c|h|md|def|pl|sh|txt))(?![\w>/])}g) {
        my ($named, $rest) = ($1, substr $text, $+[1]);
        my $found = find_named($named, $file);
        next if $system{$named};
        if (!defined $found) {
            complain("$at: there is no $named");
        } elsif ($found =~ /\.md$/) {
            my $of = headings_of($found);
            complain("$at: $named has no section $1")
                if $rest =~ /\A,?\s+(?:\()?sections?\s+(\d+(?:\.\d+)*)/ && !$of->{numbers}{$1};
            complain("$at: $named has no heading \"$1\"")
                if $rest =~ /\A,?(?:\s+section)?(?:\s+\d+)?,?\s+"([^"]+)"/ && !$of->{texts}{lc $1 =~ s/\s+/ /gr};
        }
    }
}

sub check_comment {
    my ($file, $line, $text) = @_;
    $text =~ s{\n[ \t]*(?:\*(?!/)|\#)?[ \t]*}{\n}g;
    my $where = sub { "$file:" . ($line + (substr($text, 0, $_[0]) =~ tr/\n//)) };
    check_references("$file:$line", $file, $text =~ s/\n/ /gr);
    for my $phrase (@phrases) {
        my $words = join '\s+', map { quotemeta } split / /, $phrase;
        $text =~ s{(?<!\w)$words(?!\w)}{$& =~ s/\w/-/gr}gie;
    }
    while ($text =~ /$any_word/g) {
        my $word = lc $& =~ s/\s+/ /gr;
        complain($where->($-[0]), ": \"$word\" in a comment: $in_comments{$word}");
    }
}

sub check_names {
    my ($file, $code) = @_;
    while ($code =~ /([A-Za-z_]\w*)/g) {
        my ($name, $at) = ($1, $-[1]);
        for (split /_+/, lc $name) {
            complain("$file:", 1 + (substr($code, 0, $at) =~ tr/\n//),
                     ": \"$_\" in the name $name: $in_names{$_}") if exists $in_names{$_};
        }
    }
}

sub check_file {
    my ($file) = @_;
    my $text = content_of($file);
    my $line = 0;
    for (split /\n/, $text) {
        $line++;
        1 while s/\t/' ' x (8 - $-[0] % 8)/e;
        # Messages of the kernel module are not split, by the kernel's own style.
        next if $file =~ m{^kernel/} && /"[^"]{40,}/;
        complain("$file:$line: ", length, " columns") if length > COLUMNS;
    }
    if ($text =~ /\A#!/) { # a script
        check_comment($file, 1 + (substr($text, 0, $-[0]) =~ tr/\n//), $&)
            while $text =~ /^[ \t]*#.*(?:\n[ \t]*#.*)*/mg;
        return;
    }
    (my $code = $text) =~ s{("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')|(/\*.*?\*/|//[^\n]*)}{
        check_comment($file, 1 + (substr($text, 0, $-[0]) =~ tr/\n//), $2) if defined $2;
        $& =~ s/[^\n]/ /gr;
    }gse;
    check_names($file, $code);
}

read_table();
list_files();
complain('too few sources are found for this to be true') if @sources < 500;
for my $file (@sources) {
    $system{$_} = 1 for content_of($file) =~ m{^\s*#\s*include\s*<(?:[^>]*/)?([^/>]+)>}mg;
}
check_file($_) for @only ? @only : sort @sources;
exit $failed;
