#include "cli/image/root_tar.hpp"

#include "cli/image/parts.hpp"
#include "common/fs/files.hpp"
#include "common/images/recipe.hpp"

#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>
#include <fstream>
#include <map>
#include <memory>

namespace cupel::cli {
namespace {

constexpr const char* kPrefix = "golang.org/toolchain@v0.0.1-go1.26.8.linux-amd64/";

class RootTarTest : public ::testing::Test {
 protected:
  RootTarTest() { std::filesystem::create_directories(dir_); }
  ~RootTarTest() override { std::filesystem::remove_all(dir_); }

  using Files = std::vector<std::pair<std::string, std::string>>;

  std::filesystem::path write(const char* name, bool zip, const Files& files) {
    const auto path = dir_ / name;
    archive* handle = archive_write_new();
    if (zip) {
      archive_write_set_format_zip(handle);
    } else {
      archive_write_set_format_ustar(handle);
    }
    archive_write_open_filename(handle, path.c_str());
    for (const auto& [file, text] : files) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, file.c_str());
      archive_entry_set_filetype(entry, file.ends_with('/') ? AE_IFDIR : AE_IFREG);
      archive_entry_set_perm(entry, file.ends_with('/') ? 0755 : 0640);
      archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
      archive_write_header(handle, entry);
      archive_write_data(handle, text.data(), text.size());
      archive_entry_free(entry);
    }
    archive_write_free(handle);
    return path;
  }

  struct Got {
    std::string text;
    unsigned mode = 0;
  };

  static Result<std::map<std::string, Got>> read_all(RootTar tar) {
    std::string bytes;
    for (;;) {
      auto piece = tar.next();
      if (!piece) return piece.error();
      if (piece->empty()) break;
      bytes += *piece;
    }
    std::map<std::string, Got> files;
    archive* handle = archive_read_new();
    archive_read_support_format_tar(handle);
    archive_read_open_memory(handle, bytes.data(), bytes.size());
    archive_entry* entry = nullptr;
    while (archive_read_next_header(handle, &entry) == ARCHIVE_OK) {
      std::string text(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
      archive_read_data(handle, text.data(), text.size());
      const char* name = archive_entry_pathname_utf8(entry);
      files[name == nullptr ? "?" : name] = {text, archive_entry_perm(entry)};
    }
    archive_read_free(handle);
    return files;
  }

  std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() / ("cupel-root-tar-" + fs::random_hex(8));
};

TEST_F(RootTarTest, PutsTheToolchainBelowUsrLocalGoAndMakesItsProgramsExecutable) {
  const std::string p = kPrefix;
  const auto base =
      write("base.tar", false, {{"./", ""}, {"./etc/", ""}, {"./etc/passwd", "root"}});
  const auto zip =
      write("go.zip", true, {{p + "bin/go", "ELF"}, {p + "src/fmt/print.go", "package fmt"}});

  const auto files = read_all(RootTar::open(base, zip, p).value());

  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(files->at("./etc/passwd").text, "root");
  EXPECT_EQ(files->at("./etc/passwd").mode, 0640U);
  EXPECT_EQ(files->at("usr/local/go/bin/go").mode, 0755U);
  EXPECT_EQ(files->at("usr/local/go/src/fmt/print.go").mode, 0644U);
  EXPECT_EQ(files->at("usr/local/go/src/fmt/print.go").text, "package fmt");
  EXPECT_TRUE(files->contains("usr/local/go/") || files->contains("usr/local/go"));
}

TEST_F(RootTarTest, CopiesFilesThatAreLargerThanAPiece) {
  const std::string large(1'500'000, 'x');
  const auto base = write("base.tar", false, {{"./large", large}});
  const auto zip = write("go.zip", true, {{std::string(kPrefix) + "VERSION", large}});
  const auto files = read_all(RootTar::open(base, zip, kPrefix).value());
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(files->at("./large").text, large);
  EXPECT_EQ(files->at("usr/local/go/VERSION").text, large);
}

TEST_F(RootTarTest, RefusesNamesThatLeaveTheirFolder) {
  const auto base = write("base.tar", false, {{"./etc/x", "1"}});
  const auto outside = write("outside.zip", true, {{"elsewhere/x", "1"}});
  const auto upwards = write("upwards.zip", true, {{std::string(kPrefix) + "../../x", "1"}});
  EXPECT_EQ(read_all(RootTar::open(base, outside, kPrefix).value()).error().code, Errc::io_error);
  EXPECT_EQ(read_all(RootTar::open(base, upwards, kPrefix).value()).error().code, Errc::io_error);
}

TEST_F(RootTarTest, SaysThatAnArchiveIsCutOff) {
  const auto base = write("base.tar", false, {{"./etc/x", std::string(100'000, 'x')}});
  const auto zip = write("go.zip", true, {{std::string(kPrefix) + "VERSION", "1"}});
  std::filesystem::resize_file(base, 50'000);
  EXPECT_EQ(read_all(RootTar::open(base, zip, kPrefix).value()).error().code, Errc::io_error);
}

TEST_F(RootTarTest, AcceptsAZipByItsDigestOrByTheSumOverItsFiles) {
  const auto zip = write("go.zip", true, {{"m@v1/a", "1"}});
  const std::string h1 = images::module_zip_h1({{.name = "m@v1/a", .sha256 = sha256("1")}});
  const std::string hex = file_digest(zip).value().hex();
  const std::string other(64, '0');
  EXPECT_TRUE(
      check_toolchain_zip(zip, {.path = "m", .version = "v1", .h1 = "h1:no", .zip_sha256 = hex}));
  EXPECT_TRUE(
      check_toolchain_zip(zip, {.path = "m", .version = "v1", .h1 = h1, .zip_sha256 = other}));
  EXPECT_EQ(
      check_toolchain_zip(zip, {.path = "m", .version = "v1", .h1 = "h1:no", .zip_sha256 = other})
          .error()
          .code,
      Errc::artifact_mismatch);
}

}  // namespace
}  // namespace cupel::cli
