"""Training and tagging on text files: the work of the commands ``bcfw train`` and ``bcfw predict``.

:class:`bcfw.text.tagger.Tagger` and the modules that it imports load neither scikit-learn nor scipy. The readers of
the files are in :mod:`bcfw.formats`.
"""
