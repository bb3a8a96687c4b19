#include "common/gitfmt/object.hpp"

#include <gtest/gtest.h>

namespace cupel::gitfmt {
namespace {

using namespace std::string_literals;

const std::string kEmptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

std::string raw(const ObjectId& id) {
  return {id.bytes.begin(), id.bytes.end()};
}

TEST(GitObject, IdsAreThoseOfGit) {
  EXPECT_EQ(object_id(ObjectType::blob, "").hex(), kEmptyBlob);
  EXPECT_EQ(object_id(ObjectType::tree, "").hex(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
  EXPECT_EQ(object_id(ObjectType::blob, "hello\n").hex(),
            "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(GitObject, IdsAreFortyHexDigits) {
  EXPECT_EQ(ObjectId::parse(kEmptyBlob)->hex(), kEmptyBlob);
  EXPECT_FALSE(ObjectId::parse(kEmptyBlob.substr(1)).has_value());
  EXPECT_FALSE(ObjectId::parse(kEmptyBlob + "0").has_value());
  EXPECT_FALSE(ObjectId::parse("g" + kEmptyBlob.substr(1)).has_value());
}

TEST(GitObject, ATreeComesBackAsItWasWritten) {
  const ObjectId id = *ObjectId::parse(kEmptyBlob);
  const auto bytes = format_tree({{kModeFile, "b", id},
                                  {kModeTree, "a", id},
                                  {kModeFile, "a.go", id},
                                  {kModeExecutable, "caf\xe9", id}});
  const auto entries = parse_tree(bytes);
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 4U);
  // "a/" sorts behind "a.go".
  EXPECT_EQ(entries->at(0).name, "a.go");
  EXPECT_EQ(entries->at(1).name, "a");
  EXPECT_EQ(entries->at(1).mode, kModeTree);
  EXPECT_EQ(entries->at(3).name, "caf\xe9");
  EXPECT_EQ(format_tree(*entries), bytes);
}

TEST(GitObject, BrokenTreesAreErrors) {
  const std::string id = raw(*ObjectId::parse(kEmptyBlob));
  for (const std::string& bad :
       {"100644"s, "100644 a"s, "100644 a\0"s, "100644 a\0"s + id.substr(1), "10x644 a\0"s + id,
        " a\0"s + id, "10064400 a\0"s + id, "100644 a\0"s + id + "x"}) {
    EXPECT_FALSE(parse_tree(bad).has_value()) << bad;
  }
}

TEST(GitObject, ACommitSaysWhenItWasMade) {
  const std::string head = "tree " + kEmptyBlob + "\nauthor a <a@example.com> 5 +0000\n";
  EXPECT_EQ(commit_time(head + "committer a b <a@example.com> 1700000000 +0230\n\nm").value(),
            1'700'000'000);
  EXPECT_EQ(commit_time(head + "committer  7 <7 8> 0 -0000\n").value(), 0);
  for (const std::string bad :
       {"", "\ncommitter a <a> 1 +0000\n", "committer ", "committer a", "committer a b",
        "committer a <a> -1 +0000\n", "committer a <a> 253402300800 +0000\n",
        "committer a <a> 99999999999999999999 +0000\n", "committer a <a> 1x +0000\n"}) {
    EXPECT_FALSE(commit_time(head + bad).has_value()) << bad;
  }
}

TEST(GitObject, CommitsAndTagsNameTheirTargets) {
  EXPECT_EQ(commit_tree("tree " + kEmptyBlob + "\nauthor x\n\nm")->hex(), kEmptyBlob);
  EXPECT_FALSE(commit_tree("author x\ntree " + kEmptyBlob + "\n").has_value());
  EXPECT_FALSE(commit_tree("tree " + kEmptyBlob).has_value());
  const auto tag = tag_target("object " + kEmptyBlob + "\ntype blob\ntag x\n");
  ASSERT_TRUE(tag.has_value());
  EXPECT_EQ(tag->type, ObjectType::blob);
  EXPECT_FALSE(tag_target("object " + kEmptyBlob + "\ntype elephant\n").has_value());
  EXPECT_FALSE(tag_target("object 123\ntype blob\n").has_value());
}

}  // namespace
}  // namespace cupel::gitfmt
