"""The local server: the page for people, with answers to "what if".

`desk` answers questions with a fitted explainer, `questions` reads them, `application` is the server without a socket,
`guard` decides who may ask, and `serving` binds it to an address.
"""
