#include "cli/image/parts.hpp"
#include "cli/image/process.hpp"
#include "common/fs/files.hpp"
#include "common/images/recipe.hpp"

#include <nlohmann/json.hpp>

#include <archive.h>
#include <archive_entry.h>
#include <memory>
#include <vector>

namespace cupel::cli {
namespace {

// A toolchain has about 15,000 files and 250 MiB.
constexpr std::size_t kFilesMax = 100'000;

Error toolchain_failed(Errc code, std::string what, std::string hint = {}) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = std::move(hint)};
}

/// The go command and its proxy, as the user's environment or the command's own settings have it.
struct Go {
  std::string program;
  std::string proxy;
};

Result<Go> find_go(const PartsPlace& place) {
  // Debian's golang-go comes with a link in /usr/bin; an own installation often is in
  // /usr/local/go.
  const auto program =
      find_program("go", place.environment, {"/usr/local/go/bin/go", "/usr/lib/go/bin/go"});
  if (program.empty()) {
    return toolchain_failed(Errc::not_found, "there is no go command on this host",
                            "install the package golang-go; it fetches and checks the toolchain");
  }
  Go go{.program = program.string(), .proxy = {}};
  std::string configured;
  if (const auto found = place.environment.find("GOPROXY");
      found != place.environment.end() && !found->second.empty()) {
    configured = found->second;
  } else {
    auto environment = place.environment;
    environment["GOTOOLCHAIN"] = "local";
    const auto asked = run_command({.argv = {go.program, "env", "GOPROXY"},
                                    .environment = environment,
                                    .directory = "/",
                                    .limit = std::chrono::seconds(30),
                                    .on_error_line = {}});
    if (!asked) return asked.error();
    configured = *asked;
    while (!configured.empty() && configured.back() == '\n') configured.pop_back();
  }
  go.proxy = images::proxies_only(configured);
  if (go.proxy.empty()) {
    return toolchain_failed(Errc::not_found,
                            "no module proxy is configured (GOPROXY is '" + configured + "')",
                            "set GOPROXY to the proxy of your organisation");
  }
  return go;
}

Result<std::filesystem::path> download(const PartsPlace& place, const Go& go,
                                       const images::ToolchainModule& module,
                                       const std::filesystem::path& scratch) {
  auto environment = place.environment;
  environment["GOPROXY"] = go.proxy;
  environment["GOFLAGS"] = "-mod=mod -modcacherw";
  environment["GOTOOLCHAIN"] = "local";
  environment["GOWORK"] = "off";
  environment["GO111MODULE"] = "on";
  environment["GOPATH"] = (scratch / "gopath").string();
  environment["GOMODCACHE"] = (scratch / "mod").string();
  environment["GOCACHE"] = (scratch / "cache").string();
  environment["TMPDIR"] = scratch.string();
  const auto answer = run_command(
      {.argv = {go.program, "mod", "download", "-json", module.path + "@" + module.version},
       .environment = environment,
       .directory = scratch,
       .limit = std::chrono::minutes(15),
       .on_error_line = {}});
  if (!answer) return answer.error();
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  if (!json.is_object() || !json.contains("Zip") || !json["Zip"].is_string()) {
    Error error = toolchain_failed(Errc::process_failed,
                                   "go mod download " + module.path + "@" + module.version);
    error.detail = capped_detail(*answer);
    return error;
  }
  return std::filesystem::path(json["Zip"].get<std::string>());
}

struct ReaderClose {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using Reader = std::unique_ptr<archive, ReaderClose>;

Result<std::string> zip_h1(const std::filesystem::path& zip) {
  const Reader reader(archive_read_new());
  archive_read_support_format_zip(reader.get());
  const auto broken = [&](const char* what) {
    return toolchain_failed(Errc::io_error,
                            zip.string() + ": " + what + ": " + archive_error_string(reader.get()));
  };
  if (archive_read_open_filename(reader.get(), zip.c_str(), 1U << 20U) != ARCHIVE_OK)
    return broken("open");
  std::vector<images::ZipFile> files;
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  std::vector<char> buffer(std::size_t{1} << 18U);
  while ((code = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr || files.size() >= kFilesMax)
      return toolchain_failed(Errc::too_large, zip.string());
    Sha256 sum;
    la_ssize_t got = 0;
    while ((got = archive_read_data(reader.get(), buffer.data(), buffer.size())) > 0) {
      sum.update({buffer.data(), static_cast<std::size_t>(got)});
    }
    if (got < 0) return broken(name);
    files.push_back({.name = name, .sha256 = sum.finish()});
  }
  if (code != ARCHIVE_EOF) return broken("next entry");
  return images::module_zip_h1(std::move(files));
}

}  // namespace

Result<void> check_toolchain_zip(const std::filesystem::path& zip,
                                 const images::ToolchainModule& module) {
  const auto digest = file_digest(zip);
  if (!digest) return digest.error();
  if (digest->hex() == module.zip_sha256) return boost::system::in_place_value;
  // A proxy may pack the same files anew; the sum over the files decides.
  const auto sum = zip_h1(zip);
  if (!sum) return sum.error();
  if (*sum == module.h1) return boost::system::in_place_value;
  return toolchain_failed(Errc::artifact_mismatch, module.path + "@" + module.version +
                                                       " has the sum " + *sum +
                                                       ", the table pins " + module.h1);
}

Result<std::filesystem::path> ensure_toolchain(const PartsPlace& place,
                                               const images::ImageEntry& entry) {
  const std::filesystem::path kept = place.dir / ("toolchain-go" + entry.go + ".zip");
  if (check_toolchain_zip(kept, entry.toolchain)) return kept;
  const auto go = find_go(place);
  if (!go) return go.error();
  const std::filesystem::path scratch = place.dir / ("download-" + fs::random_hex(8));
  if (const auto made = fs::ensure_private_dir(scratch); !made) return made.error();
  place.note("fetching the toolchain of go " + entry.go);
  auto zip = download(place, *go, entry.toolchain, scratch);
  if (zip) {
    const auto right = check_toolchain_zip(*zip, entry.toolchain);
    std::error_code moved;
    if (right) std::filesystem::rename(*zip, kept, moved);
    if (!right) {
      zip = right.error();
    } else if (moved) {
      zip = toolchain_failed(Errc::io_error, "rename " + zip->string() + ": " + moved.message());
    } else {
      zip = kept;
    }
  }
  const auto cleaned = fs::remove_tree(scratch);
  if (zip && !cleaned) return cleaned.error();
  return zip;
}

}  // namespace cupel::cli
