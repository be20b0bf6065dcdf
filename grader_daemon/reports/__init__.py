"""Weekly report as text, Markdown, web page and JSON. Pure: the same report always gives the same bytes.

`numbers` and `phrasing` say everything once, `layout` orders it once; `text`, `markdown` and `html` only set it.
"""
