// A repository whose tests attack their build cache (tests/fixtures/hostile/cache) changes nothing
// for anybody else, in whatever way the cache was seeded. Writes its table of docs/hostile-runs.md.
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "tests/integration/sandbox/hostile_table.hpp"
#include "tests/integration/sandbox/sandbox.hpp"
#include "worker/run/build_cache.hpp"
#include "worker/run/reaper.hpp"
#include "worker/validate/validate.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/stat.h>

namespace cupel::test {
namespace {

namespace stdfs = std::filesystem;
using worker::BuildCaches;
using worker::FreshCache;
using worker::RunReport;
using worker::RunRequest;
using worker::SeedFiles;

constexpr const char* kFixtures = CUPEL_SOURCE_DIR "/tests/fixtures/hostile/cache";

/// What a file of a seed is to others, by path: bytes, mode, owner, time of change.
std::map<std::string, std::string> contents(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : stdfs::recursive_directory_iterator(directory)) {
    struct stat facts{};
    EXPECT_EQ(::lstat(entry.path().c_str(), &facts), 0) << entry.path();
    std::ostringstream text;
    text << std::oct << facts.st_mode << ' ' << std::dec << facts.st_uid << ' ' << facts.st_gid;
    // The time of a marker is that of the seed's last use.
    if (S_ISREG(facts.st_mode) && entry.path().filename() != "complete") {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(in)), {});
      text << ' ' << facts.st_mtim.tv_sec << '.' << facts.st_mtim.tv_nsec << ' '
           << sha256(bytes).hex();
    }
    files.emplace(entry.path().lexically_relative(directory).string(), text.str());
  }
  return files;
}

/// What differs, a few lines of it.
std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after) {
  std::string said;
  for (const auto& [path, text] : before) {
    const auto now = after.find(path);
    if (now != after.end() && now->second == text) continue;
    if (said.size() < 1000) said += path + (now == after.end() ? " is gone\n" : " changed\n");
  }
  for (const auto& [path, text] : after) {
    if (!before.contains(path) && said.size() < 1000) said += path + " is new\n";
  }
  return said;
}

/// A way to seed, and what its column of the table says.
struct Way {
  std::string name;
  SeedFiles files = SeedFiles::linked;
  bool elsewhere = false;  ///< Caches on another file system than seeds.
  std::string how;         ///< What the evidence must say.
  BuildCache mode = BuildCache::seeded;
};

class CacheIsolationTest : public SandboxTest {
 protected:
  void TearDown() override {
    std::error_code ignored;
    for (const stdfs::path& directory : foreign_) stdfs::remove_all(directory, ignored);
    SandboxTest::TearDown();
  }

  /// The data directory of a worker; its neighbour "seeds" is where a hostile run looks for seeds.
  stdfs::path data_of(const Way& way) {
    if (!way.elsewhere) return scratch.path();
    const stdfs::path directory = "/dev/shm/cupel-test-" + fs::random_hex(6);
    stdfs::create_directory(directory);
    foreign_.push_back(directory);
    return directory;
  }

  /// For the victim, or for the attacker with the victim's manifests.
  FreshCache fresh(BuildCaches& caches, BuildCache mode, const std::string& source) {
    const worker::DependencyWish wish{.source = source,
                                      .modcache = mounts.modcache,
                                      .unit = victim_unit(),
                                      .packages = {"./..."},
                                      .tags = {}};
    auto made = await(io, caches.fresh(go_image_, mode, nullptr, wish));
    EXPECT_TRUE(made) << made.error().text();
    EXPECT_EQ(made ? made->note : "", "");
    return made ? *made : FreshCache{};
  }

  static UnitInfo victim_unit() {
    return {.dir = ".",
            .module_path = "example.com/victim",
            .go_version = "1.20",
            .workspace = {},
            .findings = {}};
  }

  /// Fills the module cache, as acquire does it.
  void download() {
    RunRequest request = go(go_image_, {"go", "mod", "download"});
    request.profile = worker::Profile::acquire;
    request.mounts.source = fixture("victim");
    request.mounts.fixture_proxy = CUPEL_SOURCE_DIR "/tests/fixtures/cases/_proxy";
    const RunReport report = run(request);
    ASSERT_EQ(report.exit_code, 0) << report.err.bytes;
  }

  std::string fixture(const std::string& name) {
    const std::string copy = scratch.open_dir(name);
    stdfs::copy(std::string(kFixtures) + "/" + name, copy, stdfs::copy_options::recursive);
    return copy;
  }

  RunReport attack(const std::string& source, const std::string& cache) {
    RunRequest request = go(go_image_, {"go", "test", "-v", "-vet=off", "-count=1", "."});
    request.mounts.source = source;
    request.mounts.gocache = cache;
    return run(request);
  }

  worker::Judgement validate_victim(const std::string& cache) {
    worker::ValidationInput input;
    input.campaign = CampaignId{1};
    input.task = TaskId{2};
    input.token = Token{3};
    input.unit = victim_unit();
    input.settings.test.timeout_s = 60;
    input.image = go_image_;
    input.cgo_available = false;
    input.mounts = mounts;
    input.mounts.source = fixture("victim");
    input.mounts.gocache = cache;
    return await(io, worker::validate(*executor, std::move(input),
                                      std::make_shared<worker::CancelToken>(), {}))
        .judgement;
  }

  void discard(const FreshCache& cache) {
    EXPECT_TRUE(await(io, worker::empty_directory(*executor, files, image, cache.directory)));
  }

  std::string go_image_;

 private:
  std::vector<stdfs::path> foreign_;
};

