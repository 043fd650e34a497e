"""The vendors' protocols: one file per kind of request, and the table of paths that leads to them."""
