"""The format of a case: what ops/cases takes, and where a folder isn't that.

A case is a folder with expect.json and a tree `repo/` or a script `make.sh DEST` that makes DEST/repo. What the runner
reads must be what it knows, or a case would be judged by half of it; fields for people may be anything.
"""
import json
import re

KINDS = ("validate", "acquire", "upgrade", "scan")
RUNNERS = ("fleet", "parser")
INCONCLUSIVE = (
    "aborted acquire_incomplete cgo_unavailable end_marker_missing exit_mismatch incomplete_stream io_incomplete"
    " lfs_pointer module_not_found no_packages output_truncated parse_failed race_unavailable resource_disk"
    " resource_memory resource_pids sandbox_noexec_tmp scan_failed submodule_not_fetched timeout unexplained_exit"
    " vulndb_corrupt vulndb_unavailable engine image_missing lease_lost upstream").split()
REFUSED = (
    "alternates_outside bad_go_mod bad_go_sum bad_go_work bad_version_query checksum_mismatch empty_repository"
    " gitdir_outside hostile_git_config malformed_tree manifest_is_symlink module_path_mismatch no_go_mod"
    " path_too_long replace_outside_repo requires_newer_toolchain snapshot_too_large submodule_untrusted_url"
    " unsupported_object_format unsupported_toolchain upgrade_not_applicable vendored_change_unsupported"
    " work_outside_repo workspace_change_unsupported repository_not_found ref_not_found source_not_allowed").split()
REASONS = {"passing": (), "failing": (), "inconclusive": INCONCLUSIVE, "refused": REFUSED}
FINDING_KINDS = (
    "build_failure build_failure_dependent setup_failure vet test_failure test_failure_derived test_timeout"
    " test_unfinished package_failure package_unfinished io_incomplete resource_limit environment limit manifest_error"
    " acquire_error upgrade_error scan_error vuln security note").split()
# A repository without any file is kept by no git: its case has neither tree nor script.
OF_NOTHING = ("refused:no_go_mod", "refused:empty_repository")
SIZE = (int, r"\d+[kmg]")
SETTINGS = {
    "test": {"timeout": (r"0|(\d+(\.\d+)?(ms|s|m|h))+",), "shuffle": (int, r"on|off|\d+"), "count": (int,),
             "race": (bool,)},
    "limits": {"memory": SIZE, "tmp": SIZE, "output_bytes": SIZE, "pids": (int,)},
    "scan": {"database": (r"[^/].*",)},
    "check_limit_s": (int,), "image": (r"no_c_compiler",), "select": (r"vulnerable",),
}
# The fields that a comparison reads, and their types.
FIELDS = {"topic": str, "upgrade_target": str, "allow_extra": str, "environment_tag": str, "verdict": str,
          "tests_not_run": list, "resolved": list, "scan_resolved": list, "settings": dict, "steps": dict}
TEXTS = ("package", "test", "message_pattern", "analyzer", "environment", "osv", "module", "level", "symbol",
         "found_version", "fixed_version")
TYPE_NAMES = {str: "text", list: "a list", dict: "an object", int: "a whole number", bool: "true or false"}


class BadCase(Exception):
    """A case that can't be read, with the place in it."""

    def __init__(self, folder, place, what):
        super().__init__(f"{folder.name}/expect.json{place}: {what}")


def _pattern(text, fault, place):
    try:
        re.compile(text, re.DOTALL)
    except re.error as error:
        fault(place, f"{text!r} is no regular expression: {error}")


def _outcome(text, fault):
    outcome, colon, reason = text.partition(":")
    if outcome not in REASONS:
        fault(".right_outcome", f"{outcome!r} is none of {', '.join(REASONS)}")
    if colon and reason not in REASONS[outcome]:
        known = ", ".join(REASONS[outcome]) or "none: the class says it all"
        fault(".right_outcome", f"{reason!r} is no reason of {outcome} ({known})")


