/** The live view: its list of views, and the frame around them. */
import { useEffect, useMemo, useRef, type ComponentType } from 'react';
import { useArrival as useSignedIn } from '../kit/arrival.ts';
import { arriveAt, followEntries } from '../kit/entry.ts';
import { PageFrame } from '../kit/frame.tsx';
import { late, loadAhead } from '../kit/late.tsx';
import { usePlace } from '../kit/place.ts';
import { useStorage, useWatch, useGone } from '../kit/watch.ts';
import {
  Navigation,
  SideNavigation,
  WithinGroup,
  type NavigationGroup,
} from './navigation/navigation.tsx';
import { Operator } from './operator.tsx';
import { Overview } from './overview/overview.tsx';
import { Search } from './search/search.tsx';
import { StatusOfService, useStatus } from './status.tsx';
import { useApplication, wayOn } from '../kit/application.ts';
import { Notice } from '../kit/notice.tsx';
import { SignedOut } from '../kit/signed-out.tsx';
import { useToken } from '../kit/token.ts';
import type { StreamState } from '../kit/stream.ts';
import { State, type Tone } from '../kit/state.tsx';
import { useFeed, useLiveEvents } from './feed.ts';

type LiveViewEntry = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
  readonly group: Group;
  /** For a view outside the navigation: the view that links to it. */
  readonly under?: string;
  /** True: useful only if several instances share one storage. */
  readonly ofShared?: true;
};

// The other views load after the first one, so that a person sees that one sooner.
const Approvals = late(
  'approvals',
  async () => (await import('./approvals/approvals.tsx')).Approvals,
);
const Audit = late('audit', async () => (await import('./audit/audit.tsx')).Audit);
const Configuration = late(
  'configuration',
  async () => (await import('./config/config.tsx')).Configuration,
);
const Conversations = late(
  'conversations',
  async () => (await import('./conversations/conversations.tsx')).Conversations,
);
const DeadLetters = late(
  'dead letters',
  async () => (await import('./dead-letters/dead-letters.tsx')).DeadLetters,
);
const Deliveries = late(
  'deliveries',
  async () => (await import('./deliveries/deliveries.tsx')).Deliveries,
);
const FlowMap = late('map', async () => (await import('./flow/flow-map.tsx')).FlowMap);
const Instances = late(
  'instances',
  async () => (await import('./instances/instances.tsx')).Instances,
);
const MessagePage = late(
  'message',
  async () => (await import('./message/message.tsx')).MessagePage,
);
const Messages = late('messages', async () => (await import('./messages/messages.tsx')).Messages);
const ModelPage = late('model', async () => (await import('./model/model.tsx')).ModelPage);
const People = late('people', async () => (await import('./people/people.tsx')).People);
const Providers = late(
  'providers',
  async () => (await import('./providers/providers.tsx')).Providers,
);
const Secrets = late('secrets', async () => (await import('./secrets/secrets.tsx')).Secrets);
const Spend = late('spend', async () => (await import('./spend/spend.tsx')).Spend);
const Tools = late('tools', async () => (await import('./tools/tools.tsx')).Tools);

/** The groups of the navigation, in this order. */
const groups = ['Overview', 'Messages', 'Conversations', 'Delivery', 'Models', 'Settings'] as const;
type Group = (typeof groups)[number];

/** To add a view: write a component and add a line here. The first one is the default. */
const views: readonly [LiveViewEntry, ...LiveViewEntry[]] = [
  { name: 'overview', title: 'Overview', shows: Overview, group: 'Overview' },
  { name: 'flow', title: 'Flow', shows: FlowMap, group: 'Overview' },
  { name: 'messages', title: 'Messages', shows: Messages, group: 'Messages' },
  { name: 'message', title: 'Message', shows: MessagePage, group: 'Messages', under: 'messages' },
  { name: 'conversations', title: 'Conversations', shows: Conversations, group: 'Conversations' },
  { name: 'people', title: 'People', shows: People, group: 'Conversations' },
  { name: 'deliveries', title: 'Deliveries', shows: Deliveries, group: 'Delivery' },
  { name: 'dead-letters', title: 'Dead letters', shows: DeadLetters, group: 'Delivery' },
  { name: 'providers', title: 'Providers', shows: Providers, group: 'Models' },
  { name: 'model', title: 'Model', shows: ModelPage, group: 'Models', under: 'providers' },
  { name: 'tools', title: 'Tools', shows: Tools, group: 'Models' },
  { name: 'approvals', title: 'Approvals', shows: Approvals, group: 'Models' },
  { name: 'spend', title: 'Spend', shows: Spend, group: 'Models' },
  { name: 'config', title: 'Configuration', shows: Configuration, group: 'Settings' },
  { name: 'secrets', title: 'Secrets', shows: Secrets, group: 'Settings' },
  { name: 'instances', title: 'Instances', shows: Instances, group: 'Settings', ofShared: true },
  { name: 'audit', title: 'Audit', shows: Audit, group: 'Settings' },
];

