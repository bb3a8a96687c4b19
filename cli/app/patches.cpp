// The patches of a campaign as files.
#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/queries.hpp"
#include "cli/core/exit_codes.hpp"
#include "cli/core/patch_files.hpp"
#include "common/fs/files.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace cupel::cli {
namespace {

constexpr std::size_t kManifestBytesMax = std::size_t{64} << 20U;

/// What an earlier call left in the folder and this campaign has no patch for.
void remove_stale(const std::filesystem::path& folder, const json& manifest, Console& console) {
  const auto text = fs::read_file(folder / "manifest.json", kManifestBytesMax);
  if (!text) return;
  for (const std::string& name : stale_patches(json::parse(*text, nullptr, false), manifest)) {
    std::error_code failure;
    if (std::filesystem::remove(folder / name, failure)) {
      console.say("removed " + (folder / name).string() + ", which an earlier manifest.json named");
    }
  }
}

Result<std::string> fetch_mail(httpclient::Client& client, const std::string& target) {
  std::string text;
  const auto told = client.download(
      target, 0,
      [&text](std::string_view bytes) {
        text.append(bytes);
        return true;
      },
      [](const httpclient::Headers&) { return true; });
  if (!told) return told.error();
  return text;
}

int write_patches(const Request& request, Console& console, httpclient::Client& client) {
  const auto path = campaign_path(request.campaign);
  if (!path) return fail(console, path.error());
  const auto manifest = client.get(*path + "/patches");
  if (!manifest) return fail(console, manifest.error());
  const std::filesystem::path folder = request.output.empty() ? "patches" : request.output;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    return fail(console, Error{Errc::bad_value, "can't make folder " + folder.string(),
                               failure.message(), ""});
  }
  remove_stale(folder, *manifest, console);
  std::size_t written = 0;
  for (const json& entry : list_of(*manifest, "patches")) {
    if (text_of(entry, "state") != "ready") continue;
    const std::string name = text_of(entry, "file");
    const std::string unit = text_of(entry, "unit");
    if (!is_plain_name(name) || !is_plain_name(unit)) {
      return fail(console,
                  Error{Errc::protocol_mismatch, "the manifest names an odd file", name, ""});
    }
    const auto mail = fetch_mail(client, *path + "/patches/" + unit);
    if (!mail) return fail(console, mail.error());
    if (const auto kept = fs::write_file_durably(folder / name, *mail, 0644); !kept)
      return fail(console, kept.error());
    ++written;
  }
  const std::string text = manifest->dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  if (const auto kept = fs::write_file_durably(folder / "manifest.json", text, 0644); !kept)
    return fail(console, kept.error());
  if (console.json()) {
    console.out(text);
  } else {
    console.out(std::to_string(written) + (written == 1 ? " patch in " : " patches in ") +
                folder.string() +
                ", apply each to its commit with 'git am'; manifest.json says why others are "
                "withheld\n");
  }
  return kExitDone;
}

}  // namespace

int run_patches(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    return write_patches(request, console, client);
  });
}

}  // namespace cupel::cli
