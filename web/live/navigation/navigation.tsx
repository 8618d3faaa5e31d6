/** The links between the views, in groups with badges. */
import { Link } from '../../kit/link.tsx';
import { useNow } from '../../kit/use-now.ts';
import { some } from '../../kit/words.ts';
import { concernsOf } from '../overview/concerns.ts';
import { useStatus } from '../status.tsx';
import { useMedia } from '../use-media.ts';
import { badgesOf, type Badge } from './badges.ts';

/** A view's name and title in the navigation. */
export type NavigationEntry = {
  readonly name: string;
  readonly title: string;
  /** The view, and those that it links to. */
  readonly views: readonly string[];
};

/** Views that belong together. The link of the group leads to the first one. */
export type NavigationGroup = {
  readonly title: string;
  readonly entries: readonly NavigationEntry[];
  /** All its views, also those without a link in the navigation. */
  readonly views: readonly string[];
};

type Props = {
  readonly groups: readonly NavigationGroup[];
  /** The shown view, or the one that links to it. */
  readonly current: string;
};

const isWide = '(min-width: 80rem)';

/** Links to every view, beside the content of a wide screen. */
export function SideNavigation({ groups, current }: Props) {
  const entries = groups.flatMap((group) => group.entries);
  const badges = useBadges(entries);
  if (!useMedia(isWide)) return null;
  return (
    <nav aria-label="Views" className="w-44 border-e border-line text-sm">
      <div className="sticky top-0 flex flex-col gap-3 p-2">
        {groups.map((group) => (
          <div key={group.title} className="flex flex-col">
            {group.entries.length === 1 ? null : (
              <p className="px-2 text-xs text-soft">{group.title}</p>
            )}
            {group.entries.map((entry) => (
              <Link
                key={entry.name}
                to={{ view: entry.name }}
                current={entry.name === current ? 'page' : undefined}
                className={`flex items-center justify-between gap-1.5 ${look}`}
              >
                {entry.title}
                <Mark badge={badges[entries.indexOf(entry)] ?? null} />
              </Link>
            ))}
          </div>
        ))}
      </div>
    </nav>
  );
}

/** Links to every group, above the content of other screens. */
export function Navigation({ groups, current }: Props) {
  const badges = useBadges(groups);
  if (useMedia(isWide)) return null;
  return (
    <nav
      aria-label="Views"
      className="flex min-w-0 flex-1 flex-wrap gap-0.5 p-1 text-sm max-[80rem]:order-last max-[80rem]:basis-full"
    >
      {groups.map(({ title, entries, views }, at) => (
        <Link
          key={title}
          to={{ view: entries[0]!.name }}
          current={ariaCurrentOf(entries, views, current)}
          className={`relative inline-flex shrink-0 items-center gap-1.5 ${look}`}
        >
          {title}
          <Mark badge={badges[at] ?? null} />
        </Link>
      ))}
    </nav>
  );
}

/** Links to the other views of the shown group, if it has any. */
export function WithinGroup({ groups, current }: Props) {
  const group = groups.find(({ views }) => views.includes(current));
  if (useMedia(isWide)) return null;
  if (group === undefined || group.entries.length < 2) return null;
  return (
    <nav aria-label={group.title} className="-mt-2 flex flex-wrap gap-0.5 text-sm">
      {group.entries.map(({ name, title }) => (
        <Link
          key={name}
          to={{ view: name }}
          current={name === current ? 'page' : undefined}
          className={look}
        >
          {title}
        </Link>
      ))}
    </nav>
  );
}

function ariaCurrentOf(
  entries: readonly NavigationEntry[],
  views: readonly string[],
  current: string,
): 'page' | 'true' | undefined {
  if (!views.includes(current)) return undefined;
  return entries.length > 1 ? 'true' : 'page';
}

const look =
  'min-h-7 rounded-md px-2 py-1 text-ink no-underline hover:bg-raised ' +
  '[&[aria-current]]:bg-accent-ground [&[aria-current]]:font-medium ' +
  'forced-colors:[&[aria-current]]:underline';

function useBadges(
  groups: readonly { readonly views: readonly string[] }[],
): readonly (Badge | null)[] {
  const { value: status, refused } = useStatus();
  const now = useNow();
  if (status === null || refused !== null) return [];
  return badgesOf(
    concernsOf(status, now),
    groups.map(({ views }) => views),
  );
}

const grounds = { bad: 'bg-bad-ground text-bad', wait: 'bg-wait-ground text-wait' };

function Mark({ badge }: { readonly badge: Badge | null }) {
  if (badge === null) return null;
  const { count, tone } = badge;
  return (
    <span
      className={`rounded-full border border-current px-1.5 text-xs font-medium tabular-nums ${grounds[tone]}`}
    >
      <span aria-hidden="true">{count}</span>
      <span className="sr-only">{some(count, 'thing')} may need you</span>
    </span>
  );
}
