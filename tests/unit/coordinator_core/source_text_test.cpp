#include "coordinator/core/source_text.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator {
namespace {

RepositorySource back_and_forth(const RepositorySource& source) {
  std::string text = "what stands before";
  const std::size_t at = text.size();
  append_source(text, source);
  return read_source(std::string_view(text).substr(at));
}

TEST(SourceText, KeepsEveryKindOfSource) {
  Digest digest;
  digest.bytes.fill(0xfe);
  for (const Source& source : {Source(GitSource{"https://example.com/a.git", "main"}),
                               Source(BundleSource{digest, std::string(40, 'a'), "./here"}),
                               Source(ModuleSource{"example.com/m", "v1.0.0"})}) {
    const RepositorySource kept = back_and_forth({source, {"a", "", "b/c"}});

    EXPECT_EQ(std::get<Source>(kept.source), source);
    EXPECT_EQ(kept.subdirs, (std::vector<std::string>{"a", "", "b/c"}));
    EXPECT_EQ(kept.name(), source_name(source));
  }
}

TEST(SourceText, ARepositoryIsCalledTheSameAtEveryCommit) {
  const auto called = [](Source source) {
    return back_and_forth({std::move(source), {}}).repository();
  };

  EXPECT_EQ(called(GitSource{"https://example.com/a.git", "main"}), "https://example.com/a.git");
  EXPECT_EQ(called(BundleSource{{}, std::string(40, 'a'), "./here"}),
            called(BundleSource{{}, std::string(40, 'b'), "./here"}));
  EXPECT_EQ(called(ModuleSource{"example.com/m", "v1.0.0"}), "example.com/m");
}

TEST(SourceText, KeepsTheNameOfARefusedFolder) {
  campaign::RepositoryEntry entry;
  entry.source = campaign::RefusedSource{.name = "../bad", .reason = {}, .message = "no"};

  const RepositorySource kept = back_and_forth(source_of_entry(entry));

  EXPECT_EQ(kept.name(), "../bad");
  EXPECT_EQ(source_of_row(row_source(entry), {}).name(), "../bad");
}

TEST(SourceText, KeepsLongFieldsAndAnyByte) {
  const std::string long_name(100'000, '\0');

  const RepositorySource kept = back_and_forth({Source(ModuleSource{long_name, "\n"}), {}});

  EXPECT_EQ(std::get<Source>(kept.source), Source(ModuleSource{long_name, "\n"}));
  EXPECT_TRUE(kept.subdirs.empty());
}

TEST(SourceText, ReadsARowAsItWroteIt) {
  campaign::RepositoryEntry entry;
  entry.source = GitSource{"https://example.com/a.git", "v1"};
  entry.subdirs = {"x"};

  const RepositorySource kept = source_of_row(row_source(entry), entry.subdirs);

  EXPECT_EQ(std::get<Source>(kept.source), Source(GitSource{"https://example.com/a.git", "v1"}));
  EXPECT_EQ(kept.subdirs, entry.subdirs);
}

TEST(SourceText, NeverReadsBeyondItsPiece) {
  std::string text;
  append_source(text, {Source(GitSource{"https://example.com/a.git", "main"}), {"dir"}});
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto kept = read_source(std::string_view(text).substr(0, size));
    EXPECT_LE(kept.name().size(), text.size());
  }
}

}  // namespace
}  // namespace cupel::coordinator
