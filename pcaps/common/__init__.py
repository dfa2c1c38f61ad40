# The package that author, record and check share.
