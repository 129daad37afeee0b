"""Tests of `properties/register`."""
