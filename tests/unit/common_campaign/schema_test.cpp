#include "common/campaign/schema.hpp"

#include "common/campaign/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <set>

namespace cupel::campaign {
namespace {

using nlohmann::json;

void collect(const json& schema, const std::string& path, std::set<std::string>& keys) {
  if (schema.contains("items")) collect(schema["items"], path + "[]", keys);
  if (schema.contains("anyOf")) {
    for (const json& one : schema["anyOf"]) {
      if (!one.contains("items")) collect(one, path, keys);  // the list is short for a child
    }
  }
  if (!schema.contains("properties")) return;
  for (const auto& [name, child] : schema["properties"].items()) {
    const std::string here = path.empty() ? name : path + "." + name;
    keys.insert(here);
    collect(child, here, keys);
  }
}

/// A document with one wrong-shaped value at `path`, to see whether the parser knows the key.
std::string document_with(const std::string& path) {
  std::string before;
  std::string after;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    std::string word = path.substr(at, end - at);
    if (word.ends_with("[]")) {
      before += "{" + word.substr(0, word.size() - 2) + ": [";
      after = "]}" + after;
    } else {
      before += "{" + word + ": ";
      after = "}" + after;
    }
    at = end + 1;
  }
  return before + "[[probe]]" + after;
}

TEST(CampaignSchema, EveryKeyOfTheSchemaIsKnownToTheParser) {
  std::set<std::string> keys;
  collect(json::parse(json_schema()), "", keys);
  ASSERT_GT(keys.size(), 60U);

  for (const std::string& key : keys) {
    const auto result = parse_yaml(document_with(key), "c.yaml");
    for (const Diagnostic& diagnostic : result.diagnostics) {
      EXPECT_NE(diagnostic.code, Errc::unknown_key) << key << ": " << diagnostic.text();
    }
  }
}

TEST(CampaignSchema, NamesTheKeysOfTheCanonicalFormAndNoOthersThere) {
  std::set<std::string> keys;
  collect(json::parse(json_schema()), "", keys);
  Campaign campaign;
  campaign.settings.custom = {{"lint", {"true"}, 1}};
  campaign.repositories = {{GitSource{"https://h/x", "r"}, {"s"}, {}, {}}};
  const json canonical = json::parse(to_canonical_json(campaign));

  const std::function<void(const json&, const std::string&)> visit = [&](const json& node,
                                                                         const std::string& path) {
    if (node.is_array()) {
      for (const json& item : node) visit(item, path + "[]");
    }
    if (!node.is_object()) return;
    for (const auto& [name, child] : node.items()) {
      const std::string here = path.empty() ? name : path + "." + name;
      EXPECT_TRUE(keys.contains(here)) << here;
      visit(child, here);
    }
  };
  visit(canonical, "");
}

TEST(CampaignSchema, EveryKeyIsInTheDocumentation) {
  std::ifstream in(CUPEL_SOURCE_DIR "/docs/campaign-file.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::set<std::string> keys;
  collect(json::parse(json_schema()), "", keys);

  for (const std::string& key : keys) {
    const std::size_t dot = key.find_last_of('.');
    const std::string leaf = dot == std::string::npos ? key : key.substr(dot + 1);
    EXPECT_NE(text.find(leaf), std::string::npos) << key << " is not in docs/campaign-file.md";
  }
}

TEST(CampaignSchema, TheExampleOfTheDocumentationIsAValidCampaign) {
  std::ifstream in(CUPEL_SOURCE_DIR "/docs/campaign-file.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t begin = text.find("```yaml\n") + 8;
  const std::string yaml = text.substr(begin, text.find("```", begin) - begin);

  const auto result = parse_yaml(yaml, "doc.yaml", [](const std::string&) -> Result<std::string> {
    return std::string("https://h/x");
  });

  ASSERT_TRUE(result) << text::render(result.diagnostics);
  Campaign defaults;
  defaults.name = "nightly";
  defaults.repositories = result.campaign->repositories;
  EXPECT_EQ(*result.campaign, defaults);
}

}  // namespace
}  // namespace cupel::campaign
