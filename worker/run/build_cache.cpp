#include "worker/run/build_cache.hpp"

#include "common/async/no_throw.hpp"
#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"
#include "worker/run/offload.hpp"
#include "worker/run/seed_files.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <filesystem>
#include <sstream>

namespace cupel::worker {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;
using std::chrono::steady_clock;

namespace {

/// Grows when the commands or the environment of seed runs change: older seeds are not used then.
constexpr std::string_view kRecipe = "r3";
constexpr std::string_view kCompleteMarker = "complete";
constexpr std::string_view kLockFile = "lock";
constexpr Duration kLockPause = std::chrono::milliseconds(500);
constexpr std::uint64_t kSeedBytesNeeded = 3ULL << 30U;
constexpr Duration kRetryAfter = std::chrono::minutes(10);

/// The public packages that every supported Go has. Vetting a program that imports them makes the
/// facts that vet keeps of the standard library; vetting "std" itself would vet its tests too, for
/// minutes. go test vets with other flags and keeps facts of its own: without those each first
/// `go test` of a validation analysed the standard library anew (8.5 s against 1.5 s).
constexpr const char* kVettedPackages =
    "archive/tar archive/zip bufio bytes compress/bzip2 compress/flate compress/gzip "
    "compress/lzw compress/zlib container/heap container/list container/ring context "
    "crypto crypto/aes crypto/cipher crypto/des crypto/dsa crypto/ecdsa crypto/ed25519 "
    "crypto/elliptic crypto/hmac crypto/md5 crypto/rand crypto/rc4 crypto/rsa crypto/sha1 "
    "crypto/sha256 crypto/sha512 crypto/subtle crypto/tls crypto/x509 crypto/x509/pkix "
    "database/sql database/sql/driver debug/buildinfo debug/dwarf debug/elf debug/gosym "
    "debug/macho debug/pe debug/plan9obj embed encoding encoding/ascii85 encoding/asn1 "
    "encoding/base32 encoding/base64 encoding/binary encoding/csv encoding/gob "
    "encoding/hex encoding/json encoding/pem encoding/xml expvar flag fmt go/ast go/build "
    "go/build/constraint go/constant go/doc go/format go/importer go/parser go/printer "
    "go/scanner go/token go/types hash hash/adler32 hash/crc32 hash/crc64 hash/fnv "
    "hash/maphash html html/template image image/color image/color/palette image/draw "
    "image/gif image/jpeg image/png index/suffixarray io io/fs io/ioutil log log/syslog "
    "math math/big math/bits math/cmplx math/rand mime mime/multipart "
    "mime/quotedprintable net net/http net/http/cgi net/http/cookiejar net/http/fcgi "
    "net/http/httptest net/http/httptrace net/http/httputil net/http/pprof net/mail "
    "net/netip net/rpc net/rpc/jsonrpc net/smtp net/textproto net/url os os/exec "
    "os/signal os/user path path/filepath reflect regexp regexp/syntax runtime "
    "runtime/debug runtime/metrics runtime/pprof runtime/trace sort strconv strings sync "
    "sync/atomic syscall testing testing/fstest testing/iotest testing/quick text/scanner "
    "text/tabwriter text/template text/template/parse time time/tzdata unicode "
    "unicode/utf16 unicode/utf8 ";

/// Standard library for build and test, then the facts that go vet and go test keep of it.
const std::vector<std::vector<std::string>>& seed_commands() {
  static const std::vector<std::vector<std::string>> kCommands = {
      {"go", "build", "std"},
      {"go", "vet", "."},
      {"go", "test", "."},
  };
  return kCommands;
}

constexpr std::string_view kSeedTest =
    "package seed\n\nimport \"testing\"\n\nfunc TestNothing(*testing.T) {}\n";

/// A program of ours that imports them all.
std::string importing_program() {
  std::string text = "package seed\n\nimport (\n";
  std::istringstream words(kVettedPackages);
  for (std::string word; words >> word;) text += "\t_ \"" + word + "\"\n";
  return text + ")\n";
}

}  // namespace

struct BuildCaches::Impl {
  /// One seed on its way; its waiters share it.
  struct Building {
    asio::steady_timer done;
    bool ended = false;
    std::optional<Error> error = {};
    std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
  };

