#include "worker/fs/workspaces.hpp"

#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "worker/fs/workspace_record.hpp"
#include "worker/fs/workspaces_state.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace cupel::worker {
namespace {

constexpr std::uint64_t kRecordBytesMax = 64ULL << 20;

std::uint64_t bytes_of(const WorkspaceRecord& record) {
  std::uint64_t bytes = record.source.facts.bytes;
  for (const auto& [id, unit] : record.units) bytes += unit.facts.cache_bytes;
  return bytes;
}

std::vector<std::string> directories_of(const UnitWorkspace& unit, const std::string& snapshot) {
  std::vector<std::string> all;
  if (!unit.source.empty() && unit.source != snapshot) all.push_back(unit.source);
  if (!unit.modcache.empty()) all.push_back(unit.modcache);
  return all;
}

std::vector<std::string> directories_of(const WorkspaceRecord& record) {
  std::vector<std::string> all{record.source.snapshot};
  for (const auto& [id, unit] : record.units) {
    const auto more = directories_of(unit, record.source.snapshot);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

std::string top_of(const stdfs::path& root, const stdfs::path& path) {
  const auto relative = path.lexically_relative(root);
  return relative.empty() ? std::string() : (root / *relative.begin()).string();
}

class Workspaces::Pin {
 public:
  Pin(std::shared_ptr<PinCounts> counts, RepositoryId repository)
      : counts_(std::move(counts)), repository_(repository) {
    const std::lock_guard lock(counts_->mutex);
    ++counts_->counts[repository_];
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() {
    const std::lock_guard lock(counts_->mutex);
    const auto it = counts_->counts.find(repository_);
    if (--it->second == 0) counts_->counts.erase(it);
  }

 private:
  std::shared_ptr<PinCounts> counts_;
  RepositoryId repository_;
};

stdfs::path Workspaces::State::file_of(const WorkspaceRecord& record) const {
  return records() /
         (record.repository.text() + '-' + sha256(record.commit).hex().substr(0, 16) + ".json");
}

Result<void> Workspaces::State::save(const WorkspaceRecord& record) const {
  return fs::write_file_durably(file_of(record), format_record(record), 0600);
}

Workspaces::State::Held* Workspaces::State::find(RepositoryId repository, std::string_view commit) {
  const auto it = held.find(Key(repository.value, std::string(commit)));
  if (it == held.end()) return nullptr;
  it->second.used = ++clock;
  // Remembered across restarts as the file's time; losing it only changes the order of eviction.
  ::utimensat(AT_FDCWD, file_of(it->second.record).c_str(), nullptr, 0);
  return &it->second;
}

void Workspaces::State::load() {
  std::vector<std::pair<stdfs::file_time_type, WorkspaceRecord>> found;
  std::error_code ec;
  for (const auto& file : stdfs::directory_iterator(records(), ec)) {
    const auto text = fs::read_file(file.path(), kRecordBytesMax);
    auto record = text ? parse_record(*text) : Result<WorkspaceRecord>(text.error());
    const bool whole = record && std::ranges::all_of(directories_of(*record), [](const auto& dir) {
                         struct stat info{};
                         return ::lstat(dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
                       });
    if (!whole || file_of(*record).filename() != file.path().filename()) {
      stdfs::remove(file.path(), ec);
      continue;
    }
    found.emplace_back(file.last_write_time(ec), *std::move(record));
  }
  std::ranges::sort(found, {}, [](const auto& item) { return item.first; });
  for (auto& [time, record] : found) {
    const Key key(record.repository.value, record.commit);
    held.insert_or_assign(key, Held{std::move(record), ++clock});
  }
}

void Workspaces::State::drop_strangers() const {
  std::set<std::string> known;
  for (const auto& [key, one] : held) {
    for (const auto& dir : directories_of(one.record)) known.insert(top_of(data(), dir));
  }
  std::error_code ec;
  for (const auto& entry : stdfs::directory_iterator(data(), ec)) {
    // What can't be removed now (a container wrote it) is tried again at the next start.
    if (!known.contains(entry.path().string())) static_cast<void>(fs::remove_tree(entry.path()));
  }
}

Workspaces::Workspaces(std::unique_ptr<State> state) : state_(std::move(state)) {}
Workspaces::Workspaces(Workspaces&&) noexcept = default;
Workspaces& Workspaces::operator=(Workspaces&&) noexcept = default;
Workspaces::~Workspaces() = default;

Result<Workspaces> Workspaces::open(std::string directory) {
  auto state = std::make_unique<State>();
  // Paths are compared as text and become mounts: they are absolute from here on.
  state->root = stdfs::absolute(directory).lexically_normal();
  if (state->root.filename().empty()) state->root = state->root.parent_path();
  for (const auto& dir : {state->root, state->data(), state->records(), state->promotions()}) {
    if (auto made = fs::ensure_private_dir(dir); !made) return made.error();
  }
  state->load();
  state->recover_promotions();
  state->drop_strangers();
  return Workspaces(std::move(state));
}

Result<std::string> Workspaces::new_directory(std::string_view what) {
  const auto dir = state_->data() / (std::string(what) + '-' + fs::random_hex(12));
  if (auto made = fs::ensure_private_dir(dir); !made) return made.error();
  return dir.string();
}

void Workspaces::discard(const std::string& directory) {
  const std::string top = top_of(state_->data(), directory);
  if (top.empty() || fs::remove_tree(top)) return;
  const std::lock_guard lock(state_->mutex);
  state_->garbage.emplace_back(RepositoryId{}, top);
}

std::optional<SourceWorkspace> Workspaces::find_source(RepositoryId repository,
                                                       std::string_view commit) const {
  const std::lock_guard lock(state_->mutex);
  const auto* found = state_->find(repository, commit);
  if (found == nullptr) return std::nullopt;
  return found->record.source;
}

std::optional<UnitWorkspace> Workspaces::find_unit(RepositoryId repository, std::string_view commit,
                                                   UnitId unit, WorkspaceSlot slot) const {
  const std::lock_guard lock(state_->mutex);
  const auto* found = state_->find(repository, commit);
  if (found == nullptr) return std::nullopt;
  const auto it = found->record.units.find({unit.value, slot});
  if (it == found->record.units.end()) return std::nullopt;
  return it->second;
}

Result<void> Workspaces::record_source(RepositoryId repository, const SourceWorkspace& source) {
  const std::lock_guard lock(state_->mutex);
  WorkspaceRecord record{repository, source.facts.commit, source, {}};
  if (auto saved = state_->save(record); !saved) return saved;
  const State::Key key(repository.value, source.facts.commit);
  if (const auto it = state_->held.find(key); it != state_->held.end()) {
    for (auto& dir : directories_of(it->second.record)) {
      if (dir != source.snapshot) state_->garbage.emplace_back(repository, std::move(dir));
    }
  }
  state_->held.insert_or_assign(key, State::Held{std::move(record), ++state_->clock});
  return {};
}

Result<void> Workspaces::record_unit(RepositoryId repository, std::string_view commit, UnitId unit,
                                     const UnitWorkspace& workspace, WorkspaceSlot slot) {
  const std::lock_guard lock(state_->mutex);
  return state_->record_unit(repository, commit, {unit.value, slot}, workspace);
}

Result<void> Workspaces::State::record_unit(RepositoryId repository, std::string_view commit,
                                            UnitKey key, const UnitWorkspace& workspace) {
  auto* found = find(repository, commit);
  if (found == nullptr) {
    return Error{
        Errc::not_found, "the snapshot of " + std::string(commit) + " is not here", {}, {}};
  }
  WorkspaceRecord record = found->record;
  record.units.insert_or_assign(key, workspace);
  if (auto saved = save(record); !saved) return saved;
  if (const auto it = found->record.units.find(key); it != found->record.units.end()) {
    for (auto& dir : directories_of(it->second, record.source.snapshot)) {
      if (dir != workspace.source && dir != workspace.modcache) {
        garbage.emplace_back(repository, std::move(dir));
      }
    }
  }
  found->record = std::move(record);
  return {};
}

Result<UnitWorkspace> Workspaces::promote(Promotion promotion) {
  return state_->promote(std::move(promotion));
}

std::size_t Workspaces::conflicts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->conflicted.size();
}

void Workspaces::set_crash_hook(CrashHook hook) {
  state_->crash = std::move(hook);
}

std::shared_ptr<Workspaces::Pin> Workspaces::pin(RepositoryId repository) {
  return std::make_shared<Pin>(state_->pins, repository);
}

std::uint64_t Workspaces::bytes() const {
  const std::lock_guard lock(state_->mutex);
  std::uint64_t bytes = 0;
  for (const auto& [key, one] : state_->held) bytes += bytes_of(one.record);
  return bytes;
}

std::size_t Workspaces::count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->held.size();
}

std::vector<std::string> Workspaces::evict(std::uint64_t bytes_max, std::size_t count_max) {
  std::vector<std::string> doomed;
  {
    const std::lock_guard lock(state_->mutex);
    std::erase_if(state_->garbage, [&](const auto& item) {
      if (state_->pins->pinned(item.first)) return false;
      doomed.push_back(item.second);
      return true;
    });
    std::uint64_t bytes = 0;
    for (const auto& [key, one] : state_->held) bytes += bytes_of(one.record);
    std::vector<std::pair<std::uint64_t, State::Key>> by_age;
    for (const auto& [key, one] : state_->held) by_age.emplace_back(one.used, key);
    std::ranges::sort(by_age);
    for (const auto& [used, key] : by_age) {
      if (bytes <= bytes_max && state_->held.size() <= count_max) break;
      const auto it = state_->held.find(key);
      if (state_->pins->pinned(RepositoryId{key.first})) continue;
      // The record goes first: after a crash its directories belong to nobody and are removed.
      std::error_code ec;
      stdfs::remove(state_->file_of(it->second.record), ec);
      const auto dirs = directories_of(it->second.record);
      doomed.insert(doomed.end(), dirs.begin(), dirs.end());
      bytes -= bytes_of(it->second.record);
      state_->held.erase(it);
    }
  }
  std::vector<std::string> stubborn;
  for (const auto& dir : doomed) {
    const std::string top = top_of(state_->data(), dir);
    if (!top.empty() && !fs::remove_tree(top)) stubborn.push_back(top);
  }
  return stubborn;
}

}  // namespace cupel::worker
