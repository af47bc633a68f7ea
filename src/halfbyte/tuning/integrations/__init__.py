"""Callbacks for trainers."""
