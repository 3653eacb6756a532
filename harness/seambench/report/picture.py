"""A picture of the first page, taken by a browser that this machine has."""

from __future__ import annotations

import shutil
from pathlib import Path

from seambase.errors import UnavailableError

_WINDOW = {"width": 1280, "height": 800}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take_picture(page: Path, picture: Path) -> Path:
    """Take a PNG picture of a whole page in its light colours."""
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
            window = running.new_page(viewport=_WINDOW, color_scheme="light")
            window.goto(page.resolve().as_uri())
            picture.parent.mkdir(parents=True, exist_ok=True)
            window.screenshot(path=picture, full_page=True)
        finally:
            running.close()
    return picture
