"""Models: the facade, the catalogue of presets, the scheduler, the completion store."""
