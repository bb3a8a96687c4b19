#include "cli/image/root_tar.hpp"

#include "common/images/recipe.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <set>
#include <string_view>
#include <vector>

namespace cupel::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10U;
constexpr time_t kEpoch = 1'700'000'000;
constexpr std::string_view kGoRoot = "usr/local/go/";

struct ReadFree {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
struct WriteFree {
  void operator()(archive* handle) const { archive_write_free(handle); }
};
struct EntryFree {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using ArchiveReader = std::unique_ptr<archive, ReadFree>;
using Writer = std::unique_ptr<archive, WriteFree>;
using Entry = std::unique_ptr<archive_entry, EntryFree>;

Error archive_failed(std::string what, archive* handle = nullptr) {
  const char* why = handle == nullptr ? nullptr : archive_error_string(handle);
  return {.code = Errc::io_error,
          .what = std::move(what),
          .detail = why == nullptr ? std::string{} : capped_detail(why),
          .hint = {}};
}

la_ssize_t append(archive*, void* client, const void* bytes, size_t size) {
  static_cast<std::string*>(client)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

/// Names of a tar are UTF-8 (a certificate's is); libarchive converts them by the thread's locale.
class Utf8Names {
 public:
  Utf8Names()
      : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(uselocale(locale_)) {}
  ~Utf8Names() {
    uselocale(before_);
    freelocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};

/// A relative name that stays below the folder it is put into.
bool is_plain_name(std::string_view name) {
  if (name.empty() || name.front() == '/') return false;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    if (name.substr(0, end) == "..") return false;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return true;
}

}  // namespace

struct RootTar::State {
  enum class Part { base, toolchain, closing, done };

  Part part = Part::base;
  // What the writer gave and nobody took yet; before the writer, which flushes into it when it
  // goes.
  std::string pending;
  ArchiveReader base;
  ArchiveReader zip;
  Writer tar;
  std::string zip_prefix;
  archive* body_of = nullptr;  ///< The reader whose entry is being copied.
  std::set<std::string> folders;
  std::vector<char> buffer = std::vector<char>(std::size_t{64} << 10U);

  Result<void> step();
  Result<void> copy_body();
  Result<void> next_of_base();
  Result<void> next_of_toolchain();
  Result<void> add_folder(const std::string& path);
  Result<void> write_header(archive_entry* entry);
};

Result<void> RootTar::State::write_header(archive_entry* entry) {
  // A warning is about an attribute that the format can't hold, such as a nanosecond.
  if (archive_write_header(tar.get(), entry) < ARCHIVE_WARN)
    return archive_failed("writing the tar", tar.get());
  return boost::system::in_place_value;
}

Result<void> RootTar::State::copy_body() {
  const la_ssize_t got = archive_read_data(body_of, buffer.data(), buffer.size());
  if (got < 0) return archive_failed("reading an archive", body_of);
  if (got == 0) {
    body_of = nullptr;
    return boost::system::in_place_value;
  }
  if (archive_write_data(tar.get(), buffer.data(), static_cast<std::size_t>(got)) != got) {
    return archive_failed("writing the tar", tar.get());
  }
  return boost::system::in_place_value;
}

Result<void> RootTar::State::next_of_base() {
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(base.get(), &entry);
  if (code == ARCHIVE_EOF) {
    part = Part::toolchain;
    return boost::system::in_place_value;
  }
  if (code < ARCHIVE_WARN) return archive_failed("reading the base", base.get());
  const std::string name =
      archive_entry_pathname(entry) == nullptr ? "" : archive_entry_pathname(entry);
  if (name != "./" && name != "." && !is_plain_name(name))
    return archive_failed("the base holds the name " + name);
  // Devices are made by the engine, and a user namespace can't unpack them.
  const auto type = archive_entry_filetype(entry);
  if (type == AE_IFCHR || type == AE_IFBLK) return boost::system::in_place_value;
  if (auto written = write_header(entry); !written) return written;
  if (archive_entry_size(entry) > 0) body_of = base.get();
  return boost::system::in_place_value;
}

Result<void> RootTar::State::add_folder(const std::string& path) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    // /usr and /usr/local are in the base already.
    if (folder.size() < kGoRoot.size() - 1 || !folders.insert(folder).second) continue;
    const Entry entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), folder.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFDIR);
    archive_entry_set_perm(entry.get(), 0755);
    archive_entry_set_mtime(entry.get(), kEpoch, 0);
    if (auto written = write_header(entry.get()); !written) return written;
  }
  return boost::system::in_place_value;
}

