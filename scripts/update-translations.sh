#!/usr/bin/env bash
# Collects the texts of the interface into resources/translations/*.ts. Translations stay; texts that are gone are removed.
# Needs Qt's lupdate (qt6-l10n-tools). With a built secateur-cli it also renews the texts of the tables.
set -euo pipefail
cd "$(dirname "$0")/.."
languages=(de)

lupdate=
for candidate in /usr/lib/qt6/bin/lupdate "$(command -v lupdate6 || true)" "$(command -v lupdate || true)"; do
    if [ -x "$candidate" ] && "$candidate" -version 2>/dev/null | grep -q 'version 6'; then
        lupdate=$candidate
        break
    fi
done
if [ -z "$lupdate" ]; then
    echo "Qt's lupdate is missing. Install qt6-l10n-tools." >&2
    exit 1
fi

for program in build/dev/app/secateur-cli build/release/app/secateur-cli; do
    if [ -x "$program" ]; then
        python3 scripts/row_texts.py "$program" >resources/translations/row_texts.cpp.tmp
        mv resources/translations/row_texts.cpp.tmp resources/translations/row_texts.cpp
        break
    fi
done

for language in "${languages[@]}"; do
    "$lupdate" -silent -locations none -no-obsolete -no-ui-lines -extensions cpp,h -I . widgets app/window resources/translations \
        -source-language en -target-language "$language" -ts "resources/translations/secateur_$language.ts"
done
