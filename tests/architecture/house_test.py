#!/usr/bin/env python3
"""Checks the house rules that a program can check: which room may include which (the table of rooms in
ARCHITECTURE.md), how long a file may be, how a header begins, that no type of a library appears in a
header that other rooms may include (a header whose first comment says "Private to stacks/." is not
one of those), that no code reads facts from the texts of a wait, that bodies of members stand
outside of their class, and that names in anonymous namespaces are unique, and no header's type has one, where
several sources are compiled as one.

    house_test.py [ROOT]          checks the tree
    house_test.py --self-test     checks that each rule can fail
"""

import os
import re
import sys
import tempfile

REFUSED_LINES = 800
QUESTIONED_LINES = 500
MAX_FOLDER_FILES = 45
MAX_FOLDER_LINES = 6000

TARGET = ["attach/target.h", "attach/address.h", "attach/memory_map.h"]
READERS = ["attach/", "ranks/", "elf/", "unwind/", "cpython/", "stacks/", "waits/", "collectives/"]
# Room -> what its files may include: a folder ("base/") or the start of a file's name.
ARROWS = {
    "base": [],
    "snapshot": ["base/"],
    "attach": ["snapshot/", "base/"],
    "ranks": ["attach/", "elf/", "snapshot/", "base/"],
    "elf": [*TARGET, "snapshot/", "base/"],
    "unwind": [*TARGET, "elf/", "snapshot/", "base/"],
    "cpython": [*TARGET, "elf/", "snapshot/", "base/"],
    "stacks": [*TARGET, "elf/", "unwind/", "cpython/", "snapshot/", "base/"],
    "waits": [*TARGET, "attach/files/open_named.h", "attach/proc_", "attach/clocks/", "cpython/", "snapshot/", "base/"],
    "collectives": [*TARGET, "ranks/", "cpython/", "snapshot/", "base/"],
    "aggregate": ["snapshot/", "base/"],
    "report": ["aggregate/", "snapshot/", "base/"],
    "reach": ["snapshot/", "base/"],
    "slurm": ["reach/", "snapshot/", "base/"],
    "watch": ["snapshot/", "base/"],
    "serve": ["base/"],
    "node": [*READERS, "watch/", "snapshot/", "base/"],
    "cli": [*READERS, "node/", "aggregate/", "report/", "slurm/", "reach/", "watch/", "serve/", "snapshot/",
            "base/"],
}
ROOMS = tuple(ARROWS)
# Everything else (tests, benchmarks) may include every room; cli only has tests of its own.
ELSEWHERE = [f"{room}/" for room in ROOMS if room != "cli"]

# Each library is used by few .cc files and appears in no header (CONTRIBUTING.md, "Third party").
# Only cli/ may name a CLI11 type in a header, and only forward-declared.
LIBRARY = re.compile(r"CLI/|nlohmann/|libunwind|unwind\.h|libelf|gelf|elfutils/|libdw|dwarf|boost/|"
                     r"zstd|zlib|fmt/")
LIBRARY_NAME = re.compile(r"\b(nlohmann|boost|CLI|fmt)::|\bunw_[a-z_]+_t\b|\b(Dwarf|Dwfl|Elf)\b *\*")
# Texts of a wait are for people (snapshot/wait.h); what code needs has a field of its own. Only
# what captures of older formats tell in words is read out of them.
TEXT = r"(?:detail|notes|motion)"
READS = r"\s*\.\s*(?:r?find\w*|starts_with|ends_with|contains|compare|substr|remove_prefix)\s*\("
PROSE = re.compile(rf"\bdetail\b{READS}|\btext\([^;{{}}()]*\b{TEXT}\){READS}|"
                   rf"\bdetail\)?\s*[=!]=(?!=)|[=!]=\s*[\w.>()-]*(?:\.|->)detail\b|"
                   rf"\bis_\w+\([^;{{}}]*\btext\([^;{{}}()]*(?:\.|->){TEXT}\)")
