"""Jars by their coordinates, fetched as Spark fetches them.

The Ivy inside Spark's jars resolves them, from the repositories and into the folder that
`spark.jars.packages` uses, so what was fetched once is found without network.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seambase.errors import UnavailableError
from seamkit.jvm.machine import JavaClasses, java_failure, spark_classes


def fetch_jars(coordinates: Sequence[str], wanted_by: str) -> list[Path]:
    """Jars of some `group:artifact:version[:classifier]`, without what those depend on."""
    spark = spark_classes()
    utils = spark.java_class("org.apache.spark.deploy.SparkSubmitUtils")
    none = spark.java_class("scala.Option").empty()
    with spark.inside():
        settings = utils.buildIvySettings(none, none, True)
        _without_poms(settings)
        folder = Path(str(settings.getDefaultIvyUserDir())) / "jars"
        paths = [folder / _file_name(coordinate) for coordinate in coordinates]
        if missing := [path for path in paths if not path.is_file()]:
            _resolve(spark, settings, coordinates, wanted_by, folder)
            missing = [path for path in paths if not path.is_file()]
    if missing:
        raise UnavailableError(
            f"{wanted_by} needs {missing[0].name}, which Ivy left out of {folder}"
        )
    return paths


def _without_poms(settings: Any) -> None:
    """Let repositories hand out jars alone: what these depend on is not fetched.

    Some releases lack the parent of their poms, which fails a jar that is there.
    """
    for resolver in settings.getDefaultResolver().getResolvers():
        if hasattr(resolver, "setUsepoms"):
            resolver.setUsepoms(False)


def _file_name(coordinate: str) -> str:
    group, artifact, version, *classifier = coordinate.split(":")
    return f"{group}_{'-'.join([artifact, version, *classifier])}.jar"


def _resolve(
    spark: JavaClasses, settings: object, coordinates: Sequence[str], wanted_by: str, folder: Path
) -> None:
    """Let Ivy fetch; what it prints goes nowhere."""
    utils = spark.singleton("org.apache.spark.deploy.SparkSubmitUtils")
    printed = spark.jpype.JClass("java.io.ByteArrayOutputStream")()
    stream = spark.jpype.JClass("java.io.PrintStream")(printed)
    before = utils.printStream()
    getattr(utils, "printStream_$eq")(stream)
    none = spark.java_class("scala.Option").empty()
    nothing = spark.singleton("scala.collection.immutable.Nil")
    plain = ",".join(one for one in coordinates if one.count(":") == 2)
    try:
        utils.resolveMavenCoordinates(plain, settings, none, False, nothing, False)
        for one in coordinates:
            if one.count(":") == 3:
                _resolve_classified(spark, settings, one, folder / _file_name(one))
    except spark.jpype.JException as error:
        raise UnavailableError(
            f"{wanted_by} needs jars that could not be fetched ({java_failure(error)}): without "
            f"network, copy {', '.join(map(_file_name, coordinates))} into {folder}"
        ) from error
    finally:
        getattr(utils, "printStream_$eq")(before)


def _resolve_classified(
    spark: JavaClasses, settings: object, coordinate: str, target: Path
) -> None:
    """Fetch one of the further jars of a release, for which Spark's own function has no words."""
    group, artifact, version, classifier = coordinate.split(":")
    ids = spark.java_class("org.apache.ivy.core.module.id.ModuleRevisionId")
    kinds = "org.apache.ivy.core.module.descriptor.Default"
    wanted = spark.java_class(f"{kinds}ModuleDescriptor").newDefaultInstance(
        ids.newInstance("seambench", "jars", classifier)
    )
    needed = spark.java_class(f"{kinds}DependencyDescriptor")(
        wanted, ids.newInstance(group, artifact, version), False, False, False
    )
    more = spark.jpype.JClass("java.util.HashMap")()
    more.put("m:classifier", classifier)
    jar = spark.java_class(f"{kinds}DependencyArtifactDescriptor")(
        needed, artifact, "jar", "jar", None, more
    )
    needed.addDependencyArtifact("default", jar)
    needed.addDependencyConfiguration("default", "*")
    wanted.addDependency(needed)
    ivy = spark.java_class("org.apache.ivy.Ivy").newInstance(settings)
    silent = spark.java_class("org.apache.ivy.util.DefaultMessageLogger")(0)
    ivy.getLoggerEngine().setDefaultLogger(silent)
    options = spark.java_class("org.apache.ivy.core.resolve.ResolveOptions")()
    options.setTransitive(False)
    options.setOutputReport(False)
    for report in ivy.resolve(wanted, options).getAllArtifactsReports():
        if (file := report.getLocalFile()) is not None:
            shutil.copyfile(str(file), target)
