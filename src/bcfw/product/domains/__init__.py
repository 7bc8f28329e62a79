"""The sets of ``bcfw.minimize``: classes with a linear minimisation oracle, for vectors and for matrices.

``bcfw.domains`` is the public name of this package. A set of a user's own is checked in
:mod:`bcfw.product.domain_check`.
"""

from bcfw.product.domains.domain import Counted, Domain
from bcfw.product.domains.matrices import Birkhoff, NuclearBall, Spectraplex
from bcfw.product.domains.vectors import Box, Hull, KSparse, L1Ball, L2Ball, LinfBall, Simplex

#: The sets whose answers are right, so that nothing checks them; a class that derives from one is a user's own.
DOMAINS = (Simplex, Box, L1Ball, L2Ball, LinfBall, KSparse, Hull, Spectraplex, NuclearBall, Birkhoff)

__all__ = [
    "Birkhoff",
    "Box",
    "Counted",
    "Domain",
    "Hull",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LinfBall",
    "NuclearBall",
    "Simplex",
    "Spectraplex",
]
