/** Reads what a document says of its brains and models, whether or not it is right. */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { rankModels } from '../../../src/config/rank.ts';
import type { Path } from '../document/path.ts';
import { isList, isObject, valueAt } from '../document/value.ts';
import { canonical } from '../review/values.ts';

/** `dropped` by the shield of a private brain; `unused` by an agent, which asks one model. */
export type ModelState = 'asked' | 'dropped' | 'unused';

/** `value` is null where it is no object. */
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

/** Empty where there is no text. */
export function textAt(value: Json | null | undefined, key: string): string {
  const found = isObject(value ?? undefined) ? (value as JsonObject)[key] : undefined;
  return typeof found === 'string' ? found : '';
}

export type ModelReading = Omit<Entry, 'path'> & {
  readonly state: ModelState;
  readonly remark: string | null;
};

/** The models of a brain as they are listed, each with what becomes of it. */
export function modelStates(brain: JsonObject | null): readonly ModelReading[] {
  const models = entriesOf(brain ?? {}, ['models']);
  const isPrivate = textAt(brain, 'sensitivity') === 'private';
  const usable = models.filter(({ value }) => !isPrivate || textAt(value, 'locality') === 'local');
  const policy = brain?.['policy'];
  const order = isObject(policy) && isList(policy['order']) ? policy['order'] : [];
  const ranked = rankModels(
    order.filter((entry) => typeof entry === 'string'),
    usable.map(({ value }) => ({
      provider: canonical(textAt(value, 'provider')),
      modelId: textAt(value, 'model_id'),
    })),
  ).map((at) => usable[at]!);
  const isAgent = isObject(brain?.['agent']);
  return models.map(({ index, value }) => {
    const rank = ranked.findIndex((one) => one.index === index);
    const cloud = isPrivate && textAt(value, 'locality') !== 'local';
    if (cloud)
      return { index, value, state: 'dropped', remark: 'never asked: the brain is private' };
    if (isAgent && rank > 0) {
      return { index, value, state: 'unused', remark: 'left out: an agent asks one model' };
    }
    const remark = ranked.length > 1 && !isAgent ? `rank ${rank + 1} of ${ranked.length}` : null;
    return { index, value, state: 'asked', remark };
  });
}
