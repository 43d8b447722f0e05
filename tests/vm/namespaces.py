"""User namespaces."""

from guest import OWNER, PYTHON, STRANGER, SLEEPER, as_user

NEW = ("unshare", "--user", "--map-root-user")


def rank_inside(guest):
    """A rank in a user namespace: its owner and root read it from outside; another user is refused"""
    pid = guest.start([*NEW, PYTHON, guest.program(SLEEPER)], OWNER).pid
    guest.reads_well(pid, OWNER)
    guest.reads_well(pid, 0)
    return guest.refused(pid, STRANGER, "it lives in another user namespace").said()


def both_inside(guest):
    """Rank and oddrank in one user namespace, both as its root: read"""
    words = [PYTHON, guest.program(SLEEPER)]
    pid = guest.start([*NEW, *words], OWNER).pid
    guest.reads_well(pid, prefix=(*as_user(OWNER), "nsenter", "--target", str(pid), "--user",
                                  "--preserve-credentials"))
    return "Python stack read"


def rank_outside(guest):
    """oddrank in a user namespace, the rank outside: refused"""
    pid = guest.rank(uid=OWNER).pid
    run = guest.refused(pid, 0, "user namespace", "outside", prefix=(*as_user(OWNER), *NEW))
    return run.said()


CASES = (rank_inside, both_inside, rank_outside)
