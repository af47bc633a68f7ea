"""What a policy did to a run, as a page to look at."""