# What a target names is opened in attach/files/ only (attach/files/open_named.h). Elsewhere in the rooms
# that read targets, calls that open or examine a file by its path name one of the kernel's own: the
# argument says so, or a person has looked at the file and this table has its number of such calls.
OPENS = re.compile(r"(?:(?<![\w:])::(?:open|openat|openat2|opendir|fopen|freopen|creat|stat|lstat|"
                   r"statvfs|statfs|statx|access|readlink|connect|glob|scandir|nftw|inotify_add_watch)|"
                   r"syscall(?=\(SYS_open)|\bstd::(?:i|o)?fstream\b[^;(]*|"
                   r"(?<![\w:])(?:read_link|read_(?:file|record)(?!\((?:address|std::uint64_t)))|"
                   r"filesystem::(?:exists|status|file_size|canonical|read_symlink|is_\w+|"
                   r"(?:recursive_)?directory_iterator))\(([^;]*)")
OF_KERNEL = re.compile(r'\s*(?:[\w:]+\()*"/(?:proc|sys|dev)/|\s*"/proc"|\s*"/dev/|'
                       r"\s*(?:\w+::)?(?:task_path|fd_path|proc_folder|process_folder)\(")
BELOW_TARGET = re.compile(r'["\w]/root(?:/|")|map_files')
READING_ROOMS = ("attach", "ranks", "elf", "unwind", "cpython", "stacks", "waits", "collectives", "node")
REVIEWED_OPENS = {
    "attach/live_target.cc": 1,
    "attach/mapping_query.cc": 1,
    "attach/permission.cc": 2,
    "attach/proc_fds.cc": 2,
    "attach/task_files.cc": 2,
    "attach/proc_stat.cc": 2,
    "attach/proc_status.cc": 1,
    "attach/proc_task.cc": 1,
    "attach/in_memory_target.cc": 1,
    "collectives/around/link_ports.cc": 2,
    "collectives/nccl/ras_client.cc": 1,
    "elf/module_files.cc": 1,
    "node/examine_node.cc": 1,
    "node/log_growth.cc": 1,
    "node/collect/collect_hardware.cc": 3,
    "node/collect/collect_step_tasks.cc": 1,
    "node/collect/dump_files.cc": 4,
    "node/collect/ras_services.cc": 1,
    "ranks/process_facts.cc": 1,
    "waits/cgroups.cc": 2,
    "waits/ends/read_ends.cc": 1,
    "waits/ends/read_sockets.cc": 4,
    "waits/ends/socket_diag.cc": 1,
    "waits/node/collect_waits.cc": 1,
    "waits/node/node_pressure.cc": 1,
}
# What begins a definition or a declaration at the start of a line, as clang-format leaves it: the name
# of a type, a function or a variable. Members that are defined outside of their class are none.
DEFINED = re.compile(
    r"(?:class|struct|enum class|enum|union) (?P<type>\w+)(?: final)?\s*(?::(?!:)|[{;]|$)|"
    r"using (?P<alias>\w+) =|"
    r"(?!(?:return|using|namespace|template|static_assert|class|struct|enum|union|extern)\b)"
    r"\w[^(={]*?[ &*>](?P<value>\w+)(?:\(|\s*[={\[;])")
# How clang-format leaves the head of a class. Bodies of its members that are longer than this stand
# outside of it.
CLASS_HEAD = re.compile(r"^( *)(?:class|struct|union) [^;{}()]*\{$", re.MULTILINE)
MAX_BODY_LINES = 1
# These folders are one scope each; so is each room. Tests elsewhere are compiled one by one.
UNIT_TESTS = "tests/unit/"
GOLDEN_TESTS = "tests/golden/"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
SIZED = (".h", ".cc", ".c", ".py", ".sh", ".cmake", "CMakeLists.txt")
SKIPPED_FOLDERS = {"build", ".git", ".venv", "__pycache__"}


def tree_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def owner(path, text):
    """Returns the room that a header says it is private to; "" if it says nothing."""
    comment = " ".join(line.lstrip("/ ") for line in text.partition("#pragma once")[0].splitlines())
    match = re.search(r"\bPrivate to (\w+)/\.", comment)
    return match.group(1) if match and path.startswith(match.group(1) + "/") else ""


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def check_arrows(path, text):
    room = path.partition("/")[0]
    allowed = ARROWS.get(room, ELSEWHERE)
    if path.startswith("tests/unit/cli/"):
        allowed = [*allowed, "cli/"]
    for match in INCLUDE.finditer(text):
        bracket, name = match.groups()
        to = name.partition("/")[0]
        if bracket == "<" and "/" in name and to in ROOMS:
            yield f'{path}: include <{name}> with quotes'
        if bracket != '"':
            continue
        if "/" not in name or name.startswith("."):
            yield f'{path}: include "{name}" by its path from the root'
        elif to in ROOMS and to != room and not any(name.startswith(start) for start in allowed):
            yield f"{path}: {room}/ may not include {name}"


