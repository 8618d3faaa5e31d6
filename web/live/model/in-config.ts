/** Finds a model in the text of a configuration, and makes small changes to the text. */
import { isObject } from '../../../src/lib/json.ts';
import { locate, type Json, type JsonObject } from '../../../src/config/locate.ts';
import { providerSynonyms } from '../../../src/config/schema.ts';
import { isPractice, modelIdOf } from './advice.ts';

/** The paths of a model by its name: `brains[0].models[1]`. */
export function placesOf(text: string, name: string): readonly string[] {
  return brainsOf(text).flatMap(({ models }, brain) =>
    models.flatMap((model, at) => (isNamed(model, name) ? [`brains[${brain}].models[${at}]`] : [])),
  );
}

/**
 * Replaces a model by another one of the same provider everywhere: in the lists of models, and in
 * the ranks of policies. A replacement of the practice model uses the runtime's default address.
 * @returns null if the text does not have the model
 */
export function withOther(text: string, name: string, modelId: string): string | null {
  const { places } = locate(text);
  const paths = placesOf(text, name);
  if (paths.length === 0) return null;
  const ids = paths.map((path) => [`${path}.model_id`, modelId] as const);
  const moved = isPractice(name)
    ? paths.map((path) => [`${path}.base_url`, usualAddress] as const)
    : [];
  const changes = [...ids, ...moved, ...ranksOf(text, name, modelId)].flatMap(([path, value]) => {
    const place = places.get(path);
    return place === undefined ? [] : [{ ...place, value, start: place.value }];
  });
  // From the end, so that no path before it changes.
  return changes
    .toSorted((a, b) => b.start - a.start)
    .reduce((so, { value, start, end }) => {
      return so.slice(0, start) + JSON.stringify(value) + so.slice(end);
    }, text);
}

const usualAddress = 'http://127.0.0.1:11434';

/** The places where policies rank it by id or name; the rank of a provider stays. */
function ranksOf(
  text: string,
  name: string,
  modelId: string,
): readonly (readonly [string, string])[] {
  const id = modelIdOf(name);
  const meant = new Set([id, ...providersOf(name).map((provider) => `${provider}/${id}`)]);
  return brainsOf(text).flatMap(({ document, models }, brain) => {
    const policy = document['policy'];
    const order = isObject(policy) ? policy['order'] : undefined;
    if (!Array.isArray(order) || !models.some((model) => isNamed(model, name))) return [];
    return order.flatMap((rank: Json, at) => {
      if (typeof rank !== 'string' || !meant.has(rank)) return [];
      const other = rank.slice(0, rank.length - id.length) + modelId;
      return [[`brains[${brain}].policy.order[${at}]`, other] as const];
    });
  });
}

export type DryRun = { readonly config: string; readonly brain: string };

/** A configuration whose brain asks only this model, for a test question; null: no brain has it. */
export function askingAlone(text: string, name: string): DryRun | null {
  const { value } = locate(text);
  const brains = brainsOf(text);
  const at = brains.findIndex(({ models }) => models.some((model) => isNamed(model, name)));
  const brain = brains[at];
  if (brain === undefined || !isObject(value)) return null;
  const models = brain.models.filter((model) => isNamed(model, name)).slice(0, 1);
  const { agent: _agent, dispatch: _dispatch, ...rest } = brain.document;
  const alone = { ...rest, policy: { kind: 'priority' }, models };
  const others = brains.map(({ document }, index) => (index === at ? alone : document));
  return { config: JSON.stringify({ ...value, brains: others }), brain: brain.name };
}

type BrainInText = {
  readonly name: string;
  readonly document: JsonObject;
  readonly models: readonly JsonObject[];
};

function brainsOf(text: string): readonly BrainInText[] {
  const { value } = locate(text);
  const brains = isObject(value) ? listOf(value['brains']) : [];
  return brains.map((document) => {
    const name = document['name'];
    return {
      name: typeof name === 'string' ? name : '',
      document,
      models: listOf(document['models']),
    };
  });
}

const isNamed = ({ provider, model_id: id }: JsonObject, name: string): boolean =>
  id === modelIdOf(name) && providersOf(name).some((known) => known === provider);

/** The spellings of a model's provider in a file. */
function providersOf(name: string): readonly string[] {
  const provider = name.slice(0, name.indexOf('/'));
  const synonyms = Object.entries(providerSynonyms);
  return [provider, ...synonyms.flatMap(([other, of]) => (of === provider ? [other] : []))];
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one: Json) => isObject(one)) : [];
}
