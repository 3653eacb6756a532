"""Velox's stream machinery: arenas, byte streams over scattered ranges, serializers by name."""
