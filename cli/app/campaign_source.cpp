#include "cli/app/campaign_source.hpp"

#include "common/core/limits.hpp"
#include "common/fs/files.hpp"
#include "common/source/pack.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>

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
  if (!parsed.diagnostics.empty()) parsed.campaign.reset();
}

Error placed(Error error, const std::string& file, const campaign::RepositoryEntry& entry) {
  if (entry.place.line > 0) {
    error.what = file + ":" + std::to_string(entry.place.line) + ":" +
                 std::to_string(entry.place.column) + ": " + error.what;
  }
  return error;
}

Result<void> upload_one(campaign::RepositoryEntry& entry, const std::string& file,
                        const std::filesystem::path& pack, httpclient::Client& client,
                        Console& console) {
  const campaign::LocalPath path = std::get<campaign::LocalPath>(entry.source);
  const std::filesystem::path folder = base_of(file) / path.path;
  const auto answer = source::pack_local_path(folder, path.ref, pack);
  if (!answer) return placed(answer.error(), file, entry);
  if (const auto* refusal = std::get_if<SourceRefusal>(&*answer)) {
    console.say(path.path + ": refused: " + refusal->message);
    entry.source =
        campaign::RefusedSource{path.path, refusal->reason, capped_detail(refusal->message),
                                refusal->findings.empty() ? FindingKind::acquire_error
                                                          : refusal->findings.front().kind};
    entry.subdirs.clear();
    return boost::system::in_place_value;
  }
  const auto& packed = std::get<source::PackedSource>(*answer);
  const auto uploaded = client.upload("/api/v1/artifacts", pack,
                                      {{"X-Cupel-Digest", "sha256:" + packed.digest.hex()}});
  (void)fs::remove_tree(pack);
  if (!uploaded) return placed(uploaded.error(), file, entry);
  for (const std::string& note : packed.notes) console.say(path.path + ": " + note);
  entry.source = BundleSource{packed.digest, packed.commit, path.path};
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
  PackFolder packs;
  std::size_t number = 0;
  for (campaign::RepositoryEntry& entry : campaign.repositories) {
    if (!std::holds_alternative<campaign::LocalPath>(entry.source)) continue;
    if (const auto made = fs::ensure_private_dir(packs.dir()); !made) return made.error();
    const std::filesystem::path pack = packs.dir() / (std::to_string(++number) + ".pack");
    if (const auto uploaded = upload_one(entry, file, pack, client, console); !uploaded)
      return uploaded.error();
  }
  return boost::system::in_place_value;
}

}  // namespace cupel::cli
