#include "cli/core/next_steps.hpp"

namespace cupel::cli {

std::string_view next_step(Reason reason) {
  switch (reason) {
    case Reason::upstream:
      return "is the module proxy or git host reachable from the worker? its settings module_proxy "
             "and ca_bundle; 'cupel doctor worker'";
    case Reason::module_not_found:
    case Reason::acquire_incomplete:
      return "a private module? sandbox.private in the campaign, netrc_file on the worker";
    case Reason::image_missing:
      return "'cupel image ls' shows what the engine holds, 'cupel image build VERSION' brings one";
    case Reason::requires_newer_toolchain:
      return "'cupel image build VERSION' brings a newer toolchain; sandbox.image may hold it back";
    case Reason::engine:
    case Reason::lease_lost:
      return "'cupel doctor worker' on the worker's host, and the worker's log";
    case Reason::repository_not_found:
      return "check the address; a private repository needs git_credentials_file on the worker";
    case Reason::ref_not_found:
      return "check the source's 'ref': a branch, a tag or a whole commit id";
    case Reason::source_not_allowed:
      return "allowed_sources or allow_local_sources of the worker admit more";
    case Reason::upgrade_not_applicable:
      return "the message says what stands in the way; 'upgrade' of one entry of repositories "
             "takes "
             "another version there";
    case Reason::bad_version_query:
      return "'go list -m -versions MODULE' says which versions there are";
    case Reason::vulndb_unavailable:
    case Reason::vulndb_corrupt:
      return "get the database again and name it in validate.scan.database, or in the "
             "coordinator's "
             "vulndb";
    case Reason::resource_memory: return "raise sandbox.limits.memory";
    case Reason::resource_pids: return "raise sandbox.limits.pids";
    case Reason::resource_disk: return "raise sandbox.limits.tmp, or give the worker more disk";
    case Reason::output_truncated: return "raise sandbox.limits.output";
    case Reason::timeout: return "raise validate.test.timeout or sandbox.timeouts.check";
    case Reason::race_unavailable:
    case Reason::cgo_unavailable:
      return "use an image with a C compiler: 'cupel image ls' tells which have one";
    default: return "";
  }
}

}  // namespace cupel::cli
