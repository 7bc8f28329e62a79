"""What several structures share: labelings, parts, rows of features, costs, block solves, sum-product.

What only one structure needs is in the folder of the structure; algorithms without a model are in
:mod:`bcfw.algorithms`.
"""
