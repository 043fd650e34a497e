"""Pairs of a reply's sentence and a draft that the content judge's numbers were chosen and measured on."""
