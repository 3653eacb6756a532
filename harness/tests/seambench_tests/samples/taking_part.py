"""Programs of the tests that take part in a seam, and small cases of exchanges to put to them."""

import json
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seambench.seams.exchange.cases import ExchangeCase, exchange_cases


def stated_program(folder: Path, name: str, script: Path, words: Iterable[str]) -> Path:
    """A program that runs a script with the arguments that it is given, and states some words."""
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(script)])} "$@"\n')
    program.chmod(0o755)
    facts = {"name": name, "version": "1", "capabilities": dict.fromkeys(words, True)}
    (folder / f"{name}.seambench.json").write_text(json.dumps(facts))
    return program


def small_case(root: Path, fault: str = "none", field: str = "k", **asked: Any) -> ExchangeCase:
    """Rows of two senders, in which something may go wrong on purpose; the rest is asked for."""
    usual = {"partition": "single", "senders": [2], "order": "sender", "transports": ["sockets"]}
    usual |= {"keys": ["k"] if asked.get("partition") == "hash" else [], **asked}
    text = f"""
level = "must"
requirement = "rows arrive once, those of a sender in order"
fields = ["{field}", "s"]
types = ["int", "string"]
rows = 90
batch_rows = 10
fault = "{fault}"
[exchange]
"""
    folder = root / "cases" / "exchange"
    folder.mkdir(parents=True)
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in usual.items()]
    (folder / "small.toml").write_text(text + "".join(lines))
    [made] = exchange_cases(root)
    return made