def check_header(path, text):
    if not text.startswith("//"):
        yield f"{path}: the first lines have to say what this header is for"
    if not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield f"{path}: no #pragma once"
    if path.partition("/")[0] not in ROOMS or owner(path, text):
        return
    for match in INCLUDE.finditer(text):
        if LIBRARY.match(match.group(2)):
            yield f"{path}: the library of <{match.group(2)}> shows in a header"
    for match in LIBRARY_NAME.finditer(without_comments(text)):
        if not (match.group(1) == "CLI" and path.startswith("cli/")):
            yield f"{path}: the library of '{match.group(0)}' shows in a header"


def check_prose(path, text):
    if path.partition("/")[0] not in ROOMS:
        return
    code = without_comments(text)
    for match in PROSE.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield f"{path}: '{match.group(0)}' reads the text of a wait (line {line} without comments)"


def unexplained_opens(text):
    """Returns the calls that open or examine a file which is not clearly one of the kernel's own."""
    code = without_comments(text)
    return [match.group(0).split("\n")[0] for match in OPENS.finditer(code)
            if not OF_KERNEL.match(match.group(1))]


def check_opens(path, text):
    """Paths that a target names are opened in one place."""
    if not path.startswith(tuple(f"{room}/" for room in READING_ROOMS)) or re.match(
            r"attach/files/open_\w+\.cc$", path):
        return
    found = unexplained_opens(text)
    if len(found) != REVIEWED_OPENS.get(path, 0):
        yield (f"{path}: {len(found)} calls open or examine a file by its path, not "
               f"{REVIEWED_OPENS.get(path, 0)} as reviewed; if a target names it, attach/files/open_named.h "
               f"has to: {'; '.join(found)}")
    if BELOW_TARGET.search(without_comments(text)):
        yield f"{path}: files below a target's root are opened by attach/files/open_named.h only"


# Words that docs/glossary.md has replaced, in code and comments.
REPLACED = {
    "Stand": "BlockedOn", "Ground": "Basis", "Pace": "Progress", "LockWish": "LockMode", "kUntold": "kUnknown",
    "tickers": "short sleepers", "brother": "sibling", "brothers": "siblings", "conduct": "activity",
    "newborn": "new process", "strayed": "deviating", "cold_parts": "cold_ranges",
    "ResidentTarget": "InMemoryTarget", "KeptWord": "PreservedValue", "LastLook": "StateCheck",
    "ToldWorld": "ReportedWorld", "judged_job": "diagnosed_job", "find_leader": "find_decider",
}
REPLACED_WORD = re.compile(rf"\b({'|'.join(REPLACED)})\b")


def check_glossary(path, text):
    for match in REPLACED_WORD.finditer(text):
        yield f"{path}: '{match.group(0)}' is '{REPLACED[match.group(0)]}' now (docs/glossary.md)"


def check_words(path, text):
    """English puts the subject first, and limits have one name (CONTRIBUTING.md)."""
    for match in re.finditer(r"^\s*// (Of|Whoever|Is the|Are the) .*$", text, re.MULTILINE):
        yield f"{path}: a comment begins with '{match.group(1)}': {match.group(0).strip()}"
    for match in re.finditer(r"\bconstexpr [^=;]*\b(k(?:Most|Longest|Largest)[A-Z]\w*)", text):
        yield f"{path}: a limit is called kMax..., not {match.group(1)}"


def member_bodies(text):
    """Yields the first line and the number of lines of each function body within a class. Relies on
    clang-format's indentation, so that it needs no parser."""
    lines = text.splitlines()
    for match in CLASS_HEAD.finditer(text):
        outer, at = match.group(1), text.count("\n", 0, match.end()) + 1
        member, head = outer + "  ", ""
        while at < len(lines) and not lines[at].startswith(outer + "}"):
            line, at = lines[at], at + 1
            starts = line.startswith(member) and line[len(member):len(member) + 1] not in (" ", "}")
            head = line if starts else f"{head} {line}"
            # An "=" before the parameters begins a variable, and an operator has its own.
            if not line.endswith("{") or "(" not in head or "=" in re.sub(
                    r"operator\W+?\(.*", "", head).partition("(")[0]:
                continue
            first = at
            while at < len(lines) and not lines[at].startswith(member + "}"):
                at += 1
            if at < len(lines) and lines[at] == member + "}":
                yield first + 1, at - first
            head = ""


