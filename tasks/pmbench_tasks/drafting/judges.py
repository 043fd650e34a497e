"""The two roles: `content` (is a sentence of the reply in the draft, and where?) and `theme` (what is it for?).

The embedded judges are deterministic and work offline; the chat judges ask any chat model.
"""

from __future__ import annotations

from typing import TypeVar

from pmbench import ConfigError, Instance, Judge, JudgeParts, JudgeRole, Options, split_sentences

Kind = TypeVar("Kind", bound=Options)

DRAFT_SENTENCES = (1, 25)
"""Fewest and most sentences of a draft that is not there yet, for estimates."""


class ContentOptions(Options, frozen=True):
    """Options of the role `content`.

    Attributes:
        together: a chat model is asked about all sentences of a reply in one request, not one by one.
    """

    together: bool = False


class ThemeOptions(Options, frozen=True):
    """Options of the role `theme`.

    Attributes:
        multi: a sentence may have several themes; else exactly one.
        together: a chat model is asked about the sentences of a text in one request, not one by one.
    """

    multi: bool = False
    together: bool = False


def _build_content(parts: JudgeParts) -> Judge:
    settings = _settings(parts, ContentOptions)
    if parts.model is not None:
        from pmbench_tasks.drafting.judging.chat_content_judge import ChatContentJudge

        return ChatContentJudge(parts.model, together=settings.together)
    _refuse_together("content", settings.together)
    if parts.embedder is None:
        raise ValueError("the embedded content judge needs an embedder")
    from pmbench_tasks.drafting.judging.embedded_content_judge import EmbeddedContentJudge

    return EmbeddedContentJudge(parts.embedder)


def _build_theme(parts: JudgeParts) -> Judge:
    settings = _settings(parts, ThemeOptions)
    if parts.model is not None:
        from pmbench_tasks.drafting.judging.chat_theme_judge import ChatThemeJudge

        return ChatThemeJudge(parts.model, multi=settings.multi, together=settings.together)
    _refuse_together("theme", settings.together)
    if parts.embedder is None:
        raise ValueError("the embedded theme judge needs an embedder")
    from pmbench_tasks.drafting.judging.embedded_theme_judge import EmbeddedThemeJudge

    return EmbeddedThemeJudge(parts.embedder, multi=settings.multi)


def _settings(parts: JudgeParts, kind: type[Kind]) -> Kind:
    return parts.settings if isinstance(parts.settings, kind) else kind()


def _refuse_together(role: str, together: bool) -> None:
    if together:
        raise ConfigError(
            "the embedded judge makes no requests that could be put together",
            where=f"--judge {role}=embedded?together=true",
            remedy="Leave the option out, or name a chat model",
        )


def _content_requests(instance: Instance, settings: ContentOptions) -> tuple[int, int]:
    sentences = len(split_sentences(str(instance.target["response"])))
    return _requests(sentences, sentences, together=settings.together)


def _theme_requests(instance: Instance, settings: ThemeOptions) -> tuple[int, int]:
    sentences = len(split_sentences(str(instance.target["response"])))
    low, high = DRAFT_SENTENCES
    return _requests(sentences + low, sentences + high, together=settings.together)


def _requests(fewest: int, most: int, *, together: bool) -> tuple[int, int]:
    """Each may need a second attempt; an answer that is in the store already needs none."""
    from pmbench_tasks.drafting.judging.asking import TOGETHER

    size = TOGETHER if together else 1
    return -(-fewest // size), 2 * -(-most // size)


CONTENT = JudgeRole(
    build=_build_content,
    help="finds, for each sentence of the clinician's reply, the passage of the draft that says the same",
    caution=(
        "The embedded content judge agrees with labels that it has not seen in about 85 of 100 pairs; it misses"
        " a quarter to a third of negations and of other doses, half of dropped conditions, and takes vague"
        ' sentences on one matter for each other: a draft that is "usable with no edit" by it may be wrong or'
        " unsafe. See the card."
    ),
    requests=_content_requests,
    options=ContentOptions,
)

THEME = JudgeRole(
    build=_build_theme,
    help="names, for each sentence of the reply and of the draft, the theme that it is for",
    caution=(
        "The embedded theme judge agrees with labels that it has not seen in about 95 of 100 sentences, all of them"
        " invented and each with one theme; real sentences are harder. See the card."
    ),
    requests=_theme_requests,
    options=ThemeOptions,
)
