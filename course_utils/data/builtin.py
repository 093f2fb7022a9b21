"""German sentences with their translations and word alignments, from a small grammar.

The grammar knows gender, case, number, adjective endings, separable verbs ("hebt ... auf"),
the perfect and modal verbs (the full verb goes to the end), questions, and clauses that put
their verb last ("weil ... aufhebt"). Because it builds both sentences from one meaning, it
knows which words belong together.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from functools import cache

SIZES = {"train": 6000, "valid": 500, "test": 500}


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the positions (German word, English word) that match."""

    german: str
    english: str
    alignment: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Word:
    """A word and the meanings it carries; words of two languages that share one are aligned."""

    text: str
    units: tuple[int, ...] = ()


# --- the words ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Noun:
    german: str
    gender: str  # m, f or n
    plural: str
    english: str
    english_plural: str
    kind: str
    weak: str = ""  # the form of all other cases, for nouns such as "Junge, den Jungen"

    def form(self, case: str, number: str) -> str:
        if number == "plural":
            ends = self.plural[-1]
            return self.plural + "n" if case == "dat" and ends not in "ns" else self.plural
        return self.weak if self.weak and case != "nom" else self.german


def _nouns(kind: str, table: str) -> list[Noun]:
    """One noun per line: German, gender, plural, English, its plural, the weak form if any."""
    found = []
    for line in table.strip().splitlines():
        german, gender, plural, english, english_plural, *weak = line.split()
        found.append(Noun(german, gender, plural, english, english_plural, kind, *weak))
    return found


NOUNS = [
    *_nouns(
        "person",
        """
        Mann m Männer man men
        Frau f Frauen woman women
        Kind n Kinder child children
        Junge m Jungen boy boys Jungen
        Mädchen n Mädchen girl girls
        Lehrer m Lehrer teacher teachers
        Ärztin f Ärztinnen doctor doctors
        Köchin f Köchinnen cook cooks
        Bauer m Bauern farmer farmers Bauern
        Nachbarin f Nachbarinnen neighbour neighbours
        Großvater m Großväter grandfather grandfathers
        Großmutter f Großmütter grandmother grandmothers
        Student m Studenten student students Studenten
        Sängerin f Sängerinnen singer singers
        Bruder m Brüder brother brothers
        Schwester f Schwestern sister sisters
        """,
    ),
    *_nouns(
        "animal",
        """
        Hund m Hunde dog dogs
        Katze f Katzen cat cats
        Pferd n Pferde horse horses
        Vogel m Vögel bird birds
        Kuh f Kühe cow cows
        Hase m Hasen hare hares Hasen
        Ente f Enten duck ducks
        Schaf n Schafe sheep sheep
        Bär m Bären bear bears Bären
        """,
    ),
    *_nouns(
        "food",
        """
        Apfel m Äpfel apple apples
        Kuchen m Kuchen cake cakes
        Suppe f Suppen soup soups
        Birne f Birnen pear pears
        Ei n Eier egg eggs
        Kartoffel f Kartoffeln potato potatoes
        Brötchen n Brötchen roll rolls
        """,
    ),
    *_nouns(
        "clothes",
        """
        Hut m Hüte hat hats
        Mantel m Mäntel coat coats
        Jacke f Jacken jacket jackets
        Hemd n Hemden shirt shirts
        Kleid n Kleider dress dresses
        Mütze f Mützen cap caps
        """,
    ),
    *_nouns(
        "text",
        """
        Buch n Bücher book books
        Brief m Briefe letter letters
        Zeitung f Zeitungen newspaper newspapers
        Gedicht n Gedichte poem poems
        """,
    ),
    *_nouns(
        "thing",
        """
        Ball m Bälle ball balls
        Tasche f Taschen bag bags
        Schlüssel m Schlüssel key keys
        Blume f Blumen flower flowers
        Messer n Messer knife knives
        Korb m Körbe basket baskets
        Bild n Bilder picture pictures
        Uhr f Uhren clock clocks
        Schirm m Schirme umbrella umbrellas
        Glas n Gläser glass glasses
        """,
    ),
    *_nouns(
        "opening",
        """
        Tür f Türen door doors
        Fenster n Fenster window windows
        Kiste f Kisten box boxes
        Koffer m Koffer suitcase suitcases
        """,
    ),
    *_nouns(
        "device",
        """
        Lampe f Lampen lamp lamps
        Radio n Radios radio radios
        Computer m Computer computer computers
        Fernseher m Fernseher television televisions
        """,
    ),
    *_nouns(
        "place",
        """
        Garten m Gärten garden gardens
        Park m Parks park parks
        Küche f Küchen kitchen kitchens
        Straße f Straßen street streets
        Markt m Märkte market markets
        Fluss m Flüsse river rivers
        See m Seen lake lakes
        Haus n Häuser house houses
        Schule f Schulen school schools
        Kirche f Kirchen church churches
        Baum m Bäume tree trees
        Brücke f Brücken bridge bridges
        Bahnhof m Bahnhöfe station stations
        Wald m Wälder forest forests
        Wiese f Wiesen meadow meadows
        """,
    ),
]

