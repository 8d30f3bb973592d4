"""How a benchmark says which of its targets were met."""


def say(name, targets):
    """`targets`: words and whether it was met, for each. Returns the exit status."""
    for words, met in targets:
        print(f"{'met    ' if met else 'NOT MET'}  {words}")
    met = sum(1 for _, ok in targets if ok)
    print(f"bench {name}: {met} of {len(targets)} targets met")
    return 0 if met == len(targets) else 1
