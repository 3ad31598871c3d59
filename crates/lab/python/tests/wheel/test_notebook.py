"""The notebook runs from top to bottom, and plots."""

import pathlib

import nbformat
from nbclient import NotebookClient

NOTEBOOK = pathlib.Path(__file__).parents[2] / "notebooks/policies.ipynb"


def test_the_notebook_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "expected it without outputs"
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    plots = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(plots) == 2


def test_the_guide_says_what_is_so(tmp_path, monkeypatch):
    """The blocks of docs/python.md, one after the other."""
    monkeypatch.chdir(tmp_path)
    page = (NOTEBOOK.parents[4] / "docs/python.md").read_text()
    blocks = [block.split("```")[0] for block in page.split("```python\n")[1:]]
    assert len(blocks) > 5
    names = {}
    for block in blocks:
        exec(block, names)
