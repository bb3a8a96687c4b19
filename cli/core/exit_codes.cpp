#include "cli/core/exit_codes.hpp"

namespace cupel::cli {

int exit_code_of(const Error& error) {
  return error.code == Errc::cancelled ? kExitInterrupted : error_info(error.code).exit_code;
}

int exit_code_of_parser(int parser_code) {
  return parser_code == 0 ? kExitDone : kExitUsage;
}

std::string exit_codes_help() {
  return R"(Exit codes of cupel. They never depend on the output format.

    0  done; the gate passed (also: nothing to do)
    1  failure while doing it: an error of the coordinator, of this machine, a cancelled campaign
    2  command line, configuration or campaign file is wrong
    3  gate failed: a unit has one of the verdicts of gate.fail_on
    4  authentication or permission
    5  finished, but more units are inconclusive than gate.max_inconclusive_ratio allows, or nothing was tested: neither pass nor fail
    6  coordinator unreachable, or no common protocol
    8  still running when --timeout ended
    9  the thing named doesn't exist
  130  interrupted (Ctrl-C)
  143  terminated

--exit-zero gives 0 instead of 3 and 5 once a report exists.
)";
}

}  // namespace cupel::cli
