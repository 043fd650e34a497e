"""The ground floor: the types that everything else is made of. No input or output, no heavy import."""
