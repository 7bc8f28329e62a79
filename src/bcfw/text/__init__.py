"""Text files in, labels out: formats, attributes of words by name, training on a file, and the tagger that labels text.

:class:`bcfw.text.tagger.Tagger` and what it needs load neither scikit-learn nor scipy, so that a saved model labels its
first sentence soon after the process has begun. The estimators for arrays are in :mod:`bcfw.estimators`, and the
commands themselves in :mod:`bcfw.commands`.
"""
