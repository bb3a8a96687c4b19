#include "common/source/object_store.hpp"

#include <algorithm>
#include <utility>

namespace cupel::source {
namespace {

using gitfmt::ObjectId;
using gitfmt::ObjectType;
using gitfmt::TreeEntry;

constexpr std::uint64_t kTreeBytesMax = 16ULL << 20;
constexpr std::uint64_t kCommitBytesMax = 4ULL << 20;
constexpr int kTagDepthMax = 16;

/// Bytes for people: at most 200 of them, without control characters.
std::string shown(const std::string& path) {
  std::string text = path.substr(0, 200);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return path.size() > 200 ? text + "..." : text;
}

SourceRefusal missing(const Error& error) {
  return refusal(
      Reason::acquire_incomplete, FindingKind::acquire_error,
      error.what + " (missing from the repository; a partial clone is never completed here)");
}

SourceRefusal damaged(const Error& error, const std::string& where) {
  return refusal(Reason::malformed_tree, FindingKind::acquire_error,
                 "malformed_tree: " + shown(where) + ": " + error.what +
                     (error.detail.empty() ? "" : " (" + error.detail + ")"));
}

/// What a failed read says about the repository.
SourceRefusal unreadable(const Error& error, const std::string& where) {
  return error.code == Errc::not_found ? missing(error) : damaged(error, where);
}

class TreeWalk {
 public:
  TreeWalk(const ObjectStore& store, const TreeLimits& limits) : store_(store), limits_(limits) {}

  /// Depth first with a stack of its own: a tree may be as deep as its author likes.
  std::optional<SourceRefusal> walk(const ObjectId& root) {
    std::vector<Folder> open{{root, "", 0}};
    while (!open.empty()) {
      const Folder folder = std::move(open.back());
      open.pop_back();
      const auto object = store_.read(folder.id, kTreeBytesMax);
      if (!object) return stop(object.error(), folder.path);
      if (object->type != ObjectType::tree) return wrong_kind(folder.path);
      auto entries = gitfmt::parse_tree(object->bytes);
      if (!entries) return damaged(entries.error(), folder.path);
      // A folder that stands in many trees costs little to store and much to write: count every
      // visit.
      if (++folders_ > limits_.files * 4) return too_many();
      for (gitfmt::RawEntry& raw : *entries) {
        // Joined with its folder such a name would look like a path, so nobody could tell later.
        if (raw.name.empty() || raw.name.find('/') != std::string::npos) {
          return refusal(Reason::malformed_tree, FindingKind::acquire_error,
                         "malformed_tree: " + shown(folder.path + '/' + raw.name) +
                             ": an empty name, or a '/' in one");
        }
        std::string path = folder.path.empty() ? raw.name : folder.path + '/' + raw.name;
        if (auto refused = check_path(path, raw.name, folder.depth + 1)) return refused;
        if (raw.mode == gitfmt::kModeTree) {
          open.push_back({raw.id, std::move(path), folder.depth + 1});
        } else if (auto refused_file = add(std::move(path), raw); refused_file || failed_) {
          return refused_file;
        }
      }
    }
    std::ranges::sort(entries_, {}, &TreeEntry::path);
    return std::nullopt;
  }

  std::vector<TreeEntry> take() { return std::move(entries_); }
  /// What kept walk() from its end, and isn't the repository's.
  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }

 private:
  struct Folder {
    ObjectId id;
    std::string path;
    std::size_t depth = 0;
  };

  static SourceRefusal wrong_kind(const std::string& path) {
    return refusal(
        Reason::malformed_tree, FindingKind::acquire_error,
        "malformed_tree: " + shown(path) + " is not the kind of object that its tree says");
  }

  SourceRefusal too_many() const {
    return refusal(Reason::snapshot_too_large, FindingKind::limit,
                   "snapshot_too_large: more than " + std::to_string(limits_.files) + " files");
  }

