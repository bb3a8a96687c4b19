#include "worker/core/scan/build_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace cupel::worker::scan {
namespace {

using testing::HasSubstr;

template <typename Number>
void put(std::string& file, std::size_t at, Number value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

/// A file with three sections: none, .go.buildinfo, names.
std::string elf(std::string_view body, std::string_view name = ".go.buildinfo") {
  const std::string names = std::string(1, '\0') + std::string(name) + '\0';
  std::string file(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  file.resize(64, '\0');
  const std::size_t body_at = file.size();
  file += body;
  const std::size_t names_at = file.size();
  file += names;
  const std::size_t table = file.size();
  file.resize(table + 3 * 64, '\0');
  put<std::uint64_t>(file, 0x28, table);
  put<std::uint16_t>(file, 0x3A, 64);
  put<std::uint16_t>(file, 0x3C, 3);
  put<std::uint16_t>(file, 0x3E, 2);
  put<std::uint32_t>(file, table + 64, 1);
  put<std::uint64_t>(file, table + 64 + 0x18, body_at);
  put<std::uint64_t>(file, table + 64 + 0x20, body.size());
  put<std::uint64_t>(file, table + 128 + 0x18, names_at);
  put<std::uint64_t>(file, table + 128 + 0x20, names.size());
  return file;
}

/// The section of a real govulncheck v1.9.0, built by go1.26.8.
std::string real_section() {
  std::ostringstream text;
  text << std::ifstream(std::string(CUPEL_SOURCE_DIR) +
                            "/tests/fixtures/scan-streams/govulncheck-1.9.0.buildinfo",
                        std::ios::binary)
              .rdbuf();
  return text.str();
}

ToolPin pin() {
  return {.package = "golang.org/x/vuln/cmd/govulncheck",
          .module = "golang.org/x/vuln",
          .version = "v1.9.0",
          .sum = "h1:12VaqnI9kJfqwRoPptxoqsUhQtdfrSbdksT7X/KY/sc="};
}

TEST(BuildInfo, ARealScannerTellsWhatItIs) {
  const auto info = read_build_info(elf(real_section()));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->go_version, "go1.26.8");
  EXPECT_EQ(info->package, pin().package);
  EXPECT_EQ(info->version, "v1.9.0");
  EXPECT_FALSE(info->replaced);
  EXPECT_EQ(info->settings.at("CGO_ENABLED"), "0");
  EXPECT_EQ(why_not_pinned(*info, pin(), "1.26.8"), "");
}

TEST(BuildInfo, EveryDifferenceFromThePinIsNamed) {
  const BuildInfo good = *read_build_info(elf(real_section()));
  const auto with = [&](auto change) {
    BuildInfo info = good;
    change(info);
    return why_not_pinned(info, pin(), "1.26.8");
  };
  EXPECT_THAT(with([](BuildInfo& i) { i.package = "other"; }), HasSubstr("package"));
  EXPECT_THAT(with([](BuildInfo& i) { i.module = "other"; }), HasSubstr("module"));
  EXPECT_THAT(with([](BuildInfo& i) { i.version = "v1.8.0"; }), HasSubstr("version"));
  EXPECT_THAT(with([](BuildInfo& i) { i.sum = ""; }), HasSubstr("sum"));
  EXPECT_THAT(with([](BuildInfo& i) { i.replaced = true; }), HasSubstr("replaced"));
  EXPECT_THAT(with([](BuildInfo& i) { i.go_version = "go1.26.7"; }), HasSubstr("Go version"));
  EXPECT_THAT(with([](BuildInfo& i) { i.settings.erase("-trimpath"); }), HasSubstr("trimpath"));
  EXPECT_THAT(with([](BuildInfo& i) { i.settings["CGO_ENABLED"] = "1"; }), HasSubstr("cgo"));
  EXPECT_THAT(with([](BuildInfo& i) { i.settings["GOOS"] = "plan9"; }), HasSubstr("system"));
  EXPECT_THAT(with([](BuildInfo& i) { i.settings["GOARCH"] = "386"; }), HasSubstr("machine"));
}

TEST(BuildInfo, AReplacedDependencyIsSeen) {
  std::string text = "path\tp\nmod\tm\tv1.0.0\th1:x\ndep\td\tv1.0.0\n=>\te\tv1.0.0\th1:y\n";
  const std::string marker(16, 'x');
  text = marker + text + marker;
  std::string section = std::string("\xff Go buildinf:") + '\x08' + '\x02' + std::string(16, '\0');
  section += std::string("\x08") + "go1.26.8" + static_cast<char>(text.size()) + text;
  ASSERT_LT(text.size(), 128U);
  const auto info = read_build_info(elf(section));
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->module, "m");
  EXPECT_TRUE(info->replaced);
}

TEST(BuildInfo, AFileThatIsNoGoProgramIsRefused) {
  EXPECT_FALSE(read_build_info(""));
  EXPECT_FALSE(read_build_info("#!/bin/sh\n"));
  EXPECT_FALSE(read_build_info(elf(real_section(), ".text")));
  EXPECT_FALSE(read_build_info(elf("")));
  EXPECT_FALSE(read_build_info(elf(real_section().substr(0, 40))));
}

TEST(BuildInfo, AFileCutAnywhereIsNeverRead) {
  const std::string whole = elf(real_section());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_build_info(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(BuildInfo, OffsetsFromNowhereAreRefused) {
  for (const std::size_t at : {std::size_t{0x28}, std::size_t{0x3C}, std::size_t{0x3E}}) {
    std::string file = elf(real_section());
    put<std::uint16_t>(file, at, 0xFFFF);
    EXPECT_FALSE(read_build_info(file)) << at;
  }
  std::string file = elf(real_section());
  put<std::uint64_t>(file, 0x28, ~std::uint64_t{0} - 10);
  EXPECT_FALSE(read_build_info(file));
}

}  // namespace
}  // namespace cupel::worker::scan
