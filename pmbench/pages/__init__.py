"""What pages of HTML have in common: a strict policy, one look, drawings inside the page, text that cannot steer."""
