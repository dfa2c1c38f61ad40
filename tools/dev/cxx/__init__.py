"""Reads C++: its tokens (lexer.py), and its functions, statements and fields (reader.py)."""
