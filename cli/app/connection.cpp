#include "cli/app/connection.hpp"

#include "common/core/ids.hpp"
#include "common/fs/files.hpp"
#include "common/httpclient/url.hpp"
#include "common/text/document.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>

namespace cupel::cli {
namespace {

constexpr std::uint64_t kConfigBytesMax = 64 * 1024;
constexpr std::uint64_t kTokenBytesMax = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path config_file() {
  const std::string base = variable("XDG_CONFIG_HOME");
  if (base.starts_with('/')) return std::filesystem::path(base) / "cupel" / "client.yaml";
  return std::filesystem::path(variable("HOME")) / ".config" / "cupel" / "client.yaml";
}

void read_config(ClientSettings& settings) {
  const auto bytes = fs::read_file(settings.file, kConfigBytesMax);
  if (!bytes) {
    if (bytes.error().code != Errc::not_found) {
      settings.faults.push_back({settings.file, 0, 0, Errc::bad_config, bytes.error().what, ""});
    }
    return;
  }
  const text::Document document = text::read_yaml(*bytes, settings.file);
  settings.faults = document.faults;
  if (!document.root || document.root->is_null()) return;
  for (const text::Entry& entry : document.root->entries) {
    ClientSetting* setting = entry.key == "server"       ? &settings.server
                             : entry.key == "token_file" ? &settings.token_file
                             : entry.key == "ca_file"    ? &settings.ca_file
                                                         : nullptr;
    if (setting == nullptr || !entry.value.is_scalar()) {
      const std::string near = text::nearest_word(entry.key, {"server", "token_file", "ca_file"});
      settings.faults.push_back(
          {settings.file, entry.line, entry.column,
           setting == nullptr ? Errc::unknown_key : Errc::bad_value,
           setting == nullptr ? "unknown setting \"" + entry.key + "\""
                              : entry.key + ": must be text",
           near.empty() || setting != nullptr ? "" : "did you mean \"" + near + "\"?"});
      continue;
    }
    std::string value = entry.value.scalar;
    if (entry.key != "server" && !value.starts_with('/')) {
      value =
          (std::filesystem::path(settings.file).parent_path() / value).lexically_normal().string();
    }
    *setting = {value, settings.file + ":" + std::to_string(entry.value.line) + ":" +
                           std::to_string(entry.value.column)};
  }
}

}  // namespace

ClientSettings client_settings(const Globals& globals) {
  ClientSettings settings;
  settings.server.origin = "default";
  settings.token_file.origin = "default";
  settings.ca_file.origin = "default";
  settings.file = config_file().string();
  read_config(settings);
  if (const std::string server = variable("CUPEL_SERVER"); !server.empty())
    settings.server = {server, "environment CUPEL_SERVER"};
  if (const std::string file = variable("CUPEL_TOKEN_FILE"); !file.empty())
    settings.token_file = {file, "environment CUPEL_TOKEN_FILE"};
  if (const std::string file = variable("CUPEL_CA_FILE"); !file.empty())
    settings.ca_file = {file, "environment CUPEL_CA_FILE"};
  if (!globals.server.empty()) settings.server = {globals.server, "flag --server"};
  if (!globals.token_file.empty()) settings.token_file = {globals.token_file, "flag --token-file"};
  if (!globals.ca_file.empty()) settings.ca_file = {globals.ca_file, "flag --ca-file"};
  return settings;
}

Result<httpclient::Client> connect_to(const std::string& base_url, const std::string& token_file,
                                      int interrupt_fd, const std::string& ca_file) {
  httpclient::Options options;
  options.ca_file = ca_file;
  options.base_url = base_url;
  options.interrupt_fd = interrupt_fd;
  if (const auto url = httpclient::parse_url(base_url); !url) return url.error();
  if (!token_file.empty()) {
    auto token = fs::read_secret(token_file, kTokenBytesMax);
    if (!token) {
      Error error = token.error();
      if (error.code == Errc::not_found) error.code = Errc::key_unreadable;
      error.hint =
          "the token file is made by the coordinator at its first start; copy it with mode 0600";
      return error;
    }
    while (token->ends_with('\n') || token->ends_with('\r') || token->ends_with(' '))
      token->pop_back();
    if (token->find_first_of("\r\n") != std::string::npos) {
      return Error{Errc::key_unreadable, token_file + " holds more than one line", "", ""};
    }
    options.token = *token;
  }
  return httpclient::Client(std::move(options));
}

Result<httpclient::Client> connect(const Globals& globals, int interrupt_fd) {
  const ClientSettings settings = client_settings(globals);
  if (!settings.faults.empty()) {
    return Error{Errc::bad_config, "the client's configuration is wrong",
                 capped_detail(text::render(settings.faults)), ""};
  }
  if (settings.server.value.empty()) {
    return Error{Errc::usage, "no coordinator is named", "",
                 "use --server http://HOST:PORT (or https://), CUPEL_SERVER, 'server:' in " +
                     settings.file + ", or --local"};
  }
  return connect_to(settings.server.value, settings.token_file.value, interrupt_fd,
                    settings.ca_file.value);
}

Result<std::string> campaign_path(const std::string& campaign) {
  if (!CampaignId::parse(campaign)) {
    return Error{Errc::usage, "\"" + campaign.substr(0, 80) + "\" is not a campaign's id", "",
                 "ids look like c-7h2; 'cupel run' prints it"};
  }
  return "/api/v1/campaigns/" + campaign;
}

namespace {

/// A folder that was packed is called by the path that the campaign file has, not by path@commit:
/// the commit stands beside it anyway.
json named_as_written(json unit) {
  if (!unit.is_object() || !unit.contains("source")) return unit;
  const std::string name =
      text_of(unit["source"], "type") == "bundle" ? text_of(unit["source"], "name") : "";
  if (!name.empty()) unit["repository"] = name;
  return unit;
}

}  // namespace

Result<std::vector<json>> fetch_pages(httpclient::Client& client, const std::string& target,
                                      const char* key, std::size_t at_most) {
  std::vector<json> all;
  std::string token;
  do {
    const auto page = client.get(
        target + (token.empty() ? "" : "&page_token=" + httpclient::percent_encoded(token)));
    if (!page) return page.error();
    for (const json& entry : list_of(*page, key)) all.push_back(entry);
    token = text_of(*page, "next_page_token");
  } while (!token.empty() && all.size() < at_most);
  return all;
}

Result<ReportData> fetch_report_data(httpclient::Client& client, const std::string& campaign) {
  const auto path = campaign_path(campaign);
  if (!path) return path.error();
  ReportData data;
  auto summary = client.get(*path);
  if (!summary) return summary.error();
  data.campaign = std::move(*summary);
  auto document = client.get(*path + "/document");
  if (document) {
    data.document = std::move(*document);
  } else if (document.error().code != Errc::not_found) {
    return document.error();
  }
  auto results = fetch_pages(client, *path + "/results?limit=200", "results");
  if (!results) return results.error();
  for (const json& unit : *results) data.results.push_back(named_as_written(unit));
  return data;
}

}  // namespace cupel::cli
