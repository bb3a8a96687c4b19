#include "cli/image/root_tar.hpp"
#include "cli/image/unpack.hpp"
#include "cli/image/verbs.hpp"
#include "common/bubblewrap/image_store.hpp"
#include "common/fs/files.hpp"
#include "common/images/recipe.hpp"

#include <algorithm>
#include <ostream>

namespace cupel::cli {
namespace {

std::string named(const images::ImageEntry& entry, bool with_cc) {
  return "go " + entry.go + (with_cc ? "" : " without a C compiler");
}

/// Assembled images of this entry and variant that the engine holds.
std::vector<images::Available> same_kind(const std::vector<images::Available>& present,
                                         const images::ImageEntry& entry, bool with_cc) {
  std::vector<images::Available> same;
  std::ranges::copy_if(present, std::back_inserter(same), [&](const images::Available& image) {
    return image.minor == entry.minor && image.has_cc == with_cc &&
           image.identity != entry.registry.digest;
  });
  return same;
}

boost::asio::awaitable<Result<std::string>> assemble(ImageContext& context,
                                                     images::ImageEntry entry, BaseArchive base,
                                                     std::filesystem::path zip) {
  const bool with_cc = !context.request.without_cc;
  auto tar =
      RootTar::open(base.file, zip, entry.toolchain.path + "@" + entry.toolchain.version + "/");
  if (!tar) co_return tar.error();
  const auto [repository, tag] = images::repository_and_tag(entry, with_cc);
  docker::ImportRequest import{.repository = repository,
                               .tag = tag,
                               .changes = images::import_changes(entry, with_cc, base.digest),
                               .message = "assembled by cupel image build"};
  // The source is a coroutine only by its type: it never waits.
  RootTar* source = &*tar;
  docker::ByteSource pieces = [source]() -> boost::asio::awaitable<Result<std::string>> {
    return [](RootTar* from) -> boost::asio::awaitable<Result<std::string>> {
      co_return from->next();
    }(source);
  };
  context.place.note("importing " + named(entry, with_cc) + " into the engine");
  co_return co_await context.client->image_import(std::move(import), std::move(pieces));
}

/// The labels of the import, as pairs: an unpacked image has the same identity.
bubblewrap::Labels labels_of(const std::vector<std::string>& changes) {
  constexpr std::string_view kLabel = "LABEL ";
  bubblewrap::Labels labels;
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    if (!change.starts_with(kLabel) || equals == std::string::npos) continue;
    labels.emplace_back(change.substr(kLabel.size(), equals - kLabel.size()),
                        change.substr(equals + 1));
  }
  return labels;
}

/// The same files in a folder. Returns the image's id, which is its identity.
Result<std::string> unpack(ImageContext& context, const images::ImageEntry& entry,
                           const BaseArchive& base, const std::filesystem::path& zip) {
  const bool with_cc = !context.request.without_cc;
  auto tar =
      RootTar::open(base.file, zip, entry.toolchain.path + "@" + entry.toolchain.version + "/");
  if (!tar) return tar.error();
  std::string id = images::assembled_identity(base.digest, entry.toolchain.h1);
  auto writer = bubblewrap::ImageWriter::begin(context.image_dir, id);
  if (!writer) return writer.error();
  context.place.note("unpacking " + named(entry, with_cc) + " into " + context.image_dir.string());
  if (auto unpacked = unpack_tar([&tar] { return tar->next(); }, writer->root()); !unpacked)
    return unpacked.error();
  if (auto done = writer->finish(labels_of(images::import_changes(entry, with_cc, base.digest)));
      !done) {
    return done.error();
  }
  return id;
}

boost::asio::awaitable<Result<std::string>> make_image(ImageContext& context,
                                                       images::ImageEntry entry, BaseArchive base,
                                                       std::filesystem::path zip) {
  if (context.client == nullptr) co_return unpack(context, entry, base, zip);
  co_return co_await assemble(context, std::move(entry), std::move(base), std::move(zip));
}

boost::asio::awaitable<Result<void>> remove_image(ImageContext& context, std::string id) {
  if (context.client == nullptr) co_return bubblewrap::remove_image(context.image_dir, id);
  co_return co_await context.client->image_remove(std::move(id));
}

boost::asio::awaitable<Result<void>> build_one(ImageContext& context, images::ImageEntry entry) {
  const bool with_cc = !context.request.without_cc;
  const auto present = co_await present_images(context);
  if (!present) co_return present.error();
  const auto same = same_kind(*present, entry, with_cc);
  const bool wanted_anew = context.request.again || context.request.fresh_base;
  for (const images::Available& image : same) {
    if (wanted_anew || image.go_version != entry.go) continue;
    *context.out << named(entry, with_cc) << ": is here, " << image.identity << "\n";
    co_return boost::system::in_place_value;
  }
  if (entry.toolchain.h1.empty()) {
    co_return Error{.code = Errc::not_supported,
                    .what = "the table pins no toolchain for go " + entry.minor,
                    .detail = {},
                    .hint = "cupel image pull " + entry.minor};
  }
  const auto base =
      ensure_base(context.place, with_cc, context.request.mirror, context.request.fresh_base);
  if (!base) co_return base.error();
  // One fresh base serves all versions of the request.
  context.request.fresh_base = false;
  const auto zip = ensure_toolchain(context.place, entry);
  if (!zip) co_return zip.error();
  const std::string identity = images::assembled_identity(base->digest, entry.toolchain.h1);
  const auto id = co_await make_image(context, entry, *base, *zip);
  if (!id) co_return id.error();
  *context.out << named(entry, with_cc) << ": built, " << identity << "\n";
  for (const images::Available& image : same) {
    if (image.engine_id == *id) continue;
    // The one that this replaces; one in use stays until somebody builds again.
    const auto removed = co_await remove_image(context, image.engine_id);
    if (!removed) context.place.note("kept the image that it replaces: " + removed.error().what);
  }
  co_return boost::system::in_place_value;
}

boost::asio::awaitable<Result<void>> pull_one(ImageContext& context, images::ImageEntry entry) {
  if (entry.registry.digest.empty()) {
    co_return Error{.code = Errc::not_supported,
                    .what = "the table has no registry image for go " + entry.minor,
                    .detail = {},
                    .hint = "cupel image build " + entry.minor};
  }
  const auto present = co_await present_images(context);
  if (!present) co_return present.error();
  const auto here = [&](const images::Available& image) {
    return image.identity == entry.registry.digest;
  };
  if (!context.request.again && std::ranges::any_of(*present, here)) {
    *context.out << "go " << entry.minor << ": is here, " << entry.registry.digest << "\n";
    co_return boost::system::in_place_value;
  }
  const std::string& registry = context.request.registry;
  const std::string reference =
      (registry.empty() ? "" : registry + "/") + entry.registry.name + "@" + entry.registry.digest;
  context.place.note("pulling " + reference + " (" + entry.registry.tag + ")");
  if (const auto pulled = co_await context.client->image_pull(reference); !pulled) {
    Error error = pulled.error();
    if (error.hint.empty()) {
      error.hint = "where no image registry is in reach: cupel image build " + entry.minor;
    }
    co_return error;
  }
  *context.out << "go " << entry.minor << ": pulled, " << entry.registry.digest << "\n";
  co_return boost::system::in_place_value;
}

}  // namespace

ExitCode image_build(ImageContext& context) {
  const auto entries = requested_entries(context);
  if (!entries) co_return entries.error();
  if (const auto made = fs::ensure_private_dir(context.place.dir); !made) co_return made.error();
  // Two builds at once would fetch and write the same archives.
  const auto lock = fs::FileLock::take(context.place.dir / "lock");
  if (!lock) co_return lock.error();
  for (const images::ImageEntry& entry : *entries) {
    if (const auto built = co_await build_one(context, entry); !built) co_return built.error();
  }
  co_return 0;
}

ExitCode image_pull(ImageContext& context) {
  const auto entries = requested_entries(context);
  if (!entries) co_return entries.error();
  for (const images::ImageEntry& entry : *entries) {
    if (const auto pulled = co_await pull_one(context, entry); !pulled) co_return pulled.error();
  }
  co_return 0;
}

}  // namespace cupel::cli