# German preposition (always with the dative here), English one, and the places they go with.
PREPOSITIONS = [
    ("in", "in", "Garten Park Küche Wald"),
    ("auf", "on", "Straße Brücke"),
    ("auf", "at", "Markt"),
    ("auf", "in", "Wiese"),
    ("an", "by", "Fluss See"),
    ("an", "at", "Bahnhof"),
    ("vor", "in front of", "Haus Schule Kirche Bahnhof"),
    ("hinter", "behind", "Haus Schule Kirche Baum"),
    ("neben", "next to", "Haus Kirche Baum Brücke"),
    ("unter", "under", "Baum Brücke"),
]
CONTRACTIONS = {("in", "dem"): "im", ("an", "dem"): "am"}

PEOPLE, ANIMALS = ("person",), ("animal",)
BEINGS = ("person", "animal")
SMALL = ("food", "clothes", "text", "thing")
OBJECTS = (*SMALL, "device")

# German stem, English, and the kinds of noun an adjective goes with.
ADJECTIVES = [
    ("klein", "small", (*BEINGS, *OBJECTS, "opening", "place")),
    ("groß", "big", (*BEINGS, *OBJECTS, "opening", "place")),
    ("alt", "old", (*BEINGS, "clothes", "text", "thing", "opening", "device", "place")),
    ("neu", "new", ("clothes", "text", "thing", "opening", "device")),
    ("schön", "beautiful", ("clothes", "text", "thing", "place")),
    ("jung", "young", BEINGS),
    ("müd", "tired", BEINGS),
    ("freundlich", "friendly", BEINGS),
    ("glücklich", "happy", PEOPLE),
    ("hungrig", "hungry", BEINGS),
    ("rot", "red", ("clothes", "thing", "opening", "device")),
    ("blau", "blue", ("clothes", "thing", "opening", "device")),
    ("schwarz", "black", ("animal", "clothes", "thing", "device")),
    ("weiß", "white", ("animal", "clothes", "thing", "opening")),
    ("nass", "wet", ("animal", "clothes", "thing")),
    ("warm", "warm", ("food",)),
    ("frisch", "fresh", ("food",)),
    ("lang", "long", ("text",)),
]


@dataclass(frozen=True)
class Verb:
    """One verb of both languages, and the kinds of noun it goes with."""

    singular: str  # er hebt
    plural: str  # sie heben
    participle: str  # aufgehoben
    infinitive: str  # aufheben
    prefix: str  # auf, or "" for a verb that does not separate
    auxiliary: str  # haben or sein
    english: tuple[str, str, str]  # pick up, picks up, picked up
    subjects: tuple[str, ...]
    accusative: tuple[str, ...] = ()
    dative: tuple[str, ...] = ()
    english_to: bool = False  # reads the book TO the child, against gives the child the book
    stays: bool = True  # it happens in one place, so that "in the garden" makes sense


def _verb(german: str, english: str, subjects, accusative=(), dative=(), **more) -> Verb:
    """German: finite singular, plural, participle, infinitive, and a prefix after a bar."""
    forms, _, prefix = german.partition("|")
    singular, plural, participle, infinitive = forms.split()
    base, third, perfect = english.split(", ")
    return Verb(
        singular,
        plural,
        participle,
        infinitive,
        prefix.strip(),
        more.pop("auxiliary", "haben"),
        (base, third, perfect),
        subjects,
        accusative,
        dative,
        **more,
    )


