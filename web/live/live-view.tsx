import { useEffect, useMemo, useRef, type ComponentType } from 'react';
import { useArrival as useSignedIn } from '../kit/arrival.ts';
import { Frame } from '../kit/frame.tsx';
import { usePlace } from '../kit/place.ts';
import { useStorage, useWatch } from '../kit/watch.ts';
import { Around } from './around.tsx';
import { Audit } from './audit/audit.tsx';
import { Configuration } from './config/config.tsx';
import { Conversations } from './conversations/conversations.tsx';
import { DeadLetters } from './dead-letters/dead-letters.tsx';
import { Deliveries } from './deliveries/deliveries.tsx';
import { FeedMark } from './feed-mark.tsx';
import { FlowMap } from './flow/flow-map.tsx';
import { Instances } from './instances/instances.tsx';
import { MessagePage } from './message/message.tsx';
import { Messages } from './messages/messages.tsx';
import { ModelPage } from './model/model.tsx';
import { Operator } from './operator.tsx';
import { Overview } from './overview/overview.tsx';
import { People } from './people/people.tsx';
import { Providers } from './providers/providers.tsx';
import { Search } from './search/search.tsx';
import { Secrets } from './secrets/secrets.tsx';
import { Tools } from './tools/tools.tsx';

type LiveViewEntry = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
  /** The view that leads to this one, for a view that is not in the navigation itself. */
  readonly under?: string;
  /** It is of use only where several instances may share one storage. */
  readonly ofShared?: true;
};

/** To add a view: write a component, and a line here. The first one is shown when none is named. */
const views: readonly [LiveViewEntry, ...LiveViewEntry[]] = [
  { name: 'overview', title: 'Overview', shows: Overview },
  { name: 'messages', title: 'Messages', shows: Messages },
  { name: 'message', title: 'Message', shows: MessagePage, under: 'messages' },
  { name: 'conversations', title: 'Conversations', shows: Conversations },
  { name: 'flow', title: 'Flow', shows: FlowMap },
  { name: 'deliveries', title: 'Deliveries', shows: Deliveries },
  { name: 'dead-letters', title: 'Dead letters', shows: DeadLetters },
  { name: 'providers', title: 'Providers', shows: Providers },
  { name: 'model', title: 'Model', shows: ModelPage, under: 'providers' },
  { name: 'instances', title: 'Instances', shows: Instances, ofShared: true },
  { name: 'tools', title: 'Tools', shows: Tools },
  { name: 'people', title: 'People', shows: People },
  { name: 'config', title: 'Configuration', shows: Configuration },
  { name: 'secrets', title: 'Secrets', shows: Secrets },
  { name: 'audit', title: 'Audit', shows: Audit },
];

const inNavigation = (isShared: boolean) =>
  views
    .filter(({ under, ofShared }) => under === undefined && (isShared || ofShared !== true))
    .map(({ name, title }) => ({ name, title, place: { view: name } }));

export function LiveView() {
  useWatch();
  const isShared = useStorage(({ storage }) => storage === 'postgres');
  const isEntering = useSignedIn(({ now }) => now.kind === 'entering');
  const { view, id, open } = usePlace();
  const { name, title, shows: Shown, under } = views.find((one) => one.name === view) ?? views[0];
  const shown = useMemo(() => inNavigation(isShared), [isShared]);
  useArrival(`${name} ${id ?? ''} ${open ?? ''}`, title);
  return (
    <Frame
      title="svc"
      views={shown}
      current={under ?? name}
      aside={
        <>
          <Search views={shown} />
          <FeedMark />
          <Operator />
        </>
      }
    >
      <Around />
      {isEntering ? null : <Shown key={name} />}
    </Frame>
  );
}

/** Names the page after its view, and puts the focus into a view that was gone to. */
function useArrival(where: string, title: string): void {
  const before = useRef(where);
  useEffect(() => {
    document.title = `${title} · svc`;
    if (before.current === where) return;
    before.current = where;
    scrollTo(0, 0);
    document.getElementById('main')?.focus();
  }, [where, title]);
}
