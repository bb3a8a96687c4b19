#include "worker/git/fetch.hpp"

#include "common/fs/files.hpp"
#include "common/gitfmt/object.hpp"
#include "common/source/git_folder.hpp"
#include "common/source/object_store.hpp"
#include "worker/git/child_process.hpp"
#include "worker/git/git_words.hpp"
#include "worker/git/repository_config.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;

constexpr const char* kTarget = "refs/cupel/target";
constexpr std::size_t kListingBytesMax = 64 << 20;

std::uint64_t size_of(const stdfs::path& dir) {
  std::uint64_t bytes = 0;
  std::error_code ec;
  for (stdfs::recursive_directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    struct stat info{};
    if (::lstat(it->path().c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_size);
  }
  return bytes;
}

SourceRefusal no_ref(const std::string& ref, const std::string& label) {
  return refusal(
      Reason::ref_not_found, FindingKind::acquire_error,
      "ref_not_found: " + label + " has no branch, tag or commit '" + capped_detail(ref) + "'");
}

/// Names that git itself would not create; also what would be a pattern or an option.
bool is_plausible_ref(const std::string& ref) {
  if (ref.size() > 1024 || ref.find("..") != std::string::npos) return false;
  return std::ranges::none_of(ref, [](unsigned char c) {
    return c <= 0x20 || c == 0x7f || c == '*' || c == '?' || c == '[' || c == ':' || c == '^' ||
           c == '~' || c == '\\';
  });
}

/// "<id>\t<name>" lines of ls-remote; nothing for ids of another length: another object format.
std::optional<std::map<std::string, std::string>> parse_listing(const std::string& out) {
  std::map<std::string, std::string> refs;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = std::min(out.find('\n', at), out.size());
    const std::string line = out.substr(at, end - at);
    at = end + 1;
    const auto tab = line.find('\t');
    if (tab == 64) return std::nullopt;
    if (tab == 40) refs.emplace(line.substr(tab + 1), line.substr(0, tab));
  }
  return refs;
}

/// The full name that `ref` means at this remote: a tag before a branch, as git has it.
std::optional<std::string> full_name(const std::map<std::string, std::string>& refs,
                                     const std::string& ref) {
  if (ref.empty() || ref == "HEAD")
    return refs.contains("HEAD") ? std::optional<std::string>("HEAD") : std::nullopt;
  for (const std::string prefix : {"", "refs/tags/", "refs/heads/", "refs/"}) {
    const std::string name = prefix + ref;
    if (name.starts_with("refs/") && refs.contains(name)) return name;
  }
  return std::nullopt;
}

/// One fetch: the steps share the request, the policy and one deadline.
struct Session {
  FetchRequest request;
  std::shared_ptr<const GitPolicy> policy;
  std::shared_ptr<CancelToken> cancel;
  GitUrl url;
  std::string label;
  TimePoint deadline;
};
using SessionPtr = std::shared_ptr<Session>;

using GitAnswer = std::variant<ChildResult, SourceRefusal>;

/// Runs git in the bare repository. What ended it besides itself is answered here.
asio::awaitable<Result<GitAnswer>> run_git(SessionPtr session, std::vector<std::string> arguments) {
  const GitPolicy& policy = *session->policy;
  ChildSpec spec;
  spec.argv = {policy.git, "--git-dir=" + session->request.into.string()};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = git_environment(session->url, policy, session->request.into);
  spec.directory = session->request.into;
  spec.out_bytes_max = kListingBytesMax;
  const auto now = std::chrono::steady_clock::now();
  spec.limit = std::max<Duration>(session->deadline - now, Duration(0));
  spec.watch = [dir = session->request.into, max = policy.bytes_max] { return size_of(dir) > max; };
  auto ended = co_await run_child(std::move(spec), session->cancel);
  if (!ended) co_return ended.error();
  switch (ended->ended_by) {
    case ChildEnd::itself: break;
    case ChildEnd::cancelled: co_return Error{Errc::cancelled, "fetch " + session->label, {}, {}};
    case ChildEnd::limit:
      co_return refusal(Reason::upstream, FindingKind::acquire_error,
                        "upstream: " + session->label + ": the fetch took too long");
    case ChildEnd::watched:
    case ChildEnd::output:
      co_return refusal(Reason::snapshot_too_large, FindingKind::limit,
                        "snapshot_too_large: " + session->label + ": more than " +
                            std::to_string(policy.bytes_max) + " bytes to fetch");
  }
  if (ended->err.find("No space left on device") != std::string::npos) {
    co_return Error{Errc::disk_full, "fetch " + session->label, capped_detail(ended->err), {}};
  }
  co_return *std::move(ended);
}

