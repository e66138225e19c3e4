"""The same examples in every run: a failure must be one that anybody can repeat.

`HYPOTHESIS_PROFILE=explore make test` draws new ones.
"""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
