#include "cli/app/commands.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/net/curve_keys.hpp"
#include "common/net/trust_list.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace cupel::cli {
namespace {

int generate(const Request& request, Console& console) {
  const net::KeyPair pair = net::generate_key_pair();
  if (const auto written = net::write_key_file(request.key_file, pair, ""); !written)
    return fail(console, written.error());
  const std::string public_file = request.key_file + ".pub";
  if (const auto written = net::write_public_key_file(public_file, pair.public_key, ""); !written)
    return fail(console, written.error());
  console.say("wrote " + request.key_file + " (secret, 0600) and " + public_file);
  console.out(pair.public_key.z85() + "\n");
  return kExitDone;
}

int show(const Request& request, Console& console) {
  const auto key = net::read_public_key_file(request.key_file);
  if (!key) return fail(console, key.error());
  console.out(key->z85() + "\n");
  return kExitDone;
}

int trust(const Request& request, Console& console) {
  std::error_code failure;
  const auto key = std::filesystem::exists(request.key, failure)
                       ? net::read_public_key_file(request.key)
                       : net::parse_public_key(request.key, "the key argument");
  if (!key) return fail(console, key.error());
  net::TrustedWorker worker{request.name, {}};
  for (const std::string& label : request.labels) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos)
      return fail(console, {Errc::usage, "\"" + label + "\" is not key=value", "", ""});
    worker.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  if (const auto added = net::add_trusted(request.trust_file, *key, worker); !added)
    return fail(console, added.error());
  console.say(request.name +
              " is trusted; a running coordinator takes the list within seconds or on SIGHUP");
  return kExitDone;
}

int revoke(const Request& request, Console& console) {
  const auto removed = net::remove_trusted(request.trust_file, request.name);
  if (!removed) return fail(console, removed.error());
  console.say(removed->second.name + " (" + removed->first.z85() + ") is no longer trusted");
  return kExitDone;
}

}  // namespace

int run_keys(const Request& request, Console& console) {
  switch (request.verb) {
    case Verb::key_generate: return generate(request, console);
    case Verb::key_show: return show(request, console);
    case Verb::key_trust: return trust(request, console);
    default: return revoke(request, console);
  }
}

}  // namespace cupel::cli
