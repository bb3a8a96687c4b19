#include "cli/app/queries.hpp"

#include "cli/app/campaign_source.hpp"
#include "cli/app/commands.hpp"
#include "cli/app/connection.hpp"
#include "cli/app/local_fleet.hpp"
#include "cli/core/exit_codes.hpp"
#include "cli/core/go_events.hpp"
#include "cli/core/reports.hpp"
#include "cli/core/results_view.hpp"
#include "common/core/ids.hpp"
#include "common/core/outcome.hpp"
#include "common/fs/files.hpp"
#include "common/httpclient/url.hpp"

#include <boost/algorithm/string/predicate.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fnmatch.h>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>

namespace cupel::cli {
namespace {

bool selected(const json& unit, const Request& request) {
  if (!request.verdicts.empty() &&
      std::ranges::find(request.verdicts, verdict_of(unit)) == request.verdicts.end())
    return false;
  if (request.repo_glob.empty()) return true;
  return fnmatch(request.repo_glob.c_str(), text_of(unit, "repository").c_str(), 0) == 0 ||
         fnmatch(request.repo_glob.c_str(), unit_name(unit).c_str(), 0) == 0;
}

Result<std::string> task_of_subject(httpclient::Client& client, const Request& request) {
  if (TaskId::parse(request.subject)) return request.subject;
  const auto data = fetch_report_data(client, request.campaign);
  if (!data) return data.error();
  const auto unit = only_match(data->results, request.subject);
  if (!unit) return unit.error();
  const std::string task = text_of(**unit, "task");
  if (task.empty())
    return Error{Errc::not_found,
                 unit_name(**unit) + " was decided without a task, so there are no logs", "", ""};
  return task;
}

std::string header_of(const httpclient::Headers& headers, std::string_view name) {
  const auto found = std::ranges::find_if(headers, [name](const auto& header) {
    return boost::algorithm::iequals(header.first, name);
  });
  return found == headers.end() ? "" : found->second;
}

/// Prints what a running check has written so far and goes on writing, until its task has ended.
/// Returns how many bytes that were.
Result<std::uint64_t> follow_log(httpclient::Client& client, const std::string& target,
                                 Console& console, const GoEventText::Out& out) {
  std::uint64_t offset = 0;
  for (std::string state; state != "ended";) {
    // The coordinator answers when there is more, or after a while.
    const auto told = client.download(
        target + "&wait=1&from=" + std::to_string(offset), 0,
        [&](std::string_view bytes) {
          out(bytes);
          offset += bytes.size();
          return true;
        },
        [&](const httpclient::Headers& headers) {
          state = header_of(headers, "X-Cupel-Log-State");
          const std::uint64_t first =
              std::strtoull(header_of(headers, "X-Cupel-Log-Offset").c_str(), nullptr, 10);
          if (first > offset) {
            console.say("[" + std::to_string(first - offset) +
                        " bytes were written too fast to follow]");
            offset = first;
          }
          return true;
        });
    if (!told) return told.error();
    if (state.empty())
      return Error{Errc::protocol_mismatch, "this coordinator can't be asked to wait for a log", "",
                   "upgrade it, or leave --follow out"};
  }
  return offset;
}

/// The kept log, from byte `offset` on.
Result<void> copy_log(httpclient::Client& client, const std::string& target, Console& console,
                      std::uint64_t offset, const GoEventText::Out& out) {
  return client.download(
      target, offset,
      [&out](std::string_view bytes) {
        out(bytes);
        return true;
      },
      [&](const httpclient::Headers& headers) {
        const bool cut = header_of(headers, "X-Cupel-Log-State") == "truncated";
        if (cut && offset > 0)
          console.say("[the kept log lacks its middle; 'cupel logs' without -f shows its end]");
        return !cut || offset == 0;
      });
}

int print_logs(const Request& request, httpclient::Client& client, Console& console) {
  const auto task = task_of_subject(client, request);
  if (!task) return fail(console, task.error());
  const std::string check = parse_name<CheckKind>(request.check)
                                ? request.check
                                : "custom&name=" + httpclient::percent_encoded(request.check);
  const std::string log = "/api/v1/tasks/" + *task + "/log?check=" + check + "&stream=";
  const std::string target = log + (request.stream.empty() ? "stdout" : request.stream);
  GoEventText text([&console](std::string_view bytes) { console.out(bytes); });
  const GoEventText::Out out = [&](std::string_view bytes) {
    if (request.raw) return console.out(bytes);
    text.push(bytes);
  };
  std::uint64_t shown = 0;
  if (request.follow) {
    const auto followed = follow_log(client, target, console, out);
    if (!followed) text.finish();
    if (!followed)
      return followed.error().code == Errc::cancelled ? kExitInterrupted
                                                      : fail(console, followed.error());
    shown = *followed;
  }
  auto copied = copy_log(client, target, console, shown, out);
  // Where nobody said which stream, one that holds something will do.
  const bool nothing = !copied && shown == 0 && copied.error().code == Errc::not_found;
  if (nothing && request.stream.empty()) {
    const auto other = copy_log(client, log + "stderr", console, 0, out);
    if (other || other.error().code != Errc::not_found) copied = other;
  }
  text.finish();
  // What was followed to its end has been seen, even where nothing of it was kept.
  if (!copied && shown > 0 && copied.error().code == Errc::not_found) return kExitDone;
  return copied ? kExitDone : fail(console, copied.error());
}

}  // namespace

Result<const json*> only_match(const std::vector<json>& results, const std::string& subject) {
  const auto units = matching(results, subject);
  if (units.size() == 1) return units.front();
  std::string names;
  for (const json* unit : units) names += (names.empty() ? "" : "\n") + unit_name(*unit);
  return Error{Errc::not_found, std::to_string(units.size()) + " units match \"" + subject + "\"",
               capped_detail(names),
               units.empty() ? "'cupel results' lists them" : "name one of them"};
}

std::string dumped(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

int with_client(const Request& request, Console& console,
                const std::function<int(httpclient::Client&, Interrupts&)>& body) {
  Interrupts interrupts;
  std::unique_ptr<LocalFleet> fleet;
  Result<httpclient::Client> client = Error{};
  if (request.local.enabled) {
    auto started = LocalFleet::start(request.local, console, interrupts, false);
    if (!started) return fail(console, started.error());
    fleet = std::move(*started);
    client = connect_to(fleet->base_url(), fleet->token_file().string(), interrupts.fd());
  } else {
    client = connect(request.globals, interrupts.fd());
  }
  if (!client) return fail(console, client.error());
  const int code = body(*client, interrupts);
  if (fleet) fleet->stop();
  return code;
}

std::vector<const json*> matching(const std::vector<json>& results, const std::string& subject) {
  std::vector<const json*> exact;
  std::vector<const json*> partial;
  for (const json& unit : results) {
    if (unit_name(unit) == subject || text_of(unit, "repository") == subject ||
        text_of(unit, "module") == subject || text_of(unit, "id") == subject) {
      exact.push_back(&unit);
    } else if (unit_name(unit).find(subject) != std::string::npos) {
      partial.push_back(&unit);
    }
  }
  return exact.empty() ? partial : exact;
}

int run_check(const Request& request, Console& console) {
  const auto parsed = load_campaign(request.file);
  if (!parsed) return fail(console, parsed.error());
  if (!*parsed) {
    if (console.json()) {
      json errors = json::array();
      for (const text::Diagnostic& fault : parsed->diagnostics) {
        errors.push_back({{"file", fault.file},
                          {"line", fault.line},
                          {"column", fault.column},
                          {"code", error_tag(fault.code)},
                          {"message", fault.message},
                          {"hint", fault.hint}});
      }
      console.out(dumped({{"ok", false}, {"errors", std::move(errors)}}));
    } else {
      console.diagnostics(parsed->diagnostics);
    }
    return kExitUsage;
  }
  const campaign::Campaign& campaign = *parsed->campaign;
  const std::string digest = campaign::digest_of(campaign).hex();
  if (console.json()) {
    console.out(dumped({{"ok", true},
                        {"name", campaign.name},
                        {"repositories", campaign.repositories.size()},
                        {"digest", digest}}));
  } else {
    console.out(request.file + ": campaign " + campaign.name + " with " +
                std::to_string(campaign.repositories.size()) +
                " repositories is valid (sha256:" + digest + ")\n");
  }
  return kExitDone;
}

int run_plan(const Request& request, Console& console) {
  auto parsed = load_campaign(request.file);
  if (!parsed) return fail(console, parsed.error());
  if (!*parsed) {
    console.diagnostics(parsed->diagnostics);
    return kExitUsage;
  }
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    if (const auto uploaded = upload_paths(*parsed->campaign, request.file, client, console);
        !uploaded)
      return fail(console, uploaded.error());
    const auto plan = client.post("/api/v1/plans", campaign::to_canonical_json(*parsed->campaign));
    if (!plan) return fail(console, plan.error());
    if (!request.output.empty() && request.output != "-") {
      if (const auto written = fs::write_file_durably(request.output, dumped(*plan), 0644);
          !written)
        return fail(console, written.error());
    }
    if (console.json() || request.output == "-") {
      console.out(dumped(*plan));
      return kExitDone;
    }
    const json& repositories = list_of(*plan, "repositories");
    const json tasks = plan->contains("tasks") ? (*plan)["tasks"] : json::object();
    console.out("Campaign  " + parsed->campaign->name + "\nSelected  " +
                std::to_string(repositories.size()) + " repositories\nTasks     " +
                text_of(tasks, "acquire") + " to acquire sources, then at least " +
                text_of(tasks, "execute") + " to validate units\n");
    if (request.repos) {
      for (const json& repository : repositories)
        console.out("  " + text_of(repository, "name") + "\n");
    }
    console.out("Plan " + text_of(*plan, "id") + " saved. Next: cupel run --plan " +
                text_of(*plan, "id") + "\n");
    return kExitDone;
  });
}

