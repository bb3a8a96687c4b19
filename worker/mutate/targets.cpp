#include "common/async/clock.hpp"
#include "common/core/time.hpp"
#include "worker/core/change/change_words.hpp"
#include "worker/core/change/select.hpp"
#include "worker/core/source/go_words.hpp"
#include "worker/mutate/job.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cupel::worker::mutation {
namespace {

namespace asio = boost::asio;

using change::note;
using change::Offers;
using change::Query;

/// Arguments of one run: far below what a command line may hold.
constexpr std::size_t kModulesPerRun = 400;
constexpr std::size_t kTimesPerModule = 8;

/// A module whose versions are asked for.
struct Asked {
  std::string module;
  std::string current;
  Query query = Query::latest;
};

using Found = std::map<std::string, change::ListedModule>;

/// `go list -e -m` of these words, by their "path" or "path@version" as asked. One run for many.
asio::awaitable<std::variant<Found, AcquireStopped>> list_many(
    JobPtr job, std::vector<std::string> options, std::vector<std::string> words, bool by_version,
    std::shared_ptr<CancelToken> cancel) {
  Found found;
  for (std::size_t at = 0; at < words.size(); at += kModulesPerRun) {
    std::vector<std::string> rest = options;
    const std::size_t end = std::min(words.size(), at + kModulesPerRun);
    rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                words.begin() + static_cast<std::ptrdiff_t>(end));
    auto ran = co_await go(job, {"list", "-e", "-m"}, std::move(rest), cancel);
    if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
    const auto& ended = std::get<GoEnded>(ran);
    if (ended.exit_code != 0) co_return stopped_by(judge_go_failure(ended.err, {}));
    const auto modules = change::parse_module_list(ended.out);
    if (!modules || ended.truncated) {
      co_return refused(Reason::parse_failed, FindingKind::acquire_error,
                        "parse_failed: the list of versions could not be read");
    }
    for (const auto& module : *modules) {
      found.insert_or_assign(by_version ? module.path + '@' + module.version : module.path, module);
    }
  }
  co_return found;
}

/// What a module that can't be listed means; nothing: it just isn't there.
Stopped trouble(const change::ListedModule& module) {
  if (module.error.empty()) return std::nullopt;
  SourceRefusal why = judge_go_failure(module.error, {});
  if (why.reason == Reason::module_not_found) return std::nullopt;
  return stopped_by(std::move(why));
}

/// Versions of all asked modules, judged; publish times for the eligible ones.
asio::awaitable<std::variant<std::vector<Offers>, AcquireStopped>> discover(
    JobPtr job, std::vector<Asked> asked, Upgrade rules, bool cooldown,
    std::map<std::string, std::string>* majors, std::shared_ptr<CancelToken> cancel) {
  std::vector<std::string> words;
  std::map<std::string, std::string> next_major;
  for (const Asked& one : asked) {
    words.push_back(one.module);
    if (majors == nullptr) continue;
    if (auto path = change::next_major_path(one.module, one.current)) {
      words.push_back(*path);
      next_major.emplace(one.module, *path);
    }
  }
  auto listed = co_await list_many(job, {"-versions", "-json"}, std::move(words), false, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&listed)) co_return std::move(*stopped);
  const Found& versions = std::get<Found>(listed);

  std::vector<Offers> all;
  std::vector<std::string> times;
  for (const Asked& one : asked) {
    const auto found = versions.find(one.module);
    if (found == versions.end()) continue;
    if (auto stopped = trouble(found->second)) co_return *std::move(stopped);
    Offers offers =
        change::judge_versions(one.module, one.current, found->second.versions, one.query, rules);
    for (const auto& version : change::ask_times(offers, kTimesPerModule)) {
      times.push_back(one.module + '@' + version);
    }
    all.push_back(std::move(offers));
    if (majors == nullptr) continue;
    const auto major = versions.find(next_major[one.module]);
    if (major != versions.end() && !major->second.versions.empty()) {
      majors->emplace(one.module, major->first + ' ' + major->second.versions.back());
    }
  }
  if (!cooldown || rules.min_age_s == 0 || times.empty()) co_return all;
  auto published = co_await list_many(job, {"-json"}, std::move(times), true, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&published)) co_return std::move(*stopped);
  const std::int64_t now_s = async::wall_now().us / 1'000'000;
  std::map<std::string, std::map<std::string, std::optional<std::int64_t>>> by_module;
  for (const auto& [word, module] : std::get<Found>(published)) {
    const auto time = parse_rfc3339(module.time);
    by_module[module.path][module.version] =
        time ? std::optional(time->us / 1'000'000) : std::nullopt;
  }
  for (Offers& offers : all) {
    change::apply_cooldown(offers, by_module[offers.module], now_s, rules.min_age_s);
  }
  co_return all;
}

