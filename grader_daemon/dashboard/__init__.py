"""Web page on this machine that shows live what the commands show.

`server` runs it, `app` knows its addresses, `access` who may look. A page is a module of `pages` and a template of its
name; `visit` is what it is given.
"""
