#include "coordinator/core/source_text.hpp"

#include "common/core/json.hpp"
#include "common/core/json_text.hpp"
#include "common/core/overloaded.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cupel::coordinator {
namespace {

constexpr char kGit = 'g';
constexpr char kBundle = 'b';
constexpr char kModule = 'm';
constexpr char kRefused = 'r';

// A size in sevens of bits, then the bytes.
void append_field(std::string& text, std::string_view field) {
  std::size_t size = field.size();
  for (; size >= 0x80; size >>= 7U) text += static_cast<char>((size & 0x7fU) | 0x80U);
  text += static_cast<char>(size);
  text += field;
}

std::string take_field(std::string_view& piece) {
  std::size_t size = 0;
  for (unsigned shift = 0; !piece.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(piece.front());
    piece.remove_prefix(1);
    size |= static_cast<std::size_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) break;
  }
  const std::string_view field = piece.substr(0, size);
  piece.remove_prefix(field.size());
  return std::string(field);
}

}  // namespace

std::string RepositorySource::name() const {
  const auto* refused = std::get_if<RefusedName>(&source);
  return refused != nullptr ? refused->name : source_name(std::get<Source>(source));
}

std::string RepositorySource::repository() const {
  const auto* refused = std::get_if<RefusedName>(&source);
  if (refused != nullptr) return refused->name;
  return std::visit(Overloaded{[](const GitSource& git) { return git.url; },
                               [](const BundleSource& bundle) { return bundle.name; },
                               [](const ModuleSource& module) { return module.path; }},
                    std::get<Source>(source));
}

RepositorySource source_of_entry(const campaign::RepositoryEntry& entry) {
  RepositorySource out;
  out.source = std::visit(
      Overloaded{
          [](const campaign::LocalPath& path) -> std::variant<Source, RefusedName> {
            return RefusedName{path.path};
          },
          [](const campaign::RefusedSource& refused) -> std::variant<Source, RefusedName> {
            return RefusedName{refused.name};
          },
          [](const auto& source) -> std::variant<Source, RefusedName> { return Source(source); }},
      entry.source);
  out.subdirs = entry.subdirs;
  return out;
}

RepositorySource source_of_row(const std::string& text, std::vector<std::string> subdirs) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  RepositorySource out;
  out.subdirs = std::move(subdirs);
  if (!json.is_object()) return out;
  if (const auto refused = json.find("refused"); refused != json.end() && refused->is_object()) {
    out.source = RefusedName{refused->value("name", "")};
  } else if (auto source = source_from_json(json)) {
    out.source = *std::move(source);
  }
  return out;
}

std::string row_source(const campaign::RepositoryEntry& entry) {
  return std::visit(
      Overloaded{
          [](const campaign::LocalPath& path) { return JsonLine().text("path", path.path).take(); },
          [](const campaign::RefusedSource& refused) {
            const nlohmann::json json = {{"refused",
                                          {{"name", refused.name},
                                           {"reason", cupel::name(refused.reason)},
                                           {"message", refused.message}}}};
            return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
          },
          [](const auto& source) { return json_text(Source(source)); }},
      entry.source);
}

void append_source(std::string& text, const RepositorySource& source) {
  if (const auto* refused = std::get_if<RefusedName>(&source.source)) {
    text += kRefused;
    append_field(text, refused->name);
  } else {
    std::visit(Overloaded{[&text](const GitSource& git) {
                            text += kGit;
                            append_field(text, git.url);
                            append_field(text, git.ref);
                          },
                          [&text](const BundleSource& bundle) {
                            text += kBundle;
                            text.append(bundle.artifact.bytes.begin(), bundle.artifact.bytes.end());
                            append_field(text, bundle.commit);
                            append_field(text, bundle.name);
                          },
                          [&text](const ModuleSource& module) {
                            text += kModule;
                            append_field(text, module.path);
                            append_field(text, module.version);
                          }},
               std::get<Source>(source.source));
  }
  for (const std::string& subdir : source.subdirs) append_field(text, subdir);
}

RepositorySource read_source(std::string_view piece) {
  RepositorySource out;
  if (piece.empty()) return out;
  const char kind = piece.front();
  piece.remove_prefix(1);
  switch (kind) {
    case kGit: {
      GitSource git;
      git.url = take_field(piece);
      git.ref = take_field(piece);
      out.source = Source(std::move(git));
      break;
    }
    case kBundle: {
      BundleSource bundle;
      const std::string_view digest = piece.substr(0, bundle.artifact.bytes.size());
      std::ranges::transform(digest, bundle.artifact.bytes.begin(),
                             [](char byte) { return static_cast<std::uint8_t>(byte); });
      piece.remove_prefix(digest.size());
      bundle.commit = take_field(piece);
      bundle.name = take_field(piece);
      out.source = Source(std::move(bundle));
      break;
    }
    case kModule: {
      ModuleSource module;
      module.path = take_field(piece);
      module.version = take_field(piece);
      out.source = Source(std::move(module));
      break;
    }
    default: out.source = RefusedName{take_field(piece)}; break;
  }
  while (!piece.empty()) out.subdirs.push_back(take_field(piece));
  return out;
}

}  // namespace cupel::coordinator