  asio::any_io_executor executor;
  RunPort& runs;
  asio::thread_pool& files;
  stdfs::path seeds;
  stdfs::path fresh_root;
  RunLimits limits;
  Duration limit{};
  SeedFiles seed_files = SeedFiles::linked;
  std::map<std::string, std::shared_ptr<Building>> building;
  std::map<std::string, TimePoint> failed_until;
  std::map<std::string, std::string> why_failed;

  void cancel_all() {
    for (const auto& [image, one] : building) one->cancel->cancel();
  }
  /// One directory an image: the engine's id without its algorithm.
  [[nodiscard]] stdfs::path seed_of(const std::string& image) const {
    const std::size_t colon = image.find(':');
    return seeds / (image.substr(colon == std::string::npos ? 0 : colon + 1).substr(0, 32) + "-" +
                    std::string(kRecipe));
  }
};

namespace {

using Impl = BuildCaches::Impl;

bool is_complete(const stdfs::path& seed) {
  std::error_code ec;
  return stdfs::is_regular_file(seed / kCompleteMarker, ec);
}

RunRequest seed_run(const Impl& impl, const std::string& image, const stdfs::path& scratch,
                    std::vector<std::string> command) {
  RunRequest request;
  request.profile = Profile::execute;
  request.command = std::move(command);
  request.image = image;
  request.mounts.source = (scratch / "src").string();
  request.mounts.gocache = (scratch / "cache").string();
  request.limits = impl.limits;
  request.limit = impl.limit;
  request.check = CheckKind::build;
  return request;
}

Result<void> make_scratch(const stdfs::path& scratch) {
  if (const auto made = fs::ensure_private_dir(scratch); !made) return made;
  const stdfs::path source = scratch / "src";
  if (const auto made = make_open_dir(source.string()); !made) return made;
  // Modes are set, not left to the umask: the container's user must read them.
  if (const auto written =
          fs::write_file_durably(source / "go.mod", "module seed.invalid/seed\n\ngo 1.18\n", 0444);
      !written) {
    return written;
  }
  if (const auto written = fs::write_file_durably(source / "seed.go", importing_program(), 0444);
      !written) {
    return written;
  }
  if (const auto written = fs::write_file_durably(source / "seed_test.go", kSeedTest, 0444);
      !written) {
    return written;
  }
  return make_open_dir((scratch / "cache").string());
}

/// The finished seed gets its name and, last, its marker: a half-built one is never used.
Result<void> publish(const stdfs::path& scratch, const stdfs::path& seed) {
  if (const auto adopted = adopt_tree((scratch / "cache").string()); !adopted) return adopted;
  if (const auto removed = fs::remove_tree(seed); !removed) return removed;
  std::error_code ec;
  CUPEL_CRASH_POINT("seed.rename");
  stdfs::rename(scratch, seed, ec);
  if (ec) {
    return Error{.code = Errc::io_error,
                 .what = "can't publish the seed " + seed.string(),
                 .detail = ec.message(),
                 .hint = {}};
  }
  CUPEL_CRASH_POINT("seed.renamed");
  return fs::create_file_durably(seed / kCompleteMarker, kRecipe, 0444);
}

/// The right to build: another worker of this host may be at it. Asked for again and again, since a
/// wait for a file lock can't be cancelled.
asio::awaitable<Result<fs::FileLock>> take_turn(std::shared_ptr<Impl> impl,
                                                std::shared_ptr<CancelToken> cancel) {
  for (;;) {
    auto locked = co_await offload(impl->files, [root = impl->seeds]() -> Result<fs::FileLock> {
      if (const auto made = fs::ensure_private_dir(root); !made) return made.error();
      return fs::FileLock::take(root / kLockFile);
    });
    if (locked || locked.error().code != Errc::locked) co_return locked;
    asio::steady_timer pause(impl->executor, kLockPause);
    (void)co_await pause.async_wait(kNoThrow);
    if (cancel->cancelled()) {
      co_return Error{.code = Errc::cancelled,
                      .what = "cancelled while another worker built a seed",
                      .detail = {},
                      .hint = {}};
    }
  }
}

asio::awaitable<Result<void>> build_seed(std::shared_ptr<Impl> impl, std::string image,
                                         std::shared_ptr<CancelToken> cancel) {
  const Result<fs::FileLock> turn = co_await take_turn(impl, cancel);
  if (!turn) co_return turn.error();
  if (is_complete(impl->seed_of(image))) co_return Result<void>();
  const stdfs::path scratch = impl->seeds / (".building-" + fs::random_hex(6));
  auto prepare = [root = impl->seeds, scratch]() -> Result<void> {
    if (const auto made = fs::ensure_private_dir(root); !made) return made;
    const auto space = fs::space_of(root);
    if (space && space->bytes_free < kSeedBytesNeeded) {
      return Error{.code = Errc::disk_full,
                   .what = "no room for a seeded build cache",
                   .detail = {},
                   .hint = {}};
    }
    return make_scratch(scratch);
  };
  Result<void> result = co_await offload(impl->files, std::move(prepare));
  for (const std::vector<std::string>& command : seed_commands()) {
    if (!result) break;
    const RunReport report =
        co_await impl->runs.run(seed_run(*impl, image, scratch, command), cancel, OutputSink());
    // Vet may have remarks about the standard library; what it learnt is kept all the same.
    const bool remarks = command.at(1) != "build" && report.ended_by == EndedBy::itself;
    if (report.error) {
      result = *report.error;
    } else if (report.ended_by != EndedBy::itself || (report.exit_code != 0 && !remarks)) {
      result = Error{
          .code = report.ended_by == EndedBy::cancelled ? Errc::cancelled : Errc::process_failed,
          .what = "the seed run '" + command.at(0) + " " + command.at(1) +
                  "' ended with exit code " + std::to_string(report.exit_code),
          .detail = capped_detail(report.err.bytes),
          .hint = {}};
    }
  }
  auto finish = [ok = result.has_value(), scratch, seed = impl->seed_of(image)]() -> Result<void> {
    Result<void> published = ok ? publish(scratch, seed) : Result<void>();
    const Result<void> removed = fs::remove_tree(scratch);
    return published ? removed : published;
  };
  const Result<void> finished = co_await offload(impl->files, std::move(finish));
  co_return result ? finished : result;
}

void start_building(const std::shared_ptr<Impl>& impl, const std::string& image) {
  const auto building = std::make_shared<Impl::Building>(
      Impl::Building{.done = asio::steady_timer(impl->executor, TimePoint::max())});
  impl->building.emplace(image, building);
  auto on_end = [impl, image, building](const std::exception_ptr& failure, Result<void> result) {
    if (failure || !result) {
      building->error = failure ? Error{.code = Errc::bug,
                                        .what = "building a seed ended with an exception",
                                        .detail = {},
                                        .hint = {}}
                                : result.error();
      impl->failed_until[image] = steady_clock::now() + kRetryAfter;
      impl->why_failed[image] = building->error->text();
    }
    building->ended = true;
    impl->building.erase(image);
    building->done.cancel();
  };
  asio::co_spawn(impl->executor, build_seed(impl, image, building->cancel), std::move(on_end));
}

/// The directory of a complete seed; nothing when there can't be one now.
asio::awaitable<std::optional<std::string>> seed_for(std::shared_ptr<Impl> impl, std::string image,
                                                     std::shared_ptr<CancelToken> cancel) {
  const stdfs::path seed = impl->seed_of(image);
  if (is_complete(seed)) co_return (seed / "cache").string();
  const auto failed = impl->failed_until.find(image);
  if (failed != impl->failed_until.end() && steady_clock::now() < failed->second) {
    co_return std::nullopt;
  }
  if (!impl->building.contains(image)) start_building(impl, image);
  const std::shared_ptr<Impl::Building> building = impl->building.at(image);
  if (cancel) cancel->listen([building] { building->done.cancel(); });
  while (!building->ended && !(cancel && cancel->cancelled())) {
    (void)co_await building->done.async_wait(kNoThrow);
  }
  if (cancel) cancel->listen({});
  if (!building->ended || building->error) co_return std::nullopt;
  co_return (seed / "cache").string();
}

Error cancelled_error() {
  return {.code = Errc::cancelled,
          .what = "cancelled while a build cache was made",
          .detail = {},
          .hint = {}};
}

}  // namespace

BuildCaches::BuildCaches(asio::any_io_executor executor, RunPort& runs, asio::thread_pool& files,
                         std::filesystem::path data_dir, std::filesystem::path seeds,
                         RunLimits limits, Duration limit, SeedFiles seed_files)
    : impl_(std::make_shared<Impl>(
          Impl{.executor = std::move(executor),
               .runs = runs,
               .files = files,
               .seeds = seeds.empty() ? data_dir / "seeds" : std::move(seeds),
               .fresh_root = data_dir / "gocache",
               .limits = limits,
               .limit = limit,
               .seed_files = seed_files,
               .building = {},
               .failed_until = {},
               .why_failed = {}})) {}
BuildCaches::~BuildCaches() {
  impl_->cancel_all();
}

asio::awaitable<Result<FreshCache>> BuildCaches::fresh(std::string image, BuildCache mode,
                                                       std::shared_ptr<CancelToken> cancel) {
  const std::shared_ptr<Impl> impl = impl_;
  std::optional<std::string> seed;
  if (mode == BuildCache::seeded) seed = co_await seed_for(impl, image, cancel);
  if (cancel && cancel->cancelled()) co_return cancelled_error();
  std::string note;
  if (mode == BuildCache::seeded && !seed) note = "no seed: " + impl->why_failed[image];
  auto make = [root = impl->fresh_root, linking = impl->seed_files == SeedFiles::linked, seed,
               note]() -> Result<FreshCache> {
    if (const auto made = fs::ensure_private_dir(root); !made) return made.error();
    FreshCache cache{
        .directory = (root / fs::random_hex(12)).string(), .how = "empty", .note = note};
    if (!seed) {
      if (const auto made = make_open_dir(cache.directory); !made) return made.error();
      return cache;
    }
    const Result<std::string> how = seed_cache(*seed, cache.directory, linking);
    if (!how) return how.error();
    cache.how = "seeded:" + *how;
    return cache;
  };
  co_return co_await offload(impl->files, std::move(make));
}

asio::awaitable<Result<void>> BuildCaches::sweep() {
  auto clean = [seeds = impl_->seeds, fresh_root = impl_->fresh_root]() -> Result<void> {
    std::error_code ec;
    if (const auto made = fs::ensure_private_dir(seeds); !made) return made;
    // Whoever holds the lock is building here.
    const Result<fs::FileLock> turn = fs::FileLock::take(seeds / kLockFile);
    for (const stdfs::directory_entry& entry : stdfs::directory_iterator(seeds, ec)) {
      if (!turn || !entry.is_directory() || is_complete(entry.path())) continue;
      if (const auto removed = fs::remove_tree(entry.path()); !removed) return removed;
    }
    for (const stdfs::directory_entry& entry : stdfs::directory_iterator(fresh_root, ec)) {
      if (const auto removed = fs::remove_tree(entry.path()); !removed) return removed;
    }
    return {};
  };
  co_return co_await offload(impl_->files, std::move(clean));
}

asio::awaitable<void> BuildCaches::stop() {
  const std::shared_ptr<Impl> impl = impl_;
  impl->cancel_all();
  while (!impl->building.empty()) {
    const std::shared_ptr<Impl::Building> building = impl->building.begin()->second;
    if (!building->ended) (void)co_await building->done.async_wait(kNoThrow);
  }
}

}  // namespace cupel::worker