void skip(const JobPtr& job, Targets& targets, NotAffected why, const std::string& module,
          const std::string& words) {
  if (targets.not_affected == NotAffected::none) targets.not_affected = why;
  job->notes.push_back(note(std::string(name(why)) + ": " + words, module));
}

void choose(const JobPtr& job, Targets& targets, const Offers& offers, const std::string& version,
            std::string_view how) {
  job->candidates.push_back(change::candidate_of(offers, version));
  targets.exact.push_back({offers.module, version});
  job->notes.push_back(note("selected: " + offers.module + ' ' + offers.current + " -> " + version +
                                " (" + std::string(how) + ")",
                            offers.module));
}

/// A module that the build list doesn't have may be a part that was split off one that it has.
bool may_be_split_off(const change::BuildList& modules, const std::string& path) {
  return std::ranges::any_of(modules, [&](const auto& item) {
    return path.starts_with(item.first) && path.substr(item.first.size()).starts_with('/');
  });
}

AcquireStopped bad_query(const ModuleTarget& target) {
  AcquireStopped stopped =
      refused(Reason::bad_version_query, FindingKind::upgrade_error,
              "bad_version_query: " + target.module + '@' + target.version +
                  " is no version: only exact versions, latest, minor and patch can be repeated");
  stopped.refusal.findings.front().package = {};
  return stopped;
}

/// Sorts the named modules: exact ones, those to ask for, those that mean nothing here.
Stopped sort_named(const JobPtr& job, const Upgrade& rules, Targets& targets,
                   std::vector<Asked>& asked) {
  const auto& before = job->applied.before;
  for (const ModuleTarget& wanted : rules.modules) {
    const auto query = change::parse_query(wanted.version);
    if (!query) return bad_query(wanted);
    const std::string word = wanted.module + '@' + wanted.version;
    const auto has = before.modules.find(wanted.module);
    if (has == before.modules.end()) {
      if (*query == Query::exact && may_be_split_off(before.modules, wanted.module)) {
        targets.exact.push_back(wanted);
      } else {
        skip(job, targets, NotAffected::module_absent, wanted.module,
             word + ": the build list has no such module");
      }
      continue;
    }
    if (*query != Query::exact) {
      asked.push_back({wanted.module, has->second.version, *query});
      continue;
    }
    const auto& excludes = before.mod.excludes;
    if (std::ranges::find(excludes, wanted.module + ' ' + wanted.version) != excludes.end()) {
      skip(job, targets, NotAffected::excluded, wanted.module, word + ": go.mod excludes it");
    } else if (has->second.version == wanted.version && !has->second.replaced) {
      skip(job, targets, NotAffected::already_at_version, wanted.module, word);
    } else {
      targets.exact.push_back(wanted);
    }
  }
  return std::nullopt;
}

/// What a query found: the highest eligible version, or why there is none.
void take_highest(const JobPtr& job, Targets& targets, const Offers& offers, std::string_view how,
                  const std::map<std::string, std::string>& majors) {
  const auto major = majors.find(offers.module);
  if (major != majors.end()) {
    const std::string words = major->second + " is another module: imports would have to change";
    if (offers.highest_eligible() == nullptr && offers.all.empty()) {
      job->candidates.push_back(change::candidate_of(offers, {}));
      skip(job, targets, NotAffected::major_available, offers.module, words);
      return;
    }
    job->notes.push_back(note("major_available: " + words, offers.module));
  }
  if (const auto* best = offers.highest_eligible()) {
    choose(job, targets, offers, best->version, how);
    return;
  }
  job->candidates.push_back(change::candidate_of(offers, {}));
  std::string words = offers.module + ' ' + offers.current + ": nothing newer is eligible";
  for (const auto& why : job->candidates.back().notes) words += "; " + why;
  skip(job, targets, NotAffected::already_at_version, offers.module, words);
}

std::vector<Asked> direct_modules(const change::ManifestSide& side) {
  std::vector<Asked> asked;
  for (const auto& [path, module] : side.modules) {
    if (!module.indirect && !module.replaced)
      asked.push_back({path, module.version, Query::latest});
  }
  return asked;
}

using TargetsAnswer = std::variant<Targets, AcquireStopped>;

