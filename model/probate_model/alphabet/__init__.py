"""The alphabet: every word that the model, a trace, a backend and a report share."""
