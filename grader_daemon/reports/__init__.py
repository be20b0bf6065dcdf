"""A weekly report as text, Markdown, a page and a JSON document; all of it pure, the same report gives the same bytes.

`numbers` and `phrasing` say everything once, `layout` orders it once; `text`, `markdown` and `html` only set it.
"""
