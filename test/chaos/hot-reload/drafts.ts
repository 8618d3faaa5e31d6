/** Random configurations to put: four in five are valid, one in five is not. */

export type Places = {
  /** Ports for the webhook, in turn. */
  readonly ports: readonly number[];
  readonly adminPort: number;
  readonly modelUrls: readonly string[];
  readonly receiverUrl: string;
  readonly telegramUrl: string;
  /** A port that another program uses. */
  readonly takenPort: number;
  readonly storage: { readonly path: string } | undefined;
};

/** A random valid configuration. */
export type Draft = {
  readonly port: number;
  readonly path: string;
  readonly telegram: boolean;
  readonly document: Record<string, unknown>;
};

export type Spoiled = {
  readonly kind: string;
  readonly status: number;
  readonly code: string;
  readonly text: string;
};

export type Random = () => number;

export function drawDraft(places: Places, random: Random, number: number): Draft {
  const port = pick(places.ports, random);
  const path = pick(['/webhook', '/in'], random);
  return draftOf(places, { port, path, telegram: random() < 0.5 }, random, number);
}

export function draftOf(
  places: Places,
  { port, path, telegram }: Omit<Draft, 'document'>,
  random: Random,
  number: number,
): Draft {
  const brains = ['even', 'odd'].map((name) => brainOf(places, `${name}-${number % 3}`, random));
  const brain = (): unknown => pick(brains, random)['name'];
  const { receiverUrl: outbound_url, adminPort, storage } = places;
  const webhook = { bind: `127.0.0.1:${port}`, path, outbound_url };
  const bot = { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN' };
  const document = {
    _number: number,
    channels: [
      { type: 'webhook', token_env: 'WEBHOOK_SECRET', webhook },
      ...(telegram ? [{ ...bot, base_url: places.telegramUrl }] : []),
    ],
    brains,
    routes: [
      { channel: 'webhook', brain: brain() },
      ...(telegram ? [{ channel: 'telegram', brain: brain() }] : []),
    ],
    ...(storage && { storage }),
    observability: { addr: `127.0.0.1:${adminPort}` },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
  return { port, path, telegram, document };
}

function brainOf({ modelUrls }: Places, name: string, random: Random): Record<string, unknown> {
  const model = { provider: 'local_runtime', locality: 'local' };
  const models = modelUrls.map((base_url, at) => ({ ...model, model_id: `model-${at}`, base_url }));
  if (random() < 0.5) models.reverse();
  const two = random() < 0.7;
  return {
    name,
    sensitivity: pick(['private', 'public'], random),
    dispatch: 'fanout',
    policy: { kind: two ? pick(['priority', 'consensus'], random) : 'priority' },
    models: two ? models : models.slice(0, 1),
    deadline_seconds: 60 + Math.floor(random() * 60),
  };
}

const spoilers: readonly ((places: Places, draft: Draft, random: Random) => Spoiled)[] = [
  (_places, { document }, random) => {
    const text = JSON.stringify(document);
    const cut = text.slice(0, Math.floor(random() * text.length));
    return { kind: 'cut short', status: 422, code: 'config_invalid', text: cut };
  },
  (_places, { document }) => {
    const [channel, ...others] = document['channels'] as object[];
    const channels = [{ ...channel, token_env: 'NOT_SET_ANYWHERE' }, ...others];
    const text = JSON.stringify({ ...document, channels });
    return { kind: 'missing secret', status: 422, code: 'secret_missing', text };
  },
  (places, draft, random) => {
    const { document } = draftOf(places, { ...draft, port: places.takenPort }, random, 0);
    const text = JSON.stringify(document);
    return { kind: 'port taken', status: 409, code: 'rolled_back', text };
  },
  (_places, { document }) => {
    const routes = [{ channel: 'webhook', brain: 'nobody' }];
    const text = JSON.stringify({ ...document, routes });
    return { kind: 'unknown brain', status: 422, code: 'config_invalid', text };
  },
  (_places, { document }) => {
    const text = JSON.stringify({ ...document, storage: { path: 'elsewhere.db' } });
    return { kind: 'restart required', status: 409, code: 'restart_required', text };
  },
];

/** @param number selects the way to spoil the draft, each in turn */
export function spoil(places: Places, draft: Draft, random: Random, number: number): Spoiled {
  return spoilers[number % spoilers.length]!(places, draft, random);
}

export function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)]!;
}
