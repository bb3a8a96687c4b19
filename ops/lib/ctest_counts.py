#!/usr/bin/env python3
"""Prints "PASSED FAILED SKIPPED" of a JUnit file that ctest wrote."""
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot()
failed = skipped = total = 0
for case in suite.iter("testcase"):
    total += 1
    if case.find("failure") is not None or case.get("status") == "fail":
        failed += 1
    elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        skipped += 1
print(total - failed - skipped, failed, skipped)
