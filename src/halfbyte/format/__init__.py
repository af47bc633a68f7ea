"""The bytes of a record and of a data set: header, directory, sample table, index, manifest."""
