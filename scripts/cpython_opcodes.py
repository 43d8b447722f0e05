#!/usr/bin/env python3
"""Prints the instructions of the interpreter that runs it, as cpython/bytecode/opcode_tables.cc has them.

One line an instruction: its name; its number, "+N" if N inline caches follow it, and how its
argument names a place of the code ("=" absolute, ">" after the instruction, "<" before it); what it
adds to the stack, after "/" if it jumps ("?": that depends on the argument); the numbers of its
specialised and instrumented forms.

    python3.N cpython_opcodes.py          the lines
    python3.N cpython_opcodes.py --code   as C++ string literals, with a ";" behind each
"""
import dis
import opcode
import sys

# Forms that hide another instruction, or stand for none.
LEFT_OUT = {"CACHE", "RESERVED", "ENTER_EXECUTOR", "INSTRUMENTED_LINE", "INSTRUMENTED_INSTRUCTION",
            "TRACE_RECORD"}


def effects(number, jump):
    newer = sys.version_info >= (3, 13)
    takes = number in opcode.hasarg if newer else number >= opcode.HAVE_ARGUMENT
    found = {dis.stack_effect(number, argument if takes else None, jump=jump)
             for argument in (0, 1, 2, 3, 4, 5, 8)}
    return str(found.pop()) if len(found) == 1 else "?"


def caches_of(name):
    caches = getattr(opcode, "_inline_cache_entries", {})
    return caches.get(name, 0) if hasattr(caches, "get") else caches[opcode.opmap[name]]


def lines():
    forms = {}
    for form, base in getattr(dis, "deoptmap", {}).items():
        forms.setdefault(base, []).append(dis._all_opmap[form])
    names = {name: number for name, number in opcode.opmap.items()
             if number < 256 and name not in LEFT_OUT}
    for name, number in names.items():
        base = name.replace("INSTRUMENTED_", "", 1) if sys.version_info >= (3, 12) else name
        if base != name and base in names:
            forms.setdefault(base, []).append(number)
    for name, number in sorted(names.items(), key=lambda item: item[1]):
        if sys.version_info >= (3, 12) and name.startswith("INSTRUMENTED_"):
            continue
        text = f"{name} {number}"
        caches = caches_of(name)
        text += f"+{caches}" if caches else ""
        if number in opcode.hasjabs:
            text += "="
        elif number in opcode.hasjrel and name != "END_ASYNC_FOR":
            text += "<" if "BACKWARD" in name else ">"
        stays, jumps = effects(number, False), effects(number, True)
        text += f" {stays}" if stays == jumps else f" {stays}/{jumps}"
        yield " ".join([text, *map(str, sorted(forms.get(name, [])))])


def packed(rows, width=98):
    """Returns as many rows on each line as fit."""
    packed_lines = [""]
    for row in rows:
        if packed_lines[-1] and len(packed_lines[-1]) + len(row) + len('    ""; ') > width:
            packed_lines.append("")
        packed_lines[-1] += f"{row}; "
    return packed_lines


def main():
    if "--code" in sys.argv[1:]:
        print("\n".join(f'    "{line}"' for line in packed(lines())))
    else:
        print("\n".join(lines()))


main()
