"""From text files to labels: what the commands do, for programs.

:class:`bcfw.text.tagger.Tagger` and what it needs load neither scikit-learn nor scipy.
"""
