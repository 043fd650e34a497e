"""The role `content`: does the draft already say what a sentence of the clinician's reply says, and where?

The embedded judge is deterministic and works offline; the chat judge asks any chat model.
"""

from __future__ import annotations

from pmbench import Instance, Judge, JudgeParts, JudgeRole, split_sentences


def _build(parts: JudgeParts) -> Judge:
    if parts.model is not None:
        from pmbench_tasks.drafting.chat_judge import ChatContentJudge

        return ChatContentJudge(parts.model)
    if parts.embedder is None:
        raise ValueError("the embedded content judge needs an embedder")
    from pmbench_tasks.drafting.embedded_judge import EmbeddedContentJudge

    return EmbeddedContentJudge(parts.embedder)


def _requests(instance: Instance) -> tuple[int, int]:
    sentences = len(split_sentences(str(instance.target["response"])))
    return sentences, 2 * sentences


CONTENT = JudgeRole(
    build=_build,
    help="finds, for each sentence of the clinician's reply, the passage of the draft that says the same",
    caution=(
        "The embedded judge does not see another dose, date, side or a negation, nor a dropped condition: a draft"
        ' that is "usable with no edit" by it may be wrong or unsafe. See the card for its measured agreement.'
    ),
    requests=_requests,
)