  std::optional<SourceRefusal> check_path(const std::string& path, const std::string& name,
                                          std::size_t depth) const {
    std::string over;
    if (path.size() > limits_.path_bytes) {
      over = "path of more than " + std::to_string(limits_.path_bytes) + " bytes";
    } else if (name.size() > limits_.component_bytes) {
      over = "name of more than " + std::to_string(limits_.component_bytes) + " bytes";
    } else if (depth > limits_.depth) {
      over = "more than " + std::to_string(limits_.depth) + " folders deep";
    } else {
      return std::nullopt;
    }
    return refusal(Reason::path_too_long, FindingKind::limit,
                   "path too long: " + shown(path) + " (" + over + ")");
  }

  std::optional<SourceRefusal> add(std::string path, const gitfmt::RawEntry& raw) {
    TreeEntry entry{std::move(path), raw.mode, raw.id, 0};
    if (raw.mode != gitfmt::kModeSubmodule) {
      const auto header = store_.header(raw.id);
      if (!header) return stop(header.error(), entry.path);
      if (header->type != ObjectType::blob) return wrong_kind(entry.path);
      entry.size = header->size;
    }
    if (entry.size > limits_.file_bytes) {
      return refusal(Reason::snapshot_too_large, FindingKind::limit,
                     "snapshot_too_large: " + shown(entry.path) + " has " +
                         std::to_string(entry.size) + " bytes (limit " +
                         std::to_string(limits_.file_bytes) + ")");
    }
    bytes_ += entry.size;
    if (bytes_ > limits_.bytes) {
      return refusal(Reason::snapshot_too_large, FindingKind::limit,
                     "snapshot_too_large: more than " + std::to_string(limits_.bytes) + " bytes");
    }
    entries_.push_back(std::move(entry));
    if (entries_.size() > limits_.files) return too_many();
    return std::nullopt;
  }

  /// Nothing: it is in failed().
  std::optional<SourceRefusal> stop(const Error& error, const std::string& where) {
    if (!is_of_host(error)) return unreadable(error, where);
    failed_ = error;
    return std::nullopt;
  }

  const ObjectStore& store_;
  const TreeLimits& limits_;
  std::optional<Error> failed_;
  std::vector<TreeEntry> entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t folders_ = 0;
};

}  // namespace

Result<std::variant<ObjectId, SourceRefusal>> peel_to_commit(const ObjectStore& store, ObjectId id,
                                                             const std::string& label) {
  for (int depth = 0; depth < kTagDepthMax; ++depth) {
    const auto object = store.read(id, kCommitBytesMax);
    if (!object && is_of_host(object.error())) return object.error();
    if (!object && object.error().code != Errc::too_large) {
      return unreadable(object.error(), label);
    }
    const auto type = object ? object->type : ObjectType::blob;
    if (type == ObjectType::commit) return id;
    if (type != ObjectType::tag) {
      return refusal(Reason::ref_not_found, FindingKind::acquire_error,
                     "ref " + shown(label) + " names a " + std::string(name(type)) +
                         ", not a commit (not_a_commit)");
    }
    const auto target = gitfmt::tag_target(object->bytes);
    if (!target) return damaged(target.error(), label);
    id = target->id;
  }
  return refusal(Reason::ref_not_found, FindingKind::acquire_error,
                 "ref " + shown(label) + " is a tag of a tag of a tag without end");
}

Result<TreeAnswer> read_tree(const ObjectStore& store, const ObjectId& commit,
                             const TreeLimits& limits) {
  const auto object = store.read(commit, kCommitBytesMax);
  if (!object && is_of_host(object.error())) return object.error();
  if (!object) return unreadable(object.error(), commit.hex());
  if (object->type != ObjectType::commit) {
    return refusal(Reason::ref_not_found, FindingKind::acquire_error,
                   commit.hex() + " is not a commit");
  }
  const auto root = gitfmt::commit_tree(object->bytes);
  if (!root) return damaged(root.error(), commit.hex());
  TreeWalk walk(store, limits);
  if (auto refused = walk.walk(*root)) return *std::move(refused);
  if (walk.failed()) return *walk.failed();
  return walk.take();
}

}  // namespace cupel::source
