#!/usr/bin/env bash
# Create .venv with the first Python that is new enough; one clear line when there is none.
# Usage: tools/make_venv.sh [PYTHON]
set -euo pipefail

wanted=${1:-python3}
new_enough='import sys; raise SystemExit(sys.version_info < (3, 11))'

python=""
for candidate in "$wanted" python3.11 python3.12 python3.13 python3.14; do
    if command -v "$candidate" >/dev/null && "$candidate" -c "$new_enough" 2>/dev/null; then
        python=$candidate
        break
    fi
done

if [ -z "$python" ]; then
    found="not there"
    command -v "$wanted" >/dev/null && found=$("$wanted" --version 2>&1 || true)
    echo "error: Armillary needs Python 3.11 or newer, $wanted is $found" \
        "(install one, or name it: make demo PYTHON=/path/to/python3.11)" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "error: $python comes without venv and pip (on Debian and Ubuntu: apt-get install python3-venv)" >&2
    exit 1
fi

echo "Creating .venv with $("$python" --version) ..."
"$python" -m venv .venv
