#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# Hold the code to the rule of doc/architecture.md, section 11, that daemon and library make no system call
# that takes a lock of a file, a pipe or a socket which another party has: file_locks.txt has each place
# where such a call is made, and why no other party has that descriptor. Whoever adds a call adds a line
# there, with a reason that is true, or makes none.
#
#   file_locks.pl SOURCE_DIR [TABLE]
use strict;
use warnings;
use File::Find;

my ($source, $table) = @ARGV;
$table //= "$source/tests/docs/file_locks.txt";

# What waits for such a lock, or for whoever answers for the file: functions, and words in a call.
my $functions = join '|', qw(p?readv?2? p?writev?2? p?read64 p?write64 eventfd_read eventfd_write fallocate
    posix_fallocate f?truncate lseek sendfile splice tee vmsplice copy_file_range fsync fdatasync syncfs
    sync_file_range flock lockf fchmod fchown futimens fsetxattr fgetxattr getdents64 open openat openat2
    creat fopen fdopen freopen fdopendir opendir v?dprintf ioctl);
my $words = join '|', qw(SYS_p?(?:read|write)[0-9v]* SYS_fallocate SYS_ftruncate F_SETFL F_SETPIPE_SZ
    F_ADD_SEALS F_SETLKW? F_OFD_SETLKW? F_SETLEASE MADV_REMOVE);

# "file call" => how often, in code without comments, strings and directives.
my %found;
sub look_at {
    return unless /\.[ch]$/;
    my $file = $File::Find::name;
    open my $in, '<', $_ or die "$file: $!\n";
    my $text = do { local $/; <$in> };
    close $in;
    $file =~ s{^\Q$source\E/*}{};
    $text =~ s{("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')|/\*.*?\*/|//[^\n]*}{defined $1 ? '""' : ' '}gse;
    $text =~ s{^[ \t]*#.*$}{}gm;
    $found{"$file $1"}++ while $text =~ /(?<![A-Za-z0-9_>.])($functions)\s*\(/g;
    $found{"$file $1"}++ while $text =~ /(?<![A-Za-z0-9_])($words)(?![A-Za-z0-9_])/g;
}
find({wanted => \&look_at}, map { "$source/$_" } qw(librsm rsmd compat));

my $failed = keys %found < 30;
print "too few calls are found for this to be true\n" if $failed;
sub complain {
    print @_, "\n";
    $failed = 1;
}

my %known;
open my $in, '<', $table or die "$table: $!\n";
while (<$in>) {
    chomp;
    next if /^\s*(#|$)/;
    if (/^(\S+ \w+) (\d+): \S+ \S+ \S+/) {
        complain("$table: two lines for $1") if exists $known{$1};
        $known{$1} = $2;
    } else {
        complain("$table: this line is not \"FILE CALL COUNT: REASON\": $_");
    }
}
for (sort keys %found) {
    my $allowed = $known{$_} // 0;
    complain("$_: $found{$_} calls, of which $table explains $allowed. Whoever has the descriptor, too, can hold",
             " its lock for ever") if $found{$_} != $allowed;
}
for (sort keys %known) {
    complain("$table: $_ is no longer there") unless exists $found{$_};
}
exit $failed;
