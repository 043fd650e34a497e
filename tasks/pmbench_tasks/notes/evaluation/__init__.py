"""Is a checklist any good? Numbers on checklists side by side, from answers that are already there.

Nothing here asks a model. A judge's answers come as `answers.Answers`, what questions cover as a matrix of zeros and
ones, feedback as vectors of an embedder; `evaluate.evaluate` makes one checklist's `Evaluation` of them, `compare`
sets several side by side, `table.markdown` prints them and `plots` draws them. Sections and tables named in these
modules are those of "From Feedback to Checklists" (arXiv 2507.17717).
"""
