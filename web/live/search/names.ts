/** Searches by name: views, people, channels, brains and models. */
import { formatModelName } from '../../../src/domain/model-words.ts';
import { channelName } from '../../../src/channels/registry.ts';
import { nameOf } from '../channels.ts';
import type { Status } from '../../../src/admin/admin.ts';
import type { Place } from '../../kit/place.ts';
import type { NavigationEntry } from '../navigation/navigation.tsx';

export type Named = {
  readonly kind: 'view' | 'day' | 'person' | 'channel' | 'brain' | 'model';
  readonly name: string;
  /** The name in the file or the API, which also matches. */
  readonly written: string;
  readonly place: Place;
  /** What stands beside the name; absent: the kind. */
  readonly note?: string;
};

const shownMax = 8;

/** @param views the views of the page with their titles */
export function namesOf(
  views: readonly NavigationEntry[],
  status: Pick<Status, 'channels' | 'brains'> | null,
): readonly Named[] {
  const brains = status?.brains ?? [];
  const models = new Set(brains.flatMap((brain) => brain.models.map(({ name }) => name)));
  const channels = new Set((status?.channels ?? []).map(nameOf));
  return [
    ...views.map(({ name, title }): Named => {
      return { kind: 'view', name: title, written: name, place: { view: name } };
    }),
    ...[...channels].map((channel): Named => {
      const name = channelName(channel);
      return { kind: 'channel', name, written: channel, place: { view: 'messages', channel } };
    }),
    ...brains.map(({ name }): Named => {
      return { kind: 'brain', name, written: name, place: { view: 'messages', brain: name } };
    }),
    ...[...models].map((name): Named => ({
      kind: 'model',
      name: formatModelName(name),
      written: name,
      place: { view: 'model', id: name },
    })),
  ];
}

/** The entries that contain every word of the search; without a search, the views. */
export function namedSo(all: readonly Named[], search: string): readonly Named[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return all.filter(({ kind }) => kind === 'view');
  const fits = all.filter(({ name, written }) => {
    const text = `${name} ${written}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return fits.slice(0, shownMax);
}
