#include "common/campaign/parse_context.hpp"
#include "common/text/units.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

namespace cupel::campaign {
namespace {

using text::Node;

/// Values of a checked section. A wrong value was reported already, so it may become the default
/// here.
class Values {
 public:
  explicit Values(const Node* node) : node_(node) {}

  [[nodiscard]] bool flag(std::string_view path, bool fallback) const {
    const std::string text = text_at(node_, path);
    return text.empty() ? fallback : text == "true";
  }
  template <typename Number>
  void integer(std::string_view path, Number& value) const {
    const auto number = text::parse_integer(text_at(node_, path));
    if (number && std::in_range<Number>(*number)) value = static_cast<Number>(*number);
  }
  void size(std::string_view path, std::uint64_t& value) const {
    if (const auto bytes = text::parse_size(text_at(node_, path))) value = *bytes;
  }
  void seconds(std::string_view path, std::uint64_t& value) const {
    const auto time = text::parse_duration(text_at(node_, path));
    if (time && time->count() >= 0)
      value = static_cast<std::uint64_t>(time->count() / 1'000'000'000);
  }
  [[nodiscard]] double fraction(std::string_view path, double fallback) const {
    return text::parse_fraction(text_at(node_, path)).value_or(fallback);
  }

 private:
  const Node* node_;
};

/// One list for all checks: settings have a single one, and three that disagree would surprise
/// anyway.
void shared_words(Context& context, const Node* validate, const std::string& leaf,
                  std::vector<std::string>& value) {
  const Node* first = nullptr;
  for (const std::string& path : {leaf, "build." + leaf, "test." + leaf}) {
    const Node* node = child_at(validate, path);
    if (node == nullptr || !node->is_list()) continue;
    std::vector<std::string> words = words_at(validate, path);
    if (first != nullptr && words != value) {
      context.add(*node, Errc::not_supported,
                  "validate." + path +
                      ": differs from the list before it; this version has one for all checks",
                  "write it once, as validate." + leaf);
    }
    if (first == nullptr) value = std::move(words);
    first = node;
  }
  if (first != nullptr && leaf == "packages" && value.empty()) {
    context.add(*first, Errc::bad_value, "validate.packages: must name at least one pattern");
  }
}

class TestFlags {
 public:
  TestFlags(Context& context, const Node& test) : context_(context), test_(test) {}

  void apply(TestSettings& settings, std::vector<std::string>& tags) {
    const Node* flags = test_.find("flags");
    if (flags == nullptr) return;
    for (const Node& item : flags->items) {
      if (item.is_scalar()) one(item, settings, tags);
    }
  }

 private:
  void one(const Node& item, TestSettings& settings, std::vector<std::string>& tags) {
    std::string_view flag = item.scalar;
    if (!flag.starts_with('-')) return refuse(item);
    flag.remove_prefix(flag.starts_with("--") ? 2 : 1);
    const std::size_t equals = flag.find('=');
    const std::string name(flag.substr(0, equals));
    const std::string value(equals == std::string_view::npos ? "" : flag.substr(equals + 1));
    const bool has_value = equals != std::string_view::npos;
    if (name != "tags" && test_.find(name) != nullptr) {
      return context_.add(
          item, Errc::duplicate_key,
          "validate.test.flags: " + item.scalar + " is also set by the key validate.test." + name);
    }
    if (name == "short" || name == "race") {
      if (has_value && value != "true" && value != "false") return refuse(item);
      (name == "short" ? settings.short_mode : settings.race) = value != "false";
    } else if (!has_value) {
      refuse(item);
    } else if (name == "run") {
      settings.run = value;
    } else if (name == "skip") {
      settings.skip = value;
    } else if (name == "shuffle" && shuffle_rule(value).empty()) {
      settings.shuffle = value;
    } else if (name == "count") {
      const auto count = text::parse_integer(value);
      if (!count || *count < 1 || *count > 100) return refuse(item);
      settings.count = static_cast<std::uint32_t>(*count);
    } else if (name == "timeout") {
      const auto time = text::parse_duration(value);
      if (!time || *time > std::chrono::hours(24) || time->count() % 1'000'000'000 != 0)
        return refuse(item);
      settings.timeout_s = static_cast<std::uint64_t>(time->count() / 1'000'000'000);
    } else if (name == "tags") {
      take_tags(item, value, tags);
    } else {
      refuse(item);
    }
  }

  void take_tags(const Node& item, const std::string& value, std::vector<std::string>& tags) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t end = std::min(value.find(',', at), value.size());
      words.push_back(value.substr(at, end - at));
      if (!tag_rule(words.back()).empty()) return refuse(item);
      at = end + 1;
    }
    if (!tags.empty() && tags != words) {
      return context_.add(item, Errc::duplicate_key,
                          "validate.test.flags: " + item.scalar + " differs from validate.tags");
    }
    tags = std::move(words);
  }

