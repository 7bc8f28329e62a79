"""Everything that is written to disk and read back: model files, checkpoints, cache folders.

Text files of examples are not here (:mod:`bcfw.text.formats`), nor research data (:mod:`bcfw.datasets`).
"""
