/**
 * Whether the service ever asks each model of a brain, so that the page can warn of one that it
 * never asks.
 */
import type { Json } from '../../../src/config/locate.ts';
import { hasCloudTag, type KnownModel } from '../../../src/config/rank.ts';
import { schema } from '../../../src/config/schema.ts';
import { meant } from './fields.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt } from './value.ts';

export type ModelUse =
  /** The document does not name the model's provider yet. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'asked' }
  /** The privacy filter removes it from every call. */
  | { readonly kind: 'never'; readonly why: string }
  /** The agent writes notes for the whole brain, so only local models answer. */
  | { readonly kind: 'unused'; readonly why: string };

const model = schema.fields.brains.items.fields.models.items.fields;

/** @returns one for each model that the brain lists, in that order */
export function modelUsesOf(brain: Json | undefined): readonly ModelUse[] {
  const listed = valueAt(brain, ['models']);
  if (!isList(listed)) return [];
  const isPrivate = valueAt(brain, ['sensitivity']) === 'private';
  const models = listed.map(knownOf);
  const staysLocal = valueAt(brain, ['agent', 'memory', 'scope']) === 'brain';
  return models.map((one): ModelUse => {
    if (one === null) return { kind: 'unknown' };
    if (isPrivate && isDropped(one)) return { kind: 'never', why: neverWhy(one) };
    if (!staysLocal || !isDropped(one)) return { kind: 'asked' };
    return { kind: 'unused', why: 'Notes of the whole brain stay local: it is never asked.' };
  });
}

function isDropped(one: KnownModel): boolean {
  return one.locality === 'cloud' || hasCloudTag(one);
}

function neverWhy(one: KnownModel): string {
  return one.locality === 'cloud'
    ? 'This brain is private, and the model is declared cloud: nothing is ever sent to it.'
    : 'This brain is private, and the runtime sends this model to its vendor.';
}

function knownOf(value: Json): KnownModel | null {
  if (!isObject(value)) return null;
  const provider = meant(model.provider, value['provider']);
  const locality = value['locality'];
  const modelId = value['model_id'];
  if (provider === null || typeof modelId !== 'string') return null;
  if (locality !== 'local' && locality !== 'cloud') return null;
  return { provider, modelId, locality };
}