def check_bodies(path, text):
    if path.partition("/")[0] not in (*ROOMS, "bench"):
        return
    for line, size in member_bodies(text):
        if size > MAX_BODY_LINES:
            yield f"{path}:{line}: a body of {size} lines stands within its class"


def check_file(path, text):
    """Returns all complaints about one file; `path` is relative to the root."""
    lines = text.count("\n")
    if lines > REFUSED_LINES:
        yield f"{path}: {lines} lines; {REFUSED_LINES} is the limit"
    if path.endswith((".h", ".cc")):
        yield from check_arrows(path, text)
        yield from check_words(path, text)
        yield from check_glossary(path, text)
        yield from check_prose(path, text)
        yield from check_bodies(path, text)
        yield from check_opens(path, text)
    if path.endswith(".h"):
        yield from check_header(path, text)


def check_listed(root, path):
    """Complains about tests that no CMakeLists.txt names, because they never run."""
    folder, name = os.path.split(path)
    while folder and not os.path.exists(os.path.join(root, folder, "CMakeLists.txt")):
        folder = os.path.dirname(folder)
    listing = os.path.join(root, folder, "CMakeLists.txt")
    named = ""
    if os.path.exists(listing):
        with open(listing, encoding="utf-8") as file:
            named = file.read()
    word = name if name.endswith(".cc") else name.removesuffix(".py")
    if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", named):
        yield f"{path}: {os.path.join(folder, 'CMakeLists.txt')} does not name it"


def check_privacy(texts):
    """Complains about files that include another room's private header; unit tests of that room may.
    `texts`: by path."""
    private = {path: room for path, text in texts.items()
               if path.endswith(".h") and (room := owner(path, text))}
    for path, text in texts.items():
        for _, name in INCLUDE.findall(text):
            room = private.get(name)
            if room and not path.startswith((f"{room}/", f"tests/unit/{room}/")):
                yield f"{path}: {name} is private to {room}/"


def drawn_arrows(text):
    """The table of rooms in ARCHITECTURE.md: room -> the rooms that it is said to include."""
    rows = re.findall(r"^\| `(\w+)/` \|.*\| ([\w, ]*)\|$", text, re.MULTILINE)
    return {room: set(filter(None, re.split(r"[, ]+", included))) for room, included in rows}


def check_picture(root, texts):
    """ARCHITECTURE.md draws every arrow that the tree has, and no other."""
    path = os.path.join(root, "ARCHITECTURE.md")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        drawn = drawn_arrows(file.read())
    seen = {room: set() for room in ROOMS}
    for path, text in texts.items():
        room = path.partition("/")[0]
        if room in seen:
            seen[room] |= {name.partition("/")[0] for bracket, name in INCLUDE.findall(text)
                           if bracket == '"' and name.partition("/")[0] in ROOMS} - {room}
    for room in ROOMS:
        for to in sorted(seen[room] ^ drawn.get(room, set())):
            fault = "does not show" if to in seen[room] else "shows what is not there:"
            yield f"ARCHITECTURE.md: the table of rooms {fault} {room}/ -> {to}/"


def check_folders(texts):
    """No folder of a room is larger than what a person reads through."""
    sizes = {}
    for path, text in texts.items():
        if path.partition("/")[0] in ROOMS:
            files, lines = sizes.get(os.path.dirname(path), (0, 0))
            sizes[os.path.dirname(path)] = (files + 1, lines + text.count("\n"))
    for folder, (files, lines) in sorted(sizes.items()):
        if files > MAX_FOLDER_FILES or lines > MAX_FOLDER_LINES:
            yield (f"{folder}/: {files} files, {lines} lines; {MAX_FOLDER_FILES} files and "
                   f"{MAX_FOLDER_LINES} lines are the limit")


def anonymous_names(text):
    """The names that the anonymous namespaces of a source define, without members and locals."""
    names, inside = set(), False
    for line in text.splitlines():
        if line in ("namespace {", "}  // namespace"):
            inside = line == "namespace {"
        elif inside and (match := DEFINED.match(line)):
            names.add(match.group("type") or match.group("alias") or match.group("value"))
    return names - {"operator"}


