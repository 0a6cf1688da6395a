"""The documentation site: `make docs` builds it, without network, into build/site."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import betarce  # noqa: E402

project = "betarce"
author = "The betarce developers"
project_copyright = author
version = release = betarce.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated_reference",
    "mathml",
]
exclude_patterns = [
    "_ext",
    "_templates",
    "results/guarantee/report",  # it is part of guarantee.md
    "**/sg_execution_times.rst",  # its tables load scripts from elsewhere
    "sg_execution_times.rst",
]
templates_path = ["_templates"]
root_doc = "index"
nitpicky = False
suppress_warnings = ["toc.not_included"]  # a page that only others link to is found by the search all the same

# Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# The reference
smartquotes = False  # options keep their two dashes, and code its quotes
default_role = "py:obj"  # names in docstrings link where they can
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",  # the others are shown, and run by the tests: they are long or need other libraries
    "abort_on_example_error": True,
    "capture_repr": (),  # what is printed is shown; what a plot returns is not
    "thumbnail_size": (480, 300),
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "min_reported_time": 1_000,
    "plot_gallery": "True",
    "reference_url": {"betarce": None},
    "doc_module": ("betarce",),
    "backreferences_dir": "gallery/uses",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "gallery_order.PicturesFirst",
    "nested_sections": False,
}

# The looks: nothing is loaded from elsewhere
html_title = "betarce"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "start": [], "comparison": []}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "logo": {"text": "betarce", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
