"""Texts that would harm a page that took them for anything but text."""

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "style": "</style><style>body{display:none}</style>",
    "comment": "--> <!-- ]]> </title></textarea></details>",
    "image": "\"><img src=x onerror=alert(2)> '><svg onload=alert(3)>",
    "template": "{{ config }} {% raw %} ${7}",
    "entity": "&lt;b&gt; &amp;amp; &#60;script&#62;",
    "turned": "left \u202eright\u202c \u2066isolated\u2069 \u200fmark",
    "control": "bell \x07 escape \x1b[31mred",
    "emoji": "👩🏽‍⚕️ 🏳️‍🌈 ❤️",
    "arabic": "مرحبا دكتور، عندي ألم في الصدر",
    "link": "[click](javascript:alert(4)) ![p](http://127.0.0.1:9/p.png) <http://127.0.0.1:9/> http://127.0.0.1:9/",
    "long": "w" * 100_000,
}
"""By the id of the instance whose answer it is."""
