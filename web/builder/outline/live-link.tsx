import { registeredNameIn } from '../document/channels.ts';
import { canonical, keyedEntries } from '../../../src/config/changes/entries.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import type { JsonObject } from '../../../src/config/locate.ts';
import { PageLink } from '../../kit/page-link.tsx';
import { baseDocument, useDraft } from '../document/store.ts';
import { completionsChannel } from '../../../src/domain/ids.ts';
import { isObject } from '../../../src/lib/json.ts';
import { valueAt, wordOf } from '../document/value.ts';

/** A link from a channel, the completions API, a brain or a model to its live view, if in use. */
export function LiveLink({ path }: { readonly path: Path }) {
  const document = useDraft((state) => state.document);
  const base = useDraft((state) => state.base);
  const place = base === null ? null : livePlace(path, document, baseDocument(base));
  if (place === null) return null;
  const { words, ...query } = place;
  return (
    <PageLink
      href={`/ui?${new URLSearchParams(query).toString()}`}
      className="inline-flex min-h-6 items-center text-sm"
    >
      {words}
    </PageLink>
  );
}

type LivePlace = { readonly words: string } & Readonly<Record<string, string>>;

/**
 * @param document the draft
 * @param used the document in use
 */
function livePlace(path: Path, document: JsonObject, used: JsonObject): LivePlace | null {
  const entry = valueAt(document, path);
  const [list, , inside] = path;
  if (!isObject(entry)) return null;
  if (list === 'channels' && path.length === 2) {
    const channel = registeredNameIn(entry);
    return isUsed(used['channels'], 'channels', channel)
      ? { words: 'Its messages', view: 'messages', channel }
      : null;
  }
  if (list === completionsChannel) {
    return isObject(used[list]) ? { words: 'Its messages', view: 'messages', channel: list } : null;
  }
  if (list === 'brains' && path.length === 2) {
    const brain = wordOf(entry['name']);
    return isUsed(used['brains'], 'brains', brain)
      ? { words: 'Its messages', view: 'messages', brain }
      : null;
  }
  if (list !== 'brains' || inside !== 'models' || path.length !== 4) return null;
  const id = `${canonical(wordOf(entry['provider']))}/${wordOf(entry['model_id'])}`;
  const brains = keyedEntries(used['brains'], 'brains');
  return brains.some(({ value }) => isUsed(valueAt(value, ['models']), 'models', id))
    ? { words: 'Does it answer?', view: 'model', id }
    : null;
}

const isUsed = (entries: Parameters<typeof keyedEntries>[0], list: string, name: string): boolean =>
  keyedEntries(entries, list).some(({ key }) => key === name);
