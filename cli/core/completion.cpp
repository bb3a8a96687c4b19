#include "cli/core/completion.hpp"

#include <algorithm>

namespace cupel::cli {
namespace {

std::string for_fish(const CommandWords& words) {
  std::string out =
      "# Completion of cupel for fish: cupel completion fish > "
      "~/.config/fish/completions/cupel.fish\ncomplete -c cupel -f\n";
  for (const auto& [path, list] : words) {
    std::string condition = path.empty() ? "__fish_use_subcommand" : "";
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find(' ', at), path.size());
      condition += (condition.empty() ? "" : "; and ") +
                   std::string("__fish_seen_subcommand_from ") + path.substr(at, end - at);
      at = end + 1;
    }
    out += "complete -c cupel -n '" + condition + "' -a '" + list + "'\n";
  }
  return out;
}

/// A function of bash, which zsh takes as well.
std::string bash_function(const CommandWords& words) {
  std::string cases;
  for (const auto& [path, list] : words)
    cases += "    \"" + path + "\") words=\"" + list + "\" ;;\n";
  return "_cupel() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" word words=\"\" i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=\"${COMP_WORDS[i]}\"\n"
         "    [[ \"$word\" == -* ]] && continue\n"
         "    case \"${path:+$path }$word\" in\n" +
         [&words] {
           std::string known;
           for (const auto& [path, list] : words) {
             if (!path.empty()) known += (known.empty() ? "      \"" : "|\"") + path + "\"";
           }
           return known + ") path=\"${path:+$path }$word\" ;;\n";
         }() +
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "}\n"
         "complete -F _cupel cupel\n";
}

}  // namespace

std::string completion_of(const std::string& shell, const CommandWords& words) {
  if (shell == "fish") return for_fish(words);
  const std::string body = bash_function(words);
  if (shell == "bash")
    return "# Completion of cupel for bash: source <(cupel completion bash)\n" + body;
  return "#compdef cupel\n# Completion of cupel for zsh: source <(cupel completion zsh)\nautoload "
         "-U +X bashcompinit && bashcompinit\n" +
         body;
}

}  // namespace cupel::cli
