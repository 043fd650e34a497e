"""From a plan to results: respond, score, aggregate, and the run folder that keeps everything."""
