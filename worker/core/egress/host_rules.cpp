#include "worker/core/egress/host_rules.hpp"

#include <string_view>
#include <utility>

namespace cupel::worker::egress {

namespace {

using Arguments = std::vector<std::string>;

/// One chain of ours in each table: what it holds can be replaced as a whole.
std::string chain_of(const std::string& bridge) {
  return "CUPEL-" + bridge;
}

Arguments jump(std::string_view table, std::string_view verb, std::string_view from,
               const std::string& bridge) {
  Arguments all = {"-t", std::string(table), std::string(verb), std::string(from)};
  if (verb == "-I") all.emplace_back("1");
  all.insert(all.end(), {"-i", bridge, "-j", chain_of(bridge)});
  return all;
}

/// To the proxy, and nowhere else.
Arguments to_proxy(std::string_view table, std::string_view verb, const Bridge& bridge) {
  Arguments all = {"-t", std::string(table), std::string(verb), chain_of(bridge.name)};
  if (verb == "-I") all.emplace_back("1");
  all.insert(all.end(), {"-d", bridge.gateway + "/32", "-p", "tcp", "--dport",
                         std::to_string(bridge.port), "-j", "ACCEPT"});
  return all;
}

Arguments drop_rest(std::string_view verb, const std::string& bridge) {
  return {"-t", "raw", std::string(verb), chain_of(bridge), "-j", "DROP"};
}

/// An empty chain lets everything pass, so the jump comes when it is full, and a chain that is in
/// use drops all before its old rules go.
void fill(std::vector<RuleStep>& steps, const std::string& bridge) {
  steps.push_back({.arguments = {"-t", "raw", "-N", chain_of(bridge)}, .may_fail = true});
  steps.push_back({.arguments = {"-t", "raw", "-I", chain_of(bridge), "1", "-j", "DROP"}});
}

void enter(std::vector<RuleStep>& steps, std::string_view table, std::string_view from,
           const std::string& bridge) {
  steps.push_back(
      {.arguments = jump(table, "-I", from, bridge), .unless = jump(table, "-C", from, bridge)});
}

}  // namespace

std::string bridge_name(std::uint64_t worker) {
  static constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string text = "cup-";
  for (int i = 0; i < 10; ++i) {
    text += kDigits[(worker >> 14U ^ worker << 3U) & 31U];
    worker = worker * 0x9E3779B97F4A7C15ULL + 0x7F4A7C15ULL;
  }
  return text;
}

std::vector<RuleStep> rules_v4(const Bridge& bridge) {
  std::vector<RuleStep> steps;
  fill(steps, bridge.name);
  // Rules of an earlier port fall behind the drop at the top and are of no use; they are removed
  // from the end.
  steps.push_back({.arguments = to_proxy("raw", "-I", bridge)});
  enter(steps, "raw", "PREROUTING", bridge.name);
  // A host whose own filter drops what it doesn't know would drop what is for the proxy as well.
  steps.push_back({.arguments = {"-t", "filter", "-N", chain_of(bridge.name)}, .may_fail = true});
  steps.push_back({.arguments = {"-t", "filter", "-F", chain_of(bridge.name)}});
  steps.push_back({.arguments = to_proxy("filter", "-A", bridge)});
  enter(steps, "filter", "INPUT", bridge.name);
  return steps;
}

std::vector<RuleStep> rules_v6(const Bridge& bridge) {
  std::vector<RuleStep> steps;
  fill(steps, bridge.name);
  enter(steps, "raw", "PREROUTING", bridge.name);
  return steps;
}

std::vector<std::vector<std::string>> checks_v4(const Bridge& bridge) {
  return {jump("raw", "-C", "PREROUTING", bridge.name), to_proxy("raw", "-C", bridge),
          drop_rest("-C", bridge.name)};
}

std::vector<RuleStep> removal(const std::string& bridge) {
  std::vector<RuleStep> steps;
  for (const auto& [table, from] :
       {std::pair<std::string_view, std::string_view>{"raw", "PREROUTING"}, {"filter", "INPUT"}}) {
    steps.push_back({.arguments = jump(table, "-D", from, bridge), .may_fail = true});
    for (const char* const verb : {"-F", "-X"}) {
      steps.push_back(
          {.arguments = {"-t", std::string(table), verb, chain_of(bridge)}, .may_fail = true});
    }
  }
  return steps;
}

}  // namespace cupel::worker::egress
