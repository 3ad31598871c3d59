"""What the tests share."""

import pathlib
import sys

PROJECT = pathlib.Path(__file__).parents[5]
EXAMPLES = PROJECT / "crates/base/exec-policy/examples"

# UCP in Python is the same class here and as a program.
sys.path.insert(0, str(EXAMPLES))