VERBS = [
    # With an accusative object.
    _verb(
        "sieht sehen gesehen sehen",
        "see, sees, seen",
        BEINGS,
        (*BEINGS, *OBJECTS),
    ),
    _verb(
        "sucht suchen gesucht suchen",
        "look for, looks for, looked for",
        BEINGS,
        (*BEINGS, *SMALL),
    ),
    _verb(
        "findet finden gefunden finden",
        "find, finds, found",
        BEINGS,
        (*BEINGS, *SMALL),
    ),
    _verb("kauft kaufen gekauft kaufen", "buy, buys, bought", PEOPLE, OBJECTS),
    _verb("verkauft verkaufen verkauft verkaufen", "sell, sells, sold", PEOPLE, OBJECTS),
    _verb("trägt tragen getragen tragen", "wear, wears, worn", PEOPLE, ("clothes",)),
    _verb("trägt tragen getragen tragen", "carry, carries, carried", PEOPLE, ("thing",)),
    _verb("liest lesen gelesen lesen", "read, reads, read", PEOPLE, ("text",)),
    _verb("isst essen gegessen essen", "eat, eats, eaten", PEOPLE, ("food",)),
    _verb("malt malen gemalt malen", "paint, paints, painted", PEOPLE, (*BEINGS, "thing")),
    _verb("füttert füttern gefüttert füttern", "feed, feeds, fed", PEOPLE, ANIMALS),
    _verb("wäscht waschen gewaschen waschen", "wash, washes, washed", PEOPLE, ("clothes",)),
    _verb("ruft rufen gerufen rufen", "call, calls, called", PEOPLE, BEINGS),
    _verb("begrüßt begrüßen begrüßt begrüßen", "greet, greets, greeted", PEOPLE, PEOPLE),
    # Separable, with an accusative object.
    _verb(
        "hebt heben aufgehoben aufheben | auf",
        "pick up, picks up, picked up",
        PEOPLE,
        SMALL,
    ),
    _verb("macht machen aufgemacht aufmachen | auf", "open, opens, opened", PEOPLE, ("opening",)),
    _verb("macht machen zugemacht zumachen | zu", "close, closes, closed", PEOPLE, ("opening",)),
    _verb(
        "schaltet schalten eingeschaltet einschalten | ein",
        "turn on, turns on, turned on",
        PEOPLE,
        ("device",),
    ),
    _verb(
        "schaltet schalten ausgeschaltet ausschalten | aus",
        "turn off, turns off, turned off",
        PEOPLE,
        ("device",),
    ),
    _verb("ruft rufen angerufen anrufen | an", "phone, phones, phoned", PEOPLE, PEOPLE),
    _verb("lädt laden eingeladen einladen | ein", "invite, invites, invited", PEOPLE, PEOPLE),
    _verb("bringt bringen mitgebracht mitbringen | mit", "bring, brings, brought", PEOPLE, SMALL),
    _verb(
        "zieht ziehen angezogen anziehen | an",
        "put on, puts on, put on",
        PEOPLE,
        ("clothes",),
    ),
    _verb(
        "zieht ziehen ausgezogen ausziehen | aus",
        "take off, takes off, taken off",
        PEOPLE,
        ("clothes",),
    ),
    _verb(
        "sieht sehen angesehen ansehen | an",
        "look at, looks at, looked at",
        BEINGS,
        (*BEINGS, "thing", "clothes"),
    ),
    _verb("holt holen abgeholt abholen | ab", "fetch, fetches, fetched", PEOPLE, PEOPLE),
    _verb(
        "wirft werfen weggeworfen wegwerfen | weg",
        "throw away, throws away, thrown away",
        PEOPLE,
        SMALL,
    ),
    _verb(
        "isst essen aufgegessen aufessen | auf",
        "eat up, eats up, eaten up",
        PEOPLE,
        ("food",),
    ),
    # With a dative object.
    _verb("hilft helfen geholfen helfen", "help, helps, helped", PEOPLE, dative=BEINGS),
    _verb(
        "folgt folgen gefolgt folgen",
        "follow, follows, followed",
        BEINGS,
        dative=BEINGS,
        auxiliary="sein",
    ),
    _verb("dankt danken gedankt danken", "thank, thanks, thanked", PEOPLE, dative=PEOPLE),
    _verb(
        "antwortet antworten geantwortet antworten",
        "answer, answers, answered",
        PEOPLE,
        dative=PEOPLE,
    ),
    _verb(
        "hört hören zugehört zuhören | zu",
        "listen to, listens to, listened to",
        PEOPLE,
        dative=PEOPLE,
    ),
    _verb(
        "sieht sehen zugesehen zusehen | zu",
        "watch, watches, watched",
        BEINGS,
        dative=BEINGS,
    ),
    # With both.
    _verb("gibt geben gegeben geben", "give, gives, given", PEOPLE, SMALL, PEOPLE),
    _verb(
        "zeigt zeigen gezeigt zeigen", "show, shows, shown", PEOPLE, (*OBJECTS, "animal"), PEOPLE
    ),
    _verb("schickt schicken geschickt schicken", "send, sends, sent", PEOPLE, ("text",), PEOPLE),
    _verb(
        "liest lesen vorgelesen vorlesen | vor",
        "read, reads, read",
        PEOPLE,
        ("text",),
        PEOPLE,
        english_to=True,
    ),
    _verb(
        "stellt stellen vorgestellt vorstellen | vor",
        "introduce, introduces, introduced",
        PEOPLE,
        PEOPLE,
        PEOPLE,
        english_to=True,
    ),
    _verb(
        "gibt geben zurückgegeben zurückgeben | zurück",
        "give back, gives back, given back",
        PEOPLE,
        ("text", "thing", "clothes"),
        PEOPLE,
        english_to=True,
    ),
    # Without an object.
    _verb("schläft schlafen geschlafen schlafen", "sleep, sleeps, slept", BEINGS),
    _verb("arbeitet arbeiten gearbeitet arbeiten", "work, works, worked", PEOPLE),
    _verb("wartet warten gewartet warten", "wait, waits, waited", BEINGS),
    _verb("singt singen gesungen singen", "sing, sings, sung", PEOPLE),
    _verb("lacht lachen gelacht lachen", "laugh, laughs, laughed", PEOPLE),
    _verb("tanzt tanzen getanzt tanzen", "dance, dances, danced", PEOPLE),
    _verb("spielt spielen gespielt spielen", "play, plays, played", BEINGS),
    _verb(
        "schläft schlafen eingeschlafen einschlafen | ein",
        "fall asleep, falls asleep, fallen asleep",
        BEINGS,
        auxiliary="sein",
    ),
    _verb(
        "steht stehen aufgestanden aufstehen | auf",
        "get up, gets up, got up",
        BEINGS,
        auxiliary="sein",
    ),
    _verb(
        "kommt kommen angekommen ankommen | an",
        "arrive, arrives, arrived",
        BEINGS,
        auxiliary="sein",
    ),
    _verb(
        "läuft laufen weggelaufen weglaufen | weg",
        "run away, runs away, run away",
        BEINGS,
        auxiliary="sein",
        stays=False,
    ),
    _verb(
        "kommt kommen zurückgekommen zurückkommen | zurück",
        "come back, comes back, come back",
        BEINGS,
        auxiliary="sein",
        stays=False,
    ),
    _verb(
        "wacht wachen aufgewacht aufwachen | auf",
        "wake up, wakes up, woken up",
        BEINGS,
        auxiliary="sein",
    ),
]

