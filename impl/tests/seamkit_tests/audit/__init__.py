"""Audits of tables that real engines wrote."""
