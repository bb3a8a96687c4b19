#include "cli/image/parts.hpp"
#include "cli/image/process.hpp"
#include "common/fs/files.hpp"
#include "common/images/recipe.hpp"

#include <array>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace cupel::cli {
namespace {

constexpr std::string_view kSuite = "bookworm";
// Every file of the archive gets at most this time, so that the same packages give the same bytes.
constexpr const char* kEpochText = "1700000000";

Error failed(Errc code, std::string what, std::string hint = {}) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = std::move(hint)};
}

std::filesystem::path archive_file(const PartsPlace& place, bool with_cc) {
  return place.dir / (with_cc ? "base-cc.tar" : "base-nocc.tar");
}

std::filesystem::path digest_file(const std::filesystem::path& archive) {
  return archive.string() + ".sha256";
}

/// The host's own package sources of Debian 12 as one-line sources ("deb [signed-by=...] URL suite
/// main").
Result<std::vector<std::string>> host_sources(const PartsPlace& place) {
  const auto listed = run_command(
      {.argv = {"apt-get", "indextargets", "--format",
                "$(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)", "Created-By: Packages"},
       .environment = place.environment,
       .directory = {},
       .limit = std::chrono::seconds(60),
       .on_error_line = {}});
  if (!listed) return listed.error();
  std::vector<std::string> sources;
  std::istringstream lines(*listed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string uri;
    std::string release;
    std::string component;
    std::string key;
    words >> uri >> release >> component >> key;
    const bool ours = release == kSuite || release == std::string(kSuite) + "-updates" ||
                      release == std::string(kSuite) + "-security";
    if (!ours || component != "main") continue;
    const std::string options = key.starts_with("/") ? "[signed-by=" + key + "] " : "";
    std::string source = "deb ";
    source += options;
    source += uri;
    source += ' ';
    source += release;
    source += " main";
    sources.push_back(std::move(source));
  }
  if (sources.empty()) {
    return failed(Errc::not_found, "this host has no package source of Debian 12",
                  "name a mirror: cupel image build --mirror URL");
  }
  return sources;
}

/// How the host's apt reaches its mirrors, for the apt that fills the base.
std::vector<std::string> host_proxies(const PartsPlace& place) {
  const auto dump = run_command({.argv = {"apt-config", "dump", "--format", "%f \"%v\";%n",
                                          "Acquire::http::Proxy", "Acquire::https::Proxy"},
                                 .environment = place.environment,
                                 .directory = {},
                                 .limit = std::chrono::seconds(30),
                                 .on_error_line = {}});
  std::vector<std::string> options;
  if (!dump) return options;
  std::istringstream lines(*dump);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"\"") == std::string::npos && !line.empty())
      options.push_back("--aptopt=" + line);
  }
  return options;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

Result<std::vector<std::string>> bootstrap_command(const PartsPlace& place, bool with_cc,
                                                   std::string_view mirror,
                                                   const std::filesystem::path& target) {
  std::vector<std::string> argv = {
      "mmdebstrap", "--variant=minbase", "--include=" + joined(images::base_packages(with_cc)),
      "--aptopt=Acquire::Languages \"none\"", "--aptopt=Acquire::Retries \"3\"",
      "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
      "--dpkgopt=path-exclude=/usr/share/locale/*",
      // The only files that would carry this host into the image.
      "--customize-hook=rm -f \"$1/etc/hostname\" \"$1/etc/resolv.conf\"", "--format=tar"};
  for (std::string& option : host_proxies(place)) argv.push_back(std::move(option));
  argv.emplace_back(kSuite);
  argv.push_back(target.string());
  if (!mirror.empty()) {
    argv.emplace_back(mirror);
    return argv;
  }
  auto sources = host_sources(place);
  if (!sources) return sources.error();
  for (std::string& source : *sources) argv.push_back(std::move(source));
  return argv;
}

Result<BaseArchive> make_base(const PartsPlace& place, bool with_cc, std::string_view mirror) {
  const std::filesystem::path file = archive_file(place, with_cc);
  const std::filesystem::path fresh = file.string() + ".new";
  if (const auto gone = fs::remove_tree(fresh); !gone) return gone.error();
  const auto argv = bootstrap_command(place, with_cc, mirror, fresh);
  if (!argv) return argv.error();
  auto environment = place.environment;
  environment["SOURCE_DATE_EPOCH"] = kEpochText;
  environment["LC_ALL"] = "C.UTF-8";
  environment["PATH"] += ":/usr/sbin:/sbin";
  place.note("making the Debian base (" + joined(images::base_packages(with_cc)) +
             "), about a minute");
  const auto done = run_command({.argv = *argv,
                                 .environment = environment,
                                 .directory = {},
                                 .limit = std::chrono::minutes(20),
                                 .on_error_line = {}});
  if (!done) {
    Error error = done.error();
    if (error.code == Errc::not_found) {
      error.hint = "install the package mmdebstrap";
    } else if (::geteuid() != 0) {
      error.hint = "run it as root, or install uidmap so that it works in a user namespace";
    }
    return error;
  }
  const auto digest = file_digest(fresh);
  if (!digest) return digest.error();
  if (const auto gone = fs::remove_tree(digest_file(file)); !gone) return gone.error();
  std::error_code moved;
  std::filesystem::rename(fresh, file, moved);
  if (moved) return failed(Errc::io_error, "rename " + fresh.string() + ": " + moved.message());
  // Last, so that an archive with a digest beside it is whole.
  if (const auto kept = fs::write_file_durably(digest_file(file), digest->hex(), 0600); !kept) {
    return kept.error();
  }
  return BaseArchive{.file = file, .digest = *digest, .made_now = true};
}

}  // namespace

Result<Digest> file_digest(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return failed(errno == ENOENT ? Errc::not_found : Errc::io_error, "open " + file.string());
  }
  Sha256 sum;
  std::vector<char> buffer(std::size_t{1} << 20U);
  ssize_t got = 0;
  while ((got = ::read(fd, buffer.data(), buffer.size())) > 0) {
    sum.update({buffer.data(), static_cast<std::size_t>(got)});
  }
  ::close(fd);
  if (got < 0) return failed(Errc::io_error, "read " + file.string());
  return sum.finish();
}

Result<BaseArchive> kept_base(const PartsPlace& place, bool with_cc) {
  const std::filesystem::path file = archive_file(place, with_cc);
  const auto written = fs::read_file(digest_file(file), 200);
  if (!written) return written.error();
  const auto digest = file_digest(file);
  if (!digest) return digest.error();
  if (digest->hex() != *written) {
    return failed(Errc::not_found, file.string() + " is not what was written");
  }
  return BaseArchive{.file = file, .digest = *digest, .made_now = false};
}

Result<BaseArchive> ensure_base(const PartsPlace& place, bool with_cc, std::string_view mirror,
                                bool fresh) {
  if (!fresh) {
    auto kept = kept_base(place, with_cc);
    if (kept) return kept;
  }
  return make_base(place, with_cc, mirror);
}

}  // namespace cupel::cli
