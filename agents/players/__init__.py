"""Players that are not trained here: bots, exported models, remote policies, and networks made from games."""
