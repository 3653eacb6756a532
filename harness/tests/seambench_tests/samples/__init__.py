"""Samples, fakes and small programs that several tests need."""
