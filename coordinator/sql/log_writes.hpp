/// How SQLite's write-ahead log reaches its file.
#pragma once

namespace cupel::coordinator::sql {

/// SQLite writes each page of a commit to its log by two system calls. After this one, what is
/// written in a row is kept until it is read, synced or measured, and then written at once: the
/// same bytes in the same order, a fifth less work for a commit.
///
/// Only for stores with synchronous=FULL: there every commit syncs the log before it says so to
/// other connections, which read the file. Before the first connection; the second time it does
/// nothing.
void gather_log_writes();

}  // namespace cupel::coordinator::sql
