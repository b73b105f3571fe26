"""The site: a Python-Markdown extension that makes a page right, and a MkDocs hook on top.

`wallsite.site.extension` renders checked numbers, tables, figures, snippets, formulas and
glossary terms, and needs only Python-Markdown. `wallsite.site.hook` is what MkDocs loads: it
builds the second language beside the first and hands over to `wallsite.site.build.run`.
"""
