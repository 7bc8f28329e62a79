"""Readers: what users give (rows, labels, graphs, weights, bounds) as checked arrays; errors name the example."""
