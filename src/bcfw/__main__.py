"""``python -m bcfw`` is the command ``bcfw``."""

from __future__ import annotations

from bcfw.commands import main

if __name__ == "__main__":
    main()
