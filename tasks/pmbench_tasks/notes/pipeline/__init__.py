"""Growing a checklist from feedback: propose, merge, tag, test, cover, select.

After "From Feedback to Checklists" (arXiv 2507.17717), sections 4 and 5 and appendices C and D. Each stage is a
module that takes questions and gives back those that are left, and those that are not with the reason. `building`
puts the stages in a row and leaves a file of each; `updating` adds to a checklist what new feedback asks for;
`commands` is the command line. What a model answered lies in the completion store, so that the same prompt is asked
once, whatever was killed when.
"""