function navigationOf(isShared: boolean): readonly NavigationGroup[] {
  return groups.map((title) => {
    const inside = views.filter(({ group }) => group === title);
    const entries = inside
      .filter(({ under, ofShared }) => under === undefined && (isShared || ofShared !== true))
      .map(({ name, title: entryTitle }) => {
        const below = inside.filter(({ under }) => under === name);
        return { name, title: entryTitle, views: [name, ...below.map((view) => view.name)] };
      });
    return { title, entries, views: inside.map(({ name }) => name) };
  });
}

export function LiveView() {
  useWatch();
  const isShared = useStorage(({ storage }) => storage === 'postgres');
  const isEntering = useSignedIn(({ now }) => now.kind === 'entering');
  useEffect(followEntries, []);
  useEffect(() => void loadAhead(views.map(({ shows }) => shows)), []);
  const { view, id = '', open = '', message = '' } = usePlace();
  const { name, title, shows: Shown, under } = views.find((one) => one.name === view) ?? views[0];
  useArrival([name, id, open, message].join(' '), title);
  const shown = useMemo(() => navigationOf(isShared), [isShared]);
  const entries = useMemo(() => shown.flatMap((group) => group.entries), [shown]);
  const where = { groups: shown, current: under ?? name };
  return (
    <StatusOfService>
      <PageFrame
        title="svc"
        navigation={<Navigation {...where} />}
        side={<SideNavigation {...where} />}
        aside={
          <>
            <Search views={entries} />
            <FeedMark />
            <Operator />
          </>
        }
      >
        <WithinGroup {...where} />
        <Around />
        {isEntering ? null : <Shown key={name} />}
      </PageFrame>
    </StatusOfService>
  );
}

/** Sets the page's title, and focuses a newly opened view. */
function useArrival(where: string, title: string): void {
  const before = useRef(where);
  useEffect(() => {
    document.title = `${title} · svc`;
    if (before.current === where) return undefined;
    before.current = where;
    return arriveAt(document.getElementById('main'));
  }, [where, title]);
}

/** Banners above every view: the page is signed out, or svc has ended. */
function Around() {
  const { isGone } = useGone();
  const page = useApplication((state) => state.page);
  const hasLapsed = useToken((state) => state.hasLapsed);
  if (isGone && page !== null) return <LeadThere page={page} />;
  return <SignedOut stays={hasLapsed ? 'What you have begun here stays.' : null} />;
}

/** Goes to the application's own page, which explains the end and returns once svc runs again. */
function LeadThere({ page }: { readonly page: string }) {
  useEffect(() => location.replace(wayOn(page)), [page]);
  return (
    <Notice tone="bad">
      <p>
        svc has ended. <a href={page}>The page of this application</a> says why, and what to do.
      </p>
    </Notice>
  );
}

const words: Readonly<Record<StreamState, readonly [Tone, string]>> = {
  connecting: ['wait', 'Connecting'],
  open: ['good', 'Live'],
  lost: ['bad', 'Not live'],
  paused: ['off', 'Resting'],
};

/**
 * Shows whether the data is current: the events, and the status. It also keeps the connection open
 * between views.
 */
function FeedMark() {
  useLiveEvents(() => undefined);
  const { refused } = useStatus();
  const state = useFeed((feed) => feed.state);
  const [tone, word] = words[refused === null || state === 'paused' ? state : 'lost'];
  return (
    <span role="status" className="min-w-[6.5rem] text-right text-sm max-sm:min-w-0">
      <State tone={tone}>{word}</State>
    </span>
  );
}
