"""A serde as a command, to test its door: the bytes are the request's line and the Arrow stream."""

import json
import sys


def main() -> None:
    """Answer one request; the format's name says how."""
    line = sys.stdin.buffer.readline()
    request = json.loads(line)
    content = sys.stdin.buffer.read()
    if request["format"] == "refuse":
        print("refused: no such format", file=sys.stderr)  # noqa: T201 - its only voice
        sys.exit(2)
    if request["format"] == "fail":
        sys.exit(7)
    if request["format"] == "garbage":
        content = b"garbage"
    elif request["operation"] == "serialize":
        content = line + content
    else:
        content = content.partition(b"\n")[2]
    sys.stdout.buffer.write(content)


if __name__ == "__main__":
    main()
