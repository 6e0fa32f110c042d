"""The critical path of a simulated call: a lane for each rank on it, coloured by the cause of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phicoll.plots.style import INK, tell, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CAUSE_COLOURS", "critical_path_figure", "draw_critical_path"]

# One hue per family: grey the core itself, blue travel, teal the protocol's bookkeeping, purple the directory, red a
# line that others hold, orange the owner of the data.
CAUSE_COLOURS = {
    "instructions": "#4D4D4D",
    "fill": "#B4BAC2",
    "look phase": "#F0C000",
    "polite pause": "#C9A227",
    "store buffer": "#8A6D3B",
    "turn in core": "#A98B56",
    "held back": "#6B4F1D",
    "request trip": "#9ECAE1",
    "forward trip": "#3182BD",
    "answer trip": "#08306B",
    "go-ahead": "#12908A",
    "release trip": "#79C7C1",
    "directory service": "#7A5195",
    "directory queue": "#C994C7",
    "line busy": "#D7301F",
    "cache queue": "#FDBE85",
    "snoop": "#E6650D",
    "memory": "#A63603",
    "transfer": "#3182BD",
    "unexplained": "#000000",
}
BAR = 0.56  # height of a bar, as a share of a lane
MANY = 40  # more links than this in one stay on a lane are drawn as shares, not one by one

Link = dict[str, Any]


def critical_path_figure(data: dict[str, Any]) -> Figure:
    """Draw the path as a figure. ``data`` is :attr:`phicoll.explaining.Explanation.data`."""
    from phicoll.plots.canvas import new_figure

    lanes = len({rank for rank, _, _ in stays(data["path"]["links"])})
    figure = new_figure(11.5, 1.9 + max(0.42 * lanes, 1.1))
    draw_critical_path(figure.subplots(), data)
    return figure


def stays(links: Sequence[Link]) -> list[tuple[int, list[Link], bool]]:
    """Cut the path where it goes to another rank: (lane, links, whether it came from another rank).

    A queue is drawn on the lane of the rank that waits in it: that of the next link.
    """
    lanes = [link["rank"] for link in links]
    for index in range(len(links) - 1, -1, -1):
        if links[index]["kind"] == "queue" and index + 1 < len(links):
            lanes[index] = lanes[index + 1]
    found: list[tuple[int, list[Link], bool]] = []
    for lane, link in zip(lanes, links, strict=True):
        if found and found[-1][0] == lane:
            found[-1][1].append(link)
        else:
            found.append((lane, [link], bool(found)))
    return found


def draw_critical_path(ax: Axes, data: dict[str, Any]) -> None:
    """Draw the path into ``ax``: time to the right, hand-overs downwards."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter

    path, ns = data["path"], 1000.0 / data["clock_mhz"]
    whole = path["cycles"]
    visits = stays(path["links"])
    order = list(dict.fromkeys(lane for lane, _, _ in visits))
    place = {lane: index for index, lane in enumerate(order)}
    cores = data["cores"]

    shares = sorted(path["by_cause"].items(), key=lambda item: -item[1])
    shown = {
        cause: f"{cause} {100 * cycles / whole:.1f} %" for cause, cycles in shares if cycles >= 0.0005 * whole
    }
    meanings = dict(data["causes"])
    bars: dict[tuple[str, int], list[tuple[float, float]]] = {}
    before: int | None = None
    for lane, links, handed in visits:
        y, begin = place[lane], links[0]["from"]
        if handed and before is not None:
            arrow(ax, begin * ns, place[before], y)
        before = lane
        together_here = groups(links)
        if len(together_here) > MANY:
            draw_shares(links, y, ns, bars)
            write(ax, begin * ns, y, f"{counted(links)}: their time by cause")
            continue
        for queue, together in together_here:
            start, end = together[0]["from"], together[-1]["to"]
            if queue:
                bars.setdefault(("line busy", y), []).append((start * ns, (end - start) * ns))
                if len(together) > 1:
                    draw_holders(ax, together, y, ns)
            else:
                for cause, first, last in together[0]["parts"]:
                    bars.setdefault((cause, y), []).append((first * ns, (last - first) * ns))
            annotate(ax, together, start * ns, end * ns, y, whole * ns)
    largest_first = [*shown, *CAUSE_COLOURS]
    for (cause, y), spans in sorted(bars.items(), key=lambda item: largest_first.index(item[0][0])):
        drawn = ax.broken_barh(spans, (y - BAR / 2, BAR), facecolors=CAUSE_COLOURS.get(cause, "#000000"), linewidth=0,
                               zorder=2, label=shown.get(cause, cause))  # fmt: skip
        tell(
            drawn,
            [
                f"{cause}: {length:,.1f} ns\n{begin:,.1f} to {begin + length:,.1f} ns, rank {order[y]}\n"
                f"{meanings.get(cause, '')}"
                for begin, length in spans
            ],
        )

    ax.set_ylim(len(order) - 0.45, -0.75)
    ax.set_xlim(-0.004 * whole * ns, 1.004 * whole * ns)
    ax.set_yticks(range(len(order)), [f"rank {rank}, core {cores[rank]}" for rank in order])
    ax.set_xlabel("time since the last arrival, ns (simulated)")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    tidy(ax)
    ax.tick_params(axis="y", length=0)
    for index in range(1, len(order), 2):
        ax.axhspan(index - 0.5, index + 0.5, color="#F6F7F8", zorder=0, linewidth=0)
    name = data["effective"].split(":")[0]
    ax.set_title(
        f"{name}, {data['ranks']} ranks on {data['machine']}: critical path of call {data['call']}\n"
        f"{whole * ns:,.0f} ns and {counted_hand_overs(path['hand_overs'])} from rank {path['last_to_arrive']}, "
        f"the last to arrive, to rank {path['last_to_leave']}, the last to leave",
        loc="left",
        fontsize=9.5,
    )
    handles = [
        Patch(color=CAUSE_COLOURS.get(cause, "#000000"), label=label) for cause, label in shown.items()
    ]
    queued = any(len(links) > 1 for _, stay, _ in visits for queue, links in groups(stay) if queue)
    if queued:
        only_there = [cause for cause in path["in_queues"] if cause not in shown]
        handles += [Patch(color=CAUSE_COLOURS.get(cause, "#000000"), label=cause) for cause in only_there]
    legend = ax.legend(
        handles=handles,
        title="foot of a red bar: what the\nrequests in front do" if queued else None,
        title_fontsize=7.5,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.005, 1.0),
        borderaxespad=0,
        frameon=False,
        fontsize=7.5,
        handlelength=1.0,
        handleheight=0.9,
    )
    legend.get_title().set_color(INK)


