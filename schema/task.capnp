@0xeb817c4169047cb2;
# What is asked of a worker, and what it answers (common/core/task.hpp).
# Ids are store sequences, 0 = none. A digest is 32 bytes of SHA-256, or empty = none. Times are
# microseconds since 1970 UTC. Text is UTF-8 without NUL.

using Cxx = import "/capnp/c++.capnp";
using Words = import "words.capnp";
$Cxx.namespace("cupel::schema");

struct GitSource {
  url @0 :Text;
  ref @1 :Text;
}

struct BundleSource {
  artifact @0 :Data;
  commit @1 :Text;
  name @2 :Text;
}

struct ModuleSource {
  path @0 :Text;
  version @1 :Text;
}

struct Source {
  union {
    git @0 :GitSource;
    bundle @1 :BundleSource;
    module @2 :ModuleSource;
  }
}

struct Finding {
  kind @0 :Words.FindingKind;
  check @1 :Words.CheckKind;
  package @2 :Text;
  test @3 :Text;
  analyzer @4 :Text;
  file @5 :Text;
  line @6 :Int32;
  column @7 :Int32;
  message @8 :Text;
  environment @9 :Text;
  inferred @10 :Bool;
  key @11 :Text;
  signature @12 :Text;
  morePlaces @13 :UInt32;
}

struct Findings {
  # Findings of one result that are too large for the control plane: the content of an artifact.
  findings @0 :List(Finding);
}

struct UnitInfo {
  dir @0 :Text;
  modulePath @1 :Text;
  goVersion @2 :Text;
  vendored @3 :Bool;
  workspace @4 :Text;
  outcome @5 :Words.Outcome;
  reason @6 :Words.Reason;
  findings @7 :List(Finding);
}

struct AcquireSource {
  source @0 :Source;
  pinnedCommit @1 :Text;
  subdirs @2 :List(Text);
}

struct AcquireModules {
  commit @0 :Text;
  unit @1 :UnitInfo;
  side @2 :Words.Side;
  variant @3 :UInt16;
}

struct Execute {
  commit @0 :Text;
  unit @1 :UnitInfo;
  side @2 :Words.Side;
  variant @3 :UInt16;
  repeat @4 :UInt16;
  image @5 :Text;
  scan @6 :ScanInput;
  onlyScan @7 :Bool;
}

struct ModuleTarget {
  module @0 :Text;
  version @1 :Text;
}

struct Change {
  # common/core/change.hpp
  union {
    none @0 :Void;
    upgrade @1 :Upgrade;
    go @2 :GoVersionChange;
    replace @3 :Replace;
    patch @4 :Text;  # A unified diff.
  }
}

struct Upgrade {
  select @0 :Words.Select;
  modules @1 :List(ModuleTarget);
  minAgeSeconds @2 :UInt64;
  allowMajor @3 :Bool;
  deny @4 :List(Text);
  pins @5 :List(ModuleTarget);
}

struct GoVersionChange {
  version @0 :Text;
  raiseDirective @1 :Bool;
}

struct Replacement {
  module @0 :Text;
  with @1 :Source;
}

struct Replace {
  modules @0 :List(Replacement);
}

struct Mutate {
  commit @0 :Text;
  unit @1 :UnitInfo;
  change @2 :Change;
  variant @3 :UInt16;
  resolved @4 :List(ModuleTarget);
  vulnerabilities @5 :List(Vulnerability);
}

struct ToolPin {
  package @0 :Text;
  module @1 :Text;
  version @2 :Text;
  sum @3 :Text;
}

struct BuildTool {
  tool @0 :ToolPin;
  image @1 :Text;
}

struct ScanInput {
  scanner @0 :Data;
  version @1 :Text;
  database @2 :Data;
  databaseId @3 :Text;
  databaseTime @4 :Text;
  problem @5 :Words.Reason;
  message @6 :Text;
  limitSeconds @7 :UInt64;
}

struct Vulnerability {
  osv @0 :Text;
  module @1 :Text;
  foundVersion @2 :Text;
  fixedVersion @3 :Text;
  level @4 :Words.VulnLevel;
  package @5 :Text;
  symbol @6 :Text;
  summary @7 :Text;
}

struct RunLimits {
  cpuMillis @0 :UInt32;
  memoryBytes @1 :UInt64;
  pids @2 :UInt32;
  tmpBytes @3 :UInt64;
  outputBytes @4 :UInt64;
}

struct TestSettings {
  enabled @0 :Bool;
  timeoutSeconds @1 :UInt64;
  count @2 :UInt32;
  race @3 :Bool;
  shortMode @4 :Bool;
  shuffle @5 :Text;
  run @6 :Text;
  skip @7 :Text;
}

struct CustomCheck {
  name @0 :Text;
  command @1 :List(Text);
  limitSeconds @2 :UInt64;
  parser @3 :Words.CheckParser;
}