/// Where the name leads, unless a proxy resolves it: a local address needs permission by name.
asio::awaitable<std::optional<SourceRefusal>> judge_addresses(SessionPtr session) {
  const GitUrl& url = session->url;
  const bool proxied = url.scheme == "https" && !session->policy->https_proxy.empty();
  if (url.host.empty() || proxied || session->policy->allow_local ||
      is_allowed_by_name(url, *session->policy)) {
    co_return std::nullopt;
  }
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  boost::system::error_code ec;
  const auto found = co_await resolver.async_resolve(url.host, "443",
                                                     asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    co_return refusal(Reason::upstream, FindingKind::acquire_error,
                      "upstream: could not resolve host " + url.host + ": " + ec.message());
  }
  for (const auto& entry : found) {
    if (is_local_address(entry.endpoint().address().to_string())) {
      co_return refusal(
          Reason::source_not_allowed, FindingKind::security,
          "source_not_allowed: host " + url.host + " has an address local to the worker");
    }
  }
  co_return std::nullopt;
}

Result<FetchAnswer> peel(const SessionPtr& session, const std::string& id, const std::string& ref) {
  const stdfs::path objects = session->request.into / "objects";
  auto store = source::ObjectStore::open(objects);
  if (!store) return store.error();
  const auto parsed = gitfmt::ObjectId::parse(id);
  if (!parsed) return no_ref(id, session->label);
  const auto commit = source::peel_to_commit(
      *store, *parsed, session->request.ref.empty() ? "HEAD" : session->request.ref);
  if (!commit) return commit.error();
  if (const auto* refused = std::get_if<SourceRefusal>(&*commit)) return *refused;
  return Fetched{objects, std::get<gitfmt::ObjectId>(*commit).hex(), ref};
}

/// The id that the fetch wrote.
Result<std::string> fetched_id(const SessionPtr& session) {
  const auto text = fs::read_file(session->request.into / kTarget, 256);
  if (!text) return text.error();
  return text->substr(0, 40);
}

std::vector<std::string> fetch_arguments(const SessionPtr& session, bool shallow,
                                         const std::vector<std::string>& refspecs) {
  std::vector<std::string> arguments = {"fetch",
                                        "--quiet",
                                        "--no-tags",
                                        "--no-recurse-submodules",
                                        "--no-write-fetch-head",
                                        "--no-auto-maintenance"};
  if (shallow) arguments.emplace_back("--depth=1");
  arguments.emplace_back("--");
  arguments.push_back(session->url.text());
  arguments.insert(arguments.end(), refspecs.begin(), refspecs.end());
  return arguments;
}

asio::awaitable<Result<FetchAnswer>> fetch_name(SessionPtr session, std::string name) {
  const std::string refspec = "+" + name + ":" + kTarget;
  for (const bool shallow : {true, false}) {
    auto ran = co_await run_git(session, fetch_arguments(session, shallow, {refspec}));
    if (!ran) co_return ran.error();
    if (auto* refused = std::get_if<SourceRefusal>(&*ran)) co_return std::move(*refused);
    const auto& result = std::get<ChildResult>(*ran);
    if (result.exit_code == 0) {
      const auto id = fetched_id(session);
      if (!id) co_return id.error();
      co_return peel(session, *id, name);
    }
    // A plain file server knows no depth.
    if (shallow && result.err.find("shallow") != std::string::npos) continue;
    co_return judge_git_failure(result.err, session->label);
  }
  co_return no_ref(name, session->label);
}