AUXILIARIES = {"haben": ("hat", "haben"), "sein": ("ist", "sind")}
# German singular and plural, English singular, plural and bare form.
MODALS = [
    ("kann", "können", "can", "can", ""),
    ("muss", "müssen", "must", "must", ""),
    ("darf", "dürfen", "may", "may", ""),
    ("soll", "sollen", "should", "should", ""),
    ("will", "wollen", "wants to", "want to", "want to"),
]
ADVERBS = [("heute", "today"), ("jetzt", "now"), ("manchmal", "sometimes"), ("dann", "then")]
ANY_FORM = ("present", "present", "present", "perfect", "modal")
# Conjunctions that open a clause with its verb at the end, and the verb forms that make sense
# in that clause and in the main one.
CONJUNCTIONS = [
    ("weil", "because", ANY_FORM, ANY_FORM),
    ("obwohl", "although", ANY_FORM, ANY_FORM),
    ("während", "while", ("present",), ("present",)),
    ("wenn", "when", ("present",), ("present", "modal")),
    ("bevor", "before", ("present",), ("present", "modal")),
    ("nachdem", "after", ("perfect",), ("present", "modal")),
]
SAYING = [
    ("sagt", "sagen", "say", "says"),
    ("glaubt", "glauben", "believe", "believes"),
    ("weiß", "wissen", "know", "knows"),
    ("hofft", "hoffen", "hope", "hopes"),
]

