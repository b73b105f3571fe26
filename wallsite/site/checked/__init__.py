"""Checked numbers: their syntax, what an expression may say, and which numerals may stand bare."""
