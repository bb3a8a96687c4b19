#include "coordinator/sql/log_writes.hpp"

#include <soci/sqlite3/soci-sqlite3.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <string>

namespace cupel::coordinator::sql {
namespace {

using sqlite_api::sqlite3_file;
using sqlite_api::sqlite3_int64;
using sqlite_api::sqlite3_io_methods;
using sqlite_api::sqlite3_vfs;

// SQLite's own file takes at most this much at once (its length is cut to 17 bits).
constexpr std::size_t kAtOnceMax = 64 * 1024;

// SQLite gives the memory for a file; the real file lies behind this one.
struct LogFile {
  sqlite3_file as_sqlite_sees_it{};
  std::string kept;         ///< Not written yet.
  sqlite3_int64 start = 0;  ///< Where `kept` belongs.
};
static_assert(offsetof(LogFile, as_sqlite_sees_it) == 0);

LogFile& log_of(sqlite3_file* file) {
  return *reinterpret_cast<LogFile*>(file);
}
sqlite3_file* real_file(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(&log_of(file) + 1);
}

int write_kept(sqlite3_file* file) {
  LogFile& log = log_of(file);
  if (log.kept.empty()) return SQLITE_OK;
  const int done = real_file(file)->pMethods->xWrite(real_file(file), log.kept.data(),
                                                     static_cast<int>(log.kept.size()), log.start);
  log.kept.clear();
  return done;
}

int log_write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  const auto count = static_cast<std::size_t>(size);
  const bool follows = at == log.start + static_cast<sqlite3_int64>(log.kept.size());
  if (!follows || log.kept.size() + count > kAtOnceMax) {
    if (const int done = write_kept(file); done != SQLITE_OK) return done;
  }
  if (log.kept.empty()) log.start = at;
  log.kept.append(static_cast<const char*>(bytes), count);
  return SQLITE_OK;
}

// Everything else first writes what is kept.
template <auto Method, typename... Arguments>
int after_writing(sqlite3_file* file, Arguments... arguments) {
  const int written = write_kept(file);
  const int done = (real_file(file)->pMethods->*Method)(real_file(file), arguments...);
  return written == SQLITE_OK ? done : written;
}

template <auto Method, typename... Arguments>
int pass_on(sqlite3_file* file, Arguments... arguments) {
  return (real_file(file)->pMethods->*Method)(real_file(file), arguments...);
}

int log_close(sqlite3_file* file) {
  const int done = after_writing<&sqlite3_io_methods::xClose>(file);
  log_of(file).~LogFile();
  return done;
}

const sqlite3_io_methods kLogMethods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = after_writing<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = log_write,
    .xTruncate = after_writing<&sqlite3_io_methods::xTruncate, sqlite3_int64>,
    .xSync = after_writing<&sqlite3_io_methods::xSync, int>,
    .xFileSize = after_writing<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = pass_on<&sqlite3_io_methods::xLock, int>,
    .xUnlock = pass_on<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = pass_on<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = pass_on<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = pass_on<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = pass_on<&sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

sqlite3_vfs* system_vfs = nullptr;

int open_file(sqlite3_vfs* /*ours*/, const char* name, sqlite3_file* file, int flags, int* out) {
  if ((flags & SQLITE_OPEN_WAL) == 0) return system_vfs->xOpen(system_vfs, name, file, flags, out);
  auto* log = new (file) LogFile;
  const int done = system_vfs->xOpen(system_vfs, name, real_file(file), flags, out);
  if (real_file(file)->pMethods != nullptr) {
    log->as_sqlite_sees_it.pMethods = &kLogMethods;
  } else {
    log->~LogFile();
    file->pMethods = nullptr;  // there is nothing to close
  }
  return done;
}

}  // namespace

void gather_log_writes() {
  static std::once_flag once;
  std::call_once(once, [] {
    system_vfs = sqlite_api::sqlite3_vfs_find(nullptr);
    static sqlite3_vfs ours = *system_vfs;
    ours.zName = "cupel-log-writes";
    ours.szOsFile = static_cast<int>(sizeof(LogFile)) + system_vfs->szOsFile;
    ours.xOpen = open_file;
    ours.pNext = nullptr;
    sqlite_api::sqlite3_vfs_register(&ours, 1);
  });
}

}  // namespace cupel::coordinator::sql
