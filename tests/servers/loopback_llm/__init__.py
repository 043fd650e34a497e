"""A server on loopback that speaks the three vendors' protocols, with faults on command.

It is for tests: a real HTTP server in a process of its own (`python -m loopback_llm --port 0`), so that the
vendors' own libraries can be used unpatched. What it answers is a function of what is asked; how it misbehaves
is a plan, sent to `POST /__control__`; what reached it is told by `GET /__stats__`.

Layout: `protocols/` knows the shapes of requests and answers, `answers` knows what to say, `plan` and `chooser`
what goes wrong and when, `sending` how it goes wrong on the wire, `limiter` and `ledger` keep count.
"""
