"""Readers fed with input changed at random; each case ends in a documented way, in time, within its memory."""
