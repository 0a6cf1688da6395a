"""What `explain` hands out: answers as tables, words, pages, pictures and files."""
