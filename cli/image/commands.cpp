#include "cli/image/commands.hpp"

#include "cli/image/verbs.hpp"
#include "common/bubblewrap/image_store.hpp"
#include "common/fs/files.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <exception>
#include <iomanip>
#include <optional>
#include <ostream>

namespace cupel::cli {
namespace {

constexpr std::uint64_t kTableMax = std::uint64_t{1} << 20U;

Result<images::Table> load_table(const ImageRequest& request) {
  if (request.table_file.empty()) return images::builtin_table();
  const auto text = fs::read_file(request.table_file, kTableMax);
  if (!text) return text.error();
  return images::parse_table(*text);
}

boost::asio::awaitable<Result<int>> run_verb(ImageContext& context) {
  if (context.client != nullptr) {
    if (const auto version = co_await context.client->negotiate(); !version)
      co_return version.error();
  }
  switch (context.request.verb) {
    case ImageRequest::Verb::ls: co_return co_await image_ls(context);
    case ImageRequest::Verb::pull: co_return co_await image_pull(context);
    case ImageRequest::Verb::build: co_return co_await image_build(context);
    case ImageRequest::Verb::verify: co_return co_await image_verify(context);
    case ImageRequest::Verb::none: break;
  }
  co_return Error{.code = Errc::usage,
                  .what = "cupel image needs a verb",
                  .detail = {},
                  .hint = "ls, pull, build or verify"};
}

Result<int> run(ImageRequest request, std::ostream& out, std::ostream& err) {
  auto table = load_table(request);
  if (!table) return table.error();
  ImageContext context;
  context.table = std::move(*table);
  context.place.dir = request.state_dir / "images";
  context.image_dir = request.image_dir.empty() ? unpacked_images(request.state_dir)
                                                : std::filesystem::path(request.image_dir);
  context.place.environment = request.environment;
  const bool quiet = request.quiet;
  context.place.note = [&err, quiet](std::string_view line) {
    if (!quiet) err << line << std::endl;
  };
  context.request = std::move(request);
  context.out = &out;

  boost::asio::io_context io(1);
  std::optional<docker::Client> client;
  if (!context.request.unpacked) {
    auto socket = docker::find_socket(context.request.environment);
    if (!socket) return socket.error();
    docker::ClientOptions options;
    options.socket_path = *socket;
    context.client = &client.emplace(io.get_executor(), options);
  }
  Result<int> answer = 1;
  std::exception_ptr bug;
  boost::asio::co_spawn(io, run_verb(context), [&](std::exception_ptr thrown, Result<int> result) {
    bug = std::move(thrown);
    answer = std::move(result);
  });
  io.run();
  if (bug) std::rethrow_exception(bug);
  return answer;
}

std::string variant(const images::Available& image) {
  return image.has_cc ? "cc" : "nocc";
}

/// Beside an engine's images, those of bubblewrap.
void add_unpacked(const ImageContext& context, nlohmann::json& rows) {
  if (context.client == nullptr) return;
  for (const images::Available& image :
       images::match_images(context.table, bubblewrap::list_images(context.image_dir))) {
    rows.push_back({{"minor", image.minor},
                    {"go", image.go_version},
                    {"variant", variant(image)},
                    {"identity", image.identity},
                    {"engine", "bubblewrap"},
                    {"present", true}});
  }
}

}  // namespace

std::filesystem::path unpacked_images(const std::filesystem::path& state_dir) {
  return state_dir / "images" / "unpacked";
}

boost::asio::awaitable<Result<std::vector<images::Available>>> present_images(
    ImageContext& context) {
  if (context.client == nullptr)
    co_return images::match_images(context.table, bubblewrap::list_images(context.image_dir));
  const auto listed = co_await context.client->image_list({});
  if (!listed) co_return listed.error();
  std::vector<images::EngineImage> found;
  for (const docker::ImageFacts& facts : *listed) {
    found.push_back({.id = facts.id,
                     .repo_digests = facts.digests,
                     .labels = {facts.labels.begin(), facts.labels.end()}});
  }
  co_return images::match_images(context.table, found);
}

Result<std::vector<images::ImageEntry>> requested_entries(const ImageContext& context) {
  if (context.request.versions.empty()) {
    return Error{.code = Errc::usage,
                 .what = "name the versions of Go",
                 .detail = {},
                 .hint = "such as: cupel image build 1.24 1.26"};
  }
  std::vector<images::ImageEntry> entries;
  for (const std::string& version : context.request.versions) {
    const images::ImageEntry* entry = context.table.find(version);
    if (entry == nullptr) {
      std::string known;
      for (const images::ImageEntry& each : context.table.entries) known += " " + each.go;
      return Error{.code = Errc::bad_value,
                   .what = "the table of toolchains has no go " + version,
                   .detail = {},
                   .hint = "it has:" + known};
    }
    entries.push_back(*entry);
  }
  return entries;
}

ExitCode image_ls(ImageContext& context) {
  const auto present = co_await present_images(context);
  if (!present) co_return present.error();
  nlohmann::json rows = nlohmann::json::array();
  for (const images::Available& image : *present) {
    rows.push_back({{"minor", image.minor},
                    {"go", image.go_version},
                    {"variant", variant(image)},
                    {"identity", image.identity},
                    {"engine_id", image.engine_id},
                    {"present", true}});
  }
  add_unpacked(context, rows);
  for (const images::ImageEntry& entry : context.table.entries) {
    const auto same = [&](const images::Available& image) { return image.minor == entry.minor; };
    if (std::ranges::any_of(*present, same)) continue;
    rows.push_back({{"minor", entry.minor}, {"go", entry.go}, {"present", false}});
  }
  std::ostream& out = *context.out;
  if (context.request.json) {
    out << rows.dump(1) << "\n";
    co_return 0;
  }
  out << std::left << std::setw(8) << "GO" << std::setw(9) << "VARIANT" << std::setw(9) << "STATE"
      << "IDENTITY\n";
  for (const auto& row : rows) {
    const bool here = row["present"].get<bool>();
    out << std::setw(8) << row["go"].get<std::string>() << std::setw(9) << row.value("variant", "-")
        << std::setw(9)
        << (row.contains("engine") ? "unpacked"
            : here                 ? "here"
                                   : "missing")
        << row.value("identity", "-") << "\n";
  }
  co_return 0;
}

int run_image_command(ImageRequest request, std::ostream& out, std::ostream& err) {
  const auto answer = run(std::move(request), out, err);
  if (answer) return *answer;
  err << "error: " << answer.error().text() << std::endl;
  return error_info(answer.error().code).exit_code;
}

}  // namespace cupel::cli
