/** From a configuration to the test cases that are to be run, or to what is wrong with them. */
import { canonical } from '../../config/changes/entries.ts';
import type { BrainConfig, Config, ConfigProblem, ModelConfig } from '../../config/config.ts';
import { isList, isObject } from '../../config/json-value.ts';
import { locate } from '../../config/locate.ts';
import { ProblemList } from '../../config/problems.ts';
import { readTestCases, type ExpectedJudge, type PlacedCase } from '../../config/test-case.ts';

export type PlannedCase = PlacedCase & {
  readonly brain: BrainConfig;
  /** The brain's place in the configuration. */
  readonly at: number;
  readonly judge: PlannedJudge | null;
};

/** `path` is the model's place in the configuration. */
export type PlannedJudge = {
  readonly model: ModelConfig;
  readonly path: string;
  readonly asks: string;
};

export type CasesPlanned = {
  /** In the order of the file. */
  readonly cases: readonly PlannedCase[];
  readonly problems: readonly ConfigProblem[];
};

/** @param text of the file that the configuration was read from */
export function planCases(config: Config, text: string): CasesPlanned {
  const { value, places } = locate(text);
  const problems = new ProblemList(text, places);
  const brains = isObject(value) && isList(value['brains']) ? value['brains'] : [];
  const cases = config.brains.flatMap((brain, at) => {
    const written = brains[at];
    const kept = isObject(written) ? written['_try'] : undefined;
    return readTestCases(kept, `brains[${at}]._try`, problems).map((one) => {
      const path = `brains[${at}]._try[${one.index}].expect.judge.model`;
      const wanted = one.expect?.judge ?? null;
      const judge = wanted && findJudge(wanted, { config, brain, path, problems });
      return { ...one, brain, at, judge };
    });
  });
  return { cases, problems: problems.sorted() };
}

type Surroundings = {
  readonly config: Config;
  readonly brain: BrainConfig;
  readonly path: string;
  readonly problems: ProblemList;
};

/** A model of the brain itself comes before the same one of another brain. */
function findJudge(wanted: ExpectedJudge, { config, brain, path, problems }: Surroundings) {
  if (wanted.model === '') return null;
  const [, provider = '', id = ''] = /^([^/]*)\/(.*)$/s.exec(wanted.model) ?? [];
  const all = config.brains.flatMap((owner, at) =>
    owner.models.map((model, index) => {
      return { owner, model, path: `brains[${at}].models[${index}]` };
    }),
  );
  const named = all.filter(
    ({ model }) => model.provider === canonical(provider) && model.modelId === id,
  );
  const own = named.filter(({ owner }) => owner === brain);
  const listed = [...own, ...named];
  const isPrivate = brain.sensitivity === 'private';
  const found = listed.find(({ model }) => !isPrivate || model.locality === 'local');
  if (found !== undefined) return { model: found.model, path: found.path, asks: wanted.asks };
  if (listed.length > 0) {
    const message = 'this judge is a cloud model, and the brain is private';
    problems.add('unknown_value', path, message, 'Name a model that is declared local.');
    return null;
  }
  const names = new Set(all.map(({ model }) => `${model.provider}/${model.modelId}`));
  const message = 'this judge is no model of the configuration';
  problems.add('unknown_value', path, message, `Name one of ${[...names].join(', ')}.`);
  return null;
}
