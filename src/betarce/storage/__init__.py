"""The only way to the disk.

Files are written whole or not at all, documents are strict JSON with a digest, arrays need no pickle.
"""