DETERMINERS = {
    # kind: {case: (masculine, feminine, neuter, plural)}
    "the": {
        "nom": ("der", "die", "das", "die"),
        "acc": ("den", "die", "das", "die"),
        "dat": ("dem", "der", "dem", "den"),
    },
    "this": {
        "nom": ("dieser", "diese", "dieses", "diese"),
        "acc": ("diesen", "diese", "dieses", "diese"),
        "dat": ("diesem", "dieser", "diesem", "diesen"),
    },
    "a": {
        "nom": ("ein", "eine", "ein", ""),
        "acc": ("einen", "eine", "ein", ""),
        "dat": ("einem", "einer", "einem", ""),
    },
    "no": {
        "nom": ("kein", "keine", "kein", "keine"),
        "acc": ("keinen", "keine", "kein", "keine"),
        "dat": ("keinem", "keiner", "keinem", "keinen"),
    },
}
NUMBERS = [("zwei", "two"), ("drei", "three"), ("vier", "four")]
RELATIVES = {
    "nom": ("der", "die", "das", "die"),
    "acc": ("den", "die", "das", "die"),
    "dat": ("dem", "der", "dem", "denen"),
}
COLUMNS = {"m": 0, "f": 1, "n": 2}


def adjective_ending(determiner: str, gender: str, case: str, number: str) -> str:
    """The ending of an adjective after the, this, a, no or a number."""
    if number == "plural":
        after_number = determiner not in DETERMINERS
        return "e" if after_number and case != "dat" else "en"
    if case == "dat" or (case == "acc" and gender == "m"):
        return "en"
    if determiner in ("the", "this"):
        return "e"
    return {"m": "er", "f": "e", "n": "es"}[gender]


# --- putting sentences together ----------------------------------------------------------


@dataclass(frozen=True)
class Phrase:
    """The same phrase in both languages, in the German case that was asked for."""

    german: list[Word]
    english: list[Word]
    plural: bool = False
    definite: bool = True


@dataclass(frozen=True, kw_only=True)
class NounPhrase(Phrase):
    """A phrase about a noun, which decides what may be said about it."""

    noun: Noun


def words(text: str, *units: int) -> list[Word]:
    return [Word(part, units) for part in text.split()]


