"""From a folder or list of images to a data set of records."""

from halfbyte.conversion.api import convert
from halfbyte.conversion.report import ConvertReport
from halfbyte.records.progress import Progress

__all__ = ["ConvertReport", "Progress", "convert"]
