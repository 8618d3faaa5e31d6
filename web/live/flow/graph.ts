/** Channels, brains and models as the nodes of a map with three columns. */
import { formatModelName } from '../../../src/domain/model-words.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { Status } from '../../../src/admin/admin.ts';
import { healthSentences } from '../../../src/domain/health.ts';
import type { Place } from '../../kit/place.ts';
import { toneOf, type Tone } from '../../kit/state.tsx';
import { spaced } from '../../kit/words.ts';
import { failingReceivers } from '../overview/receivers.ts';

export type FlowNode = {
  /** `channel webhook`, `brain desk`, `model local_runtime/a`. */
  readonly key: string;
  readonly name: string;
  readonly tone: Tone;
  readonly state: string;
  /** The names of the nodes that it passes messages to. */
  readonly to: readonly string[];
  readonly place: Place;
  /** The path in the configuration in use: `brains[0].models[1]`. */
  readonly at: string;
};

export type FlowEdge = { readonly from: string; readonly to: string; readonly isOpen: boolean };

export type FlowGraph = {
  readonly columns: readonly { readonly title: string; readonly nodes: readonly FlowNode[] }[];
  readonly edges: readonly FlowEdge[];
};

export function graphOf(status: Status): FlowGraph {
  const { channels, brains } = status;
  const deaf = new Set(failingReceivers(status).map(({ channel }) => channel));
  const working = channels.filter(({ state }) => state === 'up' || state === 'degraded');
  const served = new Set(working.map(({ brain }) => brain));
  return {
    columns: [
      { title: 'Channels', nodes: channels.map((one, index) => channelNode(one, index, deaf)) },
      {
        title: 'Brains',
        nodes: brains.map((brain, index) =>
          brainNode(brain, index, served.has(brain.name) ? toneOfBrain(status, brain.name) : 'off'),
        ),
      },
      { title: 'Models', nodes: modelNodes(status) },
    ],
    edges: [
      ...channels.flatMap(({ type, brain, state }) => {
        if (brain === null) return [];
        return [{ from: `channel ${type}`, to: `brain ${brain}`, isOpen: state !== 'unrouted' }];
      }),
      ...brains.flatMap(({ name: brain, models }) =>
        models.map(({ name, state }) => {
          return { from: `brain ${brain}`, to: `model ${name}`, isOpen: state === 'asked' };
        }),
      ),
    ],
  };
}

function channelNode(
  { type, state, brain }: Status['channels'][number],
  index: number,
  deaf: ReadonlySet<string>,
): FlowNode {
  const isDeaf = deaf.has(type);
  return {
    key: `channel ${type}`,
    name: channelName(type),
    tone: isDeaf ? 'bad' : toneOf(state),
    state: isDeaf ? 'its replies do not arrive' : spaced(state),
    to: brain === null ? [] : [brain],
    place: { view: 'messages', channel: type },
    at: `channels[${index}]`,
  };
}

/** Same colours as the headline: green if its messages are answered. */
function toneOfBrain({ answering }: Status, name: string): Tone {
  const standing = (answering ?? []).find(({ brain }) => brain === name)?.standing ?? 'unknown';
  return standing === 'unknown' ? 'good' : standing === 'degraded' ? 'bad' : toneOf(standing);
}

function brainNode(brain: Status['brains'][number], index: number, tone: Tone): FlowNode {
  const { name, sensitivity, dispatch, policy, models } = brain;
  const asks = dispatch === 'fanout' ? 'all at once' : 'in turn';
  return {
    key: `brain ${name}`,
    name,
    tone,
    state: `${sensitivity}, ${asks}, ${policy}`,
    to: models.flatMap((model) => (model.state === 'asked' ? [formatModelName(model.name)] : [])),
    place: { view: 'messages', brain: name },
    at: `brains[${index}]`,
  };
}

/** Each model once, even if several brains ask it. */
function modelNodes({ brains, models: met }: Status): readonly FlowNode[] {
  const nodes = new Map<string, FlowNode>();
  const listed = brains.flatMap(({ models }, brain) => {
    return models.map((model, index) => ({ ...model, at: `brains[${brain}].models[${index}]` }));
  });
  for (const { name, state, at } of listed) {
    const key = `model ${name}`;
    if (nodes.has(key) && state === 'dropped') continue;
    const standing = met.find((one) => one.model === name)?.standing ?? 'unknown';
    const isDropped = state === 'dropped';
    nodes.set(key, {
      key,
      name: formatModelName(name),
      tone: isDropped ? 'off' : toneOf(standing),
      state: isDropped ? 'dropped by the privacy filter' : healthSentences[standing],
      to: [],
      place: { view: 'providers' },
      at,
    });
  }
  return [...nodes.values()];
}
