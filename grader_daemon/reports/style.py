"""What a page looks like: two palettes and one style sheet, for screens of any width and for paper.

Blue and vermilion can be told apart by nearly everyone, and nothing is said by colour alone. Every letter has a
contrast of at least 4.5 : 1 with what it stands on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LIGHT: Final = MappingProxyType(
    {
        "paper": "#fefdfb",
        "ink": "#1d1c1a",
        "muted": "#5f5c56",
        "rule": "#dedad2",
        "accent": "#0b5c92",
        "band": "#d5e4ef",
        "worse": "#a83f06",
    }
)
"""Colours by day, and on paper."""
DARK: Final = MappingProxyType(
    {
        "paper": "#16171a",
        "ink": "#e9e6df",
        "muted": "#a8a59d",
        "rule": "#383a3f",
        "accent": "#82bdea",
        "band": "#24394b",
        "worse": "#f3a36c",
    }
)
"""Colours by night."""

_RULES = """
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;font:1rem/1.55 Charter,"Bitstream Charter","Iowan Old Style",Cambria,Georgia,serif}
main{max-width:70rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
header{margin-bottom:2rem}
h1{overflow-wrap:anywhere;font-size:2rem;line-height:1.15;font-weight:600;letter-spacing:-.01em;margin:0}
h1+p{font-size:1.2rem;color:var(--muted);margin:.35rem 0 0}
.note{margin:.9rem 0 0;padding-left:.8rem;border-left:3px solid var(--worse)}
section{border-top:1px solid var(--ink);padding:.9rem 0 1.8rem}
h2{font-size:1.15rem;line-height:1.3;font-weight:600;margin:0 0 .9rem}
h3{font-size:1rem;line-height:1.4;font-weight:600;margin:0 0 .2rem}
p{margin:0 0 .8rem;max-width:44rem;overflow-wrap:anywhere}
.body>:last-child,li:last-child{margin-bottom:0}
.small{font-size:.85rem;color:var(--muted);margin-bottom:1.5rem}
caption .aside{float:right;font-weight:400;font-size:.8rem;color:var(--muted)}
figcaption{font-size:.95rem;font-weight:600;margin:0 0 .6rem}
code{font:.88em/1.4 ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-weight:inherit}
code,h3{overflow-wrap:anywhere}
table,svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
table{width:100%;border-collapse:collapse;font-size:.88rem;line-height:1.35;margin:0 0 1.6rem;
font-variant-numeric:tabular-nums lining-nums}
caption{text-align:left;font-weight:600;font-size:.95rem;padding:0 0 .35rem}
th,td{padding:.4rem .9rem .4rem 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--rule)}
th:last-child,td:last-child{padding-right:0}
thead th{font-weight:400;color:var(--muted);border-bottom-color:var(--ink);vertical-align:bottom}
tbody th{font-weight:400}
.number{text-align:right}
td{white-space:nowrap}
.worse{color:var(--worse);font-weight:600}
.better{color:var(--accent);font-weight:600}
.unclear,.unknown{color:var(--muted)}
td.drawn,th.drawn{width:9.5rem;min-width:7rem;padding-right:0;white-space:nowrap}
td.drawn{vertical-align:middle}
svg{display:block;overflow:visible}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(17.5rem,100%),1fr));gap:1.4rem 2.6rem;
margin:0 0 1.2rem}
figure{margin:0;break-inside:avoid}
svg text{font-size:12px;fill:var(--ink);font-variant-numeric:tabular-nums lining-nums}
svg .tick,svg .aside{fill:var(--muted)}
svg .tick{font-size:11px}
svg .middle{text-anchor:middle}
svg .value{font-weight:600;paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
svg .aside{font-weight:400}
svg .grid,svg .base{stroke:var(--rule);stroke-width:1}
svg .band{fill:var(--band)}
svg .line{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}
svg .dot,svg .bar{fill:var(--accent)}
svg .range{stroke:var(--accent);stroke-width:2}
svg .ring{fill:var(--paper);stroke:var(--muted);stroke-width:1.5}
svg .before{fill:var(--ink);stroke:var(--paper);stroke-width:1}
ul{list-style:none;margin:0;padding:0}
li{margin:0 0 1.2rem;break-inside:avoid}
li p{margin:0 0 .15rem;font-size:.93rem;color:var(--muted)}
li p code{color:var(--ink)}
.alerts li{padding-left:.8rem;border-left:3px solid var(--worse)}
@media screen and (min-width:60rem){
section{display:grid;grid-template-columns:10.5rem minmax(0,1fr);column-gap:2.5rem}
h2{margin:0}
}
@media screen and (min-width:48.01rem) and (max-width:56rem){
.drawn,caption .aside{display:none}
}
@media screen and (max-width:48rem){
main{padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
table,caption,tbody,tr,tbody th,td{display:block}
caption .aside{float:none;display:block}
tbody{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));column-gap:2.5rem}
tr{padding:.55rem 0;border-bottom:1px solid var(--rule)}
tbody th,td{border:0;padding:.08rem 0}
tbody th{font-weight:600;padding-bottom:.2rem}
td,td.number{display:flex;justify-content:space-between;gap:1rem;text-align:right;white-space:normal}
td::before{content:attr(data-label);color:var(--muted);font-weight:400;text-align:left;flex:none}
td.drawn{width:auto;padding:.25rem 0}
td.drawn::before{content:none}
}
@media print{
:root{color-scheme:light}
@page{margin:16mm}
html{font-size:10.5pt;background:none}
table{font-size:.8rem}
th,td{padding-right:.7rem}
.charts{grid-template-columns:1fr 1fr}
main{max-width:none;padding:0}
section{padding-bottom:1.2rem}
tr,h2,h3,caption{break-inside:avoid;break-after:auto}
h2,caption,thead{break-after:avoid}
svg *{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
"""


def style_sheet() -> str:
    """Return the whole style sheet."""
    return (
        f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
        f"{_RULES}"
    )


def _variables(palette: Mapping[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in palette.items())
