"""Writes the texts of tables as a C++ source, from which Qt's lupdate collects them.

Usage: row_texts.py SECATEUR_CLI >row_texts.cpp, in the source folder. The tables in analysis have no Qt, and the window
translates their texts where it shows them (rowText() in widgets/language/shown_texts.h). The rows of the shortcut sheet
are plain pairs of texts, and the help of commands is marked by a macro that lupdate does not read.
"""

import json
import pathlib
import re
import subprocess
import sys

KINDS = ("metrics", "strategies")
FIELDS = ("title", "summary", "removes", "budget", "unit")


def texts_of(item: dict) -> list[str]:
    own = [item[field] for field in FIELDS if item.get(field)]
    return own + [option["meaning"] for option in item.get("options", [])]


def sheet_texts() -> list[str]:
    source = pathlib.Path("widgets/window/shortcut_sheet.cpp").read_text(encoding="utf-8")
    rows = re.findall(r'^    \{"([^"]+)",\s+"([^"]+)"\},$', source, flags=re.MULTILINE)
    return [text for row in rows for text in row]


def command_helps() -> list[str]:
    source = pathlib.Path("widgets/window/command_help.cpp").read_text(encoding="utf-8")
    marked = re.findall(r'SECATEUR_HELP\(((?:\s*"(?:[^"\\]|\\.)*")+)\)', source)
    return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)) for literals in marked]


def main() -> None:
    print("// Written by scripts/row_texts.py. Not compiled.")
    seen = set()
    for kind in KINDS:
        listed = subprocess.run([sys.argv[1], "list", kind, "--json"], check=True, capture_output=True, text=True)
        for item in json.loads(listed.stdout)["items"]:
            for text in texts_of(item):
                if text not in seen:
                    seen.add(text)
                    print(f'QT_TRANSLATE_NOOP("Rows", {json.dumps(text, ensure_ascii=False)});')
    for text in dict.fromkeys(command_helps()):
        print(f'QT_TRANSLATE_NOOP("secateur::WindowCommands", "{text}");')
    for text in dict.fromkeys(sheet_texts()):
        print(f'QT_TRANSLATE_NOOP("secateur::ShortcutSheet", "{text}");')


if __name__ == "__main__":
    main()
