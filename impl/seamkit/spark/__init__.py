"""Spark SQL over scans of ours, in this process, without a copy between them.

    >>> import seamkit, seamkit.spark
    >>> with seamkit.spark.NativeSpark() as spark:  # doctest: +SKIP
    ...     spark.register("trips", seamkit.open_table("trips").scan())
    ...     spark.to_arrow(spark.session.sql("SELECT count(*) FROM trips"))

Tasks read parts of a scan as native batches, of which Spark's operators see handles alone; native
code makes Spark's rows of them, and Arrow batches of the rows that a query gives. Needs the extra
`jvm`: pyspark, a Java and JPype.
"""

from seamkit.spark.session import NativeSpark

__all__ = ["NativeSpark"]
