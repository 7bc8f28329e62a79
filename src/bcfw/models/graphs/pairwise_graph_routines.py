"""Oracle of graphs with arbitrary scores of pairs of labels: TRW-S, then max-product if the bound is not tight."""

from __future__ import annotations

from bcfw.algorithms.forests import solve_forest
from bcfw.algorithms.message_passing import BOUND, clear_messages, is_tight, max_product, reweighted
from bcfw.models.graphs.label_graph_routines import links_of, scores_of, set_tables, take_labels
from bcfw.models.shared.labelings import labeling_value

#: TRW-S stops after this many iterations in a row without progress: in the oracle, and for bounds.
PATIENCE, BOUND_PATIENCE = 3, 10


def argmax(data, i, w, work):
    """Find a good labeling; it is optimal on forests, and if the bound of TRW-S is tight."""
    links = links_of(data, i)
    scores = scores_of(work)
    set_tables(data, i, work)
    if data.forest[i]:
        solve_forest(links, scores)
    else:
        clear_messages(links, scores)
        reweighted(links, scores, data.effort[0], PATIENCE)
        if not is_tight(work.found):
            max_product(links, scores, data.effort[1])
    take_labels(data, i, work.best, work)
    value = labeling_value(data, i, w, work)
    if data.forest[i]:
        work.found[BOUND] = value
    return value


def upper_bound(data, i, w, work):
    """Return the value on forests, else the bound of TRW-S, which runs on from the oracle's messages unless tight."""
    if not data.forest[i]:
        reweighted(links_of(data, i), scores_of(work), data.effort[2], BOUND_PATIENCE)
    return work.found[BOUND]
