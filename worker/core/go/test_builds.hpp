/// Packages of a go test stream that could not be built or loaded (rules P5, P6, B3, B5). Internal
/// to the judge.
#pragma once

#include "worker/core/go/assess.hpp"

#include <set>
#include <string>
#include <string_view>

namespace cupel::worker::go {

class TestBuilds {
 public:
  /// The arguments outlive the object.
  TestBuilds(const Surroundings& around, const TestStream& stream, const BuildText& text,
             Findings& findings, Assessment& out)
      : around_(around), stream_(stream), text_(text), findings_(findings), out_(out) {}

  /// A package whose end says "[build failed]" or "[setup failed]".
  void broken(const PackageRecord& package);
  /// Failed builds that no package names as its own: of dependencies, and where the stream broke
  /// off.
  void unreferenced();
  /// What stderr says about the package: up to Go 1.23 the only place for it.
  [[nodiscard]] std::string stderr_text(std::string_view package) const;

 private:
  [[nodiscard]] std::string canonical(std::string_view import_path) const;
  void own_failure(const std::string& package, const BuildRecord* build);
  void broken_by_text(const PackageRecord& package);
  void vet_inside_test(const std::string& package, const BuildSection& section);

  const Surroundings& around_;
  const TestStream& stream_;
  const BuildText& text_;
  Findings& findings_;
  Assessment& out_;
  std::set<std::string> referenced_;     ///< Builds that a package's end names.
  std::set<std::string> blamed_builds_;  ///< Those named only by dependents.
  std::set<std::string> reported_;       ///< Packages that have their build failure.
  std::set<std::string> culprits_;
};

}  // namespace cupel::worker::go
