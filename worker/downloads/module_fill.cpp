#include "worker/downloads/module_fill.hpp"

#include "worker/downloads/zip_sum.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cupel::worker {

namespace {

using sumdb::ModuleVersion;

constexpr std::uint64_t kGoModFileBytesMax = 16ULL << 20U;  // the go command's own limit
constexpr std::uint64_t kInfoBytesMax = 64ULL << 10U;
constexpr std::size_t kUnknownMax = 10'000;
constexpr std::size_t kErrorsMax = 4;
constexpr std::uint64_t kFailuresMax = 3;
constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";

/// "2020-01-14T19:47:44Z", also with a fraction or an offset.
bool is_time(std::string_view text) {
  if (text.size() <= kShape.size() || text.size() > 40) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return false;
  }
  return std::ranges::all_of(text.substr(kShape.size()), [](char c) {
    return (c >= '0' && c <= '9') || std::string_view("Z+-:.").find(c) != std::string_view::npos;
  });
}

Error changed(const ModuleVersion& module, std::string_view what, const std::string& is,
              const std::string& said) {
  return {.code = Errc::artifact_mismatch,
          .what = "not kept for other runs: the " + std::string(what) + " of " + module.text() +
                  " is " + is + ", and " + said + " in the checksum database",
          .detail = {},
          .hint = {}};
}

/// The answers can't be trusted, whatever was asked.
bool is_forged(const Error& error) {
  return error.code == Errc::artifact_mismatch || error.code == Errc::bad_value;
}

void add_error(FillReport& report, const Error& error) {
  if (report.errors.size() < kErrorsMax) report.errors.push_back(error);
}

}  // namespace

Result<std::string> plain_info(std::string_view answer, const std::string& version) {
  Error odd{Errc::bad_value, "the .info of " + version + " is malformed", {}, {}};
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object()) return odd;
  const auto said = json.find("Version");
  const auto time = json.find("Time");
  if (said == json.end() || !said->is_string() || said->get<std::string>() != version) return odd;
  nlohmann::json plain = {{"Version", version}};
  if (time != json.end()) {
    if (!time->is_string() || !is_time(time->get<std::string>())) return odd;
    plain["Time"] = *time;
  }
  return plain.dump();
}

ModuleFill::ModuleFill(DownloadCache& cache, sumdb::ChecksumDatabase& database,
                       std::vector<sumdb::ModuleProxy> proxies, curl::Fetch fetch)
    : cache_(cache), database_(database), proxies_(std::move(proxies)), fetch_(std::move(fetch)) {}

FillReport ModuleFill::fill(const std::filesystem::path& modcache, const std::atomic<bool>& stop) {
  FillReport report;
  const auto run = RunModules::open(modcache);
  if (!run) {
    if (run.error().code != Errc::not_found) add_error(report, run.error());
    return report;
  }
  for (const RunModule& module : run->list()) {
    if (stop.load()) break;
    cache_.used(module.module);
    if (!take(*run, module, report)) break;
    if (cache_.bytes() > cache_.limits().bytes_max) (void)cache_.tidy();
  }
  const auto tidied = cache_.tidy();
  if (!tidied) {
    ++report.counts.failed;
    add_error(report, tidied.error());
  }
  return report;
}

bool ModuleFill::take(const RunModules& run, const RunModule& module, FillReport& report) {
  const ModuleVersion& name = module.module;
  const bool wants_mod = module.go_mod && !cache_.has(name, DownloadPart::go_mod);
  const bool wants_zip = module.zip && !cache_.has(name, DownloadPart::zip);
  if ((!wants_mod && !wants_zip) || unknown_.contains(name)) return true;
  const auto sums = database_.lookup(name);
  if (!sums) {
    const Error& error = sums.error();
    if (error.code == Errc::cancelled) return false;
    if (error.code == Errc::not_found) {
      ++report.counts.unknown;
      if (unknown_.size() >= kUnknownMax) unknown_.clear();
      unknown_.insert(name);
      return true;
    }
    add_error(report, error);
    if (is_forged(error)) {
      ++report.counts.forged;
      return false;
    }
    return ++report.counts.failed < kFailuresMax;
  }
  const RunModule wanted{.module = name, .go_mod = wants_mod, .zip = wants_zip};
  const auto added = take_files(run, wanted, *sums, report);
  if (!added) return false;
  report.counts.bytes += *added;
  if (*added > 0) ++report.counts.versions;
  return true;
}

