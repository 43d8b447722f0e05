"""Random names for the functions, files and variables of generated jobs. They mean nothing: no rule
of oddrank may know them."""

VERBS = ("apply build collect compute drain feed fetch fill finish fold gather_up handle hold "
         "interleave join keep lift load make measure merge mix move note open_up pack pick "
         "plan poll_for prepare publish pull push refine refresh replay report resolve rotate "
         "run scan shift shuffle smooth split stage step_through store_up sum_up sweep take "
         "tally track trim turn update visit weigh write_out evaluate validate checkpoint").split()
NOUNS = ("actions anchors batches beams bins blocks buckets caches chunks clips cells curves "
         "decoders draws edges embeddings episodes experts fields filters frames gains heads "
         "index inputs keys labels layers lines logits losses maps masks metrics moments notes "
         "outputs pages parts paths pieces plans pools ranks rewards rows samples scores "
         "segments series shards sides slices spans stats steps streams tables tails targets "
         "tiles tokens traces trees views weights windows words").split()
SUFFIXES = ("", "", "", "_once", "_again", "_all", "_fast", "_v2", "_impl")
FILES = ("train main run_model pretrain finetune trainer engine launch_job worker app "
         "model_runner experiment sft dpo ppo vision_job mesh_job").split()


class Names:
    """Names that are given out once."""

    def __init__(self, random):
        self._random = random
        self._given = set()

    def _new(self, make):
        while True:
            name = make()
            if name not in self._given:
                self._given.add(name)
                return name

    def function(self):
        return self._new(lambda: f"{self._random.choice(VERBS)}_{self._random.choice(NOUNS)}"
                                 f"{self._random.choice(SUFFIXES)}")

    def type(self):
        return self._new(lambda: self._random.choice(VERBS).title().replace("_", "")
                         + self._random.choice(NOUNS).title())

    def noun(self):
        return self._new(lambda: self._random.choice(NOUNS)
                         + self._random.choice(("", "_a", "_b", "_of", "_in", "_to")))

    def file(self):
        return self._new(lambda: self._random.choice(FILES)
                         + self._random.choice(("", "_small", "_llm", "_exp3", "_new", "_v2")))