Result<void> RootTar::State::next_of_toolchain() {
  archive_entry* read = nullptr;
  const int code = archive_read_next_header(zip.get(), &read);
  if (code == ARCHIVE_EOF) {
    part = Part::closing;
    return boost::system::in_place_value;
  }
  if (code < ARCHIVE_WARN) return archive_failed("reading the toolchain", zip.get());
  const std::string name =
      archive_entry_pathname(read) == nullptr ? "" : archive_entry_pathname(read);
  if (name.ends_with('/')) return boost::system::in_place_value;
  if (!name.starts_with(zip_prefix) || !is_plain_name(name))
    return archive_failed("the toolchain holds the name " + name);
  const std::string inside = name.substr(zip_prefix.size());
  const std::string path = std::string(kGoRoot) + inside;
  if (auto made = add_folder(path); !made) return made;
  const Entry entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), static_cast<mode_t>(images::toolchain_mode(inside)));
  archive_entry_set_mtime(entry.get(), kEpoch, 0);
  archive_entry_set_size(entry.get(), archive_entry_size(read));
  if (auto written = write_header(entry.get()); !written) return written;
  if (archive_entry_size(read) > 0) body_of = zip.get();
  return boost::system::in_place_value;
}

Result<void> RootTar::State::step() {
  if (body_of != nullptr) return copy_body();
  switch (part) {
    case Part::base: return next_of_base();
    case Part::toolchain: return next_of_toolchain();
    case Part::closing:
      if (archive_write_close(tar.get()) != ARCHIVE_OK)
        return archive_failed("closing the tar", tar.get());
      part = Part::done;
      break;
    case Part::done: break;
  }
  return boost::system::in_place_value;
}

RootTar::RootTar(std::unique_ptr<State> state) : state_(std::move(state)) {}
RootTar::RootTar(RootTar&&) noexcept = default;
RootTar& RootTar::operator=(RootTar&&) noexcept = default;
RootTar::~RootTar() = default;

Result<RootTar> RootTar::open(const std::filesystem::path& base,
                              const std::filesystem::path& toolchain_zip,
                              const std::string& zip_prefix) {
  auto state = std::make_unique<State>();
  state->zip_prefix = zip_prefix;
  state->base.reset(archive_read_new());
  archive_read_support_format_tar(state->base.get());
  if (archive_read_open_filename(state->base.get(), base.c_str(), 1U << 20U) != ARCHIVE_OK) {
    return archive_failed("open " + base.string(), state->base.get());
  }
  state->zip.reset(archive_read_new());
  archive_read_support_format_zip(state->zip.get());
  if (archive_read_open_filename(state->zip.get(), toolchain_zip.c_str(), 1U << 20U) !=
      ARCHIVE_OK) {
    return archive_failed("open " + toolchain_zip.string(), state->zip.get());
  }
  state->tar.reset(archive_write_new());
  archive_write_set_format_pax_restricted(state->tar.get());
  archive_write_set_bytes_per_block(state->tar.get(), 0);
  if (archive_write_open(state->tar.get(), &state->pending, nullptr, &append, nullptr) !=
      ARCHIVE_OK) {
    return archive_failed("open the tar", state->tar.get());
  }
  return RootTar(std::move(state));
}

Result<std::string> RootTar::next() {
  const Utf8Names names;
  while (state_->pending.size() < kPiece && state_->part != State::Part::done) {
    if (const auto stepped = state_->step(); !stepped) return stepped.error();
  }
  return std::exchange(state_->pending, {});
}

}  // namespace cupel::cli
