/// Which coordinator the client talks to, and as whom.
#pragma once

#include "cli/app/request.hpp"
#include "cli/core/report_data.hpp"
#include "common/httpclient/client.hpp"
#include "common/text/diagnostic.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cupel::cli {

struct ClientSetting {
  std::string value;
  std::string origin;  ///< "flag --server", "environment CUPEL_SERVER",
                       ///< "/home/u/.config/cupel/client.yaml:1:9", "default".
};

struct ClientSettings {
  ClientSetting server;
  ClientSetting token_file;
  ClientSetting ca_file;
  std::vector<text::Diagnostic> faults;  ///< Of the configuration file.
  std::string file;                      ///< Where the configuration file is, or would be.
};

/// Flags > environment (CUPEL_SERVER, CUPEL_TOKEN_FILE, CUPEL_CA_FILE) >
/// $XDG_CONFIG_HOME/cupel/client.yaml.
[[nodiscard]] ClientSettings client_settings(const Globals& globals);

/// Errors: usage (no coordinator named), bad_config, key_permissions and key_unreadable of the
/// token file.
[[nodiscard]] Result<httpclient::Client> connect(const Globals& globals, int interrupt_fd = -1);
[[nodiscard]] Result<httpclient::Client> connect_to(const std::string& base_url,
                                                    const std::string& token_file, int interrupt_fd,
                                                    const std::string& ca_file = "");

/// The entries named `key` of a list, page after page, until there are `at_most`. `target`: with at
/// least one parameter. Errors: those of the client.
[[nodiscard]] Result<std::vector<nlohmann::json>> fetch_pages(
    httpclient::Client& client, const std::string& target, const char* key,
    std::size_t at_most = std::numeric_limits<std::size_t>::max());

/// Everything the report writers need. Errors: those of the client.
[[nodiscard]] Result<ReportData> fetch_report_data(httpclient::Client& client,
                                                   const std::string& campaign);

/// "c-12" as it goes into a path; errors: usage.
[[nodiscard]] Result<std::string> campaign_path(const std::string& campaign);

}  // namespace cupel::cli
