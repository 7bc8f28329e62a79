"""``bcfw info``: what is in a model file."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from bcfw.commands.failures import told


@click.command()
@click.argument("model")
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Attributes to show, by weight.")
def info(model: str, top: int) -> None:
    """Show what the file MODEL holds: the kind of model, its sizes, its certificate, its largest weights."""
    from bcfw import model_file
    from bcfw.text.tagger import KIND, Tagger

    with told():
        found = model_file.read(model)
        versions = ", ".join(f"{name} {version}" for name, version in found.header.get("versions", {}).items())
        click.echo(f"{model}: {found.kind} (written by {versions})")
        if found.kind == KIND:
            click.echo("\n".join(about(Tagger.from_file(found), top)))
        else:
            click.echo("\n".join(about_header(found.header)))


def about(tagger: Any, top: int) -> list[str]:
    """Lines about a model that labels text."""
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
    """What training has proved, and how."""
    known = [f"{key} {shown(value)}" for key, value in certificate.items() if key not in ("solver", "certified")]
    proof = "certified" if certificate.get("certified") else "not certified"
    return [f"certificate ({proof}): {', '.join(known)}", f"solver: {certificate.get('solver')}"]


def top_lines(tagger: Any, top: int) -> list[str]:
    """The attributes with the largest weights."""
    K, F = len(tagger.labels), len(tagger.vocabulary)
    unary = np.flatnonzero(tagger.places < F * K)
    order = unary[np.argsort(-np.abs(tagger.values[unary]), kind="stable")][:top]
    attributes, labels = np.divmod(tagger.places[order], K)
    names = tagger.vocabulary.names_of(attributes.tolist())
    rows = zip(tagger.values[order], labels, names, strict=True)
    return [f"  {value:+8.4f}  {tagger.labels[label]}  {name}" for value, label, name in rows]


def about_header(header: dict[str, Any]) -> list[str]:
    """Lines about any other model."""
    return [f"{key}: {shown(value)}" for key, value in header.items() if key != "versions"]


def shown(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 300 else text[:300] + " ..."
