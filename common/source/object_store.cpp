#include "common/source/object_store.hpp"

#include <git2.h>
#include <git2/sys/odb_backend.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::source {
namespace {

using gitfmt::ObjectId;
using gitfmt::ObjectType;

/// libgit2 wants to be started before its first call; it is never stopped, since other threads may
/// use it.
void start_libgit2() {
  static const int started = [] {
    const int count = git_libgit2_init();
    // No file of the user or the system may change how objects are read.
    for (const int level : {GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_GLOBAL, GIT_CONFIG_LEVEL_XDG,
                            GIT_CONFIG_LEVEL_PROGRAMDATA}) {
      git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
    }
    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
    return count;
  }();
  static_cast<void>(started);
}

std::string last_words() {
  const git_error* error = git_error_last();
  return capped_detail(error != nullptr && error->message != nullptr ? error->message : "");
}

git_oid to_oid(const ObjectId& id) {
  git_oid oid;
  std::copy(id.bytes.begin(), id.bytes.end(), std::begin(oid.id));
  return oid;
}

ObjectId from_oid(const git_oid& oid) {
  ObjectId id;
  std::copy(std::begin(oid.id), std::end(oid.id), id.bytes.begin());
  return id;
}

/// What libgit2 says has failed, whoever is to blame: by its words, since its kinds of errors tell
/// an odd repository from a full disk no better.
Error failed(std::string what) {
  std::string words = last_words();
  const auto said = [&words](int number) {
    return words.find(std::strerror(number)) != std::string::npos;
  };
  constexpr std::array kNoRoom = {ENOSPC, EDQUOT};
  constexpr std::array kHost = {EIO, ENOMEM, EMFILE, ENFILE, EFBIG};
  const git_error* error = git_error_last();
  Errc code = Errc::bad_value;
  if (std::ranges::any_of(kNoRoom, said)) {
    code = Errc::disk_full;
  } else if (std::ranges::any_of(kHost, said) ||
             (error != nullptr && error->klass == GIT_ERROR_NOMEMORY)) {
    code = Errc::io_error;
  }
  return {code, std::move(what), std::move(words), {}};
}

Error object_error(int code, const ObjectId& id) {
  if (code == GIT_ENOTFOUND) return {Errc::not_found, "object not found: " + id.hex(), {}, {}};
  return failed("object " + id.hex() + " can't be read");
}

/// The indexer writes through a mapping of its file, which it makes longer by a seek: without room
/// on the disk that would end the process. Where a file system can't promise room, as before.
Result<void> reserve_pack(const std::filesystem::path& folder, off_t bytes) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const int fd = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    const int number = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) == 0 ? 0 : errno;
    ::close(fd);
    const bool full = number == ENOSPC || number == EDQUOT;
    if (!full && number != EFBIG) continue;
    return Error{full ? Errc::disk_full : Errc::io_error,
                 "no room for a git pack in " + folder.string(),
                 std::strerror(number),
                 {}};
  }
  return {};
}

Error open_error(const std::filesystem::path& path) {
  return {Errc::io_error, path.string() + ": the git objects can't be opened", last_words(), {}};
}