def groups(links: Sequence[Link]) -> list[tuple[bool, list[Link]]]:
    """Group the consecutive queues of one line; all other links stay single."""
    found: list[tuple[bool, list[Link]]] = []
    for link in links:
        queue = link["kind"] == "queue"
        if queue and found and found[-1][0] and found[-1][1][-1]["line"] == link["line"]:
            found[-1][1].append(link)
        else:
            found.append((queue, [link]))
    return found


def draw_shares(
    links: Sequence[Link], y: int, ns: float, bars: dict[tuple[str, int], list[tuple[float, float]]]
) -> None:
    """Draw all links as one bar: causes side by side, the largest first."""
    sums: dict[str, int] = {}
    for link in links:
        for cause, first, last in link["parts"]:
            cause = "line busy" if link["kind"] == "queue" else cause
            sums[cause] = sums.get(cause, 0) + last - first
    at = links[0]["from"]
    for cause, cycles in sorted(sums.items(), key=lambda item: -item[1]):
        bars.setdefault((cause, y), []).append((at * ns, cycles * ns))
        at += cycles


def draw_holders(ax: Axes, links: Sequence[Link], y: int, ns: float) -> None:
    """Draw, along the foot of a queue, what the requests in front did meanwhile, as shares."""
    sums: dict[str, int] = {}
    for link in links:
        for cause, first, last in link["parts"]:
            sums[cause] = sums.get(cause, 0) + last - first
    at = links[0]["from"]
    foot = 0.3 * BAR
    for cause, cycles in sorted(sums.items(), key=lambda item: -item[1]):
        ax.broken_barh(
            [(at * ns, cycles * ns)],
            (y + BAR / 2 - foot, foot),
            facecolors=CAUSE_COLOURS.get(cause, "#000000"),
            linewidth=0,
            zorder=3,
        )
        at += cycles


def counted(links: Sequence[Link]) -> str:
    """The number of links of each kind in words; a rank's own work is not counted."""
    words = {
        "store": "stores",
        "atomic": "updates",
        "hear": "waits and loads",
        "queue": "requests before them",
    }
    kinds = [link["kind"] for link in links]
    return ", ".join(f"{kinds.count(kind):,} {word}" for kind, word in words.items() if kind in kinds)


def counted_hand_overs(count: int) -> str:
    return f"{count} hand-over" + ("" if count == 1 else "s")


def write(ax: Axes, x: float, y: int, words: str) -> None:
    """Write text above a bar, beside the arrow that may end there."""
    ax.annotate(
        words,
        (x, y - BAR / 2 - 0.04),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=6.5,
        color=INK,
        va="bottom",
        ha="left",
    )


def annotate(ax: Axes, links: Sequence[Link], begin: float, end: float, y: int, whole: float) -> None:
    """Write what a link is above it, if there is room."""
    link = links[0]
    words = {
        "store": f"stores {link['line']}",
        "atomic": f"updates {link['line']}",
        "hear": f"hears {link['line']}",
        "queue": f"{len(links)} requests of line {link['line']} before it" if len(links) > 1 else "",
    }.get(link["kind"], "")
    if len(links) > 1 and end - begin <= 0.0056 * len(words) * whole:
        words = f"{len(links)} before it"
    if words and end - begin > 0.0056 * len(words) * whole:
        write(ax, begin, y, words)


def arrow(ax: Axes, x: float, above: int, below: int) -> None:
    """Draw the hand-over from one lane to another."""
    down = 1 if below > above else -1
    ax.annotate(
        "",
        xy=(x, below - down * BAR / 2),
        xytext=(x, above + down * BAR / 2),
        arrowprops={
            "arrowstyle": "-|>",
            "color": INK,
            "linewidth": 0.9,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 8,
        },
        zorder=4,
    )
