"""One file per backend, each imported only when used."""
