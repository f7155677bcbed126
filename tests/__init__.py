"""Tests: one folder per question."""
