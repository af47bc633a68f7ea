"""Policies: which codec for which saved tensor. Pure functions of a description; they see no model and no
bytes.
"""
