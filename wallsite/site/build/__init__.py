"""A build of the whole site by MkDocs: both languages, figures, notebooks and downloads."""
