"""Weekly report as text, Markdown, web page and JSON. Pure: the same report always gives the same bytes.

`numbers` and `phrasing` say everything once, `document_parts` order it once; `plain_text_report`, `markdown` and
`html` only set it.
"""