int run_results(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    auto data = fetch_report_data(client, request.campaign);
    if (!data) return fail(console, data.error());
    std::erase_if(data->results, [&request](const json& unit) { return !selected(unit, request); });
    if (request.output == "repos") {
      for (const json* unit : in_reading_order(data->results))
        console.out(text_of(*unit, "repository") + "\n");
    } else if (request.globals.format == "ndjson") {
      console.out(report_ndjson(*data));
    } else if (request.globals.format == "json") {
      console.out(report_json(*data));
    } else {
      console.out(results_table(data->results, {console.color(), console.out_columns()}));
      console.out("\n" + results_summary(*data));
    }
    return kExitDone;
  });
}

int run_logs(const Request& request, Console& console) {
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    return print_logs(request, client, console);
  });
}

int run_report(const Request& request, Console& console) {
  const auto format = parse_report_format(request.report_format);
  return with_client(request, console, [&](httpclient::Client& client, Interrupts&) {
    const auto data = fetch_report_data(client, request.campaign);
    if (!data) return fail(console, data.error());
    const std::string text = write_report(*data, *format, request.bytes_max);
    if (request.output.empty() || request.output == "-") {
      console.out(text);
      return kExitDone;
    }
    const auto written = fs::write_file_durably(request.output, text, 0644);
    if (!written) return fail(console, written.error());
    console.say("wrote " + request.output);
    return kExitDone;
  });
}

}  // namespace cupel::cli
