"""What the embedded theme judge looks at beside a sentence's embedding: cues, and which common words it holds.

A mean over tokens blurs the small words that tell what a sentence is for ("if", "we will", "?"). The cues bring
them back. Each is 1 where its pattern is found and 0 where not; what it says about each theme is learned.
Whoever changes a pattern or `plain` trains again: `python -m pmbench_tasks.drafting.judge_data.train_themes`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_CHARACTERS = 2_000
"""Cues and words are looked for in so much of a sentence; an embedder reads little more (256 tokens)."""

_SOMEBODY = (
    r"(?:i|we|she|he|they|someone|somebody|dr\.? \w+"
    r"|(?:the|our|my|your|a|front|home) (?:[\w-]+ ){0,2}?(?:nurse|doctor|staff|team|office|assistant|partner"
    r"|pharmacist|scheduler|coordinator|educator|dietitian|specialist|surgeon|clinic|desk|worker|manager|center))"
)
_CARE = (
    r"take|taking|start\w*|stop|continue|increas\w+|decrease|lower\w*|raise|reduce|add\w*|avoid|apply|drink|eat"
    r"|try|use|keep|hold|skip|leave|repeat|recheck|check|rest|ice|wash|rinse|switch\w*|chang\w+|cut|limit|resume"
    r"|restart|finish|complete|order\w*|prescrib\w+|recommend|suggest|advise|get|put|wear|walk|stay|fast|monitor"
    r"|measure|weigh|record|remove|give|begin|cover|consider|plan"
)
_DRUG_ENDING = (
    r"pril|sartan|statin|olol|cillin|mycin|azole|pam|xetine|dipine|prazole|gliptin|glutide|cycline|oxacin"
    r"|triptan|thiazide|semide|solone|profen|traline|pram|mab"
)

_PATTERNS: Mapping[str, str] = {
    # Does it ask?
    "question mark": r"\?",
    "exclamation mark": r"!",
    "a number": r"\d",
    "begins with a question word": r"^\W*(?:(?:and|also|just|so|now)\W+)?(?:who|what|when|where|which|why|how)\b",
    "begins like a question": r"^\W*(?:(?:and|also)\W+)?"
    r"(?:do|does|did|are|is|was|were|has|have|had|any|ever|still|taking|using)\b",
    "asks to be told": r"\b(?:(?:tell|give|send) (?:me|us)|(?:please|can you|could you|would you) (?:\w+ )?"
    r"(?:tell|describe|confirm|list|share|provide|explain|attach|clarify)|(?:need|like|want|help\w*)(?: me| us)? "
    r"to (?:know|ask)|please let (?:me|us) know (?:if|whether|what|which|when)|(?:know|ask|see) (?:if|whether))\b",
    # What may happen, and what then?
    "condition": r"\b(?:if|unless|in case|in the event|depending on|at the first sign|watch(?: out)? for"
    r"|warning signs?|red flags?)\b|^\W*(?:should|were) (?!i\b|we\b)",
    "urgent": r"\b(?:911|988|er|ed|emergency|urgent(?:ly)?|ambulance|hospital|right away|straight (?:away|to)"
    r"|immediate(?:ly)?|at once|promptly|same[- ]day|hotline|seek|(?:don't|do not) (?:wait|hesitate))\b",
    "change": r"\b(?:worse\w*|spread\w*|persist\w*|returns?|continues?|lasts?|develops?|sudden(?:ly)?|severe"
    r"|comes? back|above|below|over 1\d\d|drops?|not (?:better|improv\w+)|no (?:better|change|improvement)"
    r"|does(?:n't| not) (?:improve|help|work|go|get)|still|changes?|grows?|new)\b",
    # Who acts?
    "the clinic will be in touch": rf"\b{_SOMEBODY}(?:'ll|'s|'re|'m|'d| will| is| are| am| should| has| have| can| to"
    r"| would)? (?:\w+ )?(?:be )?(?:going to )?(?:call\w*|contact\w*|reach\w*|follow up|get back|in touch"
    r"|let you know|notify|ring|phone|message|update|hear)\b",
    "passed on": r"\b(?:forward\w*|fax(?:ed|ing)?|rout(?:ing|ed?)|cop(?:ying|ied)|notified|refer(?:red|ring|rals?)?"
    r"|discuss(?:ed)? (?:this |it )?with|(?:speak|spoke|spoken|talk|talked) (?:to|with)"
    r"|ask(?:ed|ing)? (?:the|our|my|your|dr)|let (?:the|our|my|your|dr)|requested|made aware|pass(?:ed)?|shared?"
    r"|awaiting|waiting (?:on|for|to hear)|coordinate|consult\w*|look into|will (?:ask|fax|check|review|send)"
    r"|voicemail|(?:heard|hear) (?:back )?from)\b",
    "care team": r"\b(?:dr\.?|doctor|nurse|team|staff|specialist|\w{3,}(?:ologist|iatrist)|surgeon|physician"
    r"|pharmacist|provider|colleague|records|social worker|coordinator|dentist|therapist|cardiology|neurology)\b",
    # What about?
    "medicine": r"\b(?:pills?|tablets?|capsules?|dos(?:e|es|age|ing)|mg|meds?|medicines?|medications?|inhalers?"
    r"|insulin|antibiotics?|drops|cream|ointment|patch\w*|shots?|tylenol|acetaminophen|ibuprofen|advil|aleve"
    r"|aspirin|vitamins?|supplements?|steroids?|blood thinners?|birth control|antidepressants?|statins?|puffs?"
    rf"|over[- ]the[- ]counter|prednisone|warfarin|iron|melatonin|metformin|gabapentin|\w{{2,}}(?:{_DRUG_ENDING}))\b",
    "booking": r"\b(?:appointments?|appts?|schedul\w+|reschedule|book(?:ed|ing)?|visits?|slots?|openings?"
    r"|available|walk-?ins?|cancel\w*|video|telehealth|in person|wait(?:ing)? list)\b",
    "office": r"\b(?:portal|refills?|rx|pharmacy|insurance|insurer|copay|fees?|cost|charge|bill\w*|forms?|paperwork"
    r"|letter|hours|open|closed?|a\.?m|p\.?m|desk|upload|online|app|authorization|address|parking|location|link"
    r"|covered|policy|ready|sign)\b",
    "begins with care": r"^\W*(?:(?:please|also|then|next|ok(?:ay)? to|no|you (?:can|may|should|need to|will need"
    r"|could)|let's|let us|(?:i|we)(?:'d|'ll|'m|'re| would| want| will| am| are)?(?: like)?(?: you)?(?: going)?"
    rf"(?: to)?),? )*(?:not |don't |no more )?(?:{_CARE})\b",
    "a plan": r"\b(?:recommend\w*|ordered|prescribing|plan is|next step|(?:twice|times) (?:a day|daily)|daily"
    r"|at bedtime|every \w+ hours|(?:for|in) \w+ (?:days|weeks|months)|mg|repeat|trial|until)\b",
    "a finding": r"\b(?:normal|common(?:ly)?|(?:un)?likely|probabl[ey]|cause[sd]?|due to|shows?|showed|consistent"
    r"|negative|positive|harmless|benign|expected|safe|risk|usual(?:ly)?|typical(?:ly)?|often|because|means"
    r"|suggests?|signs? of|evidence|related|range|stable|improved|fine|high(?:er)?|low(?:er)?|goal|suspect|appears?"
    r"|(?:looks?|sounds) like|(?:can|may) (?:cause|take|be|make|raise|happen)|concern(?:ed)? (?:for|about))\b",
    # How?
    "warmth": r"\b(?:thanks?|sorry|apologi\w+|glad|happy (?:to|that)|pleased|thrilled|relie(?:f|ved)|appreciate\w*"
    r"|understand\w*|proud|congrat\w+|(?:great|good|nice) (?:job|work)|well done|frustrat\w+|hard|tough|difficult"
    r"|rough|scary|frightening|stressful|exhausting|overwhelm\w+|worr(?:y|ied)|anxious|hear (?:that|about|how)"
    r"|imagine|courage|brave|support|alone|condolences|loss|feel(?:ing)? (?:better|guilty|sad|heard|nervous)"
    r"|hope you(?:r)? (?:feel|recover|get)|wish(?:ing)?|patience|must (?:be|have been))\b",
    # Is it only the frame of a letter?
    "greeting or sign-off": r"^\W*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|to:|re:|cc:|subject"
    r"|note\b|best\b|sincerely|(?:kind |warm |best )?regards|warmly|respectfully|take care|yours|cheers|thanks?,"
    r"|thank you,|my name is|this is (?:dr|nurse|\w+,))",
    "heading or placeholder": r"[:,]\W*$|\[|^\W*\w{0,2}\W*$",
    "no full stop": r"[^.!?:,\])\"']$",
    "about the text": r"\b(?:draft|reply|response|message|ai|language model|disclaimer|automated|generated|template"
    r"|information|below|above|answer(?:s|ed)?|e-?mail|typos|dictated|questions?|summar\w+|here (?:is|are)|here's)\b",
    "formula": r"\b(?:(?:any|other|further|more|additional) (?:\w+ )?(?:questions|concerns)|anything else"
    r"|reach out|feel free|hope (?:this|that) (?:helps|answers|is)|finds you|have a (?:great|good|nice|lovely)"
    r"|happy (?:new|holidays|birthday)|merry|enjoy|see you|welcome|weekend|trip|vacation)\b",
    "bare yes or no": r"^\W*(?:yes|no|ok|okay|sure|certainly|of course|got it|noted|correct|agreed|sounds good"
    r"|will do)\b",
    "you": r"\byou(?:r|rs|'\w+)?\b",
}
CUES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()
}
"""Patterns by what they stand for. They see at most `MOST_CHARACTERS`, so that no text can keep them busy."""
LENGTH = "words, of 20"
"""One more column: the number of words, 40 at most, over 20."""

_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>")
_EMPHASIS = re.compile(r"[*`#|~]+|_{2,}")
_MARKER = re.compile(r"^(?:[>•–—-]+|\(?(?:\d{1,2}[.)]|[a-zA-Z]\)) )\s*(?=\w)")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def plain(sentence: str) -> str:
    """The sentence as it is embedded: without tags, list markers, signs of Markdown and needless white space."""
    bare = html.unescape(_TAG.sub(" ", sentence)) if "<" in sentence or "&" in sentence else sentence
    return " ".join(_MARKER.sub("", _EMPHASIS.sub("", bare).strip()).split())


def words(sentence: str) -> set[str]:
    """The different words of a sentence, in small letters."""
    return _words(_start(sentence))


def surface(sentences: Sequence[str], vocabulary: Sequence[str]) -> NDArray[np.float64]:
    """Cues, length and common words of sentences.

    Args:
        sentences: `plain` or not.
        vocabulary: the common words.

    Returns:
        Shape (sentences, cues + 1 + vocabulary). Cues are 0 or 1. The words that a sentence holds share a row
        of length 1.
    """
    import numpy as np

    before = len(CUES) + 1
    column = {word: place for place, word in enumerate(vocabulary, before)}
    found = np.zeros((len(sentences), before + len(vocabulary)))
    for row, sentence in enumerate(sentences):
        text = _start(sentence)
        found[row, : len(CUES)] = [pattern.search(text) is not None for pattern in CUES.values()]
        found[row, len(CUES)] = min(len(text.split()), 40) / 20
        held = [column[word] for word in _words(text) if word in column]
        if held:
            found[row, held] = len(held) ** -0.5
    return found


def _start(sentence: str) -> str:
    return plain(sentence[:MOST_CHARACTERS]).replace("’", "'")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
