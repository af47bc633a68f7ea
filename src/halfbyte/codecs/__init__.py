"""What a sample's payload is: progressive JPEG in levels, or the file as it came."""
