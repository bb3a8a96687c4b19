#include "worker/core/egress/ledger.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

namespace cupel::worker::egress {

namespace {

/// Takes as long for a wrong secret as for the right one.
bool same_secret(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string shown(const ProxyRequest& request) {
  return printable((request.tunnel ? "CONNECT "
                    : request.head ? "HEAD http://"
                                   : "GET http://") +
                   request.to.text() + request.path);
}

void note_in(Traffic& traffic, std::string what, Refused why) {
  const auto known = std::ranges::find_if(traffic.refused, [&](const RefusalNote& note) {
    return note.why == why && note.what == what;
  });
  if (known != traffic.refused.end()) {
    ++known->times;
  } else if (traffic.refused.size() < kRefusalsMax) {
    traffic.refused.push_back({.what = std::move(what), .why = why});
  } else {
    ++traffic.refused_more;
  }
}

}  // namespace

void Ledger::open(const std::string& run, std::string secret, Allowance allowance) {
  const std::string peer = allowance.peer;
  runs_[run] = {
      .secret = std::move(secret), .allowance = std::move(allowance), .peer = peer, .traffic = {}};
}

Traffic Ledger::close(const std::string& run) {
  const auto node = runs_.extract(run);
  return node.empty() ? Traffic() : std::move(node.mapped().traffic);
}

std::variant<Target, Refused> Ledger::admit(const ProxyRequest& request, std::string_view peer,
                                            TimePoint now) {
  const auto found = runs_.find(request.run);
  if (found == runs_.end()) {
    ++strangers_;
    return Refused::credentials;
  }
  Run& run = found->second;
  const auto refuse = [&](Refused why) {
    note_in(run.traffic, shown(request), why);
    return why;
  };
  if (!same_secret(run.secret, request.secret)) return refuse(Refused::credentials);
  if (!run.peer.empty() && run.peer != peer) return refuse(Refused::credentials);
  run.peer = peer;
  if (now >= run.allowance.until) return refuse(Refused::time);
  const Target* target = run.allowance.allowed.find(request.to);
  // A tunnel to a target that is fetched would go past its credentials and its limits.
  const bool way = target != nullptr && (target->way == Way::tunnel) == request.tunnel;
  if (!way) return refuse(Refused::target);
  if (run.traffic.bytes >= run.allowance.bytes_max) return refuse(Refused::bytes);
  if (run.open >= run.allowance.connections_max) return refuse(Refused::connections);
  ++run.open;
  ++run.traffic.connections;
  return *target;
}

void Ledger::ended(const std::string& run) {
  const auto found = runs_.find(run);
  if (found != runs_.end() && found->second.open > 0) --found->second.open;
}

bool Ledger::take(const std::string& run, std::uint64_t bytes, TimePoint now) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return false;
  Traffic& traffic = found->second.traffic;
  traffic.bytes += bytes;
  if (now >= found->second.allowance.until) {
    note_in(traffic, "a connection that was open", Refused::time);
    return false;
  }
  if (traffic.bytes <= found->second.allowance.bytes_max) return true;
  note_in(traffic, "a connection that was open", Refused::bytes);
  return false;
}

void Ledger::note(const std::string& run, std::string what, Refused why) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) {
    ++strangers_;
  } else {
    note_in(found->second.traffic, std::move(what), why);
  }
}

std::vector<std::string> refusal_lines(const Traffic& traffic) {
  std::vector<std::string> lines;
  lines.reserve(traffic.refused.size() + 1);
  for (const RefusalNote& note : traffic.refused) {
    lines.push_back("egress refused: " + note.what + " (" + std::string(name(note.why)) + ")" +
                    (note.times > 1 ? ", " + std::to_string(note.times) + " times" : ""));
  }
  if (traffic.refused_more > 0) {
    lines.push_back("egress refused: " + std::to_string(traffic.refused_more) + " more");
  }
  return lines;
}

}  // namespace cupel::worker::egress
