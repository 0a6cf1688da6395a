"""The order of the gallery: scripts that the build runs, by number, then those that it only shows."""

from typing import Any

from sphinx_gallery.sorting import FileNameSortKey


class PicturesFirst(FileNameSortKey):
    """Sort by file name, with what has a picture of its own first."""

    def __call__(self, filename: str) -> Any:
        return (not filename.startswith("plot_"), super().__call__(filename))
