"""The page for people: answers as one HTML file, from the same scripts that the local server uses.

`content` says what the page shows as plain data, `texts` holds its words, `document` puts both together with the
scripts and the style of `assets`, and `fallback` is what readers without scripts get.
"""
