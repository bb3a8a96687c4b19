// Whether and with what units are scanned for known vulnerabilities.
#include "common/campaign/grammar.hpp"
#include "common/campaign/grammar_keys.hpp"

#include <utility>

namespace cupel::campaign {

Key scan_grammar() {
  using namespace keys;
  Key snapshot{.name = "snapshot",
               .shape = Shape::section,
               .sentence = "The database as it was taken for this campaign.",
               .json_only = true,
               .children = {text("artifact", "Digest of its tar.", digest_rule),
                            text("id", "Digest of its content.", digest_rule),
                            text("time", "As the database says.", short_text_rule)}};
  for (Key& key : snapshot.children) key.required = true;
  Key refused{.name = "refused",
              .shape = Shape::section,
              .sentence = "Why no snapshot could be taken.",
              .json_only = true,
              .children = {text("reason", "vulndb_corrupt or vulndb_unavailable.", refusal_rule),
                           text("message", "For people.", long_text_rule)}};
  Key key{.name = "scan",
          .shape = Shape::section,
          .sentence = "govulncheck; true, or a mapping.",
          .short_flag = "enabled"};
  key.children = {
      Key{.name = "enabled",
          .shape = Shape::flag,
          .sentence = "Whether it runs.",
          .fallback = "true"},
      text("database",
           "Vulnerability database: a folder, a .zip or .tar file relative to this file, or the "
           "URL of such an archive; the client takes a snapshot. Empty: the coordinator's.",
           path_rule),
      Key{.name = "timeout",
          .shape = Shape::duration,
          .sentence = "Limit of one scan.",
          .fallback = "10m",
          .min = 10,
          .max = kDay},
      std::move(snapshot), std::move(refused)};
  return key;
}

}  // namespace cupel::campaign
