/** Advice for a person who sees an empty list. */
import { findKind, channelName } from '../../src/channels/registry.ts';
import { PageLink } from '../kit/page-link.tsx';
import { nameOf } from './channels.ts';
import { ToCopy } from '../kit/to-copy.tsx';
import { useStatus } from './status.tsx';

/** How to send a first message, by the channels that have a route. */
export function FirstMessage() {
  const { value: status } = useStatus();
  if (status === null) return null;
  const routed = status.channels.filter(({ brain }) => brain !== null);
  const bots = routed
    .filter(({ type }) => findKind(type)?.isMessenger === true)
    .map((one) => channelName(nameOf(one)));
  if (routed.length === 0) {
    return (
      <p>
        Nothing can come in: no channel has a route to a brain. <ToConfigure />
      </p>
    );
  }
  return (
    <div className="flex max-w-prose flex-col gap-2">
      {bots.length === 0 ? null : <p>Write to the bot on {bots.join(' or ')}.</p>}
      {bots.length === routed.length ? null : (
        <>
          <p>
            {bots.length === 0 ? 'To' : 'Or, to'} send one to the webhook, at a terminal where svc
            runs:
          </p>
          <ToCopy text='svc send "Hello"' />
        </>
      )}
    </div>
  );
}

/** Without storage there are no conversations; with storage, the first message begins one. */
export function FirstConversation() {
  const { value: status } = useStatus();
  return (
    <>
      <p>No conversation is kept.</p>
      {status?.storage === 'memory' ? (
        <p>
          Without storage none is: give the configuration a <code>storage</code> block, which takes
          a restart. <ToConfigure />
        </p>
      ) : (
        <FirstMessage />
      )}
    </>
  );
}

/** The builder needs a bearer; without one, a person edits the file. */
function ToConfigure() {
  const { value: status } = useStatus();
  if (status?.access !== 'operator') {
    return <>Edit the configuration file, and restart svc.</>;
  }
  return <PageLink href="/builder">Open the builder</PageLink>;
}

export const NothingAsks = () => (
  <p className="max-w-prose">
    No call waits for a yes. An agent asks before it uses a tool where a grant of its{' '}
    <code>governance</code> gives that tool the mode <code>ask</code>. <ToConfigure />
  </p>
);

export const NoBrain = () => (
  <p>
    No brain is configured. <ToConfigure />
  </p>
);

export const NoChannel = () => (
  <p>
    No channel is configured. <ToConfigure />
  </p>
);

export const NoBudget = () => (
  <p className="max-w-prose">
    No brain has a budget: models that cost may use as much as they are asked for. To bound that by
    turn, day or sender, give a brain a <code>budget</code>; to see it in money, give models a{' '}
    <code>price</code>. <ToConfigure />
  </p>
);
