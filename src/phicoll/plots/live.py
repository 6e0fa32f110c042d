"""Figures that answer the mouse in a browser: what Matplotlib drew, described for plotly.js.

Values appear under the mouse, the legend hides and shows, rows are sorted, and an area is zoomed. A page has the
library in it, compressed, and loads nothing. Without JavaScript, and in print, the picture stands in its place.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from phicoll.foundations.extras import extra
from phicoll.foundations.markup import Html, digest, fill, page_head, script_data
from phicoll.foundations.streams import printable

with extra("plots"):
    import matplotlib.text
    import plotly
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection
    from matplotlib.colors import to_hex, to_rgba
    from matplotlib.markers import MarkerStyle
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import FixedLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = ["STYLE", "describe", "head", "live", "page", "scripts"]

DPI = 150
PIXELS = 96 / 72  # of a point
BUTTONS = 26  # the height of the row of buttons, in pixels
ASIDE = 12  # room for names at the right, which browsers draw a little wider
MARKERS = {"o": "circle", "D": "diamond", "s": "square", "^": "triangle-up", "v": "triangle-down", "*": "star",
           "P": "cross", "h": "hexagon"}  # fmt: skip
STYLE = """
.live { display: none; }
.answers .live { display: block; }
.answers .live + img { display: none; }
.live select { font: inherit; font-size: .82rem; margin: 0 0 .3rem .5rem; }
.live label { font-size: .82rem; }
@media screen and (prefers-color-scheme: dark) {
  .live .plot, .live + img { filter: invert(.91) hue-rotate(180deg); }
}
@media print { .answers .live { display: none; } .answers .live + img { display: block; } }
"""


def page(figure: Figure, title: str) -> Html:
    """A whole page with one figure."""
    style = (
        ":root { color-scheme: light dark; } body { font: 16px system-ui, sans-serif; } img { max-width: 100%; } "
        f"figure {{ margin: 0 auto; max-width: {pixels(figure)[0]}px; }}{STYLE}"
    )
    return fill(
        "{}<body><figure>{}</figure>{}</body></html>\n", head(title, style), live(figure, title), scripts()
    )


def head(title: str, style: str) -> Html:
    """The begin of a page, which loads nothing and runs and styles nothing but its own."""
    library, own = library_and_own()
    styles = digest("")  # plotly.js adds an empty one, whose rules it sets
    code = f"{digest(own)} {digest(library)}"
    return page_head(title, style, styles=styles, policy=f"img-src data: blob:; script-src {code}")


def live(figure: Figure, alt: str) -> Html:
    """The figure in HTML: the picture, and the live figure that replaces it where :func:`scripts` run."""
    # Laid out once, at the resolution of the picture: at another letters are not as wide, and names would be cut.
    figure.set_dpi(DPI)
    data = script_data(describe(figure))
    buffer = io.BytesIO()
    # Keep the layout that was described: computing it again takes as long as drawing.
    layout = figure.get_layout_engine()
    figure.set_layout_engine("none")
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white")
    figure.set_layout_engine(layout or "none")
    picture = base64.b64encode(buffer.getvalue()).decode("ascii")
    return fill(
        '<div class="live"><script type="application/json">{}</script></div>'
        '<img src="data:image/png;base64,{}" alt="{}" width="{}">',
        data,
        picture,
        alt,
        pixels(figure)[0],
    )


@cache
def scripts() -> Html:
    """The library, compressed, and what draws the figures of a page once they come into view."""
    library, own = library_and_own()
    packed = base64.b64encode(gzip.compress(library.encode(), mtime=0)).decode("ascii")
    text = '<script type="text/plain" id="library">{}</script><script>{}</script>'
    return fill(text, packed, Html(own))


@cache
def library_and_own() -> tuple[str, str]:
    library = files(plotly).joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
    return library, files("phicoll.plots").joinpath("live.js").read_text(encoding="utf-8")


def pixels(figure: Figure) -> tuple[int, int]:
    """The width and height of a figure in a browser."""
    width, height = figure.get_size_inches()
    return int(width * 96), int(height * 96)


def describe(figure: Figure) -> dict[str, Any]:
    """A figure as plotly.js takes it: ``data``, ``layout``; ``sorts`` orders by name what the axes ``rows`` share."""
    figure.draw_without_rendering()
    drawn = Drawn(figure)
    for number, ax in enumerate((ax for ax in figure.axes if ax.get_visible()), 1):
        drawn.add(ax, str(number) if number > 1 else "")
    return {"data": drawn.data, "layout": drawn.layout, "sorts": drawn.sorts, "rows": drawn.rows}


class Drawn:
    """The description so far: traces, the layout, and orders of rows."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self.data: list[dict[str, Any]] = []
        self.sorts: dict[str, list[int]] = {}
        self.rows: list[str] = []  # the axes of panels that share their rows
        self.axes: dict[Axes, str] = {}
        self.named: set[str] = set()
        width, height = pixels(figure)
        self.layout: dict[str, Any] = {
            "width": width + ASIDE,
            "height": height,
            "margin": {"l": 0, "r": ASIDE, "t": 0, "b": 0, "autoexpand": False},
            "font": {"family": "DejaVu Sans, Verdana, sans-serif", "size": 10.5, "color": "#222222"},
            "paper_bgcolor": "white",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hovermode": "closest",
            "barmode": "overlay",
            "hoverlabel": {"align": "left"},
            "shapes": [],
            "annotations": [],
        }
        # Room for the buttons above, and for a legend below where the figure has none of its own.
        legends: list[Any] = [*figure.legends, *(found for ax in figure.axes if (found := ax.get_legend()))]
        labels = {str(one.get_label()) for ax in figure.axes for one in ax.get_children()}
        named = [label for label in labels if label and not label.startswith("_")]
        letters = sum(len(label) + 8 for label in named)
        below = 0 if legends or not named else 30 + 20 * -(-letters * 6 // width)
        self.layout["height"] = height + below + BUTTONS
        self.low, self.part = below / self.layout["height"], height / self.layout["height"]
        box = legends[0].get_window_extent().transformed(figure.transFigure.inverted()) if legends else None
        beside = box is not None and box.x0 > 0.5 and legends[0]._ncols == 1
        self.layout["legend"] = {
            "x": 1 if beside else 0.5,
            "y": round(self.low + self.part * box.y1, 4) if box is not None else self.low,
            "xanchor": "right" if beside else "center",
            "yanchor": "top",
            "orientation": "v" if beside else "h",
            "font": {"size": 10},
            "bgcolor": "rgba(0,0,0,0)",
        }
        if figure.get_suptitle():
            self.layout["annotations"].append(
                {"text": lines_of(figure.get_suptitle()), "xref": "paper", "yref": "paper", "x": 0.5,
                 "y": self.low + self.part, "yanchor": "top", "showarrow": False, "font": {"size": 14}}
            )  # fmt: skip

    def add(self, ax: Any, number: str) -> None:
        """Describe one panel."""
        self.axes[ax] = number
        box = ax.get_position()
        self.layout["xaxis" + number] = axis_of(ax.xaxis, ax.get_xlim(), [box.x0, box.x1], f"y{number}")
        self.layout["yaxis" + number] = axis_of(
            ax.yaxis, ax.get_ylim(), [self.low + self.part * y for y in (box.y0, box.y1)], f"x{number}"
        )
        rows = has_names(ax.yaxis)
        if rows:
            self.layout["yaxis" + number]["fixedrange"] = True
        for other in ax.get_shared_y_axes().get_siblings(ax):
            if self.axes.get(other, number) != number:
                self.layout["yaxis" + number]["matches"] = "y" + self.axes[other]
                break
        above = (ax._left_title.get_window_extent().y0 - ax.get_window_extent().y1) * 96 / self.figure.dpi
        for place in ("left", "center"):
            if title := ax.get_title(loc=place):
                self.layout["annotations"].append(
                    {"text": lines_of(title), "xref": f"x{number} domain", "yref": f"y{number} domain", "y": 1,
                     "x": 0 if place == "left" else 0.5, "xanchor": place, "yanchor": "bottom", "yshift": above,
                     "align": "left", "showarrow": False, "font": {"size": float(ax.title.get_fontsize()) * PIXELS}}
                )  # fmt: skip
        for artist in sorted(ax.get_children(), key=lambda one: one.get_zorder()):
            if not artist.get_visible() or artist is ax.patch:
                continue
            if isinstance(artist, matplotlib.text.Text):
                if artist in ax.texts:
                    self.write(artist, ax, number)
            elif artist in ax.lines:
                self.line(artist, ax, number)
            elif isinstance(artist, LineCollection):
                self.segments(artist, number)
            elif isinstance(artist, PathCollection):
                self.points(artist, number)
            elif isinstance(artist, PolyCollection):
                self.areas(artist, number)
            elif isinstance(artist, Rectangle) and artist in ax.patches:
                self.band(artist, ax, number)
        if rows and len(ax.get_shared_y_axes().get_siblings(ax)) > 1:
            self.rows.append("y" + number)
            self.sort_by(ax, number)

    def trace(self, artist: Any, number: str, x: Iterable[Any], y: Iterable[Any], **rest: Any) -> None:
        name = str(artist.get_label())
        named = bool(name) and not name.startswith("_")
        found: dict[str, Any] = {"type": "scatter", "x": rounded(x), "y": rounded(y), "xaxis": "x" + number}
        found |= {"yaxis": "y" + number, "showlegend": False, **rest}
        if artist.get_alpha() is not None:
            found["opacity"] = artist.get_alpha()
        if named:
            found |= {"name": lines_of(name), "legendgroup": name}
            if name not in self.named and found.get("hoverinfo") != "skip":
                found["showlegend"] = True
                self.named.add(name)
        if hasattr(artist, "told"):
            found |= {
                "text": [lines_of(one) for one in artist.told],
                "hovertemplate": "%{text}<extra></extra>",
            }
        elif found.get("hoverinfo") != "skip":
            found["hovertemplate"] = (
                f"{lines_of(name)}<br>" if named else ""
            ) + "%{x:,.5~g}, %{y:,.5~g}<extra></extra>"
        self.data.append(found)

    def line(self, artist: Any, ax: Axes, number: str) -> None:
        x, y = (list(np.ravel(values)) for values in artist.get_data())
        if not x:
            return
        style = {"color": to_hex(artist.get_color()), "width": artist.get_linewidth() * PIXELS}
        if artist.get_linestyle() not in ("-", "None", ""):
            style["dash"] = "dash"
        if artist.get_transform() != ax.transData:  # over a whole panel
            across = ax.get_xaxis_transform() == artist.get_transform()
            self.layout["shapes"].append(
                {"type": "line", "layer": "below", "line": style,
                 "xref": "x" + number if across else f"x{number} domain",
                 "yref": f"y{number} domain" if across else "y" + number, "x0": float(x[0]), "x1": float(x[1]),
                 "y0": float(y[0]), "y1": float(y[1])}
            )  # fmt: skip
            return
        marker = artist.get_marker()
        marked, drawn = marker in MARKERS, artist.get_linestyle() not in ("None", "")
        rest: dict[str, Any] = {
            "mode": "+".join(["lines"] * drawn + ["markers"] * marked) or "none",
            "line": style,
        }
        if marked:
            rest["marker"] = {
                "symbol": MARKERS[marker],
                "size": artist.get_markersize() * PIXELS,
                "color": to_hex(artist.get_markerfacecolor()),
                "line": {
                    "color": to_hex(artist.get_markeredgecolor()),
                    "width": artist.get_markeredgewidth(),
                },
            }
        elif not hasattr(artist, "told") and len(x) == 2:
            rest["hoverinfo"] = "skip"
        self.trace(artist, number, x, y, **rest)

    def segments(self, artist: Any, number: str) -> None:
        x: list[Any] = []
        y: list[Any] = []
        for segment in artist.get_segments():
            x += [*segment[:, 0], None]
            y += [*segment[:, 1], None]
        style = (
            {"color": to_hex(artist.get_color()[0]), "width": artist.get_linewidth()[0] * PIXELS} if x else {}
        )
        self.trace(artist, number, x, y, mode="lines", line=style, hoverinfo="skip")

    def points(self, artist: Any, number: str) -> None:
        at = np.ma.filled(artist.get_offsets(), np.nan)
        faces, edges = artist.get_facecolor(), artist.get_edgecolor()
        marker = {
            "symbol": symbol_of(artist),
            "size": float(np.sqrt(artist.get_sizes()[0])) * PIXELS,
            "color": to_hex(faces[0]) if len(faces) else "white",
            "line": {"color": to_hex(edges[0]), "width": float(artist.get_linewidth()[0])}
            if len(edges)
            else {},
        }
        self.trace(artist, number, at[:, 0], at[:, 1], mode="markers", marker=marker)

    def areas(self, artist: Any, number: str) -> None:
        """Bars of one row each, or the band about a line."""
        colour = to_rgba(artist.get_facecolor()[0])
        fill = f"rgba({','.join(str(round(255 * part)) for part in colour[:3])},{colour[3]:.3g})"
        boxes = [path.get_extents() for path in artist.get_paths()]
        if artist.axes is not None and has_names(artist.axes.yaxis):
            self.trace(artist, number, [box.width for box in boxes], [(box.y0 + box.y1) / 2 for box in boxes],
                       type="bar", orientation="h", base=rounded(box.x0 for box in boxes), textposition="none",
                       width=rounded(box.height for box in boxes),
                       marker={"color": fill, "line": {"width": 0}})  # fmt: skip
            return
        x: list[Any] = []
        y: list[Any] = []
        for path in artist.get_paths():
            x += [*path.vertices[:, 0], None]
            y += [*path.vertices[:, 1], None]
        self.trace(
            artist, number, x, y, mode="none", fill="toself", fillcolor=fill, hoverinfo="skip", opacity=1
        )

    def band(self, artist: Any, ax: Axes, number: str) -> None:
        """A stripe over a whole panel."""
        across = artist.get_transform() != ax.transData and artist.get_height() == 1 and artist.get_y() == 0
        self.layout["shapes"].append(
            {"type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": to_hex(artist.get_facecolor()),
             "xref": "x" + number if across else f"x{number} domain",
             "yref": f"y{number} domain" if across else "y" + number,
             "x0": float(artist.get_x()), "x1": float(artist.get_x() + artist.get_width()),
             "y0": float(artist.get_y()), "y1": float(artist.get_y() + artist.get_height())}
        )  # fmt: skip

    def write(self, artist: Any, ax: Axes, number: str) -> None:
        """A text beside its point, and the arrow from one to the other."""
        note = isinstance(artist, matplotlib.text.Annotation)
        arrow = note and artist.arrowprops is not None
        if not (artist.get_text() or arrow):
            return
        coords = (
            artist.xycoords if note else "data" if artist.get_transform() == ax.transData else "axes fraction"
        )
        coords = (coords, coords) if isinstance(coords, str) else coords
        at = artist.xy if note else artist.get_position()
        found: dict[str, Any] = {
            "text": lines_of(artist.get_text()),
            "name": artist.get_text(),
            "showarrow": False,
            "font": {"size": float(artist.get_fontsize()) * PIXELS, "color": to_hex(artist.get_color())},
            "xanchor": artist.get_ha(),
            "yanchor": {"center": "middle", "center_baseline": "middle", "baseline": "bottom"}.get(
                artist.get_va(), artist.get_va()
            ),
            "align": "left",
        }
        for side, value, where, axis in zip("xy", at, coords, (ax.xaxis, ax.yaxis), strict=True):
            data = where == "data"
            log = data and axis.get_scale() == "log"
            if log and value <= 0:  # nowhere on this axis
                return
            found[side] = float(np.log10(value)) if log else float(value)
            found[side + "ref"] = side + number + ("" if data else " domain")
        frames = {"data": ax.transData, "axes fraction": ax.transAxes}
        point = [frames[where].transform(at)[index] for index, where in enumerate(coords)]
        # A text's own transform is that of textcoords.
        text = artist.get_transform().transform(artist.get_position())
        scale = 96 / self.figure.dpi
        right, up = ((text[index] - point[index]) * scale for index in (0, 1))
        if arrow:
            properties = artist.arrowprops
            found |= {
                "showarrow": True,
                "arrowhead": 0 if properties["arrowstyle"] == "-" else 2,
                "arrowwidth": max(0.7, properties["linewidth"]),
                "arrowcolor": to_hex(properties["color"]),
                "ax": right,
                "ay": -up,
                "standoff": 2,
            }
        else:
            found |= {"xshift": right, "yshift": up}
        self.layout["annotations"].append(found)

    def sort_by(self, ax: Axes, number: str) -> None:
        """The order of the rows by the least value of each that this panel tells of; others come last."""
        least: dict[int, float] = {}
        for trace in self.data:
            if trace["yaxis"] == "y" + number and trace["type"] == "scatter" and "text" in trace:
                for x, y in zip(trace["x"], trace["y"], strict=True):
                    if x is not None:
                        least[round(y)] = min(x, least.get(round(y), x))
        if least:
            order = sorted(range(len(ax.get_yticks())), key=lambda row: least.get(row, np.inf))
            self.sorts[ax.get_title(loc="left").replace("\n", ", ")] = order


def axis_of(axis: Axis, limits: tuple[float, float], domain: list[float], anchor: str) -> dict[str, Any]:
    """One axis of a panel. One with names, or a logarithmic one, keeps the ticks that were drawn."""
    log = axis.get_scale() == "log"
    named = has_names(axis)
    found: dict[str, Any] = {
        "domain": rounded(domain),
        "anchor": anchor,
        "range": [float(np.log10(limit)) if log else float(limit) for limit in limits],
        "type": "log" if log else "linear",
        "zeroline": False,
        "tickangle": 0,
        "showgrid": bool(axis._major_tick_kw.get("gridOn")),  # type: ignore[attr-defined]
        "gridcolor": "#E4E6E9",
        "showline": True,
        "linecolor": "#999999" if not axis.get_inverted() else "rgba(0,0,0,0)",
        "separatethousands": True,
        "title": {"text": lines_of(axis.get_label().get_text()), "standoff": 6,
                  "font": {"size": float(axis.get_label().get_fontsize()) * PIXELS}},
    }  # fmt: skip
    found["showticklabels"] = bool(axis.get_ticklabels())
    if log or named:
        ticks = axis.get_ticklocs()
        names = axis.get_major_formatter().format_ticks(list(ticks))
        colours = [to_hex(tick.label1.get_color()) for tick in axis.get_major_ticks()]
        found["tickvals"] = rounded(ticks)
        found["ticktext"] = [
            f'<span style="color:{colour}">{lines_of(name)}</span>' if named else lines_of(name)
            for name, colour in zip(names, colours, strict=True)
        ]
    return found


def has_names(axis: Axis) -> bool:
    """Whether an axis has names at its places, not numbers."""
    return axis.get_scale() == "linear" and isinstance(axis.get_major_locator(), FixedLocator)


def symbol_of(artist: Any) -> str:
    """The name of a marker, by its number of corners."""
    path = artist.get_paths()[0]
    for marker, name in MARKERS.items():
        style = MarkerStyle(marker)
        if np.array_equal(style.get_path().transformed(style.get_transform()).vertices, path.vertices):
            return name
    return "circle"


def lines_of(text: str) -> str:
    """A text as plotly.js takes it, which reads a little of HTML."""
    return html.escape(printable(text), quote=False).replace("\n", "<br>")


def rounded(values: Iterable[Any]) -> list[float | None]:
    """Numbers for JSON, to six digits; NaN and infinities are left out."""
    return [None if value is None or not np.isfinite(value) else float(f"{value:.6g}") for value in values]
