#include "worker/core/seeds/dependency_key.hpp"

#include <gmock/gmock.h>

#include <set>

namespace cupel::worker::seeds {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

DependencyInputs inputs() {
  return {.recipe = "d1",
          .image = "sha256:aa",
          .go_mod = "module m\n",
          .go_sum = "d v1.0.0 h1:x\n",
          .tags = {"a", "b"},
          .race = false};
}

TEST(DependencyKey, IsTheSameForTheSameInputs) {
  EXPECT_EQ(dependency_key(inputs()), dependency_key(inputs()));
  EXPECT_THAT(dependency_key(inputs()), SizeIs(64));
}

TEST(DependencyKey, DiffersWhereAnyInputDoes) {
  std::vector<DependencyInputs> others(9, inputs());
  others[1].recipe = "d2";
  others[2].image = "sha256:bb";
  others[3].go_mod = "module n\n";
  others[4].go_sum = "d v1.0.0 h1:y\n";
  others[5].tags = {"a"};
  others[6].tags = {"ab"};
  others[7].race = true;
  others[8].go_mod = "module m\nd v1.0.0 h1:x\n";  // the same text, cut elsewhere
  others[8].go_sum = "";
  std::set<std::string> keys;
  for (const DependencyInputs& one : others) keys.insert(dependency_key(one));
  EXPECT_EQ(keys.size(), others.size());
}

TEST(WhyNoDependencySeed, NamesWhatBelongsToTheRepository) {
  const std::string plain = "module m\n\ngo 1.21\n\nrequire d v1.0.0\n";
  EXPECT_EQ(why_no_dependency_seed(plain, false, ""), "");
  EXPECT_EQ(why_no_dependency_seed("module m\n\ngo 1.21\n", false, ""), kNothingToSeed);
  EXPECT_THAT(why_no_dependency_seed(plain, true, ""), HasSubstr("vendored"));
  EXPECT_THAT(why_no_dependency_seed(plain, false, "go.work"), HasSubstr("workspace"));
  EXPECT_THAT(why_no_dependency_seed(plain + "replace d => ./d\n", false, ""),
              HasSubstr("directory"));
  EXPECT_EQ(why_no_dependency_seed(plain + "replace d => e v1.2.0\n", false, ""), "");
  EXPECT_THAT(why_no_dependency_seed("what (", false, ""), HasSubstr("can't be read"));
}

}  // namespace
}  // namespace cupel::worker::seeds
