#include "cli/app/campaign_source.hpp"

#include "cli/app/scan_database.hpp"
#include "common/core/limits.hpp"
#include "common/fs/files.hpp"
#include "common/source/pack.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <variant>

namespace cupel::cli {
namespace {

Result<std::string> read_input(const std::string& file) {
  if (file != "-") return fs::read_file(file, kCampaignFileBytesMax);
  std::string text;
  std::string piece(64 * 1024, '\0');
  while (std::cin.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
         std::cin.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > kCampaignFileBytesMax)
      return Error{Errc::too_large, "standard input is larger than 8 MiB", "", ""};
  }
  return text;
}

std::filesystem::path base_of(const std::string& file) {
  return file == "-" ? std::filesystem::path() : std::filesystem::path(file).parent_path();
}

/// A private folder for packs, gone with the object.
class PackFolder {
 public:
  PackFolder()
      : dir_(std::filesystem::temp_directory_path() / ("cupel-pack-" + fs::random_hex(8))) {}
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;
  ~PackFolder() { (void)fs::remove_tree(dir_); }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

 private:
  std::filesystem::path dir_;
};

/// A folder that isn't there is a fault of the file, known before anything is started.
void check_folders(campaign::ParsedCampaign& parsed, const std::string& shown,
                   const std::filesystem::path& base) {
  if (!parsed) return;
  for (const campaign::RepositoryEntry& entry : parsed.campaign->repositories) {
    const auto* path = std::get_if<campaign::LocalPath>(&entry.source);
    std::error_code failure;
    if (path == nullptr || std::filesystem::is_directory(base / path->path, failure)) continue;
    parsed.diagnostics.push_back({shown, entry.place.line, entry.place.column, Errc::not_found,
                                  "there is no folder " + (base / path->path).string(), ""});
  }
  for (const campaign::LocalReplacement& one : parsed.campaign->local_replacements) {
    std::error_code failure;
    if (std::filesystem::is_directory(base / one.with.path, failure)) continue;
    parsed.diagnostics.push_back({shown, one.place.line, one.place.column, Errc::not_found,
                                  "there is no folder " + (base / one.with.path).string(), ""});
  }
  if (!parsed.diagnostics.empty()) parsed.campaign.reset();
}

Error placed(Error error, const std::string& file, const campaign::Place& place) {
  if (place.line > 0) {
    error.what = file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) +
                 ": " + error.what;
  }
  return error;
}

using Uploaded = std::variant<BundleSource, SourceRefusal>;

/// Packs folders one by one in a private folder and uploads each pack.
class Uploader {
 public:
  Uploader(const std::string& file, httpclient::Client& client, Console& console)
      : file_(file), client_(client), console_(console) {}

  Result<Uploaded> upload(const campaign::LocalPath& path, const campaign::Place& place) {
    if (const auto made = fs::ensure_private_dir(packs_.dir()); !made) return made.error();
    const std::filesystem::path pack = packs_.dir() / (std::to_string(++number_) + ".pack");
    const auto answer = source::pack_local_path(base_of(file_) / path.path, path.ref, pack);
    if (!answer) return placed(answer.error(), file_, place);
    if (const auto* refusal = std::get_if<SourceRefusal>(&*answer)) {
      console_.say(path.path + ": refused: " + refusal->message);
      return *refusal;
    }
    const auto& packed = std::get<source::PackedSource>(*answer);
    const auto uploaded = client_.upload("/api/v1/artifacts", pack,
                                         {{"X-Cupel-Digest", "sha256:" + packed.digest.hex()}});
    (void)fs::remove_tree(pack);
    if (!uploaded) return placed(uploaded.error(), file_, place);
    for (const std::string& note : packed.notes) console_.say(path.path + ": " + note);
    return BundleSource{packed.digest, packed.commit, path.path};
  }

 private:
  PackFolder packs_;
  std::size_t number_ = 0;
  const std::string& file_;
  httpclient::Client& client_;
  Console& console_;
};

Result<void> upload_repositories(campaign::Campaign& campaign, Uploader& uploader) {
  for (campaign::RepositoryEntry& entry : campaign.repositories) {
    const auto* local = std::get_if<campaign::LocalPath>(&entry.source);
    if (local == nullptr) continue;
    const std::string path = local->path;
    const auto uploaded = uploader.upload(*local, entry.place);
    if (!uploaded) return uploaded.error();
    if (const auto* bundle = std::get_if<BundleSource>(&*uploaded)) {
      entry.source = *bundle;
      continue;
    }
    const auto& refusal = std::get<SourceRefusal>(*uploaded);
    entry.source = campaign::RefusedSource{
        path, refusal.reason, capped_detail(refusal.message),
        refusal.findings.empty() ? FindingKind::acquire_error : refusal.findings.front().kind};
    entry.subdirs.clear();
  }
  return boost::system::in_place_value;
}

/// A candidate that can't be packed leaves nothing to ask: the campaign is not submitted.
Result<void> upload_replacements(campaign::Campaign& campaign, const std::string& file,
                                 Uploader& uploader) {
  auto* replace = std::get_if<Replace>(&campaign.change);
  for (const campaign::LocalReplacement& one : campaign.local_replacements) {
    const auto uploaded = uploader.upload(one.with, one.place);
    if (!uploaded) return uploaded.error();
    if (const auto* refusal = std::get_if<SourceRefusal>(&*uploaded)) {
      return placed({Errc::refused_by_policy, "the candidate of " + one.module + " can't be packed",
                     refusal->message, ""},
                    file, one.place);
    }
    if (replace != nullptr) {
      replace->modules.push_back({one.module, std::get<BundleSource>(*uploaded)});
    }
  }
  campaign.local_replacements.clear();
  if (replace != nullptr) std::ranges::sort(replace->modules, {}, &Replacement::module);
  return boost::system::in_place_value;
}

}  // namespace

Result<campaign::ParsedCampaign> load_campaign(const std::string& file) {
  const auto text = read_input(file);
  if (!text) {
    Error error = text.error();
    if (error.code == Errc::not_found) error.what = "there is no campaign file " + file;
    if (error.code == Errc::not_found) error.hint = "'cupel init' writes one; -f names another";
    return error;
  }
  const campaign::ListReader read_list = [&file](const std::string& path) -> Result<std::string> {
    if (path == "-" && file == "-") {
      return Error{Errc::bad_value, "standard input is the campaign file already", "", ""};
    }
    return path == "-" ? read_input(path)
                       : fs::read_file(base_of(file) / path, kCampaignFileBytesMax);
  };
  const std::string shown = file == "-" ? "standard input" : file;
  campaign::ParsedCampaign parsed = campaign::parse_yaml(*text, shown, read_list);
  check_folders(parsed, shown, base_of(file));
  return parsed;
}

Result<void> upload_paths(campaign::Campaign& campaign, const std::string& file,
                          httpclient::Client& client, Console& console) {
  Uploader uploader(file, client, console);
  if (const auto done = upload_repositories(campaign, uploader); !done) return done.error();
  if (const auto done = upload_replacements(campaign, file, uploader); !done) return done.error();
  return upload_database(campaign.scan, base_of(file), client, console);
}

}  // namespace cupel::cli
