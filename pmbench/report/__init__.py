"""One run as one page of HTML that needs nothing else: numbers with their intervals, then instance by instance."""
