"""The frame of the programs in this folder: their first argument, a folder for what they make, and evidence where they fail."""

import argparse
import os
import pathlib
import shutil
import tempfile

import harness


def arguments(description, **options):
    parser = argparse.ArgumentParser(description=description, **options)
    parser.add_argument("--bin", default=os.environ.get("CUPEL_BIN_DIR"), help="directory of the built programs")
    return parser


def need_programs(parser, chosen):
    if not chosen.bin:
        parser.error("--bin or CUPEL_BIN_DIR names the directory of the built programs")


def exit_code(name, make, judge):
    """make(scratch) gives what runs, judge(it) says whether all was well. Whatever happens it.close(keep) is called; where
    all was not well things stay, and it.evidence() says where, beside `scratch`."""
    harness.clean_up_on_term()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"cupel-{name}-", dir="/var/tmp"))
    good, it = False, None
    try:
        it = make(scratch)
        good = judge(it)
    except AssertionError as failure:
        print("WRONG", failure)
    finally:
        if it:
            it.close(keep=not good)
        if good:
            shutil.rmtree(scratch, ignore_errors=True)
        else:
            print(f"evidence: {it.evidence() if it else ''} {scratch}")
    return 0 if good else 1