class Speaker:
    """Makes up one sentence: draws words, keeps nouns apart, numbers the meanings."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.unit = itertools.count()
        self.used: set[str] = set()

    def pick(self, options):
        # Not rng.choice: this draw is the same in every version of Python.
        return options[int(self.rng.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def noun(self, kinds) -> Noun:
        # First the kind, so that each is as likely, however many nouns it has.
        kind = self.pick(kinds)
        noun = self.pick([n for n in NOUNS if n.kind == kind and n.english not in self.used])
        self.used.add(noun.english)
        return noun

    def noun_phrase(self, kinds, case: str, *, negative: bool = False) -> NounPhrase:
        noun = self.noun(kinds)
        if self.chance(0.25):
            determiner = self.pick(["the", "the", "this", "number"])
            return self.inflect(noun, determiner, case, "plural")
        determiner = self.pick(["the", "the", "the", "a", "a", "a", "this"])
        if negative and self.chance(0.06):
            determiner = "no"
        return self.inflect(noun, determiner, case, "singular")

    def inflect(self, noun: Noun, determiner: str, case: str, number: str) -> NounPhrase:
        """A noun with its article and perhaps an adjective, in both languages."""
        plural = number == "plural"
        first, second, third = next(self.unit), next(self.unit), next(self.unit)
        if determiner == "number":
            german_first, english_first = self.pick(NUMBERS)
        else:
            column = 3 if plural else COLUMNS[noun.gender]
            german_first = DETERMINERS[determiner][case][column]
            english_first = "these" if determiner == "this" and plural else determiner
        german, english = [], []
        if self.chance(0.35):
            stem, meaning, _ = self.pick([a for a in ADJECTIVES if noun.kind in a[2]])
            ending = adjective_ending(determiner, noun.gender, case, number)
            german.append(Word(stem + ending, (second,)))
            english.append(Word(meaning, (second,)))
        german.append(Word(noun.form(case, number), (third,)))
        english.append(Word(noun.english_plural if plural else noun.english, (third,)))
        if english_first == "a" and english[0].text[0] in "aeiou":
            english_first = "an"
        return NounPhrase(
            [Word(german_first, (first,)), *german],
            [Word(english_first, (first,)), *english],
            plural,
            determiner in ("the", "this"),
            noun=noun,
        )

    def place(self) -> Phrase:
        """Where something happens: a preposition and a noun in the dative."""
        preposition, english_preposition, names = self.pick(PREPOSITIONS)
        name = self.pick(names.split())
        noun = next(n for n in NOUNS if n.german == name)
        if noun.english in self.used:
            return self.place()
        self.used.add(noun.english)
        inner = self.inflect(noun, self.pick(["the", "the", "the", "a"]), "dat", "singular")
        unit = next(self.unit)
        article = inner.german[0]
        short = CONTRACTIONS.get((preposition, article.text))
        if short:
            german = [Word(short, (unit, *article.units)), *inner.german[1:]]
        else:
            german = [Word(preposition, (unit,)), *inner.german]
        return Phrase(german, [*words(english_preposition, unit), *inner.english])

    def clause(
        self, subject: NounPhrase | None = None, forms: tuple[str, ...] = ANY_FORM
    ) -> Clause:
        """What happens: a verb with everything it needs."""
        kinds = (subject.noun.kind,) if subject else BEINGS
        # First how many objects, then which verb, so that no group crowds out the others.
        groups: dict[tuple[bool, bool, bool], list[Verb]] = {}
        for verb in (verb for verb in VERBS if set(kinds) & set(verb.subjects)):
            groups.setdefault(
                (bool(verb.accusative), bool(verb.dative), bool(verb.prefix)), []
            ).append(verb)
        verb = self.pick(self.pick(list(groups.values())))
        if subject is None:
            subject = self.noun_phrase(verb.subjects, "nom")
        accusative = dative = None
        if verb.accusative:
            accusative = self.noun_phrase(verb.accusative, "acc", negative=True)
        if verb.dative:
            dative = self.noun_phrase(verb.dative, "dat")
        place = self.place() if verb.stays and self.chance(0.3) else None
        return Clause(self, verb, subject, accusative, dative, place, self.pick(forms))

    # --- whole sentences: each returns both sides as lists of words

    def statement(self):
        clause = self.clause()
        return clause.main(first=clause.subject), clause.english(), "."

    def adverb_first(self):
        german, english = self.pick(ADVERBS)
        unit = next(self.unit)
        clause = self.clause()
        adverb = Phrase(words(german, unit), words(english, unit))
        return clause.main(first=adverb), [*adverb.english, *clause.english()], "."

    def place_first(self):
        clause = self.clause()
        place, clause.place = clause.place or self.place(), None
        if not clause.verb.stays:
            return self.place_first()
        return clause.main(first=place), [*place.english, *clause.english()], "."

    def question(self):
        clause = self.clause()
        return clause.main(first=None), clause.english_question(), "?"

    def clause_after(self):
        german, english, forms, main_forms = self.pick(CONJUNCTIONS)
        unit = next(self.unit)
        first, second = self.clause(forms=main_forms), self.clause(forms=forms)
        return (
            [*first.main(first=first.subject), Word(","), *words(german, unit), *second.last()],
            [*first.english(), *words(english, unit), *second.english()],
            ".",
        )

    def clause_before(self):
        german, english, forms, main_forms = self.pick(CONJUNCTIONS)
        unit, comma = next(self.unit), next(self.unit)
        first, second = self.clause(forms=forms), self.clause(forms=main_forms)
        return (
            [*words(german, unit), *first.last(), Word(",", (comma,)), *second.main(first=None)],
            [*words(english, unit), *first.english(), Word(",", (comma,)), *second.english()],
            ".",
        )

    def saying(self):
        subject = self.noun_phrase(PEOPLE, "nom")
        singular, plural, base, third = self.pick(SAYING)
        unit, that = next(self.unit), next(self.unit)
        clause = self.clause()
        return (
            [
                *subject.german,
                *words(plural if subject.plural else singular, unit),
                Word(","),
                Word("dass", (that,)),
                *clause.last(),
            ],
            [
                *subject.english,
                *words(base if subject.plural else third, unit),
                Word("that", (that,)),
                *clause.english(),
            ],
            ".",
        )

    def relative(self):
        """A subject with a clause about it: der Mann, den die Frau sieht, ..."""
        subject = self.noun_phrase(BEINGS, "nom")
        unit = next(self.unit)
        roles = ["subject", "subject", "dative"]
        if subject.noun.gender == "m" and not subject.plural:
            # Only "den" tells an object: "die Katze, die die Frau sieht" has two readings.
            roles.append("accusative")
        role = self.pick(roles)
        if role == "subject":
            inner = self.clause(subject=subject)
        else:
            inner = self.relative_object(subject.noun.kind, role)
        case = {"subject": "nom", "accusative": "acc", "dative": "dat"}[role]
        column = 3 if subject.plural else COLUMNS[subject.noun.gender]
        if subject.noun.kind == "animal":
            pronoun = "that"
        else:
            pronoun = "who" if role == "subject" else "whom"
        outer = self.clause(subject=subject)
        described = Phrase(
            [
                *subject.german,
                Word(","),
                Word(RELATIVES[case][column], (unit,)),
                *inner.last(with_subject=role != "subject"),
                Word(","),
            ],
            [
                *subject.english,
                Word(pronoun, (unit,)),
                *inner.english(with_subject=role != "subject"),
            ],
            subject.plural,
        )
        outer.subject = described
        return outer.main(first=described), outer.english(), "."

    def relative_object(self, kind: str, role: str) -> Clause:
        """A clause that has no such object yet, whose verb takes one of this kind."""
        verbs = [
            verb
            for verb in VERBS
            if kind in getattr(verb, role) and not (verb.accusative and verb.dative)
        ]
        verb = self.pick(verbs)
        subject = self.noun_phrase(verb.subjects, "nom")
        return Clause(self, verb, subject, None, None, None, self.pick(ANY_FORM))

    def sentence(self):
        makers = (
            [self.statement] * 7
            + [self.adverb_first] * 3
            + [self.place_first] * 2
            + [self.question] * 2
            + [self.clause_after] * 4
            + [self.clause_before] * 3
            + [self.saying] * 3
            + [self.relative] * 4
        )
        return self.pick(makers)()


class Clause:
    """One clause before its words are put in order: the order depends on where the clause is."""

    def __init__(self, speaker, verb, subject, accusative, dative, place, form):
        self.verb, self.subject, self.form = verb, subject, form
        self.accusative, self.dative, self.place = accusative, dative, place
        self.unit, self.helper_unit = next(speaker.unit), next(speaker.unit)
        self.modal = speaker.pick(MODALS)

    def _middle(self) -> list[Word]:
        """Objects and place, in the order German likes: known things first, new things last."""
        late = self.accusative if self.accusative and not self.accusative.definite else None
        early = self.accusative if not late else None
        objects = [self.dative, early]
        if early and self.dative and not self.dative.definite:
            objects = [early, self.dative]
        order = [*objects, self.place, late]
        return [word for phrase in order if phrase for word in phrase.german]

    def _finite(self) -> list[Word]:
        plural = self.subject.plural
        if self.form == "present":
            return words(self.verb.plural if plural else self.verb.singular, self.unit)
        if self.form == "perfect":
            return words(AUXILIARIES[self.verb.auxiliary][plural], self.helper_unit)
        return words(self.modal[plural], self.helper_unit)

    def _infinite(self) -> list[Word]:
        if self.form == "present":
            return words(self.verb.prefix, self.unit)
        form = self.verb.participle if self.form == "perfect" else self.verb.infinitive
        return words(form, self.unit)

    def main(self, first: Phrase | None) -> list[Word]:
        """The finite verb second (first in a question, or after another clause)."""
        before = first.german if first else []
        subject = [] if first is self.subject else self.subject.german
        return [*before, *self._finite(), *subject, *self._middle(), *self._infinite()]

    def last(self, with_subject: bool = True) -> list[Word]:
        """All verbs at the end; a separable verb is one word there."""
        subject = self.subject.german if with_subject else []
        finite, infinite = self._finite(), self._infinite()
        if self.form == "present":
            end = [Word(self.verb.prefix + finite[0].text, (self.unit,))]
        else:
            end = [*infinite, *finite]
        return [*subject, *self._middle(), *end]

    def _english_objects(self) -> list[Word]:
        accusative = self.accusative.english if self.accusative else []
        dative = self.dative.english if self.dative else []
        place = self.place.english if self.place else []
        if self.verb.english_to:
            return [*accusative, *words("to", self.unit), *dative, *place]
        return [*dative, *accusative, *place]

    def english(self, with_subject: bool = True) -> list[Word]:
        base, third, perfect = self.verb.english
        plural = self.subject.plural
        if self.form == "present":
            verb = words(base if plural else third, self.unit)
        elif self.form == "perfect":
            helper = words("have" if plural else "has", self.helper_unit)
            verb = [*helper, *words(perfect, self.unit)]
        else:
            helper = words(self.modal[3 if plural else 2], self.helper_unit)
            verb = [*helper, *words(base, self.unit)]
        subject = self.subject.english if with_subject else []
        return [*subject, *verb, *self._english_objects()]

    def english_question(self) -> list[Word]:
        base, _, perfect = self.verb.english
        plural = self.subject.plural
        do = "do" if plural else "does"
        if self.form == "present":
            before, after = words(do, self.unit), words(base, self.unit)
        elif self.form == "perfect":
            before = words("have" if plural else "has", self.helper_unit)
            after = words(perfect, self.unit)
        elif self.modal[4]:
            before = words(do, self.helper_unit)
            after = [*words(self.modal[4], self.helper_unit), *words(base, self.unit)]
        else:
            before, after = words(self.modal[2], self.helper_unit), words(base, self.unit)
        return [*before, *self.subject.english, *after, *self._english_objects()]


def _text(sentence: list[Word]) -> str:
    text = " ".join(word.text for word in sentence)
    for mark in ".,?":
        text = text.replace(f" {mark}", mark)
    return text[0].upper() + text[1:]


def make_pair(rng: random.Random) -> Pair:
    """One sentence pair with its gold alignment."""
    speaker = Speaker(rng)
    german, english, mark = speaker.sentence()
    end = next(speaker.unit)
    german, english = [*german, Word(mark, (end,))], [*english, Word(mark, (end,))]
    alignment = frozenset(
        (row, column)
        for row, ours in enumerate(german)
        for column, theirs in enumerate(english)
        if set(ours.units) & set(theirs.units)
    )
    return Pair(_text(german), _text(english), alignment)


@cache
def splits(seed: int = 2016) -> dict[str, tuple[Pair, ...]]:
    """The corpus, in which no German sentence occurs twice."""
    rng = random.Random(seed)
    pairs: dict[str, Pair] = {}
    while len(pairs) < sum(SIZES.values()):
        pair = make_pair(rng)
        pairs.setdefault(pair.german, pair)
    rest = iter(pairs.values())
    # The test first: it stays the same when the training part grows.
    order = ("test", "valid", "train")
    return {split: tuple(itertools.islice(rest, SIZES[split])) for split in order}
