#include "common/bubblewrap/image_store.hpp"

#include "common/core/digest.hpp"
#include "common/crash/crash_point.hpp"
#include "common/fs/beneath.hpp"
#include "common/fs/files.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::bubblewrap {

namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::string_view kUnfinished = ".new-";
constexpr const char* kDescription = "image.json";
constexpr const char* kFileList = "files";
constexpr std::uint64_t kDescriptionBytesMax = 64 * 1024;
constexpr std::uint64_t kFileListBytesMax = std::uint64_t{256} << 20U;
constexpr const char* kHosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";

/// Where a run's mounts go: the root is read-only by then. Design, section 3.
constexpr const char* kFolders[] = {"src",   "modcache", "gocache", "staging", "tools", "vulndb",
                                    "proxy", "proc",     "dev",     "sys",     "tmp",   "etc"};
constexpr const char* kFiles[] = {"cupel-init", "cupel-ca.pem", "cupel-netrc", "etc/resolv.conf"};

Error failed_image(const std::string& what) {
  const int why = errno;
  return {why == ENOSPC ? Errc::disk_full : Errc::io_error, what, std::strerror(why), {}};
}

Result<std::string> folder_name(std::string_view id) {
  if (id.starts_with(kAlgorithm) && Digest::parse(id))
    return std::string(id.substr(kAlgorithm.size()));
  return Error{Errc::bad_value, "'" + std::string(id) + "' is no image identity", {}, {}};
}

/// Below the root, whatever links the image has.
Result<void> add_file(const fs::Fd& root, const std::string& path, std::string_view content) {
  Result<fs::Fd> file = fs::open_beneath(root, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file) {
    if (file.error().code == Errc::already_exists) return {};
    return file.error();
  }
  if (::fchmod(file->get(), 0644) != 0) return failed_image("can't open up " + path);
  return fs::write_all(*file, content, path);
}

Result<void> add_mount_points(const stdfs::path& root) {
  Result<fs::Fd> folder = fs::open_dir(root);
  if (!folder) return folder.error();
  for (const char* const name : kFolders) {
    const bool made = ::mkdirat(folder->get(), name, 0755) == 0;
    // Whatever our umask says, a run's user passes through.
    if (made ? ::fchmodat(folder->get(), name, 0755, 0) != 0 : errno != EEXIST)
      return failed_image("can't make " + (root / name).string());
  }
  for (const char* const name : kFiles) {
    if (auto added = add_file(*folder, name, {}); !added) return added;
  }
  // "localhost" is a name that tests listen on.
  return add_file(*folder, "etc/hosts", kHosts);
}

Result<UnpackedImage> read_image(const stdfs::path& folder) {
  const auto text = fs::read_file(folder / kDescription, kDescriptionBytesMax);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const bool whole = json.is_object() && json.contains("id") && json["id"].is_string() &&
                     json.contains("labels") && json["labels"].is_object();
  if (!whole) {
    return Error{Errc::io_error,
                 (folder / kDescription).string() + " describes no image",
                 {},
                 "remove the folder, and build the image again"};
  }
  UnpackedImage image{json["id"].get<std::string>(), (folder / "root").string(), {}, {}};
  if (json.contains("files") && json["files"].is_string())
    image.files = json["files"].get<std::string>();
  for (const auto& [name, value] : json["labels"].items()) {
    if (value.is_string()) image.labels.emplace_back(name, value.get<std::string>());
  }
  return image;
}

}  // namespace

std::vector<images::EngineImage> list_images(const stdfs::path& store) {
  std::vector<images::EngineImage> all;
  std::error_code ec;
  for (const auto& entry : stdfs::directory_iterator(store, ec)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    auto image = read_image(entry.path());
    if (!image || image->id != std::string(kAlgorithm) + entry.path().filename().string()) continue;
    all.push_back({.id = image->id, .repo_digests = {}, .labels = std::move(image->labels)});
  }
  return all;
}

Result<UnpackedImage> find_image(const stdfs::path& store, std::string_view id) {
  const Result<std::string> name = folder_name(id);
  if (!name) return name.error();
  auto image = read_image(store / *name);
  if (!image && image.error().code == Errc::not_found) {
    return Error{Errc::image_missing,
                 "the image " + std::string(id) + " is not in " + store.string(),
                 {},
                 "'cupel image build VERSION --engine bubblewrap' makes it"};
  }
  return image;
}

