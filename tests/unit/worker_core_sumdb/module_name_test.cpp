#include "worker/core/sumdb/module_name.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::sumdb {
namespace {

TEST(ParseEscaped, ReadsWhatTheGoCommandWrites) {
  const auto module = parse_escaped("github.com/!burnt!sushi/toml", "v1.3.2-!r!c1");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->path, "github.com/BurntSushi/toml");
  EXPECT_EQ(module->version, "v1.3.2-RC1");
  EXPECT_EQ(file_stem(*module), "github.com/!burnt!sushi/toml/@v/v1.3.2-!r!c1");
}

TEST(ParseEscaped, TakesFullVersionsOnly) {
  for (const char* version :
       {"v1.2.3", "v2.0.0+incompatible", "v0.0.0-20240102030405-0123456789ab", "v1.0.0-rc.1"}) {
    EXPECT_TRUE(parse_escaped("a.example/m", version)) << version;
  }
  for (const char* version : {"", "v1", "v1.2", "latest", "list", "master", "1.2.3", "v1.2.3+dirty",
                              "v01.2.3", "v1.2.3/..", "v1.2.3 "}) {
    EXPECT_FALSE(parse_escaped("a.example/m", version)) << version;
  }
}

TEST(ParseEscaped, RefusesPathsThatNoModuleHas) {
  for (const char* path :
       {"", "m", "golang/x", "/a.example/m", "a.example//m", "a.example/m/", "a.example/../m",
        "../a.example", "a.example/.git", "a.example/m.", "a.example/M", "a.example/!M",
        "a.example/m!", "a.example/m n", "a.example/m@v", "-a.example/m", "a.example/\xc3\xa4"}) {
    EXPECT_FALSE(parse_escaped(path, "v1.0.0")) << path;
  }
}

}  // namespace
}  // namespace cupel::worker::sumdb
