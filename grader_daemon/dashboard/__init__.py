"""The page: what the prompt shows, in a browser on this machine, live.

`server` runs it, `app` knows its addresses, `access` who may look. A page is a module of `pages` and a template of its
name; `visit` is what it is given.
"""