struct Closer {
  void operator()(git_odb* odb) const { git_odb_free(odb); }
  void operator()(git_odb_object* object) const { git_odb_object_free(object); }
  void operator()(git_indexer* indexer) const { git_indexer_free(indexer); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool known_type(git_object_t type) {
  return type >= GIT_OBJECT_COMMIT && type <= GIT_OBJECT_TAG;
}

}  // namespace

struct ObjectStore::State {
  std::unique_ptr<git_odb, Closer> odb;
};

ObjectStore::ObjectStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ObjectStore::ObjectStore(ObjectStore&&) noexcept = default;
ObjectStore& ObjectStore::operator=(ObjectStore&&) noexcept = default;
ObjectStore::~ObjectStore() = default;

Result<ObjectStore> ObjectStore::open(const std::filesystem::path& objects,
                                      const std::vector<std::filesystem::path>& more) {
  start_libgit2();
  git_odb* raw = nullptr;
  if (git_odb_new(&raw) != 0) return open_error(objects);
  auto state = std::make_unique<State>();
  state->odb.reset(raw);
  std::vector<std::filesystem::path> folders{objects};
  folders.insert(folders.end(), more.begin(), more.end());
  for (const auto& folder : folders) {
    git_odb_backend* loose = nullptr;
    git_odb_backend* packed = nullptr;
    // The backends are added one by one, because git_odb_open() follows alternates by itself.
    if (git_odb_backend_loose(&loose, folder.c_str(), 0, 0, 0, 0) != 0 ||
        git_odb_add_backend(raw, loose, 1) != 0 ||
        git_odb_backend_pack(&packed, folder.c_str()) != 0 ||
        git_odb_add_backend(raw, packed, 2) != 0) {
      return open_error(folder);
    }
  }
  return ObjectStore(std::move(state));
}

Result<ObjectStore> ObjectStore::open_pack(const std::filesystem::path& pack_file,
                                           const std::filesystem::path& work_dir) {
  start_libgit2();
  const int fd = ::open(pack_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    return Error{Errc::io_error, "open " + pack_file.string(), std::strerror(errno), {}};
  }
  const std::unique_ptr<std::FILE, Closer> file(fdopen(fd, "rb"));
  if (!file) {
    ::close(fd);
    return Error{Errc::io_error, "read " + pack_file.string(), std::strerror(errno), {}};
  }
  const auto malformed = [&] {
    Error error = failed(pack_file.string() + " is no whole git pack");
    if (is_of_host(error)) error.what = "no index of " + pack_file.string() + " could be written";
    return error;
  };
  git_error_clear();  // only what is said from here on
  git_indexer* raw_indexer = nullptr;
  if (git_indexer_new(&raw_indexer, work_dir.c_str(), 0, nullptr, nullptr) != 0) {
    return open_error(work_dir);
  }
  const std::unique_ptr<git_indexer, Closer> indexer(raw_indexer);
  struct stat size{};
  if (::fstat(fd, &size) == 0 && size.st_size > 0) {
    if (auto room = reserve_pack(work_dir, size.st_size); !room) return room.error();
  }
  git_indexer_progress progress{};
  std::array<char, 64 * 1024> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    if (git_indexer_append(raw_indexer, buffer.data(), count, &progress) != 0) return malformed();
  }
  if (std::ferror(file.get()) != 0) {
    return Error{Errc::io_error, "read " + pack_file.string(), std::strerror(errno), {}};
  }
  if (git_indexer_commit(raw_indexer, &progress) != 0) return malformed();
  const std::string index = "pack-" + from_oid(*git_indexer_hash(raw_indexer)).hex() + ".idx";

  git_odb* raw = nullptr;
  if (git_odb_new(&raw) != 0) return open_error(work_dir);
  auto state = std::make_unique<State>();
  state->odb.reset(raw);
  git_odb_backend* backend = nullptr;
  if (git_odb_backend_one_pack(&backend, (work_dir / index).c_str()) != 0 ||
      git_odb_add_backend(raw, backend, 1) != 0) {
    return open_error(work_dir / index);
  }
  return ObjectStore(std::move(state));
}

Result<ObjectHeader> ObjectStore::header(const ObjectId& id) const {
  git_error_clear();
  const git_oid oid = to_oid(id);
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  if (const int code = git_odb_read_header(&size, &type, state_->odb.get(), &oid); code != 0) {
    return object_error(code, id);
  }
  if (!known_type(type)) return object_error(GIT_ERROR, id);
  return ObjectHeader{static_cast<ObjectType>(type), size};
}

Result<Object> ObjectStore::read(const ObjectId& id, std::uint64_t bytes_max) const {
  // The header is asked first, so that a bomb is refused before it is unpacked.
  const auto head = header(id);
  if (!head) return head.error();
  if (head->size > bytes_max) {
    return Error{Errc::too_large,
                 "object " + id.hex() + " has " + std::to_string(head->size) + " bytes",
                 {},
                 {}};
  }
  const git_oid oid = to_oid(id);
  git_odb_object* raw = nullptr;
  if (const int code = git_odb_read(&raw, state_->odb.get(), &oid); code != 0) {
    return object_error(code, id);
  }
  const std::unique_ptr<git_odb_object, Closer> object(raw);
  const auto type = git_odb_object_type(raw);
  if (!known_type(type)) return object_error(GIT_ERROR, id);
  return Object{
      static_cast<ObjectType>(type),
      std::string(static_cast<const char*>(git_odb_object_data(raw)), git_odb_object_size(raw))};
}

std::optional<ObjectId> ObjectStore::find_prefix(std::string_view hex) const {
  if (hex.size() < 7 || hex.size() > GIT_OID_HEXSZ) return std::nullopt;
  git_oid prefix;
  if (git_oid_fromstrn(&prefix, hex.data(), hex.size()) != 0) return std::nullopt;
  git_oid found;
  if (git_odb_exists_prefix(&found, state_->odb.get(), &prefix, hex.size()) != 0) {
    return std::nullopt;
  }
  return from_oid(found);
}

}  // namespace cupel::source
