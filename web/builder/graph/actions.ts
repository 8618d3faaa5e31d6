/**
 * Actions of the graph on the document. Each returns a whole new text, so that it is one step of
 * the history. null: the action is not possible.
 */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import type { ChannelType } from '../../../src/channels/registry.ts';
import { insertEntry, removeAt, setValue } from '../../../src/config/edit/edit-text.ts';
import { keysAt } from '../document/fields.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import {
  routesOfChannel,
  conditionIn,
  registeredNameIn,
  routedNameIn,
} from '../document/channels.ts';
import { channelOf, placeOfNew, routeFor, startOf } from '../document/starts.ts';
import { isEqual, isList, valueAt } from '../document/value.ts';

import { entriesOf, textAt } from './reading.ts';

type Written = { readonly text: string; readonly document: JsonObject };

/** Lets a brain answer every message of a channel that no route with conditions takes. */
export function route({ text, document }: Written, channel: string, brain: string): string | null {
  const known = routesOfChannel(document, channel).find(({ when }) => when === null);
  if (known !== undefined) return setValue(text, [...known.path, 'brain'], brain, keysAt);
  return append({ text, document }, ['routes'], { channel, brain });
}

/** Adds a route with conditions before the one that takes every other message. */
export function addRoute({ text, document }: Written, channel: string): string | null {
  const entry = routeFor(channel, document);
  const at = placeOfNew(['routes'], entry, document);
  if (!isList(document['routes'])) return append({ text, document }, ['routes'], entry);
  return insertEntry(text, ['routes'], at, entry, keysAt);
}

/** Removes the route that takes every other message. */
export function unroute({ text, document }: Written, channel: string): string | null {
  return removeAll(text, document, ({ value }) => {
    return routedNameIn(value ?? undefined) === channel && conditionIn(value ?? undefined) === null;
  });
}

/** Adds another brain's model to a brain, with its settings there. */
export function shareModel(written: Written, model: Path, brain: Path): string | null {
  const value = valueAt(written.document, model);
  const list = [...brain, 'models'];
  const models = entriesOf(written.document, list);
  if (value === undefined || models.some((one) => isEqual(one.value ?? undefined, value))) {
    return null;
  }
  return append(written, list, value);
}

export function addChannel(written: Written, type: ChannelType): string | null {
  return append(written, ['channels'], channelOf(type, written.document));
}

/** Adds a new brain, or a new model to a brain. */
export function addTo(written: Written, list: Path): string | null {
  const at = entriesOf(written.document, list).length;
  return append(written, list, startOf([...list, at], written.document));
}

/**
 * Removes a channel, brain, model or route. The routes of a channel or brain go with it, and the
 * place of a brain among those that API clients can use.
 */
export function removeFrom({ text, document }: Written, path: Path): string | null {
  const without = removeAt(text, path);
  const [list] = path;
  if (without === null || path.length !== 2 || list === 'routes') return without;
  const isChannel = list === 'channels';
  const nameOf = (value: Json | null | undefined): string =>
    isChannel ? registeredNameIn(value ?? undefined) : textAt(value, 'name');
  const gone = nameOf(valueAt(document, path));
  const twins = entriesOf(document, [list!]).filter(({ value }) => nameOf(value) === gone);
  if (gone === '' || twins.length > 1) return without;
  const left = removeAll(without, document, ({ value }) => {
    return (isChannel ? routedNameIn(value ?? undefined) : textAt(value, 'brain')) === gone;
  });
  const offered = ['completions', 'brains'];
  const names = valueAt(document, offered);
  const at = !isChannel && isList(names) ? names.indexOf(gone) : -1;
  return left === null || at < 0 ? left : removeAt(left, [...offered, at]);
}

type RouteEntry = ReturnType<typeof entriesOf>[number];

function removeAll(
  text: string,
  document: JsonObject,
  isGone: (entry: RouteEntry) => boolean,
): string | null {
  let left: string | null = text;
  for (const { path } of entriesOf(document, ['routes']).filter(isGone).toReversed()) {
    left = left === null ? null : removeAt(left, path);
  }
  return left;
}

function append({ text, document }: Written, list: Path, value: Json): string | null {
  const now = valueAt(document, list);
  if (isList(now)) return insertEntry(text, list, now.length, value, keysAt);
  return setValue(text, list, [value], keysAt);
}
