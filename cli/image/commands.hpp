/// `cupel image ls|pull|build|verify`: the toolchain images of the engine on this machine, and
/// those that are unpacked for bubblewrap. The only part of Cupel that brings an image; runs never
/// do.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cupel::cli {

struct ImageRequest {
  enum class Verb : unsigned char { none, ls, pull, build, verify };

  Verb verb = Verb::none;
  std::vector<std::string>
      versions;  ///< "1.26", "1.26.8"; empty = every image here (verify), every entry (ls).
  bool json = false;
  bool quiet = false;
  bool without_cc = false;  ///< build: the variant without a C compiler.
  bool again = false;       ///< build, pull: even though the image is there.
  bool fresh_base = false;  ///< build: make the Debian base anew (security updates).
  std::string mirror;       ///< build: Debian mirror instead of the host's apt sources.
  std::string
      registry;  ///< pull: a registry (host[:port][/prefix]) instead of the engine's default.
  bool unpacked = false;   ///< build: for bubblewrap, without an engine; ls: only those.
  std::string image_dir;   ///< Of unpacked images; empty: see unpacked_images().
  std::string table_file;  ///< A table instead of the built-in one.
  // What the program knows about its surroundings.
  std::filesystem::path state_dir;                 ///< Archives are kept in its folder `images`.
  std::map<std::string, std::string> environment;  ///< DOCKER_HOST, GOPROXY, PATH, ...
};

/// Where unpacked images are unless somebody names another folder.
[[nodiscard]] std::filesystem::path unpacked_images(const std::filesystem::path& state_dir);

/// Declares the verbs below `app` (the `image` command); parsing fills `request`, which outlives
/// `app`.
void add_image_commands(CLI::App& app, ImageRequest& request);

/// Runs the verb. Results go to `out`, progress and messages to `err`. Returns the exit code.
[[nodiscard]] int run_image_command(ImageRequest request, std::ostream& out, std::ostream& err);

}  // namespace cupel::cli
