"""What tests ask of a figure: its lines, its words, and whether they can be read in print."""

from matplotlib.text import Text


def lines_by_label(ax):
    """Give the lines of a panel by their labels."""
    return {line.get_label(): line for line in ax.get_lines()}


def legend_texts(figure):
    """Give the words of all legends below a figure."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def assert_legible(figure):
    """Check that no word is below seven points, and that none leaves the figure."""
    figure.canvas.draw()
    right, top = figure.get_size_inches() * figure.dpi
    # Axes keep labels for ticks beyond their limits, which are never drawn.
    ticks = [label for ax in figure.axes for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    words = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible() and text not in ticks]
    assert words
    assert min(text.get_fontsize() for text in (*words, *ticks)) >= 7
    for text in words:
        box = text.get_window_extent()
        assert min(box.x0, box.y0, right - box.x1, top - box.y1) > -1, f"{text.get_text()!r} leaves the figure"


def left_title(axes):
    """Give the text object of the title on the left."""
    texts = [child for child in axes.get_children() if isinstance(child, Text) and child.get_ha() == "left"]
    (title,) = [text for text in texts if text.get_text() == axes.get_title("left")]
    return title
