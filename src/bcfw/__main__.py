"""Run the command line: ``python -m bcfw`` does what the command ``bcfw`` does."""

from __future__ import annotations

from bcfw.commands import main

if __name__ == "__main__":
    main()
