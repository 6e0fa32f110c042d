"""Tables of ramos-hoefler-2013 as printed, in nanoseconds: the only copy of published numbers.

:mod:`phicoll.models.constants.published` makes model constants of them, :mod:`phicoll.validation` compares with them.
"""

from __future__ import annotations

__all__ = [
    "BANDWIDTH",
    "CONTENTION",
    "DISTANCES",
    "DISTANCE_TABLES",
    "MULTI_LINE",
    "OVERHEADS",
    "PHI_PING_PONG",
    "PHI_READ",
    "SANDY_PING_PONG",
    "SANDY_READ",
    "SANDY_READ_MEASURED",
    "table",
]

DISTANCES = ("same-core", "adjacent", "middle", "maximum")
#: The table of single-line ping-pong at each distance.
DISTANCE_TABLES = {"same-core": "2.4", "adjacent": "2.5", "middle": "2.6", "maximum": "2.7"}


def table(text: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Lines ``send receive mean deviation`` as ``{(send, receive): (mean, deviation)}``."""
    rows = [line.split() for line in text.split("\n") if line.strip()]
    return {(send, receive): (float(mean), float(deviation)) for send, receive, mean, deviation in rows}


#: Table 1.6: mean and deviation of a read by the state of the line, at each distance to its owner.
PHI_READ = {
    "M": {"local": (8.600, 0.227), "adjacent": (241.218, 21.718),
          "middle": (234.702, 25.617), "maximum": (240.098, 10.377)},
    "E": {"local": (8.603, 0.246), "adjacent": (227.412, 20.637),
          "middle": (235.796, 25.486), "maximum": (237.370, 27.731)},
    "S": {"local": (8.662, 0.883), "adjacent": (232.002, 10.190),
          "middle": (233.363, 34.959), "maximum": (233.371, 22.523)},
    "I": {"local": (277.650, 34.016), "adjacent": (274.345, 25.222),
          "middle": (278.818, 34.439), "maximum": (284.503, 29.582)},
}  # fmt: skip

#: Tables 2.4 to 2.7: mean and deviation of half a round trip by the states of send and receive lines.
PHI_PING_PONG = {
    "same-core": table("""
        M M 78.8 5.5
        M E 73.7 6.8
        E M 76.4 6.9
        E E 73.8 6.6
        I M 429.5 57.5
        I E 425.6 59.9"""),
    "adjacent": table("""
        M M 506.2 89.5
        M E 505.0 82.5
        M S 526.8 72.9
        E M 505.3 102.4
        E E 504.7 73.7
        E S 529.0 48.2
        S M 506.3 97.5
        S E 505.5 108.7
        S S 529.1 96.2
        I M 853.7 81.3
        I E 850.4 116.3
        I S 876.2 112.8"""),
    "middle": table("""
        M M 501.0 74.2
        M E 500.0 78.8
        M S 523.0 82.3
        E M 500.0 78.5
        E E 497.1 77.2
        E S 522.8 54.4
        S M 497.6 94.3
        S E 500.2 86.7
        S S 524.0 65.1
        I M 844.4 106.5
        I E 842.8 102.0
        I S 860.8 97.7"""),
    "maximum": table("""
        M M 506.1 23.9
        M E 504.5 31.8
        M S 522.0 50.0
        E M 497.8 28.9
        E E 503.6 25.0
        E S 522.7 53.4
        S M 505.3 23.9
        S E 494.2 23.7
        S S 522.7 45.9
        I M 834.0 68.8
        I E 840.4 77.6
        I S 865.8 78.2"""),
}

#: Table 3.1: (o, q, p) of o N + q - p / N by the states of send and receive buffers. Its last row is printed "I E".
MULTI_LINE = {
    ("E", "E"): (76.0, 1521.0, 1096.0),
    ("E", "I"): (73.2, 1778.4, 1276.9),
    ("I", "E"): (94.4, 2698.5, 1868.5),
    ("I", "I"): (94.9, 2750.0, 2017.5),
}

#: Table 3.2: (c, b, a) of c n + b - a / n by the states of common and private lines. Its last row is printed "I E".
CONTENTION = {
    ("E", "E"): (56.2, 320.5, 0.0),
    ("E", "I"): (57.6, 604.4, 0.0),
    ("I", "E"): (23.9, 863.6, 667.4),
    ("I", "I"): (23.4, 1202.0, 695.8),
}

#: Table 1.7: mean and deviation of a read by the state of the line, by the place of its owner.
SANDY_READ_MEASURED = {
    "M": {"local": (2.3, 0.07), "same-package": (41.6, 3.63), "other-package": (115.4, 5.15)},
    "E": {"local": (2.3, 0.04), "same-package": (32.8, 2.83), "other-package": (75.7, 3.72)},
    "S": {"local": (2.8, 0.87), "same-package": (15.8, 2.13), "other-package": (17.3, 2.67)},
    "I": {"local": (69.3, 6.98), "same-package": (70.9, 4.11), "other-package": (109.3, 5.05)},
    "F": {"local": (2.3, 0.02), "same-package": (15.1, 0.93), "other-package": (16.0, 2.58)},
}

#: Tables 1.7 and 1.8, by state and place; where 1.8 puts several into one number, that.
SANDY_READ = {
    "M": {"local": 2.3, "same-package": 41.6, "other-package": 115.4},
    "E": {"local": 2.3, "same-package": 32.8, "other-package": 75.7},
    "S": {"local": 2.3, "same-package": 15.7, "other-package": 17.3},
    "I": {"local": 69.3, "same-package": 70.9, "other-package": 109.3},
}

#: Tables 2.1 to 2.3 without state F, which a program cannot ask for.
SANDY_PING_PONG = {
    "same-core": table("""
        M M 24.7 4.8
        M E 24.6 4.2
        E M 24.9 4.4
        E E 24.4 4.5
        I M 101.7 17.8
        I E 102.4 23.8"""),
    "same-package": table("""
        M M 80.1 8.6
        M E 72.7 6.2
        M S 73.8 7.2
        E M 78.4 7.5
        E E 72.4 7.0
        E S 73.1 10.5
        S M 80.9 7.5
        S E 72.8 6.0
        S S 74.8 8.6
        I M 126.2 12.9
        I E 126.4 12.9
        I S 126.4 13.6"""),
    "other-package": table("""
        M M 151.5 15.1
        M E 149.2 13.0
        M S 238.5 13.3
        E M 151.5 15.4
        E E 149.2 12.5
        E S 237.7 15.1
        S M 151.5 16.3
        S E 150.8 18.0
        S S 239.2 16.6
        I M 201.5 16.3
        I E 200.8 15.1
        I S 241.5 14.9"""),
}

#: Equations 2.6 to 2.20: the overhead O over the three reads, by the states of send lines (C: any cached) and of
#: receive lines, and the equation's number. 2.15's fourth is printed O_I and is that of state F (Table 2.3).
OVERHEADS = {
    "xeon-phi-5110p": {
        "same-core": {
            ("C", "M"): (50.0, "2.16"),
            ("C", "E"): (46.0, "2.17"),
            ("I", "M"): (130.0, "2.18"),
            ("I", "E"): (130.0, "2.18"),
        },
        "middle": {
            ("C", "M"): (20.0, "2.19"),
            ("C", "E"): (20.0, "2.19"),
            ("C", "S"): (46.5, "2.19"),
            ("I", "M"): (97.4, "2.20"),
            ("I", "E"): (94.7, "2.20"),
            ("I", "S"): (115.1, "2.20"),
        },
    },
    "sandy-bridge-e5-2670": {
        "same-core": {
            ("C", "M"): (17.7, "2.6"),
            ("C", "E"): (17.7, "2.6"),
            ("I", "M"): (28.0, "2.7"),
            ("I", "E"): (28.0, "2.7"),
        },
        "same-package": {
            ("C", "M"): (-5.5, "2.8"),
            ("C", "E"): (-4.0, "2.9"),
            ("C", "S"): (-4.0, "2.9"),
            ("C", "F"): (-4.0, "2.9"),
            ("I", "M"): (-17.0, "2.10"),
            ("I", "E"): (-17.0, "2.10"),
            ("I", "S"): (-17.0, "2.10"),
            ("I", "F"): (-17.0, "2.10"),
        },
        "other-package": {
            ("C", "M"): (-81.7, "2.11"),
            ("C", "E"): (-43.5, "2.12"),
            ("C", "S"): (103.0, "2.13"),
            ("C", "F"): (44.5, "2.14"),
            ("I", "M"): (-98.5, "2.15"),
            ("I", "E"): (-59.7, "2.15"),
            ("I", "S"): (39.5, "2.15"),
            ("I", "F"): (12.31, "2.15"),
        },
    },
}

#: Sections A.2 and A.3: (P, F) of equation A.1 by machine and scenario. A.3's card is a KNC B0: 61 cores, 1,080 MHz.
BANDWIDTH = {
    "xeon-phi-5110p": {"any pairs": (38.0, 5.8)},
    "sandy-bridge-e5-2670": {
        "2 or 4 threads, one package": (38.0, 5.5),
        "8 or 16 threads, one package": (38.0, 6.25),
        "2 or 4 threads, across": (19.0, 1.9),
        "8 threads, across": (19.0, 2.3),
        "16 threads, across": (19.0, 4.0),
    },
}
