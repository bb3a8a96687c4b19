#include "cli/image/commands.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace cupel::cli {
namespace {

CLI::App* add_verb(CLI::App& app, ImageRequest& request, ImageRequest::Verb verb, const char* name,
                   const char* text) {
  CLI::App* command = app.add_subcommand(name, text);
  command->callback([&request, verb] { request.verb = verb; });
  command->add_option("--table", request.table_file,
                      "A table of toolchains instead of the built-in one");
  return command;
}

/// The engine by name, as a worker's setting `engine` has it.
void add_engine(CLI::App& command, ImageRequest& request, const char* text) {
  command
      .add_option_function<std::string>(
          "--engine",
          [&request](const std::string& name) { request.unpacked = name == "bubblewrap"; }, text)
      ->check(CLI::IsMember({"docker", "bubblewrap"}));
  command.add_option("--image-dir", request.image_dir,
                     "Folder of bubblewrap's images (a worker's image_dir)");
}

}  // namespace

void add_image_commands(CLI::App& app, ImageRequest& request) {
  app.require_subcommand(1);
  using Verb = ImageRequest::Verb;
  CLI::App* ls = add_verb(app, request, Verb::ls, "ls",
                          "List the toolchain images: those here, and those of the table");
  add_engine(*ls, request, "bubblewrap: only its images; no engine is asked");
  CLI::App* pull = add_verb(app, request, Verb::pull, "pull",
                            "Pull images from a registry, by the table's digests");
  pull->add_option("version", request.versions, "Versions of Go, such as 1.26")->required();
  pull->add_option("--registry", request.registry,
                   "host[:port][/prefix] instead of the engine's default");
  pull->add_flag("--again", request.again, "Even though the image is here");
  CLI::App* build = add_verb(app, request, Verb::build, "build",
                             "Assemble images from a Debian base and the official toolchain");
  build->add_option("version", request.versions, "Versions of Go, such as 1.26")->required();
  build->add_flag("--without-cc", request.without_cc, "The variant without a C compiler");
  build->add_option("--mirror", request.mirror,
                    "Debian mirror instead of this host's package sources");
  build->add_flag("--fresh-base", request.fresh_base, "Make the Debian base anew");
  build->add_flag("--again", request.again, "Even though the image is here");
  add_engine(*build, request,
             "bubblewrap: unpack them into a folder, for machines without an engine");
  CLI::App* verify = add_verb(app, request, Verb::verify, "verify",
                              "Check identity and toolchain of the images that are here");
  verify->add_option("version", request.versions, "Versions of Go; all when none is named");
  add_engine(*verify, request, "bubblewrap: its images, file by file; no engine is asked");
}

}  // namespace cupel::cli
