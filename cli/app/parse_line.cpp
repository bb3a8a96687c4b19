// From the words of a command line to a request, or to what is said instead.
#include "cli/app/console.hpp"
#include "cli/app/options.hpp"
#include "cli/core/completion.hpp"
#include "cli/core/exit_codes.hpp"
#include "common/text/diagnostic.hpp"

#include <CLI/CLI.hpp>

namespace cupel::cli {
namespace {

void collect_words(CLI::App& app, const std::string& path, CommandWords& words) {
  std::string all;
  for (CLI::App* child : app.get_subcommands([](CLI::App*) { return true; })) {
    all += (all.empty() ? "" : " ") + child->get_name();
    collect_words(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), words);
  }
  for (CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames())
        all += (all.empty() ? "--" : " --") + name;
    }
  }
  words[path] = all;
}

/// The first word is no command: said so, since the library only says that one is missing.
std::string unknown_command(CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  for (CLI::App* child : app.get_subcommands([](CLI::App*) { return true; })) {
    if (child->get_name() == argv[1]) return "";
  }
  return "unknown command \"" + std::string(argv[1]).substr(0, 80) + "\"";
}

std::string suggestion(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (CLI::App* child : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(child->get_name());
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) continue;
    for (const std::string& name : names) {
      if (word == name) return "see 'cupel " + name + " --help'";
    }
    const std::string near = text::nearest_word(word, names);
    return near.empty() ? "" : "did you mean 'cupel " + near + "'?";
  }
  return "";
}

}  // namespace

ParsedLine parse_line(int argc, const char* const* argv) {
  Request request;
  CLI::App app(
      "Validates many Go repositories in container sandboxes, in parallel, with proven verdicts.");
  add_commands(app, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    Console console(request.globals);
    if (error.get_exit_code() == 0) {
      app.exit(error);  // help, to standard output
      return {std::nullopt, kExitDone};
    }
    std::string what = unknown_command(app, argc, argv);
    if (what.empty()) what = error.what();
    if (argc < 2) {
      console.out(app.help());
      return {std::nullopt, kExitUsage};
    }
    while (what.ends_with('\n') || what.ends_with('.')) what.pop_back();
    console.error({Errc::usage, what, "", suggestion(app, argc, argv)});
    return {std::nullopt, exit_code_of_parser(error.get_exit_code())};
  }
  request.image.json = request.image.json || request.globals.json();
  request.image.quiet = request.image.quiet || request.globals.quiet;
  request.sandbox.json = request.globals.json();
  request.sandbox.quiet = request.globals.quiet;
  request.sandbox.timeout = request.globals.timeout;
  return {std::move(request), kExitDone};
}

std::string completion_script(const std::string& shell) {
  Request request;
  CLI::App app;
  add_commands(app, request);
  CommandWords words;
  collect_words(app, "", words);
  return completion_of(shell, words);
}

}  // namespace cupel::cli
