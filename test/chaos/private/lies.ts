/** Runtimes that seem to run the model on this machine, and names that lead elsewhere. */
import type { Step, FakeModel } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { near, type Network } from './network.ts';

/** A vendor for public brains, and addresses that no private brain may ask. */
export const vendor = { name: 'cloud.test', address: '93.184.216.34' };
const elsewhere = ['8.8.8.8', '2606:4700::1111'];
const metadata = '169.254.169.254';

export type Runtime = AsyncDisposable & {
  /** For `models` of a brain. */
  readonly model: Readonly<Record<string, string | number>>;
  readonly fake: FakeModel;
  /** Even private texts may not reach it. */
  readonly shut: boolean;
};

/** A runtime's answers about one model: to a request for its list, and to a message. */
type Lie = {
  readonly looks?: (model: string) => Step;
  readonly calls?: Step;
  /** How long svc waits, where the answer never comes. */
  readonly patienceSeconds?: number;
  /** Its answers before a text is sent suffice to detect it. */
  readonly shut: boolean;
};

const listOf = (entry: object): Step => ({
  status: 200,
  body: JSON.stringify({ models: [entry] }),
  headers: { connection: 'close' },
});
const shut = (looks: (model: string) => Step): Lie => ({ looks, shut: true });
const vendorUrl = `http://${vendor.name}`;

const lies: Readonly<Record<string, Lie>> = {
  'the list: 500': shut(() => ({ fail: '500' })),
  'the list: 503': shut(() => ({ fail: '503' })),
  'the list: nothing': { ...shut(() => ({ fail: 'hang' })), patienceSeconds: 1 },
  'the list: a reset': shut(() => ({ fail: 'reset' })),
  'the list: a page': shut(() => ({ fail: 'html' })),
  'the list: without the model': shut(() => listOf({ name: 'another' })),
  'the list: odd types': shut((model) => listOf({ name: [model] })),
  'the list: a redirect to the vendor': shut(() => ({
    fail: 'redirect',
    location: `${vendorUrl}/api/tags`,
  })),
  'the list: remote_host': shut((name) => listOf({ name, remote_host: vendorUrl })),
  'the list: remote_model alone': shut((name) => listOf({ name, remote_model: 'big' })),
  'the list: remote_host of an odd type': shut((name) => listOf({ name, remote_host: {} })),
  'the answer: remote_host': {
    calls: { answer: 'hi', more: { remote_host: vendorUrl } },
    shut: false,
  },
  'the answer: remote_model alone': {
    calls: { answer: 'hi', more: { remote_model: 'big' } },
    shut: false,
  },
  'the answer: a redirect to the vendor': {
    calls: { fail: 'redirect', location: `${vendorUrl}/api/chat` },
    shut: false,
  },
  'the answer: a redirect to an address': {
    calls: { fail: 'redirect', location: `http://${elsewhere[0]}/api/chat` },
    shut: false,
  },
  'none, at last': { shut: false },
};

type Place = {
  /** Where the runtime listens. */
  readonly host: string;
  /** The name in its URL; null: the address. */
  readonly name: string | null;
  /** One list of addresses for each query; the last for all that follow. */
  readonly addresses: readonly (readonly string[])[];
  readonly shut: boolean;
};

const loopback = '127.0.0.1';
const places: readonly Place[] = [
  { host: loopback, name: null, addresses: [], shut: false },
  { host: near.four, name: null, addresses: [], shut: false },
  { host: loopback, name: 'home.test', addresses: [[loopback]], shut: false },
  { host: near.four, name: 'lan.test', addresses: [[near.four]], shut: false },
  { host: near.four, name: 'mixed.test', addresses: [[...elsewhere, near.four]], shut: false },
];
const farPlaces: readonly Place[] = [
  { host: near.four, name: 'far.test', addresses: [elsewhere], shut: true },
  { host: near.four, name: 'metadata.test', addresses: [[metadata]], shut: true },
  // It is near during the probe, and elsewhere during the call.
  { host: near.four, name: 'flips.test', addresses: [[near.four], elsewhere], shut: true },
];

/** Names that a query may hold; a number before a name makes it a new one. */
export const expectedNames = [...places, ...farPlaces]
  .flatMap(({ name }) => name ?? [])
  .concat(vendor.name);

type Provider = 'local_runtime' | 'hosted_runtime';
export type Case = { readonly provider: Provider; readonly place: Place; readonly lie: Lie };

const honest = lies['none, at last']!;

export const cases: readonly Case[] = [
  ...places.flatMap((place) =>
    Object.values(lies).map((lie): Case => ({ provider: 'local_runtime', place, lie })),
  ),
  ...farPlaces.map((place): Case => ({ provider: 'local_runtime', place, lie: honest })),
  ...farPlaces.slice(0, 2).map((place): Case => {
    return { provider: 'hosted_runtime', place, lie: honest };
  }),
];

/** @returns a case whose runtime does not lie */
export const honestCase = (random: () => number): Case => ({
  provider: 'local_runtime',
  place: places[Math.floor(random() * places.length)]!,
  lie: honest,
});

/**
 * Starts a runtime, and gives the name server its addresses.
 * @param number makes the model and the name new to svc
 */
export async function startRuntime(
  { provider, place, lie }: Case,
  number: number,
  network: Network,
): Promise<Runtime> {
  const model = `model-${number}`;
  const { host, addresses } = place;
  const fake = await startFakeOllama(lie.calls ?? { answer: 'hi' }, { host });
  await fake.script(lie.looks?.(model) ?? listOf({ name: model }), 'looks');
  const { port } = new URL(fake.url);
  const name = place.name === null ? null : `${number}.${place.name}`;
  if (name !== null) await network.name(name, ...addresses);
  // Something listens at a wrong address, too, and records a text to it.
  if (place.shut) await network.listen(Number(port));
  const base = provider === 'hosted_runtime' ? '/v1' : '';
  return {
    model: {
      provider,
      model_id: model,
      locality: 'local',
      base_url: `http://${name ?? host}:${port}${base}`,
      timeout_seconds: lie.patienceSeconds ?? 60,
      max_retries: 0,
    },
    fake,
    shut: lie.shut || place.shut,
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
}