Result<ImageDamage> check_files(const stdfs::path& store, std::string_view id) {
  const auto image = find_image(store, id);
  if (!image) return image.error();
  const auto unknown = [](const std::string& what) {
    return Error{Errc::artifact_mismatch,
                 what,
                 {},
                 "'cupel image build VERSION --engine bubblewrap --again' makes it anew"};
  };
  if (image->files.empty()) return unknown("no list of its files was made with it");
  const stdfs::path folder = stdfs::path(image->root).parent_path();
  const auto listed = fs::read_file(folder / kFileList, kFileListBytesMax);
  if (!listed) return unknown("the list of its files can't be read: " + listed.error().text());
  if (sha256(*listed).hex() != image->files) return unknown("the list of its files was changed");
  const auto found = list_files(image->root);
  if (!found) return found.error();
  return compare_files(*listed, *found);
}

std::vector<std::string> broken_images(const stdfs::path& store) {
  std::vector<std::string> broken;
  std::error_code ec;
  for (const auto& entry : stdfs::directory_iterator(store, ec)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    const auto image = read_image(entry.path());
    if (!image || image->id != std::string(kAlgorithm) + name) broken.push_back(entry.path());
  }
  return broken;
}

ImageWriter::ImageWriter(stdfs::path store, std::string id, stdfs::path fresh)
    : store_(std::move(store)), id_(std::move(id)), fresh_(std::move(fresh)) {}
ImageWriter::ImageWriter(ImageWriter&& other) noexcept
    : store_(std::move(other.store_)),
      id_(std::move(other.id_)),
      fresh_(std::exchange(other.fresh_, {})) {}
ImageWriter::~ImageWriter() {
  if (fresh_.empty()) return;
  const auto removed = fs::remove_tree(fresh_);
  (void)removed;  // the next begin() takes what is left
}

Result<ImageWriter> ImageWriter::begin(const stdfs::path& store, std::string_view id) {
  const Result<std::string> name = folder_name(id);
  if (!name) return name.error();
  if (const auto made = fs::ensure_private_dir(store); !made) return made.error();
  stdfs::path fresh = store / (std::string(kUnfinished) + *name);
  if (const auto gone = fs::remove_tree(fresh); !gone) return gone.error();
  if (::mkdir(fresh.c_str(), 0755) != 0 || ::mkdir((fresh / "root").c_str(), 0755) != 0 ||
      ::chmod((fresh / "root").c_str(), 0755) != 0) {
    return failed_image("can't make " + fresh.string());
  }
  return ImageWriter(store, *name, std::move(fresh));
}

Result<void> ImageWriter::finish(const Labels& labels) {
  if (auto added = add_mount_points(root()); !added) return added;
  const auto files = list_files(root());
  if (!files) return files.error();
  if (auto written = fs::write_file_durably(fresh_ / kFileList, *files, 0644); !written) {
    return written;
  }
  nlohmann::json described = {{"id", std::string(kAlgorithm) + id_},
                              {"files", sha256(*files).hex()},
                              {"labels", nlohmann::json::object()}};
  for (const auto& [name, value] : labels) described["labels"][name] = value;
  if (auto written = fs::write_file_durably(fresh_ / kDescription, described.dump(1) + "\n", 0644);
      !written) {
    return written;
  }
  const stdfs::path place = store_ / id_;
  if (const auto gone = fs::remove_tree(place); !gone) return gone;
  CUPEL_CRASH_POINT("image.rename");
  if (::rename(fresh_.c_str(), place.c_str()) != 0)
    return failed_image("can't rename " + fresh_.string());
  fresh_.clear();
  return {};
}

Result<void> remove_image(const stdfs::path& store, std::string_view id) {
  const Result<std::string> name = folder_name(id);
  if (!name) return name.error();
  // Out of the list first: half of an image is none.
  const stdfs::path leaving = store / (std::string(kUnfinished) + *name);
  if (const auto gone = fs::remove_tree(leaving); !gone) return gone;
  CUPEL_CRASH_POINT("image_gone.rename");
  if (::rename((store / *name).c_str(), leaving.c_str()) != 0) {
    if (errno == ENOENT) return Error{Errc::not_found, "no image " + std::string(id), {}, {}};
    return failed_image("can't rename " + (store / *name).string());
  }
  return fs::remove_tree(leaving);
}

}  // namespace cupel::bubblewrap
