// How an after side becomes real: a journal with the bytes, the snapshot, the record. Whatever step
// a crash meets, open() brings it to before or after; what is neither stays as it is and is
// reported.
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/fs/workspaces_state.hpp"

#include <utility>

namespace cupel::worker {
namespace {

constexpr std::uint64_t kJournalBytesMax = 256ULL << 20;

Error conflict(std::string what) {
  return Error{Errc::conflict, std::move(what), {}, {}};
}

bool is_directory(const std::string& path) {
  std::error_code ec;
  return !path.empty() && stdfs::is_directory(stdfs::symlink_status(path, ec));
}

bool has_tree(const std::string& dir, const std::string& tree) {
  if (!is_directory(dir)) return false;
  const auto digest = tree_digest(dir);
  return digest && *digest == tree;
}

UnitWorkspace finished(const PromotionJournal& journal) {
  UnitWorkspace workspace = journal.promotion.workspace;
  workspace.source = journal.after;
  workspace.facts.tree = journal.after_tree;
  return workspace;
}

}  // namespace

stdfs::path Workspaces::State::journal_of(const Promotion& promotion) const {
  return promotions() /
         (promotion.repository.text() + '-' + sha256(promotion.commit).hex().substr(0, 16) + '-' +
          promotion.unit.text() + '-' + std::to_string(promotion.slot) + ".json");
}

Result<UnitWorkspace> Workspaces::State::promote(Promotion promotion) {
  const auto at = [&](std::string_view step) {
    if (crash) crash(step);
  };
  PromotionJournal journal{std::move(promotion), false, {}, {}};
  const Promotion& wanted = journal.promotion;
  const stdfs::path file = journal_of(wanted);
  {
    const std::lock_guard lock(mutex);
    if (conflicted.contains(file.string())) {
      return conflict("an earlier promotion of this unit stopped at a conflict: " + file.string());
    }
    if (find(wanted.repository, wanted.commit) == nullptr) {
      return Error{Errc::not_found, "the snapshot of " + wanted.commit + " is not here", {}, {}};
    }
  }
  const auto base = tree_digest(wanted.base);
  if (!base) return base.error();
  if (*base != wanted.base_tree) {
    return conflict("the snapshot changed after the change was made against it");
  }
  at("before");
  if (auto saved = fs::write_file_durably(file, format_journal(journal), 0600); !saved) {
    return saved.error();
  }
  at("staged");
  const auto abort = [&](const Error& error) -> Result<UnitWorkspace> {
    std::error_code ec;
    stdfs::remove(file, ec);
    return error;
  };
  const auto parent = data() / ("source-" + fs::random_hex(12));
  if (auto made = fs::ensure_private_dir(parent); !made) return abort(made.error());
  auto derived = derive_snapshot(wanted.base, wanted.edits, parent);
  if (!derived) {
    (void)fs::remove_tree(parent);
    return abort(derived.error());
  }
  at("written");
  journal.written = true;
  journal.after = derived->dir.string();
  journal.after_tree = derived->tree;
  if (auto saved = fs::write_file_durably(file, format_journal(journal), 0600); !saved) {
    (void)fs::remove_tree(parent);
    return abort(saved.error());
  }
  at("promoting");
  UnitWorkspace workspace = finished(journal);
  {
    const std::lock_guard lock(mutex);
    auto recorded =
        record_unit(wanted.repository, wanted.commit, {wanted.unit.value, wanted.slot}, workspace);
    if (!recorded) {
      (void)fs::remove_tree(parent);
      return abort(recorded.error());
    }
  }
  at("recorded");
  std::error_code ec;
  stdfs::remove(file, ec);
  at("promoted");
  return workspace;
}

/// True when the journal is done with.
bool Workspaces::State::recover(const stdfs::path& file, const PromotionJournal& journal) {
  const Promotion& wanted = journal.promotion;
  // Nothing was written that anybody could have used: before. Its directories belong to nobody.
  if (!journal.written) return true;
  auto* const repository = find(wanted.repository, wanted.commit);
  if (repository == nullptr) return true;  // evicted meanwhile, with everything of it
  const State::UnitKey key{wanted.unit.value, wanted.slot};
  const auto recorded = repository->record.units.find(key);
  if (recorded != repository->record.units.end() &&
      recorded->second.facts.tree == journal.after_tree) {
    return true;  // after
  }
  if (!is_directory(wanted.workspace.modcache)) return true;  // never recorded: before
  PromotionJournal whole = journal;
  if (!has_tree(journal.after, journal.after_tree)) {
    if (is_directory(journal.after) || !has_tree(wanted.base, wanted.base_tree)) return false;
    const auto parent = data() / ("source-" + fs::random_hex(12));
    if (!fs::ensure_private_dir(parent)) return false;
    auto derived = derive_snapshot(wanted.base, wanted.edits, parent);
    if (!derived || derived->tree != journal.after_tree) {
      (void)fs::remove_tree(parent);
      return false;
    }
    whole.after = derived->dir.string();
  }
  if (journal_of(wanted) != file) return false;
  return record_unit(wanted.repository, wanted.commit, key, finished(whole)).has_value();
}

void Workspaces::State::recover_promotions() {
  std::error_code ec;
  std::vector<stdfs::path> files;
  for (const auto& entry : stdfs::directory_iterator(promotions(), ec)) files.push_back(entry);
  for (const auto& file : files) {
    // A journal that was never in its place: what it was to replace, or nothing, is what holds.
    if (file.extension() == ".new") {
      stdfs::remove(file, ec);
      continue;
    }
    const auto text = fs::read_file(file, kJournalBytesMax);
    const auto journal = text ? parse_journal(*text) : Result<PromotionJournal>(text.error());
    if (journal && recover(file, *journal)) {
      stdfs::remove(file, ec);
    } else {
      conflicted.insert(file.string());
    }
  }
}

}  // namespace cupel::worker
