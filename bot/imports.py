"""How big packages are imported where somebody waits for them."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Imports in here go without the garbage collector.

    What they make, hundreds of thousands of objects for Anthropic's package alone, stays as long
    as the process. The collector would look through it again and again, which takes a seventh of
    an import's time, and later a tenth of a second at a time of a bot that is at work.
    """
    # What is garbage by now would be kept as well, and nobody told of a file left open in it.
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
