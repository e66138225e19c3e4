"""The report as a browser sees it: what it loads, what it complains of, and whether it fits a desk and a phone."""

import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from patience import LONGEST

from impact_aware.report.html import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=3000",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip

WIDTHS = (1280, 390)

# The report forbids itself every script, so a page around it measures it.
HARNESS = """<!doctype html><title>harness</title><link rel="icon" href="data:,"><body><pre id="out"></pre><script>
const widths = %s, results = {};
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    results[width] = {
      page: root.scrollWidth,
      figures: [...page.querySelectorAll("figure svg")].map(svg => {
        const box = svg.getBoundingClientRect();
        return [box.left, box.right, box.width, box.height];
      }),
      letters: Math.min(...[...page.querySelectorAll("figure svg text")].map(t => t.getBoundingClientRect().height)),
      tables: [...page.querySelectorAll("table")].map(t => t.closest(".scroll").getBoundingClientRect().right),
      columns: new Set([...page.querySelectorAll("figure")].slice(0, 4).map(f => f.getBoundingClientRect().left)).size,
    };
    if (Object.keys(results).length === widths.length)
      document.getElementById("out").textContent = JSON.stringify(results);
  };
  frame.src = "report.html";
  document.body.append(frame);
}
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves one folder and remembers what was asked for."""

    asked: list = []

    def do_GET(self):  # noqa: N802
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        """Stay silent."""


def chromium(url, folder, *more):
    profile = folder / "profile"
    try:
        return subprocess.run(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *more, url],
            capture_output=True, text=True, timeout=LONGEST, check=False,
        )  # fmt: skip
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def _is_of_a_page(event):
    params = event.get("params", {})
    return "url" in params and str(params.get("initiator", "")).startswith("http")


@pytest.fixture(scope="module")
def folder(make_analysis, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    write_report(make_analysis({"left": [1.0], "right": [1.002]}), folder)
    (folder / "harness.html").write_text(HARNESS % json.dumps(WIDTHS))
    return folder


@pytest.fixture(scope="module")
def seen(folder, tmp_path_factory):
    """Layout at both widths, what was asked of the server, and what the browser wrote on its console."""
    Server.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/harness.html"
            log = folder / "net.json"
            run = chromium(url, tmp_path_factory.mktemp("served"), f"--log-net-log={log}", "--dump-dom")
        finally:
            server.shutdown()
            thread.join()
    found = re.search(r'<pre id="out">(.+?)</pre>', run.stdout, re.DOTALL)
    assert found, run.stderr[-2000:]
    return json.loads(html.unescape(found.group(1))), list(Server.asked), run.stderr, log.read_text(), url


def test_nothing_but_the_page_is_loaded(seen):
    _, asked, _, log, url = seen
    # The second frame may take the page from the browser's cache.
    assert set(asked) == {"/harness.html", "/report.html"}
    # The browser's own requests, as for updates, have no page as their initiator.
    of_pages = [event["params"]["url"] for event in json.loads(log)["events"] if _is_of_a_page(event)]
    own = url.rpartition("/")[0]
    assert of_pages and all(address.startswith(own) for address in of_pages)


def test_console_stays_empty(seen):
    assert not re.findall(r".*CONSOLE.*", seen[2])


def test_no_console_message_from_a_file_either(folder, tmp_path):
    run = chromium((folder / "report.html").as_uri(), tmp_path, "--dump-dom")
    assert "CONSOLE" not in run.stderr
    assert "How to read it" in run.stdout


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_in_view(seen, width):
    layout = seen[0][str(width)]
    # The page itself never scrolls sideways; wide tables do, in their boxes.
    assert layout["page"] <= width
    assert len(layout["figures"]) == 8
    for left, right, wide, high in layout["figures"]:
        assert left >= 0.0 and right <= width
        assert wide > 300.0 and high > 150.0
    assert all(right <= width for right in layout["tables"])
    # The smallest letters, in CSS pixels with ascent and descent.
    assert layout["letters"] > 8.0


def test_figures_stand_side_by_side_only_where_there_is_room(seen):
    assert seen[0]["1280"]["columns"] == 2
    assert seen[0]["390"]["columns"] == 1


def test_picture_is_not_blank(folder, tmp_path):
    picture = tmp_path / "report.png"
    chromium((folder / "report.html").as_uri(), tmp_path, "--window-size=1280,2000", f"--screenshot={picture}")
    # A white page of this size packs to less than 20 kB.
    assert picture.stat().st_size > 100_000
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
