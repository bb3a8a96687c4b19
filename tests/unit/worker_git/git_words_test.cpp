#include "worker/git/git_words.hpp"

#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

TEST(GitWords, RecordedComplaintsMeanWhatTheyMean) {
  const std::vector<std::pair<const char*, Reason>> recorded = {
      {"fatal: '/x/nope' does not appear to be a git repository\nfatal: Could not read from remote "
       "repository.\n",
       Reason::repository_not_found},
      {"fatal: repository 'http://127.0.0.1:1/nope/' not found\n", Reason::repository_not_found},
      {"fatal: could not read Username for 'https://git.ex.test': terminal prompts disabled\n",
       Reason::repository_not_found},
      {"remote: denied\nfatal: unable to access 'https://h/': The requested URL returned error: "
       "403\n",
       Reason::repository_not_found},
      {"git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
       Reason::repository_not_found},
      {"fatal: couldn't find remote ref refs/heads/x\n", Reason::ref_not_found},
      {"fatal: mismatched algorithms: client sha1; server sha256\n",
       Reason::unsupported_object_format},
      {"fatal: transport 'file' not allowed\n", Reason::source_not_allowed},
      {"fatal: unable to access 'https://h/': The requested URL returned error: 302\n",
       Reason::source_not_allowed},
      {"fatal: unable to access 'https://h/': Could not resolve host: h\n", Reason::upstream},
      {"fatal: unable to access 'https://h/': Failed to connect to h port 443: Connection "
       "refused\n",
       Reason::upstream},
      {"error: RPC failed; HTTP 500 curl 22\nfatal: early EOF\n", Reason::upstream},
      {"", Reason::upstream},
  };
  for (const auto& [err, reason] : recorded) {
    const auto answer = judge_git_failure(err, "https://h/");
    EXPECT_EQ(name(answer.reason), name(reason)) << err;
    EXPECT_EQ(answer.findings.size(), 1U);
  }
}

}  // namespace
}  // namespace cupel::worker
