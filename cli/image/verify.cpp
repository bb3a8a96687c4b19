#include "cli/image/verbs.hpp"
#include "common/bubblewrap/image_store.hpp"
#include "common/fs/files.hpp"
#include "common/images/recipe.hpp"

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace cupel::cli {
namespace {

constexpr std::uint64_t kAnswerMax = 4096;
constexpr int kProcessesMax = 32768;  // of all containers' users together
constexpr auto kRunLimit = std::chrono::seconds(30);

/// A container that can do nothing but answer: no network, no rights, nothing to write.
std::string version_container(const std::string& image) {
  return nlohmann::json{
      {"Image", image},
      {"Entrypoint", {"/usr/local/go/bin/go"}},
      {"Cmd", {"version"}},
      {"User", "65534:65534"},
      {"WorkingDir", "/"},
      {"NetworkDisabled", true},
      {"Env", {"HOME=/nonexistent", "GOTOOLCHAIN=local", "GOENV=off", "GOTELEMETRY=off"}},
      {"Labels", {{"cupel.image.verify", "1"}}},
      {"HostConfig",
       {{"NetworkMode", "none"},
        {"ReadonlyRootfs", true},
        {"CapDrop", {"ALL"}},
        {"SecurityOpt", {"no-new-privileges"}},
        {"PidsLimit", 64},
        {"Memory", 256 << 20},
        // What Podman sets by itself is more than an engine without CAP_SYS_RESOURCE may.
        {"Ulimits",
         {{{"Name", "nofile"}, {"Soft", 1024}, {"Hard", 1024}},
          {{"Name", "nproc"}, {"Soft", kProcessesMax}, {"Hard", kProcessesMax}}}},
        {"LogConfig", {{"Type", "json-file"}, {"Config", {{"max-size", "1m"}}}}}}},
  }
      .dump();
}

boost::asio::awaitable<Result<std::string>> container_output(docker::Client& client,
                                                             std::string id) {
  if (const auto started = co_await client.start(id); !started) co_return started.error();
  const auto ended = co_await client.wait(id, kRunLimit);
  if (!ended) co_return ended.error();
  std::string output;
  const auto logs = co_await client.logs(
      id, kAnswerMax, [&](Stream, std::string_view bytes) { output.append(bytes); });
  if (logs.error) co_return *logs.error;
  if (ended->exit_code != 0) {
    co_return Error{.code = Errc::process_failed,
                    .what = "go version ended with " + std::to_string(ended->exit_code),
                    .detail = capped_detail(output),
                    .hint = {}};
  }
  co_return output;
}

/// "go1.26.8", as the toolchain inside says.
boost::asio::awaitable<Result<std::string>> version_inside(docker::Client& client,
                                                           std::string image) {
  const auto created =
      co_await client.create("cupel-verify-" + fs::random_hex(8), version_container(image));
  if (!created) co_return created.error();
  const auto output = co_await container_output(client, created->id);
  const auto removed = co_await client.remove(created->id);
  if (!output) co_return output.error();
  if (!removed) co_return removed.error();
  // "go version go1.26.8 linux/amd64"
  const auto start = output->find(" go1");
  if (start == std::string::npos) {
    co_return Error{.code = Errc::artifact_mismatch,
                    .what = "go version answered something else",
                    .detail = capped_detail(*output),
                    .hint = {}};
  }
  co_return output->substr(start + 1, output->find(' ', start + 1) - start - 1);
}

/// Is the identity the one that base, toolchain and recipe give? The base is named by a label, the
/// toolchain by the table. Empty when it is; else why not, or why nobody can say.
std::string check_identity(const ImageContext& context, const images::Available& image,
                           bool& wrong) {
  const images::ImageEntry* entry = context.table.find(image.minor);
  if (entry != nullptr && image.identity == entry->registry.digest)
    return {};  // The engine checked it.
  if (entry == nullptr || entry->go != image.go_version) {
    return "the table pins another toolchain for go " + image.minor;
  }
  const auto base = Digest::parse(image.base);
  if (!base || images::assembled_identity(*base, entry->toolchain.h1) != image.identity) {
    wrong = true;
    return "its identity is not the one that its base and toolchain give";
  }
  const auto kept = kept_base(context.place, image.has_cc);
  return kept && kept->digest == *base ? "" : "its base archive is not on this machine";
}

/// Of an unpacked image: every file is as it was made. Empty when it is; else what isn't.
std::string check_content(const ImageContext& context, const images::Available& image) {
  const auto damage = bubblewrap::check_files(context.image_dir, image.engine_id);
  if (!damage) return damage.error().text();
  if (damage->count == 0) return {};
  std::string words = std::to_string(damage->count) + " of its files are not as they were made: ";
  for (const std::string& one : damage->first)
    words += (&one == damage->first.data() ? "" : "; ") + one;
  return words + (damage->count > damage->first.size() ? "; ..." : "");
}

/// Of an engine's image: the toolchain says the version that the label has.
boost::asio::awaitable<std::string> check_toolchain(const ImageContext& context,
                                                    images::Available image) {
  const auto inside = co_await version_inside(*context.client, image.engine_id);
  if (!inside) co_return inside.error().text();
  co_return *inside == "go" + image.go_version ? "" : "the toolchain inside is " + *inside;
}

nlohmann::json row_of(const images::Available& image, bool wrong, const std::string& remark) {
  return {{"go", image.go_version},
          {"variant", image.has_cc ? "cc" : "nocc"},
          {"identity", image.identity},
          {"ok", !wrong},
          {"remark", remark}};
}

Error nothing_here(const ImageContext& context) {
  const bool unpacked = context.client == nullptr;
  return {.code = Errc::image_missing,
          .what = unpacked ? "no toolchain image is in " + context.image_dir.string()
                           : "the engine holds no toolchain image",
          .detail = {},
          .hint = unpacked ? "cupel image build 1.26 --engine bubblewrap"
                           : "cupel image build 1.26, or cupel image pull 1.26"};
}

}  // namespace

ExitCode image_verify(ImageContext& context) {
  const auto present = co_await present_images(context);
  if (!present) co_return present.error();
  const auto& wanted = context.request.versions;
  nlohmann::json rows = nlohmann::json::array();
  bool all_right = true;
  for (const images::Available& image : *present) {
    const bool named = wanted.empty() || std::ranges::find(wanted, image.minor) != wanted.end() ||
                       std::ranges::find(wanted, image.go_version) != wanted.end();
    if (!named) continue;
    bool wrong = false;
    std::string remark = check_identity(context, image, wrong);
    const std::string content = context.client == nullptr
                                    ? check_content(context, image)
                                    : co_await check_toolchain(context, image);
    if (!content.empty()) {
      wrong = true;
      remark = content;
    }
    all_right = all_right && !wrong;
    rows.push_back(row_of(image, wrong, remark));
  }
  if (context.client == nullptr && wanted.empty()) {
    for (const std::string& folder : bubblewrap::broken_images(context.image_dir)) {
      all_right = false;
      images::Available broken;
      broken.go_version = "?";
      broken.identity = folder;
      rows.push_back(row_of(
          broken, true,
          "its image.json describes no image: remove the folder, and build the image again"));
    }
  }
  if (rows.empty()) co_return nothing_here(context);
  if (context.request.json) {
    *context.out << rows.dump(1) << "\n";
    co_return all_right ? 0 : 1;
  }
  for (const auto& row : rows) {
    const std::string remark = row["remark"].get<std::string>();
    *context.out << (row["ok"].get<bool>() ? "ok    " : "WRONG ") << "go "
                 << row["go"].get<std::string>() << " " << row["variant"].get<std::string>() << " "
                 << row["identity"].get<std::string>()
                 << (remark.empty() ? "" : "  (" + remark + ")") << "\n";
  }
  co_return all_right ? 0 : 1;
}

}  // namespace cupel::cli
