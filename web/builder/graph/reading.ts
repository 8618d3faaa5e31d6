/** Reads brains and models from a document that may be invalid. */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { rankModels } from '../../../src/config/rank.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { modelUsesOf, type ModelUse } from '../document/privacy-filter.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt } from '../document/value.ts';
import { canonical } from '../../../src/config/changes/entries.ts';

/** `value` is null if it is no object. */
export type Entry = {
  readonly index: number;
  readonly path: Path;
  readonly value: JsonObject | null;
};

export function entriesOf(document: JsonObject, path: Path): readonly Entry[] {
  const list = valueAt(document, path);
  return (isList(list) ? list : []).map((value, index) => ({
    index,
    path: [...path, index],
    value: isObject(value) ? value : null,
  }));
}

/** Empty if there is no text. */
export function textAt(value: Json | null | undefined, key: string): string {
  const found = valueAt(value ?? undefined, [key]);
  return typeof found === 'string' ? found : '';
}

export type ModelReading = Omit<Entry, 'path'> & {
  readonly state: ModelUse['kind'];
  /** The model's state in a few words. */
  readonly remark: string | null;
};

/** The models of a brain in their order, each with its state. */
export function modelStates(brain: JsonObject | null): readonly ModelReading[] {
  const models = entriesOf(brain ?? {}, ['models']);
  const modelUses = modelUsesOf(brain ?? undefined);
  const asked = models.filter(({ index }) => modelUses[index]?.kind === 'asked');
  const order = valueAt(brain ?? undefined, ['policy', 'order']);
  const ranked = rankModels(
    isList(order) ? order.filter((entry) => typeof entry === 'string') : [],
    asked.map(({ value }) => ({
      provider: canonical(textAt(value, 'provider')),
      modelId: textAt(value, 'model_id'),
    })),
  ).map((at) => asked[at]!.index);
  return models.map(({ index, value }) => {
    const { kind } = modelUses[index] ?? { kind: 'unknown' };
    const rank = ranked.length > 1 ? `rank ${ranked.indexOf(index) + 1} of ${ranked.length}` : null;
    return { index, value, state: kind, remark: kind === 'asked' ? rank : remarks[kind] };
  });
}

const remarks: Readonly<Record<Exclude<ModelUse['kind'], 'asked'>, string | null>> = {
  unknown: null,
  never: 'never asked: private brain',
  unused: 'left out: notes of the whole brain',
};
