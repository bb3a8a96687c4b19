#include "common/source/folder.hpp"

#include "common/fs/beneath.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::source {
namespace {

using gitfmt::ObjectId;
using gitfmt::ObjectType;
using gitfmt::RawEntry;

constexpr std::size_t kNotesMax = 20;
// One author and one time for every such commit, so that only the content decides its id.
constexpr const char* kSignature = "Cupel <cupel@localhost> 0 +0000";

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

bool is_git_name(const std::string& name) {
  return name.size() == 4 && name[0] == '.' && (name[1] == 'g' || name[1] == 'G') &&
         (name[2] == 'i' || name[2] == 'I') && (name[3] == 't' || name[3] == 'T');
}

class FolderPacker {
 public:
  FolderPacker(const TreeLimits& limits, PackWriter& writer) : limits_(limits), writer_(writer) {}

  using TreeAnswer =
      Result<std::optional<ObjectId>>;  // nothing: an empty folder, or refused_ is set

  /// Bounded recursion: TreeLimits::depth.
  TreeAnswer pack(fs::Fd dir, const std::string& path, std::size_t depth) {
    auto names = names_of(dir, path);
    if (!names) return names.error();
    std::vector<RawEntry> entries;
    for (const std::string& name : *names) {
      const std::string full = path.empty() ? name : path + '/' + name;
      if (is_git_name(name)) {
        if (!path.empty()) note("left out: " + full);
        continue;
      }
      if (too_long(full, name, depth + 1)) return std::optional<ObjectId>{};
      auto entry = pack_entry(dir, name, full, depth);
      if (!entry) return entry.error();
      if (refused_) return std::optional<ObjectId>{};
      if (*entry) entries.push_back(**std::move(entry));
    }
    if (entries.empty()) return std::optional<ObjectId>{};
    auto id = writer_.add(ObjectType::tree, gitfmt::format_tree(std::move(entries)));
    if (!id) return id.error();
    return std::optional(*id);
  }

  std::optional<SourceRefusal> take_refusal() { return std::move(refused_); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  using EntryAnswer = Result<std::optional<RawEntry>>;

  static Error failed(const std::string& what) {
    return {Errc::io_error, what, std::strerror(errno), {}};
  }

  Result<std::vector<std::string>> names_of(const fs::Fd& dir, const std::string& path) const {
    const int copy = ::openat(dir.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return failed("read folder " + path);
    const std::unique_ptr<DIR, CloseDir> stream(::fdopendir(copy));
    if (!stream) {
      ::close(copy);
      return failed("read folder " + path);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
      if (names.size() > limits_.files * 2) break;  // the limit on files speaks up soon after
    }
    std::ranges::sort(names);
    return names;
  }

  EntryAnswer pack_entry(const fs::Fd& dir, const std::string& name, const std::string& full,
                         std::size_t depth) {
    struct stat info{};
    if (::fstatat(dir.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return failed("stat " + full);
    }
    if (S_ISDIR(info.st_mode)) {
      fs::Fd child(
          ::openat(dir.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!child) return failed("open folder " + full);
      auto tree = pack(std::move(child), full, depth + 1);
      if (!tree) return tree.error();
      if (!*tree) return std::optional<RawEntry>{};
      return std::optional(RawEntry{gitfmt::kModeTree, name, **tree});
    }
    if (S_ISLNK(info.st_mode)) {
      std::string target(limits_.path_bytes + 1, '\0');
      const ssize_t length = ::readlinkat(dir.get(), name.c_str(), target.data(), target.size());
      if (length < 0) return failed("read link " + full);
      target.resize(static_cast<std::size_t>(length));
      return add_blob(name, full, gitfmt::kModeLink, target);
    }
    if (!S_ISREG(info.st_mode)) {
      note("left out, neither file, folder nor link: " + full);
      return std::optional<RawEntry>{};
    }
    fs::Fd file(::openat(dir.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return failed("open " + full);
    const auto bytes = fs::read_all(file, limits_.file_bytes, full);
    if (!bytes) {
      if (bytes.error().code != Errc::too_large) return bytes.error();
      refuse_size(full + " has more than " + std::to_string(limits_.file_bytes) + " bytes");
      return std::optional<RawEntry>{};
    }
    const bool executable = (info.st_mode & S_IXUSR) != 0;
    return add_blob(name, full, executable ? gitfmt::kModeExecutable : gitfmt::kModeFile, *bytes);
  }

  EntryAnswer add_blob(const std::string& name, const std::string& full, std::uint32_t mode,
                       const std::string& bytes) {
    ++files_;
    bytes_ += bytes.size();
    if (files_ > limits_.files) {
      refuse_size("more than " + std::to_string(limits_.files) + " files");
    } else if (bytes_ > limits_.bytes) {
      refuse_size("more than " + std::to_string(limits_.bytes) + " bytes, at " + full);
    }
    if (refused_) return std::optional<RawEntry>{};
    auto id = writer_.add(ObjectType::blob, bytes);
    if (!id) return id.error();
    return std::optional(RawEntry{mode, name, *id});
  }

  bool too_long(const std::string& full, const std::string& name, std::size_t depth) {
    if (full.size() <= limits_.path_bytes && name.size() <= limits_.component_bytes &&
        depth <= limits_.depth) {
      return false;
    }
    refused_ = refusal(Reason::path_too_long, FindingKind::limit,
                       "path too long: " + full.substr(0, 200) + "...");
    return true;
  }

  void refuse_size(const std::string& what) {
    refused_ =
        refusal(Reason::snapshot_too_large, FindingKind::limit, "snapshot_too_large: " + what);
  }

  void note(std::string text) {
    if (notes_.size() < kNotesMax) notes_.push_back(std::move(text));
  }

  const TreeLimits& limits_;
  PackWriter& writer_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<SourceRefusal> refused_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<std::variant<PackedFolder, SourceRefusal>> pack_folder(const std::filesystem::path& folder,
                                                              const TreeLimits& limits,
                                                              PackWriter& writer) {
  auto dir = fs::open_dir(folder);
  if (!dir) return dir.error();
  FolderPacker packer(limits, writer);
  const auto tree = packer.pack(*std::move(dir), "", 0);
  if (!tree) return tree.error();
  if (auto refused = packer.take_refusal()) return *std::move(refused);
  if (!*tree) {
    return refusal(Reason::empty_repository, FindingKind::acquire_error,
                   "empty_repository: the folder holds no file");
  }
  const std::string commit = "tree " + (**tree).hex() + "\nauthor " + kSignature + "\ncommitter " +
                             kSignature + "\n\nfolder\n";
  const auto id = writer.add(ObjectType::commit, commit);
  if (!id) return id.error();
  return PackedFolder{*id, packer.take_notes()};
}

}  // namespace cupel::source
