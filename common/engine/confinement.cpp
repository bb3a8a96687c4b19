#include "common/engine/confinement.hpp"

#include <algorithm>
#include <string_view>

namespace cupel::engine {
namespace {

/// "name=seccomp,profile=builtin" as its name and profile.
struct SecurityOption {
  std::string_view name;
  std::string_view profile;
};

SecurityOption parse_option(std::string_view text) {
  SecurityOption option;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) {
      if (option.name.empty()) option.name = part;
    } else if (part.substr(0, equals) == "name") {
      option.name = part.substr(equals + 1);
    } else if (part.substr(0, equals) == "profile") {
      option.profile = part.substr(equals + 1);
    }
  }
  return option;
}

}  // namespace

std::string Confinement::text() const {
  std::string out;
  const auto add = [&out](bool there, std::string_view name) {
    if (there) out.append(out.empty() ? "" : ", ").append(name);
  };
  add(seccomp, seccomp_unconfined ? "seccomp (unconfined)" : "seccomp");
  add(apparmor, "apparmor");
  add(selinux, "selinux");
  add(user_namespaces, "user namespaces");
  add(rootless, "rootless");
  return out.empty() ? "nothing" : out;
}

Confinement confinement_of(const EngineInfo& info) {
  Confinement out;
  for (const std::string& text : info.security_options) {
    const SecurityOption option = parse_option(text);
    if (option.name == "seccomp") {
      out.seccomp = true;
      out.seccomp_unconfined = option.profile == "unconfined";
    }
    out.apparmor = out.apparmor || option.name == "apparmor";
    out.selinux = out.selinux || option.name == "selinux";
    out.user_namespaces = out.user_namespaces || option.name == "userns";
    out.rootless = out.rootless || option.name == "rootless";
  }
  out.rootless = out.rootless || info.rootless;
  return out;
}

Result<void> check_confined(const Confinement& confinement) {
  if (confinement.seccomp && !confinement.seccomp_unconfined) return {};
  return Error{
      .code = Errc::unsafe_sandbox,
      .what = confinement.seccomp
                  ? "the engine's containers run unconfined: its seccomp profile is off"
                  : "the engine's containers run unconfined: it knows no seccomp",
      .detail = {},
      .hint = confinement.seccomp
                  ? "start the engine without --seccomp-profile=unconfined"
                  : "use a kernel with CONFIG_SECCOMP_FILTER and an engine built with seccomp"};
}

}  // namespace cupel::engine