# A type that a header defines for its room.
SHARED_TYPE = re.compile(r"^(?:(?:class|struct|enum class|enum|union) (\w+)(?: final)?\s*(?::(?!:)|\{|$)|"
                         r"using (\w+) =)", re.MULTILINE)
MACHINES = ("x86_64", "aarch64")


def unity_scope(path):
    """Returns what is compiled together: the room or the test program, and the machine if it is for one;
    "" for a file that is alone."""
    machine = next((name for name in MACHINES if os.path.basename(path).startswith(f"{name}_")), "")
    if machine and os.path.basename(os.path.dirname(path)) == "machine":
        return f"{path.partition('/')[0]} on {machine}"
    if path.startswith(UNIT_TESTS):
        return "/".join(path.split("/")[:3])
    if path.startswith(GOLDEN_TESTS):
        return GOLDEN_TESTS.rstrip("/")
    return path.partition("/")[0] if path.startswith(tuple(f"{room}/" for room in ROOMS)) else ""


def check_anonymous(texts):
    """Complains about names that two sources of a scope define in anonymous namespaces: compiled as one
    file, they would be redefined, or overload each other without a word. A type of a header would be
    ambiguous there."""
    owners, shared = {}, {}
    for path, text in sorted(texts.items()):
        scope = unity_scope(path)
        for name in anonymous_names(text) if scope and path.endswith(".cc") else ():
            owners.setdefault((scope, name), []).append(path)
        for match in SHARED_TYPE.finditer(text) if path.endswith(".h") else ():
            shared[scope, match.group(1) or match.group(2)] = path
    for scope, name in sorted(owners.keys() & shared.keys()):
        yield f"{name} is in an anonymous namespace of {owners[scope, name][0]} and in {shared[scope, name]}"
    for (_, name), paths in sorted(owners.items()):
        if len(paths) > 1:
            yield f"{name} is in the anonymous namespaces of {' and '.join(paths)}"


def check_tree(root):
    complaints, checked, texts = [], 0, {}
    for path in tree_files(root):
        if not path.endswith(SIZED):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        checked += 1
        complaints += check_file(path, text)
        if path.endswith((".h", ".cc")):
            texts[path] = text
        if path.endswith(("_test.cc", "_test.py")):
            complaints += check_listed(root, path)
        if QUESTIONED_LINES < text.count("\n") <= REFUSED_LINES:
            print(f"note: {path} has {text.count(chr(10))} lines; is it one concept?")
    complaints += [*check_privacy(texts), *check_picture(root, texts), *check_folders(texts),
                   *check_anonymous(texts)]
    return complaints, checked


