"""The check of the built site finds what it is there to find."""

import pytest

from check_site import main


def site_of(folder, body, head=""):
    (folder / "other.html").write_text('<p id="here">Other</p>')
    (folder / "index.html").write_text(f"<head>{head}</head><body>{body}</body>")
    return [str(folder)]


def test_a_site_that_stands_alone_passes(tmp_path, capsys):
    good = '<a href="other.html#here">x</a><a href="https://example.org">y</a><a href="#top" id="top">z</a>'
    assert main(site_of(tmp_path, good)) == 0
    assert "2 pages load nothing from elsewhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    "head",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/x.css">',
        "<style>@import 'https://fonts.example.org/x.css';</style>",
        "<style>body { background: url(http://example.org/x.png) }</style>",
    ],
)
def test_an_asset_from_elsewhere_is_found(tmp_path, capsys, head):
    assert main(site_of(tmp_path, "", head)) == 1
    assert "index.html: loads" in capsys.readouterr().out


def test_an_asset_in_a_style_sheet_is_found(tmp_path, capsys):
    (tmp_path / "x.css").write_text("@font-face { src: url('https://fonts.example.org/x.woff2') }")
    assert main(site_of(tmp_path, "")) == 1
    assert "x.css: loads https://fonts.example.org/x.woff2" in capsys.readouterr().out


@pytest.mark.parametrize(("link", "says"), [("gone.html", "is not there"), ("other.html#gone", "has no such place")])
def test_a_dead_link_is_found(tmp_path, capsys, link, says):
    assert main(site_of(tmp_path, f'<a href="{link}">x</a>')) == 1
    assert capsys.readouterr().out == f"index.html: {link} {says}\n"


def test_a_folder_without_pages_is_no_site(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1
    assert "has no page" in capsys.readouterr().out
