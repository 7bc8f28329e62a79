"""Named attributes and decoding: reading attributes, their columns, and the best labels under sparse chain weights.

Tagging uses neither scikit-learn nor scipy, so that a saved model tags its first sentence soon after the process has
started; only ``rows``, for training, imports scipy.
"""
