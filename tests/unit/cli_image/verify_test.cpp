// `cupel image verify --engine bubblewrap` on an unpacked image that something happened to.
#include "cli/image/commands.hpp"
#include "common/bubblewrap/image_store.hpp"
#include "common/images/recipe.hpp"
#include "common/images/select.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

namespace stdfs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void write(const stdfs::path& file, std::string_view text) {
  stdfs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

struct Answer {
  int exit_code;
  std::string out;
  std::string err;
};

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = bubblewrap::ImageWriter::begin(store(), identity_);
    ASSERT_TRUE(writer) << writer.error().text();
    write(writer->root() / "usr/local/go/bin/go", "the go command");
    write(writer->root() / "bin/busybox", "a shell");
    stdfs::create_symlink("busybox", writer->root() / "bin/sh");
    const auto done = writer->finish({{std::string(images::kLabelIdentity), identity_},
                                      {std::string(images::kLabelGo), entry_.go},
                                      {std::string(images::kLabelBase), "sha256:" + base_.hex()},
                                      {std::string(images::kLabelCc), "0"}});
    ASSERT_TRUE(done) << done.error().text();
  }

  [[nodiscard]] stdfs::path store() const { return dir_ / "images"; }
  [[nodiscard]] stdfs::path folder() const { return store() / identity_.substr(7); }
  [[nodiscard]] stdfs::path root() const { return folder() / "root"; }

  [[nodiscard]] Answer verify(bool json = false) const {
    ImageRequest request;
    request.verb = ImageRequest::Verb::verify;
    request.unpacked = true;
    request.json = json;
    request.image_dir = store();
    request.state_dir = dir_.path();
    std::ostringstream out;
    std::ostringstream err;
    const int code = run_image_command(std::move(request), out, err);
    return {code, out.str(), err.str()};
  }
  /// The line of the image that is not as it was made.
  std::string wrong_line() const {
    const Answer answer = verify();
    EXPECT_EQ(answer.exit_code, 1) << answer.out << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("WRONG go " + entry_.go)) << answer.err;
    return answer.out;
  }

  tests::TempDir dir_;
  const images::ImageEntry entry_ = *images::builtin_table().find("1.26");
  const Digest base_ = sha256("the archive of the base");
  const std::string identity_ = images::assembled_identity(base_, entry_.toolchain.h1);
};

TEST_F(VerifyTest, AnImageAsItWasMadeIsRight) {
  const Answer answer = verify();
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("ok    go " + entry_.go + " nocc " + identity_));
  EXPECT_THAT(verify(true).out, HasSubstr("\"ok\": true"));
}

TEST_F(VerifyTest, AFileWithAnotherContentIsNamed) {
  write(root() / "usr/local/go/bin/go", "the gx command");
  EXPECT_THAT(wrong_line(), HasSubstr("1 of its files are not as they were made: "
                                      "\"usr/local/go/bin/go\" has another content"));
}

TEST_F(VerifyTest, AMissingFileIsNamed) {
  stdfs::remove(root() / "bin/busybox");
  EXPECT_THAT(wrong_line(), HasSubstr("\"bin/busybox\" is missing"));
}

TEST_F(VerifyTest, AnAddedFileIsNamed) {
  write(root() / "usr/local/go/src/evil.go", "package evil");
  EXPECT_THAT(wrong_line(), AllOf(HasSubstr("\"usr/local/go/src/evil.go\" was added"),
                                  HasSubstr("2 of its files")));
}

TEST_F(VerifyTest, ALinkThatLeadsElsewhereIsNamed) {
  stdfs::remove(root() / "bin/sh");
  stdfs::create_symlink("/tmp/sh", root() / "bin/sh");
  EXPECT_THAT(wrong_line(), HasSubstr("\"bin/sh\" leads elsewhere"));
}

TEST_F(VerifyTest, AFileInPlaceOfALinkIsNamed) {
  stdfs::remove(root() / "bin/sh");
  write(root() / "bin/sh", "busybox");
  EXPECT_THAT(wrong_line(), HasSubstr("\"bin/sh\" is of another type"));
}

TEST_F(VerifyTest, AModeIsNamed) {
  ASSERT_EQ(::chmod((root() / "bin/busybox").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((root() / "bin").c_str(), 0777), 0);
  EXPECT_THAT(wrong_line(), AllOf(HasSubstr("\"bin/busybox\" has mode 0666 instead of 0"),
                                  HasSubstr("\"bin\" has mode 0777 instead of 0")));
}

TEST_F(VerifyTest, AnOwnerIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown((root() / "bin/busybox").c_str(), 65534, 65534), 0);
  EXPECT_THAT(wrong_line(), HasSubstr("\"bin/busybox\" belongs to 65534:65534 instead of 0:0"));
}

TEST_F(VerifyTest, OfManyTheFirstAreNamedAndAllAreCounted) {
  for (int i = 0; i < 9; ++i) write(root() / ("added-" + std::to_string(i)), "");
  EXPECT_THAT(wrong_line(), AllOf(HasSubstr("9 of its files"), HasSubstr("\"added-4\""),
                                  Not(HasSubstr("added-5")), HasSubstr("; ...)")));
}

TEST_F(VerifyTest, AListThatWasChangedOrIsGoneProvesNothing) {
  std::ofstream(folder() / "files", std::ios::app) << "100644 0 0 - \"added\"\n";
  EXPECT_THAT(wrong_line(), HasSubstr("the list of its files was changed"));
  stdfs::remove(folder() / "files");
  EXPECT_THAT(wrong_line(), HasSubstr("the list of its files can't be read"));
}

TEST_F(VerifyTest, ADescriptionThatIsNoneIsAnAnswerAndNotSilence) {
  write(folder() / "image.json", "{}");
  const Answer answer = verify();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, HasSubstr(folder().string()));
  EXPECT_THAT(answer.out, HasSubstr("build the image again"));
}

TEST_F(VerifyTest, WithoutAnImageItSaysHowToMakeOne) {
  stdfs::remove_all(folder());
  const Answer answer = verify();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.err, AllOf(HasSubstr("no toolchain image is in " + store().string()),
                                HasSubstr("cupel image build 1.26 --engine bubblewrap")));
}

}  // namespace
}  // namespace cupel::cli
