// Images: inspect and list for runs; import, pull, tag and remove for `cupel image` alone.
#include "common/crash/crash_point.hpp"
#include "common/docker/client_impl.hpp"

#include <nlohmann/json.hpp>

namespace cupel::docker {

using detail::Answer;
using detail::Request;

namespace {

constexpr std::size_t kImageBytesMax = std::size_t{4} << 20U;
constexpr std::size_t kImageListBytesMax = std::size_t{32} << 20U;

/// References in paths keep their slashes and colons; anything else odd is refused.
bool is_image_ref(std::string_view text) {
  if (text.empty() || text.size() > 512 || text.front() == '-' || text.front() == '/') return false;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_./:@+").find(c) != std::string_view::npos;
    if (!plain) return false;
  }
  return text.find("..") == std::string_view::npos;
}

Error bad_ref(const std::string& image) {
  return {.code = Errc::bad_value,
          .what = "'" + image + "' can't be an image reference",
          .detail = {},
          .hint = {}};
}

/// Not there is its own error for images: the hint tells how to get one.
Result<void> image_status(const Answer& answer, const std::string& what) {
  const Result<void> status = engine::plain_status(answer.status, answer.body, what);
  if (status || status.error().code != Errc::not_found) return status;
  Error missing = status.error();
  missing.code = Errc::image_missing;
  return missing;
}

/// Feeds progress lines to the caller and remembers the last status (an import's image id).
detail::BodySink progress_sink(std::shared_ptr<engine::ProgressLines> lines, ProgressSink progress,
                               std::shared_ptr<std::string> last_status) {
  return
      [lines, progress = std::move(progress), last_status](std::string_view bytes) -> Result<bool> {
        const auto parsed = lines->feed(bytes);
        if (!parsed) return parsed.error();
        for (const TransferProgress& step : *parsed) {
          *last_status = step.status;
          if (progress) progress(step);
        }
        return true;
      };
}

}  // namespace

std::string label_filter(const std::vector<std::string>& labels) {
  // Podman refuses a filter without a value.
  if (labels.empty()) return engine::url_escape("{}");
  return engine::url_escape(nlohmann::json{{"label", labels}}.dump());
}

Awaitable<Result<ImageFacts>> Client::image_inspect(std::string image) {
  if (!is_image_ref(image)) co_return bad_ref(image);
  Request request{.what = "image inspect " + image,
                  .method = "GET",
                  .target = impl_->target("/images/" + image + "/json"),
                  .repeatable = true};
  request.budget = impl_->options.budgets.image;
  request.body_bytes_max = kImageBytesMax;
  const std::string what = request.what;
  CUPEL_CRASH_POINT("engine.image_inspect");
  co_return co_await Impl::exchange(
      impl_, "image_inspect", std::move(request), [what](const Answer& answer) {
        return parsed_body(answer, image_status(answer, what), engine::parse_image);
      });
}

Awaitable<Result<std::vector<ImageFacts>>> Client::image_list(std::vector<std::string> labels) {
  Request request{.what = "image list",
                  .method = "GET",
                  .target = impl_->target("/images/json?filters=" + label_filter(labels)),
                  .repeatable = true};
  request.budget = impl_->options.budgets.image;
  request.body_bytes_max = kImageListBytesMax;
  CUPEL_CRASH_POINT("engine.image_list");
  co_return co_await Impl::exchange(
      impl_, "image_list", std::move(request), [](const Answer& answer) {
        return parsed_body(answer, engine::plain_status(answer.status, answer.body, "image list"),
                           engine::parse_images);
      });
}

Awaitable<Result<std::string>> Client::image_import(ImportRequest import, ByteSource tar,
                                                    ProgressSink progress) {
  const std::string reference = import.repository + ":" + import.tag;
  if (!is_image_ref(reference)) co_return bad_ref(reference);
  // The tag within `repo`: Podman knows no `tag` beside it and would make it "latest".
  std::string query = "/images/create?fromSrc=-&repo=" + engine::url_escape(reference) +
                      "&message=" + engine::url_escape(import.message);
  for (const std::string& change : import.changes) {
    query += "&changes=" + engine::url_escape(change);
  }
  const auto last_status = std::make_shared<std::string>();
  Request request{.what = "image import " + reference,
                  .method = "POST",
                  .target = impl_->target(query),
                  .content_type = "application/x-tar"};
  request.budget = impl_->options.budgets.transfer;
  request.source = std::move(tar);
  request.sink =
      progress_sink(std::make_shared<engine::ProgressLines>(), std::move(progress), last_status);
  const std::string what = request.what;
  CallOf call(impl_, "image_import");
  const Result<Answer> answer =
      co_await detail::exchange(impl_->options.socket_path, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  const Result<void> status = engine::plain_status(answer->status, answer->body, what);
  if (!status) co_return call.failed(status.error());
  if (!last_status->starts_with("sha256:")) {
    co_return call.failed({.code = Errc::engine_protocol,
                           .what = what + ": no image id at the end of the engine's answer",
                           .detail = capped_detail(*last_status),
                           .hint = {}});
  }
  co_return call.done(Result<std::string>(*last_status));
}

Awaitable<Result<void>> Client::image_pull(std::string reference, ProgressSink progress) {
  const std::size_t at = reference.find("@sha256:");
  if (!is_image_ref(reference) || at == std::string::npos || at == 0 ||
      reference.size() != at + 8 + 64) {
    co_return Error{.code = Errc::bad_value,
                    .what = "'" + reference + "' names no digest, and only digests are pulled",
                    .detail = {},
                    .hint = {}};
  }
  // "fromImage=repository@sha256:..." without a tag pulls exactly that manifest.
  Request request{
      .what = "image pull " + reference,
      .method = "POST",
      .target = impl_->target("/images/create?fromImage=" + engine::url_escape(reference))};
  request.budget = impl_->options.budgets.transfer;
  request.sink = progress_sink(std::make_shared<engine::ProgressLines>(), std::move(progress),
                               std::make_shared<std::string>());
  const std::string what = request.what;
  CallOf call(impl_, "image_pull");
  const Result<Answer> answer =
      co_await detail::exchange(impl_->options.socket_path, std::move(request));
  if (!answer) co_return call.failed(answer.error());
  co_return call.done(image_status(*answer, what));
}

Awaitable<Result<void>> Client::image_tag(std::string image, std::string repository,
                                          std::string tag) {
  if (!is_image_ref(image)) co_return bad_ref(image);
  Request request{
      .what = "image tag " + image,
      .method = "POST",
      .target = impl_->target("/images/" + image + "/tag?repo=" + engine::url_escape(repository) +
                              "&tag=" + engine::url_escape(tag))};
  request.budget = impl_->options.budgets.image;
  const std::string what = request.what;
  co_return co_await Impl::exchange(
      impl_, "image_tag", std::move(request),
      [what](const Answer& answer) { return image_status(answer, what); });
}

Awaitable<Result<void>> Client::image_remove(std::string image) {
  if (!is_image_ref(image)) co_return bad_ref(image);
  Request request{.what = "image remove " + image,
                  .method = "DELETE",
                  .target = impl_->target("/images/" + image)};
  request.budget = impl_->options.budgets.image;
  const std::string what = request.what;
  co_return co_await Impl::exchange(
      impl_, "image_remove", std::move(request),
      [what](const Answer& answer) { return removal_of(answer, what); });
}

}  // namespace cupel::docker
