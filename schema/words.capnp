@0xbb46159a6c03cb9d;
# The closed lists of words. The names are those of common/core/outcome.hpp in camelCase: the codec maps
# by name, and a test compares the lists. A word is added at the end and never renumbered.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("cupel::schema");

enum TaskKind { acquire @0; mutate @1; execute @2; tool @3; }
enum Side { before @0; after @1; }
enum CheckKind { list @0; build @1; vet @2; test @3; scan @4; custom @5; }
enum Stream { out @0; err @1; }
enum Outcome { passing @0; failing @1; inconclusive @2; refused @3; cancelled @4; }
enum Ending { completed @0; interrupted @1; lostWorkspace @2; }
enum BuildCache { seeded @0; empty @1; dependencies @2; }

enum Reason {
  none @0;
  aborted @1;
  acquireIncomplete @2;
  cgoUnavailable @3;
  endMarkerMissing @4;
  exitMismatch @5;
  incompleteStream @6;
  ioIncomplete @7;
  lfsPointer @8;
  moduleNotFound @9;
  noPackages @10;
  outputTruncated @11;
  parseFailed @12;
  raceUnavailable @13;
  resourceDisk @14;
  resourceMemory @15;
  resourcePids @16;
  sandboxNoexecTmp @17;
  scanFailed @18;
  submoduleNotFetched @19;
  timeout @20;
  unexplainedExit @21;
  vulndbCorrupt @22;
  vulndbUnavailable @23;
  engine @24;
  imageMissing @25;
  leaseLost @26;
  upstream @27;
  alternatesOutside @28;
  badGoMod @29;
  badGoSum @30;
  badGoWork @31;
  badVersionQuery @32;
  checksumMismatch @33;
  emptyRepository @34;
  gitdirOutside @35;
  hostileGitConfig @36;
  malformedTree @37;
  manifestIsSymlink @38;
  modulePathMismatch @39;
  noGoMod @40;
  pathTooLong @41;
  replaceOutsideRepo @42;
  requiresNewerToolchain @43;
  snapshotTooLarge @44;
  submoduleUntrustedUrl @45;
  unsupportedObjectFormat @46;
  unsupportedToolchain @47;
  upgradeNotApplicable @48;
  vendoredChangeUnsupported @49;
  workOutsideRepo @50;
  workspaceChangeUnsupported @51;
  repositoryNotFound @52;
  refNotFound @53;
  sourceNotAllowed @54;
}

enum FindingKind {
  buildFailure @0;
  buildFailureDependent @1;
  setupFailure @2;
  vet @3;
  testFailure @4;
  testFailureDerived @5;
  testTimeout @6;
  testUnfinished @7;
  packageFailure @8;
  packageUnfinished @9;
  ioIncomplete @10;
  resourceLimit @11;
  environment @12;
  limit @13;
  manifestError @14;
  acquireError @15;
  upgradeError @16;
  scanError @17;
  vuln @18;
  security @19;
  note @20;
}

enum Select { named @0; smallest @1; vulnerable @2; }
enum VulnLevel { module @0; package @1; symbol @2; }
enum CheckParser { exitCode @0; lines @1; sarif @2; }

enum NotAffected {
  none @0;
  alreadyAtVersion @1;
  excluded @2;
  majorAvailable @3;
  moduleAbsent @4;
  notUsed @5;
  replacedNoEffect @6;
  toolOnly @7;
}

enum Gate {
  modulePathChanged @0;
  goDirectiveChanged @1;
  toolchainChanged @2;
  replaceChanged @3;
  excludeChanged @4;
  retractChanged @5;
  toolChanged @6;
  godebugChanged @7;
  ignoreChanged @8;
  targetNotSet @9;
  versionDecreased @10;
  increaseOutsideClosure @11;
  directDependencyAdded @12;
  directDependencyRemoved @13;
  directBecameIndirect @14;
  notTidy @15;
  tidyFailed @16;
  targetNotInBuildList @17;
  outsideClosure @18;
  gosumUnexplained @19;
  protectedFileChanged @20;
  scopeExceeded @21;
  verifyFailed @22;
  candidateTreeMismatch @23;
  advisoryNotResolved @24;
  advisoryIntroduced @25;
  scanNotBound @26;
  scanInconclusive @27;
}
