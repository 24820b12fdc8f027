"""Makes the folder from which the site is rendered: ``python site/build.py FOLDER [REPOSITORY]``.

It copies ``docs/``, rewrites links that leave it to ``REPOSITORY/blob/main/`` (or to plain text if
no repository is given), and adds a home page, a page for each command and each notebook, the Python
API and a gallery of figures, each with the command that made it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import commands

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
DRAWN = re.compile(r"```sh\n(slowstart [^`]*?)```\n+!\[([^\]]*)\]\(([^)]+)\)")
SECTIONS = ("Guides", "Concepts", "Reference", "Design")


def rewritten(text: str, folder: Path, repository: str) -> str:
    """``text`` of a page in ``folder``, with links to pages of the site or to the repository."""

    def link(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        path, _, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return found[0]
        place = Path(os.path.normpath(folder / path))
        if place == DOCS / "README.md":
            above = os.path.relpath(DOCS / "overview.md", folder)
            return f"[{words}]({above}{'#' if anchor else ''}{anchor})"
        if place.is_relative_to(DOCS):
            if place.suffix == ".ipynb":
                return f"[{words}]({path.removesuffix('.ipynb')}.md)"
            if not place.is_dir():
                return found[0]
            return f"[{words}]({path.rstrip('/')}/README.md)"
        if not repository:
            return words
        kind = "tree" if place.is_dir() else "blob"
        address = f"{repository}/{kind}/main/{place.relative_to(ROOT).as_posix()}"
        return f"[{words}]({address}{'#' if anchor else ''}{anchor})"

    # Code has no links.
    made, end = "", 0
    for fence in FENCE.finditer(text):
        made += LINK.sub(link, text[end : fence.start()]) + fence[0]
        end = fence.end()
    return made + LINK.sub(link, text[end:])


def notebook(file: Path, repository: str) -> str:
    """A notebook as a page, with a link to the file."""
    cells = json.loads(file.read_text())["cells"]
    texts = []
    for cell in cells:
        text = "".join(cell["source"])
        texts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    head, *rest = (rewritten(text, file.parent, repository) for text in texts)
    return "\n\n".join([head, f"[Download the notebook]({file.name})", *rest]) + "\n"


def gallery() -> str:
    """The figures of all pages that show the command of a figure above it."""
    text = "# Gallery\n\nEach figure with the command that made it.\n"
    for page in sorted(DOCS.rglob("*.md")):
        for command, caption, image in DRAWN.findall(page.read_text()):
            place = (page.parent / image).resolve().relative_to(DOCS).as_posix()
            name = page.relative_to(DOCS).as_posix()
            text += f"\n## {page.stem}\n\n![{caption}]({place})\n\n"
            text += f"```sh\n{command}```\n\n[The page]({name})\n"
    return text


def heading(page: Path) -> str:
    """The heading of a page, without the marks of code."""
    found = re.search(r"^# (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return found[1].replace("`", "") if found else page.stem


def navigation(listed: list[str]) -> list[object]:
    """The pages in the order of ``docs/README.md``; the rest of a folder after its first page."""
    text = (DOCS / "README.md").read_text()
    found: list[object] = [{"Home": "index.md"}, {"Explorable": "explorable/index.html"}]
    for section in SECTIONS:
        part = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
        pages: list[object] = []
        for target in re.findall(r"\]\(([^)#]+\.(?:md|ipynb))\)", part):
            folder, _, name = target.rpartition("/")
            if target.startswith("..") or not (DOCS / target).exists():
                continue
            if name != "README.md":
                pages.append(target.replace(".ipynb", ".md"))
                continue
            # The menu has the words of the page, which begins with a comment if a program wrote it.
            rest = [
                {heading(page): page.relative_to(DOCS).as_posix()}
                for page in sorted((DOCS / folder).glob("*.md"))
                if page.name != "README.md"
            ]
            inside = [target, *rest]
            pages.extend(inside if section == "Design" else [{heading(DOCS / target): inside}])
        if section == "Reference":
            pages.append({"Python": ["reference/python.md", "reference/api.md"]})
            pages.remove("reference/python.md")
        found.append({section: pages})
    found.append({"Commands": ["commands/index.md", *listed]})
    return [*found, {"Gallery": "gallery.md"}, {"All pages": "overview.md"}]


def build(target: Path, repository: str) -> None:
    """Writes the folder, and the settings beside it."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target)
    for page in DOCS.rglob("*.md"):
        place = target / page.relative_to(DOCS)
        text = rewritten(page.read_text(), page.parent, repository)
        if page.name == "leaderboard.md":
            text = f"---\nhide: [toc, navigation]\n---\n\n{text}"
        place.write_text(text)
    for file in DOCS.rglob("*.ipynb"):
        place = (target / file.relative_to(DOCS)).with_suffix(".md")
        place.write_text(notebook(file, repository))
    (target / "README.md").rename(target / "overview.md")
    shutil.copy(ROOT / "site" / "home.md", target / "index.md")
    shutil.copy(ROOT / "site" / "site.css", target)
    (target / "gallery.md").write_text(gallery())
    (target / "reference" / "api.md").write_text("# Python API\n\n::: slowstart\n")
    (target / "commands").mkdir()
    index, listed = "# Commands\n\n| command | |\n| --- | --- |\n", []
    for name, command in commands.commands():
        file = f"{name.replace(' ', '-')}.md"
        (target / "commands" / file).write_text(commands.page(name, command))
        head = " ".join((command.help or "").split()).replace("|", r"\|")
        index += f"| [`slowstart {name}`]({file}) | {head} |\n"
        listed.append(f"commands/{file}")
    (target / "commands" / "index.md").write_text(index)
    settings = {
        "INHERIT": os.path.relpath(ROOT / "site" / "mkdocs.yml", target.parent),
        # Relative to the file of the settings: Zensical reads no others.
        "docs_dir": target.name,
        "site_dir": "html",
        "nav": navigation(listed),
    }
    if repository:
        settings["repo_url"] = repository
    # JSON is YAML.
    (target.parent / "mkdocs.yml").write_text(json.dumps(settings, indent=2))


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), sys.argv[2].rstrip("/") if len(sys.argv) > 2 else "")
