# Marks the folder as a package: what author, record and check share.
