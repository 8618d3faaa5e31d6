/** Channels, brains and models as the nodes of a map with three columns. */
import { formatModelName } from '../../../src/domain/model-words.ts';
import { completionsChannel } from '../../../src/domain/ids.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { RouteStatus, Status } from '../../../src/admin/admin.ts';
import { healthSentences } from '../../../src/domain/health.ts';
import type { Place } from '../../kit/place.ts';
import { toneOf, type Tone } from '../../kit/state.tsx';
import { spaced } from '../../kit/words.ts';
import { nameOf } from '../channels.ts';
import { linesOf, routesOf, type FlowRoute } from './routes.ts';
import {
  arrivalWords,
  failingReceivers,
  receiverTone,
  type FailingReceiver,
} from '../overview/receivers.ts';

export type FlowNode = {
  /** `channel webhook`, `brain desk`, `model local_runtime/a`. */
  readonly key: string;
  readonly name: string;
  readonly tone: Tone;
  readonly state: string;
  /** The names of the nodes that it passes messages to. */
  readonly to: readonly string[];
  /** The routes of a channel, if it has several or one with conditions; else none. API: none. */
  readonly routes: readonly FlowRoute[];
  readonly place: Place;
  /** The path in the configuration in use: `brains[0].models[1]`. */
  readonly at: string;
};

export type FlowEdge = {
  readonly from: string;
  readonly to: string;
  readonly isOpen: boolean;
  /** The place of a route among those of its channel, from 0; of another line 0. */
  readonly at: number;
};

export type FlowGraph = {
  readonly columns: readonly { readonly title: string; readonly nodes: readonly FlowNode[] }[];
  readonly edges: readonly FlowEdge[];
};

/** @param routes of the service; null: they are not known, and each channel has one line */
export function graphOf(status: Status, routes: readonly RouteStatus[] | null = null): FlowGraph {
  const { channels, brains } = status;
  const receivers = failingReceivers(status);
  const working = channels.filter(({ state }) => state === 'up' || state === 'degraded');
  const served = new Set(working.flatMap((one) => routesOf(one, routes).map(({ brain }) => brain)));
  return {
    columns: [
      {
        title: 'Channels',
        nodes: channels.map((one, index) => channelNode(one, index, receivers, routes)),
      },
      {
        title: 'Brains',
        nodes: brains.map((brain, index) =>
          brainNode(brain, index, served.has(brain.name) ? toneOfBrain(status, brain.name) : 'off'),
        ),
      },
      { title: 'Models', nodes: modelNodes(status) },
    ],
    edges: [
      ...channels.flatMap((channel) => {
        const from = `channel ${nameOf(channel)}`;
        const isOpen = channel.state !== 'unrouted';
        return routesOf(channel, routes).map(({ brain }, at) => {
          return { from, to: `brain ${brain}`, isOpen, at };
        });
      }),
      ...brains.flatMap(({ name: brain, models }) =>
        models.map(({ name, state }) => {
          return { from: `brain ${brain}`, to: `model ${name}`, isOpen: state === 'asked', at: 0 };
        }),
      ),
    ],
  };
}

function channelNode(
  channel: Status['channels'][number],
  index: number,
  receivers: readonly FailingReceiver[],
  all: readonly RouteStatus[] | null,
): FlowNode {
  const { state } = channel;
  const name = nameOf(channel);
  const failing = receivers.find((one) => one.channel === name);
  const routes = routesOf(channel, all);
  return {
    key: `channel ${name}`,
    name: channelName(name),
    tone: failing === undefined ? toneOf(state) : receiverTone(failing),
    state: failing === undefined ? spaced(state) : arrivalWords(failing),
    to: routes.map(({ brain }) => brain),
    routes: name === completionsChannel ? [] : linesOf(routes),
    place: { view: 'messages', channel: name },
    at: name === completionsChannel ? name : `channels[${index}]`,
  };
}

/** Same colours as the headline: green if its messages are answered. */
function toneOfBrain({ answering }: Status, name: string): Tone {
  const standing = (answering ?? []).find(({ brain }) => brain === name)?.standing ?? 'unknown';
  return standing === 'unknown' ? 'good' : toneOf(standing);
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
    routes: [],
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
      routes: [],
      place: { view: 'providers' },
      at,
    });
  }
  return [...nodes.values()];
}
