"""Armillary answers with a language model, verifies the answer, repairs it and shows why."""
