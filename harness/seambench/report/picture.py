"""A picture of the first page, taken by a browser that this machine has."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from seambase.errors import UnavailableError

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take_picture(
    page: Path, picture: Path, *, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> Path:
    """Take a PNG picture of a whole page, in a window of a width."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "a picture needs the package playwright: pip install playwright"
        ) from error
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise UnavailableError(f"a picture needs a browser: one of {', '.join(_BROWSERS)}")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            window = running.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            window.goto(page.resolve().as_uri())
            picture.parent.mkdir(parents=True, exist_ok=True)
            window.screenshot(path=picture, full_page=True)
        finally:
            running.close()
    return picture
