"""A weekly report as text, Markdown, a page and a JSON document; all of it pure, the same report gives the same bytes.

`numbers` and `wording` say everything once, `outline` puts it in order once; `text`, `markdown` and `html` only set it.
"""
