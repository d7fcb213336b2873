"""Tuners of the Python registry, asked line by line.

Usage: tuners.py optuna|smac|random SEED TRIALS. The first line of standard input is a search space as Plimsoll writes it. Each line
of standard output is then {"try": [...]}, a level for each setting, and is answered by {"value": ...}: the logarithm of what
it brought, or null if it came to no good end. The last line is {"best": [...]}.

All take their defaults. What came to no good end counts as the worst that was seen, as tuners are commonly told.
"""

import json
import sys


def say(what):
    print(json.dumps(what), flush=True)


def heard():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


class Setting:
    """A setting as tuners know them: which sort of value it has, then the value."""

    def __init__(self, place, told):
        self.name, self.sort = f"x{place}", f"s{place}"
        self.words, self.range, self.today = told["words"], told["range"], told["today"]
        self.needs = told["needs"]

    @property
    def has_sorts(self):
        return bool(self.range) and bool(self.words)

    def is_active(self, levels):
        if self.needs is None:
            return True
        other, needed = levels[self.needs["of"]], self.needs["is"]
        if needed == "above_zero":
            return other != {"word": 0}
        if "word" in needed:
            return other == {"word": needed["word"]}
        return other != {"word": needed["not_word"]}

    def first(self):
        """Today's value, as the parameters of a tuner."""
        if "at" in self.today:
            return {self.sort: 0, self.name: self.today["at"]} if self.has_sorts else {self.name: self.today["at"]}
        if self.has_sorts:
            return {self.sort: 1 + self.today["word"]}
        return {self.name: self.today["word"]}


class Told:
    """What was tried, and what came of it."""

    def __init__(self, settings):
        self.settings, self.worst = settings, 0.0

    def ask(self, levels):
        say({"try": levels})
        value = heard()["value"]
        if value is None:
            return None
        self.worst = min(self.worst, value)
        return value


def with_optuna(settings, seed, trials, is_random):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed) if is_random else optuna.samplers.TPESampler(seed=seed)
    study, told = optuna.create_study(direction="maximize", sampler=sampler), Told(settings)
    first = {}
    for setting in settings:
        first.update(setting.first())
    study.enqueue_trial(first)
    best = None
    for _ in range(trials):
        trial, levels = study.ask(), []
        for setting in settings:
            levels.append(None)
        # A setting that another one needs comes after it is known.
        for place in sorted(range(len(settings)), key=lambda place: settings[place].needs is not None):
            levels[place] = drawn(trial, settings[place], levels)
        value = told.ask(levels)
        study.tell(trial, told.worst if value is None else value)
        if value is not None and (best is None or value > best[0]):
            best = (value, levels)
    return best[1] if best else None


def drawn(trial, setting, levels):
    if not setting.is_active(levels):
        return "idle"
    if not setting.range:
        return {"word": trial.suggest_categorical(setting.name, list(range(len(setting.words))))}
    if setting.words:
        sort = trial.suggest_categorical(setting.sort, list(range(1 + len(setting.words))))
        if sort > 0:
            return {"word": sort - 1}
    return {"at": trial.suggest_float(setting.name, 0.0, 1.0)}


def with_smac(settings, seed, trials):
    import logging
    import shutil
    import tempfile
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float
    from ConfigSpace.conditions import AndConjunction, NotEqualsCondition
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario

    space, parameters = ConfigurationSpace(seed=seed), {}
    for setting in settings:
        first = setting.first()
        if setting.has_sorts:
            parameters[setting.sort] = Categorical(
                setting.sort, list(range(1 + len(setting.words))), default=first[setting.sort]
            )
        if setting.range:
            parameters[setting.name] = Float(setting.name, (0.0, 1.0), default=first.get(setting.name, 0.5))
        else:
            parameters[setting.name] = Categorical(
                setting.name, list(range(len(setting.words))), default=first[setting.name]
            )
    for parameter in parameters.values():
        space.add(parameter)
    for setting in settings:
        conditions = []
        if setting.has_sorts:
            conditions.append(EqualsCondition(parameters[setting.name], parameters[setting.sort], 0))
        if setting.needs is not None and setting.needs["is"] != "above_zero":
            other, needed = settings[setting.needs["of"]], setting.needs["is"]
            is_word = "word" in needed
            word = needed["word" if is_word else "not_word"] + (1 if other.has_sorts else 0)
            of = parameters[other.sort if other.has_sorts else other.name]
            condition = EqualsCondition if is_word else NotEqualsCondition
            conditions.append(condition(parameters[setting.name], of, word))
        if len(conditions) == 1:
            space.add(conditions[0])
        elif conditions:
            space.add(AndConjunction(*conditions))
    told, place = Told(settings), tempfile.mkdtemp()

    def levels_of(configuration):
        chosen, levels = dict(configuration), []
        for setting in settings:
            if setting.has_sorts and chosen.get(setting.sort, 0) > 0:
                levels.append({"word": int(chosen[setting.sort]) - 1})
            elif setting.name not in chosen:
                levels.append("idle")
            elif setting.range:
                levels.append({"at": float(chosen[setting.name])})
            else:
                levels.append({"word": int(chosen[setting.name])})
        return levels

    def cost(configuration, seed=0):
        value = told.ask(levels_of(configuration))
        return -(told.worst if value is None else value)

    scenario = Scenario(space, deterministic=False, n_trials=trials, seed=seed, output_directory=place)
    initial = Facade.get_initial_design(scenario, additional_configs=[space.get_default_configuration()])
    found = Facade(scenario, cost, initial_design=initial, overwrite=True, logging_level=False).optimize()
    shutil.rmtree(place, ignore_errors=True)
    return levels_of(found[0] if isinstance(found, list) else found)


def main():
    tuner, seed, trials = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    settings = [Setting(place, told) for place, told in enumerate(heard()["dimensions"])]
    # What libraries print is not for whoever asks.
    sys.stderr = open("/dev/null", "w")
    best = with_smac(settings, seed, trials) if tuner == "smac" else with_optuna(settings, seed, trials, tuner == "random")
    say({"best": best})


if __name__ == "__main__":
    main()