asio::awaitable<TargetsAnswer> find_named(JobPtr job, Upgrade rules,
                                          std::shared_ptr<CancelToken> cancel) {
  Targets targets;
  std::vector<Asked> asked;
  if (auto stopped = sort_named(job, rules, targets, asked)) co_return *std::move(stopped);
  if (!asked.empty()) {
    std::map<std::string, std::string> majors;
    auto found = co_await discover(job, asked, rules, true, &majors, cancel);
    if (auto* stopped = std::get_if<AcquireStopped>(&found)) co_return std::move(*stopped);
    for (const Offers& offers : std::get<std::vector<Offers>>(found)) {
      const auto one = std::ranges::find(asked, offers.module, &Asked::module);
      const auto how = one->query == Query::latest  ? "latest"
                       : one->query == Query::minor ? "minor"
                                                    : "patch";
      take_highest(job, targets, offers, how, majors);
    }
  }
  co_return targets;
}

asio::awaitable<TargetsAnswer> find_smallest(JobPtr job, Upgrade rules,
                                             std::shared_ptr<CancelToken> cancel) {
  Targets targets;
  auto found =
      co_await discover(job, direct_modules(job->applied.before), rules, true, nullptr, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&found)) co_return std::move(*stopped);
  const auto& all = std::get<std::vector<Offers>>(found);
  const auto chosen = change::smallest_step(all);
  for (const Offers& offers : all) {
    if (chosen && offers.module == chosen->module) {
      choose(job, targets, offers, chosen->version, "smallest");
    } else if (!offers.all.empty()) {
      job->candidates.push_back(change::candidate_of(offers, {}));
    }
  }
  if (!chosen) {
    skip(job, targets, NotAffected::already_at_version, {},
         "no direct dependency has an eligible newer version");
  }
  co_return targets;
}

asio::awaitable<TargetsAnswer> find_vulnerable(JobPtr job, Upgrade rules,
                                               std::shared_ptr<CancelToken> cancel) {
  Targets targets;
  const change::Fixes plan = change::plan_fixes(job->work.vulnerabilities);
  for (const auto& words : plan.notes) job->notes.push_back(note("no_fix: " + words));
  std::vector<Asked> asked;
  for (const auto& fix : plan.fixes) {
    const auto has = job->applied.before.modules.find(fix.module);
    if (has == job->applied.before.modules.end()) {
      skip(job, targets, NotAffected::module_absent, fix.module,
           fix.module + ": the build list has no such module");
    } else {
      asked.push_back({fix.module, has->second.version, Query::latest});
    }
  }
  if (plan.fixes.empty()) {
    skip(job, targets, NotAffected::not_used, {}, "the scan found nothing that a module fixes");
  }
  if (asked.empty()) co_return targets;
  auto found = co_await discover(job, asked, rules, false, nullptr, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&found)) co_return std::move(*stopped);
  const auto& all = std::get<std::vector<Offers>>(found);
  for (const auto& fix : plan.fixes) {
    const auto offers = std::ranges::find(all, fix.module, &Offers::module);
    if (offers == all.end()) continue;
    if (const auto* lowest = change::lowest_fix(*offers, fix.needed)) {
      choose(job, targets, *offers, lowest->version,
             "fixes " + fix.advisories.front() + "; the cooldown doesn't hold a fix back");
    } else {
      job->candidates.push_back(change::candidate_of(*offers, {}));
      skip(job, targets, NotAffected::already_at_version, fix.module,
           fix.module + ": no eligible version is at least " + fix.needed);
    }
  }
  co_return targets;
}

}  // namespace

asio::awaitable<TargetsAnswer> find_targets(JobPtr job, Upgrade rules,
                                            std::shared_ptr<CancelToken> cancel) {
  if (!job->work.resolved.empty()) {
    Targets targets;
    targets.exact = job->work.resolved;
    co_return targets;
  }
  std::variant<Targets, AcquireStopped> answer = Targets{};
  switch (rules.select) {
    case Select::named: answer = co_await find_named(job, std::move(rules), cancel); break;
    case Select::smallest: answer = co_await find_smallest(job, std::move(rules), cancel); break;
    case Select::vulnerable:
      answer = co_await find_vulnerable(job, std::move(rules), cancel);
      break;
  }
  if (auto* targets = std::get_if<Targets>(&answer); targets && !targets->exact.empty()) {
    targets->not_affected = NotAffected::none;
  }
  co_return answer;
}

}  // namespace cupel::worker::mutation
