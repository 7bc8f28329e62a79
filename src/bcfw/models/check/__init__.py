"""``bcfw.check_model``: what finds mistakes in a user's model, and says them in one sentence.

Users' sets and functions for ``bcfw.minimize`` are checked in :mod:`bcfw.product`.
"""
