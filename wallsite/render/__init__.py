"""The tables as people read them: facts with their names, cells, downloads, in either language.

`wallsite.render.table` makes a table that a page or a terminal shows; `wallsite.render.export`
writes one as a file. Both rest on `wallsite.render.facts`, which knows what every value is a value
of, and `wallsite.render.words`, which says where it comes from.
"""
