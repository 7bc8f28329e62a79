"""Attributes of positions by name: sets and templates of them, and the columns that they have.

Reading files is not here (:mod:`bcfw.text.formats`); the scikit-learn transformer is
:class:`bcfw.AttributeVectorizer`.
"""
