"""``bcfw info``: describe the content of a model file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import numpy as np

from bcfw.commands.error_reports import errors_reported


@click.command()
@click.argument("model")
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Attributes to show, by weight.")
def info(model: str, top: int) -> None:
    """Show the content of the file MODEL: the kind of model, its sizes, its certificate, its largest weights."""
    from bcfw.storage import model_file
    from bcfw.text.tagger import KIND, Tagger

    with errors_reported():
        found = model_file.read(model)
        versions = ", ".join(f"{name} {version}" for name, version in found.header.get("versions", {}).items())
        lines = about(Tagger.from_file(found), top) if found.kind == KIND else about_saved(found, top)
        text = "\n".join([f"{model}: {found.kind} (written by {versions})", *lines])
        click.echo(text.encode("utf-8", "backslashreplace"))  # lone surrogates cannot be encoded


def about(tagger: Any, top: int) -> list[str]:
    """Return lines about a tagger, a model that labels text."""
    source, labels = tagger.source, tagger.labels
    attributes = source.attributes
    name = "" if attributes is None else f", attributes {attributes.name}"
    lines = [
        f"labels {'sequences' if tagger.model == 'chain' else 'single examples'} of the format {source.format.name}"
        f" ({', '.join(f'{key} {value}' for key, value in source.format.settings.items() if value is not None)}){name}",
        f"{len(labels)} labels: {' '.join(labels)}",
    ]
    if tagger.encoding is not None:
        lines.append(f"labels of spans learned as {tagger.encoding}, answered as {tagger.scheme}")
    weights = f"{len(tagger.vocabulary)} attributes, {tagger.dim} weights, {len(tagger.values)} of them not zero"
    lines += [weights, *certificate_lines(tagger.certificate), *top_lines(tagger, top)]
    return lines


def certificate_lines(certificate: dict[str, Any]) -> list[str]:
    """Return lines about the certificate and the solver."""
    known = [f"{key} {shown(value)}" for key, value in certificate.items() if key not in ("solver", "certified")]
    proof = "certified" if certificate.get("certified") else "not certified"
    return [f"certificate ({proof}): {', '.join(known)}", f"solver: {certificate.get('solver')}"]


def top_lines(tagger: Any, top: int) -> list[str]:
    """Return lines with the attributes that have the largest weights."""
    K, F = len(tagger.labels), len(tagger.vocabulary)
    unary = tagger.places < F * K
    return largest_lines(tagger.places[unary], tagger.values[unary], tagger.labels, tagger.vocabulary.names_of, top)


def largest_lines(
    places: np.ndarray, values: np.ndarray, labels: list[Any], names_of: Callable[[list[int]], list[str]], top: int
) -> list[str]:
    """Return lines with the largest of the non-zero weights of U (F, K); ``places`` are their indices in ``U.ravel()``.

    A line has the value, the label and the name of the feature.
    """
    order = np.argsort(-np.abs(values), kind="stable")[:top]
    features, codes = np.divmod(places[order], len(labels))
    rows = zip(values[order], codes, names_of(features.tolist()), strict=True)
    return [f"  {value:+8.4f}  {labels[code]}  {name}" for value, code, name in rows]


def about_saved(found: Any, top: int) -> list[str]:
    """Return lines about an estimator or a result that was saved in Python."""
    from bcfw.storage.load import restored

    model = found.header.get("model")
    if isinstance(model, dict) and "class" in model:
        return about_own(found.header, model)
    saved = restored(found)
    result, lines = (saved, []) if found.kind == "result" else (saved.result_, about_estimator(found.header, saved))
    options = ", ".join(f"{name} {shown(value)}" for name, value in model["options"].items() if value is not None)
    lines.append(f"model: {model['model']}{f' ({options})' if options else ''}")
    proof = certificate_lines({**found.header["certificate"], "solver": result.solver})
    return [*lines, *weight_lines(saved, result, top, proof)]


def about_own(header: dict[str, Any], model: dict[str, Any]) -> list[str]:
    """Return lines about a file with a user's own model: all that is known without this model."""
    return [
        f"model: {shown(model['class'])}, of your own: give it to bcfw.load(path, model=...) to use the file",
        f"{shown(named(model, 'sizes', 'dim'))} weights",
        *certificate_lines({**header.get("certificate", {}), "solver": shown(named(header, "solver", "solver"))}),
    ]


def named(header: Any, *names: str) -> Any:
    """Return the value under nested names in a header that was not checked; None if there is no such value."""
    for name in names:
        header = header.get(name) if isinstance(header, dict) else None
    return header


def about_estimator(header: dict[str, Any], saved: Any) -> list[str]:
    """Return lines about the options and the labels of an estimator."""
    lines = [shown(" ".join(repr(saved).split()))]
    if header.get("left_out"):
        lines.append(f"left out of the file: {shown(header['left_out'])}")
    if "classes_" in vars(saved):
        labels = saved.classes_.tolist()
        lines.append(f"{len(labels)} labels: {shown(' '.join(map(str, labels)))}")
    if vars(saved).get("_scheme") is not None:
        lines.append(f"labels of spans learned as {saved._scheme}, answered as {' '.join(saved._returned.tolist())}")
    return lines


def weight_lines(saved: Any, result: Any, top: int, proof: list[str]) -> list[str]:
    """Return lines with the number of weights, the certificate, and the largest weights of features for labels."""
    if result.w is None:
        return [f"{result.n_support} support vectors", *proof]
    vectorizer = vars(saved).get("vectorizer_")
    names, F = vars(saved).get("feature_names_in_"), getattr(saved, "n_features_in_", None)
    kind = "" if F is None else f"{F} {'features' if vectorizer is None else 'attributes'}, "
    lines = [f"{kind}{len(result.w)} weights, {np.count_nonzero(result.w)} of them not zero", *proof]
    coef = getattr(saved, "coef_", None)
    labels = saved.classes_.tolist() if "classes_" in vars(saved) else []
    if coef is None or coef.ndim != 2 or len(coef) != len(labels):
        return lines

    def names_of(features: list[int]) -> list[str]:
        if vectorizer is not None:
            return vectorizer.vocabulary_.names_of(features)  # type: ignore[no-any-return]
        return [f"feature {j}" if names is None else str(names[j]) for j in features]

    flat = coef.T.ravel()
    places = np.flatnonzero(flat)
    return lines + largest_lines(places, flat[places], labels, names_of, top)


def shown(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 300 else text[:300] + " ..."