PRIVATE = "// A. Private to\n// stacks/.\n#pragma once\n"
BODY = "class A {{\n public:\n  {}\n    f();\n    g();\n  }}\n}};\n"
INNER = "class A {{\n  struct B {{\n{}  }};\n  int c = 0;\n}};\n"
BAD = [
    ("base/a.cc", '#include "snapshot/tables.h"\n', "base/ may not include"),
    ("snapshot/a.cc", '#include "attach/target.h"\n', "snapshot/ may not include"),
    ("stacks/a.cc", '#include "attach/live_target.h"\n', "stacks/ may not include"),
    ("waits/a.cc", '#include "elf/symbolize.h"\n', "waits/ may not include"),
    ("collectives/a.cc", '#include "attach/proc_stat.h"\n', "collectives/ may not include"),
    ("aggregate/a.cc", '#include "stacks/collect.h"\n', "aggregate/ may not include"),
    ("slurm/a.cc", '#include "aggregate/verdict.h"\n', "slurm/ may not include"),
    ("reach/a.cc", '#include "slurm/job.h"\n', "reach/ may not include"),
    ("tests/unit/node/a.cc", '#include "cli/options.h"\n', "tests/ may not include"),
    ("waits/a.cc", '#include "collect_waits.h"\n', "by its path from the root"),
    ("waits/a.cc", "#include <base/log.h>\n", "with quotes"),
    ("base/a.h", "#pragma once\n", "what this header is for"),
    ("base/a.h", "// A thing.\n", "no #pragma once"),
    ("cli/a.h", "// A.\n#pragma once\n#include <CLI/CLI.hpp>\n", "shows in a header"),
    ("slurm/a.h", "// A.\n#pragma once\nvoid f(CLI::App& app);\n", "shows in a header"),
    ("aggregate/a.h", "// A.\n#pragma once\nnlohmann::json x();\n", "shows in a header"),
    ("base/a.h", "// Private to stacks/.\n#pragma once\nboost::any f();\n", "shows in a header"),
    ("base/a.cc", "// Of a rank, the pid.\nint a;\n", "begins with 'Of'"),
    ("base/a.cc", "constexpr std::size_t kMostRanks = 3;\n", "not kMostRanks"),
    ("base/long.cc", "\n" * 801, "800 is the limit"),
    ("aggregate/a.cc", "// Their brothers wait.\n", "'brothers' is 'siblings' now"),
    ("aggregate/a.cc", "Stand stand = Stand::kRoot;\n", "'Stand' is 'BlockedOn' now"),
    ("waits/a.cc", 'if (tables.text(wait.detail).starts_with("x"))\n', "reads the text of a wait"),
    ("waits/a.cc", 'bool f = tables.text(wait.notes)\n    .find("x") > 0;\n', "reads the text"),
    ("aggregate/a.cc", 'const auto limit = detail.find(", with");\n', "reads the text of a wait"),
    ("aggregate/a.cc", "return wait.detail == other;\n", "reads the text of a wait"),
    ("aggregate/a.cc", "return kFrozen == view.text(wait.detail);\n", "reads the text of a wait"),
    ("aggregate/a.cc", "return is_frozen(view.text(wait.detail), 'S');\n", "reads the text"),
    ("snapshot/a.h", "// A.\n#pragma once\nbool b = w.detail.ends_with(x);\n", "reads the text"),
    ("base/a.cc", BODY.format("int f() {"), "base/a.cc:4: a body of 2 lines"),
    ("base/a.cc", BODY.format("A() : b(1) {"), "a body of 2 lines"),
    ("base/a.cc", BODY.format("static bool f(int a,\n                int b) {"), "a body of 2"),
    ("base/a.cc", BODY.format("int operator==(const A& a) const {"), "a body of 2 lines"),
    ("bench/a.cc", BODY.format("bool operator()(int a) override {"), "a body of 2 lines"),
    ("base/a.cc", BODY.replace("A", "A final\n    : public B").format("int f() {"), "a body of 2"),
    ("base/a.cc", BODY.format("struct C {\n    int x = 0;\n  };\n  int f() {"), "a body of 2"),
    ("base/a.cc", INNER.format("    int f() {\n      g();\n      h();\n    }\n"), "a body of 2"),
    ("waits/a.cc", "if (::lstat(path.c_str(), &facts) == 0) {}\n", "not 0 as reviewed"),
    ("node/a.cc", "const auto text = read_file(home + name, 100);\n", "not 0 as reviewed"),
    ("node/a.cc", "::syscall(SYS_openat2, folder, path, &how, 4);\n", "not 0 as reviewed"),
    ("collectives/a.cc", "std::ifstream file(path);\n", "not 0 as reviewed"),
    ("node/a.cc", 'std::string file = "/proc/7/root/tmp";\n', "by attach/files/open_named.h only"),
    ("tests/a_test.cc", "", "does not name it"),
]
GOOD = [
    ("waits/a.cc", '#include "attach/proc_stat.h"\n#include "cpython/dict.h"\n'),
    ("stacks/a.h", '// boost:: in words.\n#pragma once\n#include <elf.h>\n#include "base/log.h"\n'),
    ("cli/a.h", "// A.\n#pragma once\nvoid f(CLI::App& app);\n"),
    ("base/a.cc", "// Offsets of a table.\nconstexpr int kMaxRanks = 3;  // at most\n"),
    ("stacks/a.h", PRIVATE + "#include <libunwind.h>\nint f(unw_cursor_t& cursor);\n"),
    ("aggregate/a.cc", "// wait.detail == x\ntext = view.text(wait.detail);\nb = detail.empty();"),
    ("tests/unit/a.cc", 'CHECK(wait.detail == "ended");\n'),
    ("tests/unit/a.cc", BODY.format("int f() {")),
    ("base/a.cc", BODY.format("int f();\n};\nint A::f() {").replace("  }\n};", "}")),
    ("base/a.cc", BODY.format("int f() const {").replace("    g();\n", "")),
    ("base/a.cc", BODY.format("std::function<int()> f = [] {").replace("  }\n};", "  };\n};")),
    ("base/a.cc", BODY.format("int a = f({").replace("  }\n};", "  });\n};")),
    ("base/a.cc", INNER.format("    int f() { return 1; }\n    int g() { return 2; }\n")),
    ("waits/a.cc", 'auto a = read_file("/proc/" + name);\nint b = ::open("/dev/kmsg", 1);\n'),
    ("waits/a.cc", 'auto a = read_link(task_path(pid, tid, "cwd"));\n'),
    ("attach/files/open_named.cc", "int fd = ::open(path.c_str(), O_PATH);\n"),
    ("slurm/a.cc", "int fd = ::open(path.c_str(), O_PATH);\n"),
    ("tests/unit/cli/a.cc", '#include "cli/options.h"\n'),
    ("cli/a.cc", '#include <CLI/CLI.hpp>\n\n#include "slurm/job.h"\n#include "cli/options.h"\n'),
]