/// By id where the server gives any commit, else by fetching every branch and tag.
asio::awaitable<Result<FetchAnswer>> fetch_commit(SessionPtr session, std::string id) {
  auto ran = co_await run_git(session, fetch_arguments(session, true, {"+" + id + ":" + kTarget}));
  if (!ran) co_return ran.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*ran)) co_return std::move(*refused);
  const auto& first = std::get<ChildResult>(*ran);
  if (first.exit_code == 0) co_return peel(session, id, "");
  if (!refuses_by_id(first.err)) co_return judge_git_failure(first.err, session->label);
  auto all = co_await run_git(session, fetch_arguments(session, false,
                                                       {"+refs/heads/*:refs/cupel/heads/*",
                                                        "+refs/tags/*:refs/cupel/tags/*"}));
  if (!all) co_return all.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*all)) co_return std::move(*refused);
  const auto& second = std::get<ChildResult>(*all);
  if (second.exit_code != 0) co_return judge_git_failure(second.err, session->label);
  auto peeled = peel(session, id, "");
  if (peeled) {
    const auto* refused = std::get_if<SourceRefusal>(&*peeled);
    if (refused != nullptr && refused->reason == Reason::acquire_incomplete) {
      co_return no_ref(id, session->label);
    }
  }
  co_return peeled;
}

asio::awaitable<Result<FetchAnswer>> fetch_ref(SessionPtr session) {
  const std::string ref = session->request.ref;
  if (gitfmt::ObjectId::parse(ref)) co_return co_await fetch_commit(session, ref);
  std::vector<std::string> listing = {"ls-remote", "--quiet", "--", session->url.text()};
  if (!ref.empty() && ref != "HEAD") {
    listing.push_back(ref);  // a pattern that matches at the end of names
  }
  auto ran = co_await run_git(session, listing);
  if (!ran) co_return ran.error();
  if (auto* refused = std::get_if<SourceRefusal>(&*ran)) co_return std::move(*refused);
  const auto& listed = std::get<ChildResult>(*ran);
  if (listed.exit_code != 0) co_return judge_git_failure(listed.err, session->label);
  const auto listing_refs = parse_listing(listed.out);
  if (!listing_refs) {
    co_return refusal(
        Reason::unsupported_object_format, FindingKind::acquire_error,
        "unsupported_object_format: " + session->label + ": unknown object format 'sha256'");
  }
  const auto& refs = *listing_refs;
  const auto name = full_name(refs, ref);
  if (name) co_return co_await fetch_name(session, *name);
  if (!ref.empty()) co_return no_ref(ref, session->label);
  co_return refusal(Reason::empty_repository, FindingKind::acquire_error,
                    "empty_repository: " + session->label +
                        (refs.empty() ? " has no commit yet"
                                      : ": HEAD has no commit; name a branch, tag or commit"));
}

asio::awaitable<Result<FetchAnswer>> fetch_once(SessionPtr session) {
  if (auto made = make_bare_repository(session->request.into, session->url, *session->policy);
      !made) {
    co_return made.error();
  }
  if (!session->request.pinned_commit.empty()) {
    co_return co_await fetch_commit(session, session->request.pinned_commit);
  }
  co_return co_await fetch_ref(session);
}

}  // namespace

asio::awaitable<Result<FetchAnswer>> fetch_git(FetchRequest request,
                                               std::shared_ptr<const GitPolicy> policy,
                                               std::shared_ptr<CancelToken> cancel) {
  if (auto refused = judge_url(request.url, *policy)) co_return *std::move(refused);
  auto session = std::make_shared<Session>();
  session->url = *parse_git_url(request.url);
  session->label = session->url.text();
  session->policy = std::move(policy);
  session->cancel = std::move(cancel);
  session->deadline = std::chrono::steady_clock::now() + session->policy->time_max;
  if (!is_plausible_ref(request.ref)) co_return no_ref(request.ref, session->label);
  session->request = std::move(request);
  if (auto refused = co_await judge_addresses(session)) co_return *std::move(refused);

  auto answer = co_await fetch_once(session);
  const auto* refused = answer ? std::get_if<SourceRefusal>(&*answer) : nullptr;
  // Forges that redirect "/team/name" to "/team/name.git" are met by asking for that name directly:
  // no redirection is ever followed.
  const bool bare_name = !session->url.path.ends_with(".git") && !session->url.path.ends_with('/');
  if (refused != nullptr && bare_name &&
      refused->message.find("the server redirects") != std::string::npos) {
    if (auto removed = fs::remove_tree(session->request.into); !removed) co_return removed.error();
    session->url.path += ".git";
    answer = co_await fetch_once(session);
  }
  co_return answer;
}

}  // namespace cupel::worker
