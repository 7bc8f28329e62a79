"""Labels on the nodes of graphs and trees: four models, each with its routines.

Maximum flow, message passing and forests themselves are in :mod:`bcfw.algorithms`; trees of body parts in images are
another structure (:mod:`bcfw.models.pictorial`).
"""