/// The victim's truth: one package passes, the other's one test fails, and nothing else is wrong.
bool is_right(const worker::Judgement& judgement) {
  return judgement.outcome == Outcome::failing && judgement.checks.size() == 4 &&
         judgement.checks[1].outcome == Outcome::passing &&
         judgement.checks[2].outcome == Outcome::passing && judgement.findings.size() == 1 &&
         judgement.findings[0].kind == FindingKind::test_failure &&
         judgement.findings[0].test == "TestCount";
}

std::string shown(const worker::Judgement& judgement) {
  std::string text = judgement.message + "\n";
  for (const Finding& finding : judgement.findings) text += finding.key + "\n";
  return text;
}

struct Attacks {
  std::vector<std::string> order;
  std::map<std::string, std::string> words;
  std::size_t files = 0;  ///< Seeded files that it saw.
};

Attacks attacks_of(const std::string& output) {
  Attacks found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(words, field, '\t');) fields.push_back(field);
    if (fields.size() == 2 && fields[0] == "cache-files") found.files = std::stoul(fields[1]);
    if (fields.size() != 4 || fields[0] != "cache-attack") continue;
    found.order.push_back(fields[1]);
    found.words[fields[1]] = fields[2] == "own" ? "its own cache only" : "blocked";
  }
  return found;
}

/// Everything that may not work on a seed's file, in any way of seeding.
const std::vector<std::string>& must_be_blocked() {
  static const std::vector<std::string> kAttacks = {
      "open for writing",
      "open for reading and writing",
      "append",
      "open and truncate",
      "truncate by name",
      "chmod 0666",
      "chown to the run's user",
      "another time, so that it is trimmed",
      "an extended attribute",
      "write through /proc/self/fd",
      "map for writing",
      "allocate or punch a hole",
      "make immutable",
      "a lease, to delay readers",
      "another hard link, then write through it",
      "the seed's own directory, by the path in mountinfo and by ..",
      "a remount for writing",
  };
  return kAttacks;
}

TEST_F(CacheIsolationTest, AttacksOnABuildCacheStayInTheirOwnCache) {
  go_image_ = toolchain("0");
  if (go_image_.empty()) return;
  download();
  const std::vector<Way> ways = {
      {"hard links", SeedFiles::linked, false, "seeded:linked"},
      {"copies", SeedFiles::copied, false, "seeded:copied"},
      {"links asked for, another file system", SeedFiles::linked, true, "seeded:copied"},
      {"hard links, with dependencies", SeedFiles::linked, false,
       "seeded:linked, dependencies:linked", BuildCache::dependencies},
      {"copies, with dependencies", SeedFiles::copied, false, "seeded:copied, dependencies:copied",
       BuildCache::dependencies},
  };
  const std::string seeds = scratch.path() + "/seeds";
  std::vector<Attacks> columns;
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    BuildCaches caches(io.get_executor(), *executor, files, data_of(way),
                       {.seeds = seeds,
                        .seed_files = way.files,
                        .dependencies = {.bytes_max = 1U << 30U, .count_max = 10}});
    const std::string attacker = fixture("attacker");
    const std::string victim = fixture("victim");
    // The attacker's first: what is made is made on its behalf.
    const FreshCache own = fresh(caches, way.mode, attacker);
    const FreshCache earlier = fresh(caches, way.mode, victim);
    EXPECT_EQ(own.how, way.how);
    const auto seed_before = contents(seeds);
    const auto earlier_before = contents(earlier.directory);
    ASSERT_GT(seed_before.size(), 2000U);

    const RunReport report = attack(attacker, own.directory);

    ASSERT_FALSE(report.error) << report.error->text();
    EXPECT_EQ(report.exit_code, 0) << report.out.bytes << report.err.bytes;
    columns.push_back(attacks_of(report.out.bytes));
    EXPECT_GT(columns.back().files, 2000U);
    for (const std::string& name : must_be_blocked()) {
      EXPECT_EQ(columns.back().words[name], "blocked") << name << '\n' << report.out.bytes;
    }
    // The attack is one: whoever had this cache would be misled.
    EXPECT_FALSE(is_right(validate_victim(own.directory)));
    EXPECT_EQ(difference(seed_before, contents(seeds)), "");
    EXPECT_EQ(difference(earlier_before, contents(earlier.directory)), "");
    discard(own);
    EXPECT_EQ(difference(seed_before, contents(seeds)), "") << "after its cache was removed";

    const FreshCache later = fresh(caches, way.mode, victim);
    for (const FreshCache* const cache : {&earlier, &later}) {
      const worker::Judgement judgement = validate_victim(cache->directory);
      EXPECT_TRUE(is_right(judgement)) << shown(judgement);
      discard(*cache);
    }
    EXPECT_EQ(difference(seed_before, contents(seeds)), "") << "after the victims";
  }
  // One seed of dependencies served both, though their sources differ: their manifests don't.
  EXPECT_EQ(std::distance(stdfs::directory_iterator(seeds + "/dependencies"), {}), 2)
      << "the seed and its locks";
  std::string table = "| attack |";
  std::string rule = "|---|";
  for (const Way& way : ways) {
    table += " " + way.name + " (`" + way.how + "`) |";
    rule += "---|";
  }
  table += "\n" + rule + "\n";
  for (const std::string& name : columns.at(0).order) {
    table += "| " + name + " |";
    for (Attacks& column : columns) table += " " + column.words[name] + " |";
    table += "\n";
  }
  expect_table("build cache: written by cache_isolation_test", table);
}

}  // namespace
}  // namespace cupel::test
