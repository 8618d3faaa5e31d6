import { channelName } from '../../../src/channels/registry.ts';
import type { ReactNode } from 'react';
import type { ConfigNames } from '../../../src/admin/admin.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { PageLink } from '../../kit/page-link.tsx';
import { visible } from '../../kit/visible.ts';
import { moment } from '../../kit/words.ts';
import { useStatus } from '../status.tsx';

const storageWords: Readonly<Record<ConfigNames['storage'], string>> = {
  memory: 'none: kept in memory only',
  sqlite: 'SQLite',
  postgres: 'PostgreSQL, on the server whose URL storage.url_env names',
};

/** The names in the configuration, without any setting or secret. */
export function Names({ names }: { readonly names: ConfigNames }) {
  const { revision, usedAt, channels, brains, routes, storage, session, secrets } = names;
  return (
    <dl className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2 rounded-md border border-line bg-card px-4 py-3 sm:grid-cols-[max-content_minmax(0,1fr)]">
      <Fact name="Revision">
        <code>{revision}</code> since {moment(usedAt)}
      </Fact>
      <Fact name="Routes">
        <List>
          {routes.map(({ channel, brain }, index) => (
            // Two routes of a channel may lead to one brain.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={`${channel} ${brain} ${index}`}>
              <Link to={{ view: 'messages', channel }}>{channelName(channel)}</Link> →{' '}
              <Link to={{ view: 'messages', brain }}>
                <AsWritten text={brain} />
              </Link>
            </li>
          ))}
        </List>
      </Fact>
      <Fact name="Without a route">
        {without(
          channels.map(channelName),
          routes.map(({ channel }) => channelName(channel)),
        ) ?? 'no channel'}
        ;{' '}
        <AsWritten
          text={
            without(
              brains,
              routes.map(({ brain }) => brain),
            ) ?? 'no brain'
          }
        />
      </Fact>
      <Fact name="Storage">{storageWords[storage]}</Fact>
      <Fact name="Sessions">{session ? 'on' : 'off'}</Fact>
      <Fact name="Variables for secrets">
        <List>
          {secrets.map((name) => (
            <li key={name}>
              <code className="wrap-anywhere">{name}</code>
            </li>
          ))}
          <li>
            <Link to={{ view: 'secrets' }}>where they are set</Link>
          </li>
        </List>
      </Fact>
      <Fact name="To change it">
        <Builder />
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 wrap-anywhere max-sm:mb-1">{children}</dd>
    </div>
  );
}

function List({ children }: { readonly children: ReactNode }) {
  return <ul className="flex flex-wrap gap-x-4 gap-y-1">{children}</ul>;
}

/** @returns null if each of them has a route */
function without(names: readonly string[], routed: readonly string[]): string | null {
  const left = names.filter((name) => !routed.includes(name));
  return left.length === 0 ? null : left.map(visible).join(', ');
}

/** The builder needs a bearer; without one, a person edits the file and restarts svc. */
function Builder() {
  const { value } = useStatus();
  if (value === null) return <>–</>;
  if (value.access === 'read_only') {
    return <>edit the file and restart svc; an admin block with a token opens the builder</>;
  }
  return <PageLink href="/builder">open the builder</PageLink>;
}
