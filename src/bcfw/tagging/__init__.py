"""From attributes to labels: names of attributes as columns, and decoding with sparse weights.

It needs neither scikit-learn nor scipy, so that a saved model tags its first sentence soon after the process has begun.
"""