def _finding(wanted, fault, place):
    if not isinstance(wanted, dict):
        fault(place, "must be an object")
    if wanted.get("kind") not in FINDING_KINDS:
        fault(place + ".kind", f"{wanted.get('kind')!r} is none of {', '.join(FINDING_KINDS)}")
    for name in TEXTS:
        if not isinstance(wanted.get(name, ""), str):
            fault(f"{place}.{name}", "must be text")
    if not isinstance(wanted.get("inferred", False), bool):
        fault(place + ".inferred", "must be true or false")
    _pattern(wanted.get("message_pattern", ""), fault, place + ".message_pattern")


def _settings(values, known, fault, place):
    for name, value in values.items():
        here = f"{place}.{name}"
        rule = known.get(name)
        if rule is None:
            fault(here, f"the runner has no such setting ({', '.join(known)})")
        if isinstance(rule, dict):
            if not isinstance(value, dict):
                fault(here, "must be an object")
            _settings(value, rule, fault, here)
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        fits = any((one is bool and isinstance(value, bool)) or (one is int and whole)
                   or (isinstance(one, str) and isinstance(value, str) and re.fullmatch(one, value)) for one in rule)
        if not fits:
            wanted = " or ".join(TYPE_NAMES.get(one) or f"text like /{one}/" for one in rule)
            fault(here, f"{value!r}: must be {wanted}")


def _load(folder):
    path = folder / "expect.json"
    try:
        expect = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise BadCase(folder, "", "there is no such file; a case says there what is right") from None
    except json.JSONDecodeError as error:
        raise BadCase(folder, f":{error.lineno}:{error.colno}", f"no JSON: {error.msg}") from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise BadCase(folder, "", str(error)) from None
    if not isinstance(expect, dict):
        raise BadCase(folder, "", "must be an object")
    return expect


def read(folder):
    """The expectation of the case in `folder`; BadCase where it can't be one."""
    expect = _load(folder)

    def fault(place, what):
        raise BadCase(folder, place, what)

    for name in ("id", "kind", "right_outcome"):
        if not isinstance(expect.get(name), str):
            fault("." + name, "must be text" if name in expect else "is missing")
    if not re.fullmatch(r"\w[\w.+-]*", expect["id"]):
        fault(".id", f"{expect['id']!r}: letters, digits, '.', '_', '+' and '-' only, as a folder gets this name")
    if expect["kind"] not in KINDS:
        fault(".kind", f"{expect['kind']!r} is none of {', '.join(KINDS)}")
    if expect.get("runner", "fleet") not in RUNNERS:
        fault(".runner", f"{expect['runner']!r} is none of {', '.join(RUNNERS)}")
    for name, wanted in FIELDS.items():
        if name in expect and not isinstance(expect[name], wanted):
            fault("." + name, f"must be {TYPE_NAMES[wanted]}")
    _outcome(expect["right_outcome"], fault)
    if not isinstance(expect.get("expected_findings", []), list):
        fault(".expected_findings", "must be a list")
    for number, wanted in enumerate(expect.get("expected_findings", [])):
        _finding(wanted, fault, f".expected_findings[{number}]")
    _pattern(expect.get("allow_extra", ""), fault, ".allow_extra")
    _settings(expect.get("settings", {}), SETTINGS, fault, ".settings")
    module, at, version = expect.get("upgrade_target", "").rpartition("@")
    if "upgrade_target" in expect and not (module and at and version):
        fault(".upgrade_target", f"{expect['upgrade_target']!r}: must be MODULE@VERSION")
    if expect["kind"] == "upgrade" and "upgrade_target" not in expect and "select" not in expect.get("settings", {}):
        fault(".upgrade_target", "is missing: a case of kind upgrade names MODULE@VERSION")
    if not (folder / "repo").is_dir() and not (folder / "make.sh").is_file() \
            and expect["right_outcome"] not in OF_NOTHING:
        raise BadCase(folder, "", "there is no tree repo/ and no script make.sh beside it")
    return expect


def is_case(folder):
    """Whether a folder means to be a case: what begins with "_" is a proxy or a database."""
    return folder.is_dir() and folder.name[0] not in "_." and any(
        (folder / name).exists() for name in ("expect.json", "repo", "make.sh"))