/// An error only where going on makes no sense.
Result<std::uint64_t> ModuleFill::take_files(const RunModules& run, const RunModule& module,
                                             const sumdb::ModuleSums& sums, FillReport& report) {
  const ModuleVersion& name = module.module;
  std::uint64_t added = 0;
  const auto count = [&](const Result<std::uint64_t>& taken) -> bool {
    if (taken) {
      added += *taken;
      return true;
    }
    const Error& error = taken.error();
    if (error.code == Errc::artifact_mismatch) {
      ++report.counts.changed;
    } else if (error.code == Errc::too_large) {
      ++report.counts.unknown;
    } else {
      ++report.counts.failed;
    }
    add_error(report, error);
    return false;
  };
  const auto full = [](const Result<std::uint64_t>& taken) {
    return !taken && taken.error().code == Errc::disk_full;
  };
  if (module.go_mod) {
    const auto taken = take_go_mod(run, name, sums.go_mod);
    if (!count(taken)) {
      if (full(taken)) return taken.error();
      return added;
    }
  }
  if (!module.zip) return added;
  const auto taken = take_zip(run, name, sums.zip);
  if (!count(taken)) {
    if (full(taken)) return taken.error();
    return added;
  }
  if (cache_.has(name, DownloadPart::info)) return added;
  // Without it the go command asks the next proxy: no loss but a request.
  (void)count(take_info(name));
  return added;
}

Result<std::uint64_t> ModuleFill::take_go_mod(const RunModules& run, const ModuleVersion& module,
                                              const std::string& sum) {
  const auto file = run.open_file(module, "mod");
  if (!file) return file.error();
  const auto bytes = fs::read_all(*file, kGoModFileBytesMax, module.text());
  if (!bytes) return bytes.error();
  const std::string is = sumdb::file_h1("go.mod", *bytes);
  if (is != sum) return changed(module, "go.mod", is, sum);
  auto staged = StagedFile::write(*bytes, cache_.staging());
  if (!staged) return staged.error();
  if (auto placed = cache_.place(module, DownloadPart::go_mod, *std::move(staged)); !placed) {
    return placed.error();
  }
  return bytes->size();
}

Result<std::uint64_t> ModuleFill::take_zip(const RunModules& run, const ModuleVersion& module,
                                           const std::string& sum) {
  const auto file = run.open_file(module, "zip");
  if (!file) return file.error();
  auto staged = StagedFile::copy(*file, cache_.staging(), cache_.limits().file_bytes_max);
  if (!staged) return staged.error();
  const auto is = zip_sum(staged->path());
  if (!is) {
    // What the database has a sum of is a zip; this is not.
    Error error = is.error();
    if (error.code == Errc::io_error) error.code = Errc::artifact_mismatch;
    return error;
  }
  if (*is != sum) return changed(module, "zip", *is, sum);
  const std::uint64_t bytes = staged->bytes();
  if (auto placed = cache_.place(module, DownloadPart::zip, *std::move(staged)); !placed) {
    return placed.error();
  }
  return bytes;
}

Result<std::uint64_t> ModuleFill::take_info(const ModuleVersion& module) {
  const auto answer =
      sumdb::ask_proxies(proxies_, fetch_, sumdb::file_stem(module) + ".info", kInfoBytesMax);
  if (!answer) return answer.error();
  const auto info = plain_info(answer->bytes, module.version);
  if (!info) return info.error();
  auto staged = StagedFile::write(*info, cache_.staging());
  if (!staged) return staged.error();
  if (auto placed = cache_.place(module, DownloadPart::info, *std::move(staged)); !placed) {
    return placed.error();
  }
  return info->size();
}

}  // namespace cupel::worker
