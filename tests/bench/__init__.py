"""``make bench``: the figures that are promised, as ratios measured in one run."""