  void refuse(const Node& item) {
    context_.add(item, Errc::bad_value,
                 "validate.test.flags: \"" + item.scalar.substr(0, 80) + "\" is not allowed here",
                 "allowed: -timeout= -count= -race -short -shuffle= -run= -skip= -tags=");
  }

  Context& context_;
  const Node& test_;
};

void extract_test(Context& context, const Node* validate, ValidationSettings& settings) {
  const Node* test = child_at(validate, "test");
  if (test == nullptr || !test->is_map()) return;
  const Values values(test);
  settings.test.enabled = values.flag("enabled", true);
  values.seconds("timeout", settings.test.timeout_s);
  values.integer("count", settings.test.count);
  settings.test.race = values.flag("race", false);
  settings.test.short_mode = values.flag("short", false);
  settings.test.shuffle = text_at(test, "shuffle");
  settings.test.run = text_at(test, "run");
  settings.test.skip = text_at(test, "skip");
  TestFlags(context, *test).apply(settings.test, settings.tags);
}

void extract_checks(Context& context, const Node* validate, ValidationSettings& settings) {
  const Node* checks = child_at(validate, "checks");
  if (checks == nullptr || !checks->is_list()) return;
  std::set<std::string> names;
  for (const Node& item : checks->items) {
    CustomCheck check;
    check.name = text_at(&item, "name");
    check.command = words_at(&item, "command");
    Values(&item).seconds("timeout", check.limit_s);
    check.parser = parse_name<CheckParser>(text_at(&item, "parser", "exit_code"))
                       .value_or(CheckParser::exit_code);
    if (!check.name.empty() && !names.insert(check.name).second) {
      context.add(item, Errc::bad_value,
                  "validate.checks: two checks are called \"" + check.name + "\"");
    }
    const Node* command = item.find("command");
    if (command != nullptr && command->is_list() &&
        (check.command.empty() || check.command.front().empty())) {
      context.add(*command, Errc::bad_value, "validate.checks: the command is empty");
    }
    settings.custom.push_back(std::move(check));
  }
}

void extract_validate(Context& context, const Node* validate, ValidationSettings& settings) {
  if (validate == nullptr) return;
  const Values values(validate);
  shared_words(context, validate, "packages", settings.packages);
  shared_words(context, validate, "tags", settings.tags);
  settings.build = values.flag("build.enabled", true);
  settings.vet = values.flag("vet.enabled", true);
  extract_test(context, validate, settings);
  extract_checks(context, validate, settings);
}

void extract_sandbox(Context& context, const Node* sandbox, ValidationSettings& settings) {
  const Values values(sandbox);
  settings.image = text_at(sandbox, "image", "auto");
  settings.image_without_c_compiler = !values.flag("c_compiler", true);
  RunLimits& limits = settings.limits;
  limits.cpu_millis = static_cast<std::uint32_t>(std::llround(
      values.fraction("limits.cpus", static_cast<double>(limits.cpu_millis) / 1000) * 1000));
  values.size("limits.memory", limits.memory_bytes);
  values.integer("limits.pids", limits.pids);
  values.size("limits.output", limits.output_bytes);
  const Node* tmp = child_at(sandbox, "limits.tmp");
  // A smaller memory limit alone shall not need a second key: /tmp stays at half of it.
  if (tmp == nullptr) limits.tmp_bytes = std::min(limits.tmp_bytes, limits.memory_bytes / 2);
  values.size("limits.tmp", limits.tmp_bytes);
  if (tmp != nullptr && limits.tmp_bytes >= limits.memory_bytes) {
    context.add(*tmp, Errc::bad_value,
                "sandbox.limits.tmp: " + text::format_size(limits.tmp_bytes) +
                    " is not below the memory limit of " + text::format_size(limits.memory_bytes),
                "what is in /tmp counts as memory: a full /tmp would look like out of memory");
  }
  settings.build_cache =
      parse_name<BuildCache>(text_at(sandbox, "build_cache")).value_or(BuildCache::seeded);
  settings.require_enforced_egress = text_at(sandbox, "egress") == "enforced";
  values.seconds("timeouts.acquire", settings.acquire_limit_s);
  values.seconds("timeouts.check", settings.check_limit_s);
  settings.go_private = text_at(sandbox, "private.goprivate");
  settings.go_nosumdb = text_at(sandbox, "private.gonosumdb");
}

}  // namespace

const Node* child_at(const Node* node, std::string_view dotted) {
  while (node != nullptr && !dotted.empty()) {
    const std::size_t dot = dotted.find('.');
    node = node->find(dotted.substr(0, dot));
    dotted = dot == std::string_view::npos ? std::string_view() : dotted.substr(dot + 1);
  }
  return node == nullptr || node->is_null() ? nullptr : node;
}

std::string text_at(const Node* node, std::string_view dotted, const std::string& fallback) {
  const Node* child = child_at(node, dotted);
  return child != nullptr && child->is_scalar() && !child->scalar.empty() ? child->scalar
                                                                          : fallback;
}

std::vector<std::string> words_at(const Node* node, std::string_view dotted) {
  std::vector<std::string> words;
  const Node* child = child_at(node, dotted);
  if (child == nullptr) return words;
  for (const Node& item : child->items) {
    if (item.is_scalar()) words.push_back(item.scalar);
  }
  return words;
}

Campaign extract(Context& context, const Node& root) {
  Campaign campaign;
  const Values values(&root);
  campaign.name = text_at(&root, "name");
  campaign.description = text_at(&root, "description");
  campaign.owner = text_at(&root, "owner");
  if (const Node* labels = child_at(&root, "labels")) {
    for (const text::Entry& entry : labels->entries)
      campaign.labels[entry.key] = entry.value.scalar;
  }
  values.integer("priority", campaign.priority);
  campaign.repositories = extract_repositories(context, child_at(&root, "repositories"));
  extract_change(context, root, campaign);
  check_own_upgrades(context, root, campaign);
  extract_scan(context, root, campaign);
  extract_validate(context, child_at(&root, "validate"), campaign.settings);
  extract_sandbox(context, child_at(&root, "sandbox"), campaign.settings);
  values.integer("strategy.max_parallel", campaign.max_parallel);
  values.integer("strategy.retries.infra_error", campaign.retries_infra);
  values.integer("strategy.retries.timeout", campaign.retries_timeout);
  values.seconds("strategy.deadline", campaign.deadline_s);
  if (!std::holds_alternative<NoChange>(campaign.change)) {
    campaign.fail_on = {Verdict::regressed, Verdict::changed_failure};
    if (campaign.baseline == Baseline::off) campaign.fail_on = {Verdict::failing};
  }
  if (child_at(&root, "gate.fail_on") != nullptr) {
    campaign.fail_on.clear();
    for (const std::string& word : words_at(&root, "gate.fail_on")) {
      const auto verdict = parse_name<Verdict>(word);
      const bool seen =
          verdict && std::ranges::find(campaign.fail_on, *verdict) != campaign.fail_on.end();
      if (verdict && !seen) campaign.fail_on.push_back(*verdict);
    }
  }
  campaign.max_inconclusive_ratio =
      values.fraction("gate.max_inconclusive_ratio", campaign.max_inconclusive_ratio);
  const std::string logs = text_at(&root, "output.keep_logs", "all");
  campaign.keep_logs = logs == "failed" ? KeepLogs::failed
                       : logs == "none" ? KeepLogs::none
                                        : KeepLogs::all;
  return campaign;
}

}  // namespace cupel::campaign