struct ValidationSettings {
  # Never a mount, a network, a user or an environment variable: a worker derives those by itself.
  limits @0 :RunLimits;
  packages @1 :List(Text);
  tags @2 :List(Text);
  build @3 :Bool;
  vet @4 :Bool;
  test @5 :TestSettings;
  custom @6 :List(CustomCheck);
  checkLimitSeconds @7 :UInt64;
  acquireLimitSeconds @8 :UInt64;
  buildCache @9 :Words.BuildCache;
  image @10 :Text;
  imageWithoutCCompiler @11 :Bool;
  goPrivate @12 :Text;
  goNoSumDb @13 :Text;
  requireEnforcedEgress @14 :Bool;
}

struct TaskSpec {
  id @0 :UInt64;
  campaign @1 :UInt64;
  repository @2 :UInt64;
  unit @3 :UInt64;
  kind @4 :Words.TaskKind;
  settings @5 :ValidationSettings;
  work :union {
    acquireSource @6 :AcquireSource;
    acquireModules @7 :AcquireModules;
    execute @8 :Execute;
    noOp @9 :Void;
    mutate @10 :Mutate;
    buildTool @11 :BuildTool;
  }
}

struct SourceFacts {
  commit @0 :Text;
  tree @1 :Text;
  files @2 :UInt64;
  bytes @3 :UInt64;
  units @4 :List(UnitInfo);
  committedMicros @5 :Int64;  # When the commit was made, since 1970 UTC; 0 = not known.
}

struct ModuleFacts {
  tree @0 :Text;
  completed @1 :Bool;
  modules @2 :UInt32;
  cacheBytes @3 :UInt64;
}

struct GateFinding {
  gate @0 :Words.Gate;
  detail @1 :Text;
}

struct ModuleMove {
  module @0 :Text;
  from @1 :Text;
  to @2 :Text;
  direct @3 :Bool;
  target @4 :Bool;
}

struct Candidate {
  module @0 :Text;
  current @1 :Text;
  latest @2 :Text;
  chosen @3 :Text;
  notes @4 :List(Text);
}

struct ChangeFacts {
  tree @0 :Text;
  notAffected @1 :Words.NotAffected;
  resolved @2 :List(ModuleTarget);
  moved @3 :List(ModuleMove);
  candidates @4 :List(Candidate);
  goBefore @5 :Text;
  goAfter @6 :Text;
  gates @7 :List(GateFinding);
  patch @8 :Data;
  patchBytes @9 :UInt64;
}

struct ScanFacts {
  scannerVersion @0 :Text;
  databaseId @1 :Text;
  databaseTime @2 :Text;
  goVersion @3 :Text;
  vulnerabilities @4 :List(Vulnerability);
}

struct ToolFacts {
  tool @0 :ToolPin;
  image @1 :Text;
  goVersion @2 :Text;
  binary @3 :Data;
  bytes @4 :UInt64;
}

struct LogRef {
  check @0 :Words.CheckKind;
  name @1 :Text;
  stream @2 :Words.Stream;
  artifact @3 :Data;
  bytes @4 :UInt64;
  truncated @5 :Bool;
}

struct CheckRecord {
  check @0 :Words.CheckKind;
  name @1 :Text;
  command @2 :List(Text);
  outcome @3 :Words.Outcome;
  reason @4 :Words.Reason;
  exitCode @5 :Int32;
  truncated @6 :Bool;
  durationMicros @7 :UInt64;
  packages @8 :UInt32;
  tests @9 :UInt32;
  testsNotRun @10 :UInt32;
}

struct Evidence {
  image @0 :Text;
  goVersion @1 :Text;
  engine @2 :Text;
  egress @3 :Text;
  proxyMode @4 :Text;
  buildCache @5 :Text;
  parserVersion @6 :UInt32;
  wrapper @7 :Text;
  notes @8 :List(Text);
}

struct TaskResult {
  task @0 :UInt64;
  token @1 :UInt64;
  ending @2 :Words.Ending;
  outcome @3 :Words.Outcome;
  reason @4 :Words.Reason;
  message @5 :Text;
  findings @6 :List(Finding);
  findingsTruncated @7 :Bool;
  findingsArtifact @8 :Data;  # Findings, all of them; set when only the first ones are inline.
  checks @9 :List(CheckRecord);
  source @10 :SourceFacts;    # Absent = null.
  modules @11 :ModuleFacts;   # Absent = null.
  evidence @12 :Evidence;
  logs @13 :List(LogRef);
  started @14 :Int64;
  finished @15 :Int64;
  change @16 :ChangeFacts;    # Absent = null.
  scan @17 :ScanFacts;        # Absent = null.
  tool @18 :ToolFacts;        # Absent = null.
}
