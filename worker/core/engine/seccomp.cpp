#include "worker/core/engine/seccomp.hpp"

#include "common/sandbox/syscalls.hpp"

#include <nlohmann/json.hpp>

namespace cupel::worker {

namespace {

using Json = nlohmann::json;
using sandbox::ArgumentTest;

const char* word(ArgumentTest::Op op) {
  switch (op) {
    case ArgumentTest::Op::equal: return "SCMP_CMP_EQ";
    case ArgumentTest::Op::not_equal: return "SCMP_CMP_NE";
    case ArgumentTest::Op::masked_equal: return "SCMP_CMP_MASKED_EQ";
  }
  return "";
}

Json rule_json(const sandbox::SyscallRule& rule) {
  Json arguments = Json::array();
  for (const ArgumentTest& test : rule.tests) {
    arguments.push_back({{"index", test.index},
                         {"value", test.value},
                         {"valueTwo", test.second},
                         {"op", word(test.op)}});
  }
  Json json = {{"names", rule.names},
               {"action", rule.error == 0 ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO"},
               {"args", std::move(arguments)}};
  if (rule.error != 0) json["errnoRet"] = rule.error;
  return json;
}

std::string make_profile() {
  Json calls = Json::array();
  for (const sandbox::SyscallRule& rule : sandbox::run_filter().rules)
    calls.push_back(rule_json(rule));
  const Json profile = {
      {"defaultAction", "SCMP_ACT_ERRNO"},
      {"archMap",
       Json::array({{{"architecture", "SCMP_ARCH_X86_64"},
                     {"subArchitectures", Json::array({"SCMP_ARCH_X86", "SCMP_ARCH_X32"})}}})},
      {"syscalls", std::move(calls)}};
  return profile.dump();
}

}  // namespace

const std::string& seccomp_profile() {
  static const std::string kProfile = make_profile();
  return kProfile;
}

}  // namespace cupel::worker
