#include "worker/git/repository_config.hpp"

#include "common/fs/files.hpp"

#include <openssl/evp.h>

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <vector>

namespace cupel::worker {
namespace {

std::string base64(const std::string& text) {
  std::vector<unsigned char> out(4 * ((text.size() + 2) / 3) + 1);
  const int length =
      EVP_EncodeBlock(out.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
  return {reinterpret_cast<const char*>(out.data()), static_cast<std::size_t>(length)};
}

/// A value between quotation marks, as git's configuration wants it.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// A word for the shell that reads GIT_SSH_COMMAND.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

std::string ssh_command(const GitUrl& url, const GitPolicy& policy) {
  const GitCredential* credential = credential_for(url, policy);
  const std::string known =
      policy.ssh_known_hosts.empty() ? "/etc/ssh/ssh_known_hosts" : policy.ssh_known_hosts;
  std::string command =
      "ssh -F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes"
      " -o GlobalKnownHostsFile=/dev/null -o PermitLocalCommand=no -o ForwardAgent=no"
      " -o ProxyCommand=none -o ConnectTimeout=30 -o ServerAliveInterval=30 -o "
      "UserKnownHostsFile=" +
      shell_word(known);
  command += credential != nullptr ? " -i " + shell_word(credential->key_file)
                                   : std::string(" -o PubkeyAuthentication=no");
  return command;
}

}  // namespace

std::string bare_config(const GitUrl& url, const GitPolicy& policy) {
  std::string text =
      "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
      "\thooksPath = /dev/null\n\tfsmonitor = false\n\taskPass = /bin/false\n"
      "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[fetch]\n\tunpackLimit = 1\n"
      "\trecurseSubmodules = false\n[transfer]\n\tbundleURI = false\n[protocol]\n\tversion = 2\n"
      "[credential]\n\thelper =\n[submodule]\n\trecurse = false\n"
      "[http]\n\tfollowRedirects = false\n\tlowSpeedLimit = 500\n\tlowSpeedTime = 60\n"
      "\tsslVerify = true\n";
  if (!policy.ca_bundle.empty()) text += "\tsslCAInfo = " + quoted(policy.ca_bundle) + '\n';
  const GitCredential* credential = credential_for(url, policy);
  if (credential != nullptr && credential->scheme != "ssh") {
    text +=
        "[http " + quoted(credential->scheme + "://" + credential->host + credential->path) +
        "]\n\textraHeader = " +
        quoted("Authorization: Basic " + base64(credential->user + ':' + credential->password)) +
        '\n';
  }
  return text;
}

std::vector<std::string> git_environment(const GitUrl& url, const GitPolicy& policy,
                                         const std::filesystem::path& dir) {
  std::vector<std::string> environment = {
      "PATH=" + policy.path,
      "HOME=" + (dir / "home").string(),
      "XDG_CONFIG_HOME=" + (dir / "home").string(),
      "LC_ALL=C",
      "TZ=UTC",
      "GIT_CONFIG_NOSYSTEM=1",
      "GIT_CONFIG_SYSTEM=/dev/null",
      "GIT_ATTR_NOSYSTEM=1",
      "GIT_TERMINAL_PROMPT=0",
      "GIT_ASKPASS=/bin/false",
      "SSH_ASKPASS=/bin/false",
      "GIT_OPTIONAL_LOCKS=0",
      "GIT_NO_REPLACE_OBJECTS=1",
      "GIT_LFS_SKIP_SMUDGE=1",
      "GIT_PROTOCOL_FROM_USER=0",
      // The one protocol of this URL: nothing that a server says leads to another.
      "GIT_ALLOW_PROTOCOL=" + url.scheme,
  };
  if (url.scheme == "file") {
    // An allowed local repository may belong to somebody else; only this file says that it is
    // meant.
    environment.push_back("GIT_CONFIG_GLOBAL=" + (dir / "home" / "local.config").string());
  } else {
    environment.emplace_back("GIT_CONFIG_GLOBAL=/dev/null");
  }
  if (url.scheme == "ssh") environment.push_back("GIT_SSH_COMMAND=" + ssh_command(url, policy));
  if (url.scheme == "https" && !policy.https_proxy.empty()) {
    environment.push_back("https_proxy=" + policy.https_proxy);
    if (!policy.no_proxy.empty()) environment.push_back("no_proxy=" + policy.no_proxy);
  }
  return environment;
}

Result<void> make_bare_repository(const std::filesystem::path& dir, const GitUrl& url,
                                  const GitPolicy& policy) {
  if (::mkdir(dir.c_str(), 0700) != 0) {
    return Error{errno == EEXIST ? Errc::already_exists : Errc::io_error,
                 "create " + dir.string(),
                 std::strerror(errno),
                 {}};
  }
  for (const char* part :
       {"home", "objects", "objects/info", "objects/pack", "refs", "refs/heads"}) {
    if (::mkdir((dir / part).c_str(), 0700) != 0) {
      return Error{Errc::io_error, "create " + (dir / part).string(), std::strerror(errno), {}};
    }
  }
  if (auto made = fs::create_file_durably(dir / "HEAD", "ref: refs/heads/none\n", 0600); !made) {
    return made;
  }
  if (auto made =
          fs::create_file_durably(dir / "home" / "local.config", "[safe]\n\tdirectory = *\n", 0600);
      !made) {
    return made;
  }
  return fs::create_file_durably(dir / "config", bare_config(url, policy), 0600);
}

}  // namespace cupel::worker