def test_picture():
    """A picture that lacks an arrow and shows one too many is complained of twice."""
    table = "| `waits/` | what | attach, base |\n| `base/` | what | |\n"
    texts = {"waits/a.cc": '#include "attach/target.h"\n#include "cpython/version.h"\n'}
    with tempfile.TemporaryDirectory() as root:
        with open(os.path.join(root, "ARCHITECTURE.md"), "w", encoding="utf-8") as file:
            file.write(table)
        found = list(check_picture(root, texts))
    expected = ["does not show waits/ -> cpython/", "shows what is not there: waits/ -> base/"]
    return [] if [row.partition("rooms ")[2] for row in found] == sorted(
        expected, key=lambda row: row.split()[-1]) else [f"picture: {found}"]


def test_anonymous():
    """Names of all kinds are seen; members, locals and other rooms' names are none of them."""
    text = """namespace {

constexpr std::size_t kMax = 1;
using Key = int;
struct Row : Base {
  int id;
};
constexpr std::array kWords = {
    1,
};
template <typename T>
std::optional<T> front(int a) {
  return local(a);
}
void Row::run(int a) {
}
bool operator==(Row a, Row b) {
}
}  // namespace

int shown(int a) {
}
"""
    names = anonymous_names(text)
    failures = [] if names == {"kMax", "Key", "Row", "kWords", "front"} else [f"names: {names}"]
    files = {path: "namespace {\nint one(int a) {\n}\n}  // namespace\n"
             for path in ("base/a.cc", "base/b.cc", "elf/a.cc", "tests/live/a.cc", "tests/live/b.cc",
                          "attach/machine/aarch64_a.cc", "attach/machine/x86_64_a.cc",
                          "tests/unit/elf/a_test.cc", "tests/unit/base/a_test.cc")}
    files["elf/b.cc"] = "namespace {\nclass Row {\n};\n}  // namespace\n"
    files["elf/b.h"] = files["base/b.h"] = "struct Row {\n  int id;\n};\n"
    found = list(check_anonymous(files))
    expected = ["Row is in an anonymous namespace of elf/b.cc and in elf/b.h",
                "one is in the anonymous namespaces of base/a.cc and base/b.cc"]
    return failures + ([] if found == expected else [f"anonymous: {found}"])


def self_test():
    failures = []
    for path, text, complaint in BAD:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
            complaints, _ = check_tree(root)
        if not any(complaint in row for row in complaints):
            failures.append(f"{path}: expected '{complaint}', got {complaints}")
    users = {path: '#include "stacks/a.h"\n'
             for path in ("stacks/b.cc", "tests/unit/stacks/a_test.cc", "cli/b.cc")}
    found = list(check_privacy({"stacks/a.h": PRIVATE, **users}))
    if found != ["cli/b.cc: stacks/a.h is private to stacks/"]:
        failures.append(f"private headers: {found}")
    failures += test_picture() + test_anonymous()
    crowd = {f"waits/a{number}.cc": "" for number in range(MAX_FOLDER_FILES + 1)}
    if len(list(check_folders(crowd))) != 1 or list(check_folders({"waits/a.cc": "\n" * 700})):
        failures.append("sizes of folders")
    for path, text in GOOD:
        failures += [f"not expected: {row}" for row in check_file(path, text)]
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        complaints, checked = self_test(), len(BAD) + len(GOOD)
    else:
        here = os.path.dirname(os.path.abspath(__file__))
        root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(here))
        complaints, checked = check_tree(root)
    for complaint in complaints:
        print(complaint)
    print(f"{checked} files checked, {len(complaints)} complaints")
    return 1 if complaints or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
