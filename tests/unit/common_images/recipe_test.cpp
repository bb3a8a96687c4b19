#include "common/images/recipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cupel::images {
namespace {

TEST(ProxiesOnly, DropsDirectAndOffAndKeepsSeparators) {
  EXPECT_EQ(proxies_only("https://a.example,direct"), "https://a.example");
  EXPECT_EQ(proxies_only("https://a.example|https://b.example,off"),
            "https://a.example|https://b.example");
  EXPECT_EQ(proxies_only("direct,https://a.example,direct|https://b.example"),
            "https://a.example,https://b.example");
  EXPECT_EQ(proxies_only("direct"), "");
  EXPECT_EQ(proxies_only(""), "");
  EXPECT_EQ(proxies_only(",,"), "");
}

TEST(ModuleZipH1, DoesNotDependOnTheOrderOfTheFiles) {
  const ZipFile a{"m@v1.0.0/a.go", sha256("package a\n")};
  const ZipFile b{"m@v1.0.0/go.mod", sha256("module m\n")};
  EXPECT_EQ(module_zip_h1({a, b}), module_zip_h1({b, a}));
  EXPECT_NE(module_zip_h1({a, b}), module_zip_h1({a}));
}

// The sum that the go command prints for the go.mod of golang.org/toolchain.
TEST(ModuleZipH1, IsTheSumThatGoWrites) {
  EXPECT_EQ(module_zip_h1({{"go.mod", sha256("module golang.org/toolchain\n")}}),
            "h1:8wlg68NqwW7eMnI1aABk/C2pDYXj8mrMY4TyRfiLeS0=");
}

TEST(AssembledIdentity, ChangesWithBaseAndToolchain) {
  const std::string one = assembled_identity(sha256("base"), "h1:a");
  EXPECT_EQ(one, assembled_identity(sha256("base"), "h1:a"));
  EXPECT_NE(one, assembled_identity(sha256("other"), "h1:a"));
  EXPECT_NE(one, assembled_identity(sha256("base"), "h1:b"));
  EXPECT_TRUE(one.starts_with("sha256:"));
}

TEST(ImportChanges, NameIdentityAndBaseSoThatTheOneCanBeComputedFromTheOther) {
  const ImageEntry entry{
      .minor = "1.26",
      .go = "1.26.8",
      .registry = {},
      .toolchain = {.path = "m", .version = "v", .h1 = "h1:x", .zip_sha256 = {}}};
  const auto changes = import_changes(entry, false, sha256("base"));
  const auto has = [&](const std::string& line) {
    return std::find(changes.begin(), changes.end(), line) != changes.end();
  };
  EXPECT_TRUE(has("LABEL cupel.image.identity=" + assembled_identity(sha256("base"), "h1:x")));
  EXPECT_TRUE(has("LABEL cupel.image.base=sha256:" + sha256("base").hex()));
  EXPECT_TRUE(has("LABEL cupel.image.cc=0"));
  EXPECT_TRUE(has("ENV GOTOOLCHAIN=local"));
}

TEST(ToolchainMode, MakesProgramsExecutable) {
  EXPECT_EQ(toolchain_mode("bin/go"), 0755U);
  EXPECT_EQ(toolchain_mode("pkg/tool/linux_amd64/compile"), 0755U);
  EXPECT_EQ(toolchain_mode("src/fmt/print.go"), 0644U);
}

}  // namespace
}  // namespace cupel::images
