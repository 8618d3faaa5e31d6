/**
 * Every request that a connection may pipeline: each route of the admin server by its own
 * description, with each bearer, and the messages of a sender to the webhook.
 */
import { operationsOf, type OpenApi, type Operation } from '../../admin/open-api.ts';
import { secret } from '../../support/program.ts';

export const adminToken = 'an-administrator-token-of-the-tests';

export type ListenerName = 'webhook' | 'admin';
export type Kind = {
  readonly name: string;
  readonly listener: ListenerName;
  readonly method: string;
  /** Its answers always have the same body. */
  readonly isFixed: boolean;
  /** svc may answer it, and every request behind it, in several ways or not at all. */
  readonly ends: boolean;
  /** Nothing may come behind it, and svc need not read later bytes. */
  readonly closes: boolean;
  /** @param name unique; the answer to a message holds its `mark` */
  make(name: string): { readonly bytes: Buffer; readonly mark: string };
};
type Bearer = 'no bearer' | 'a wrong bearer' | 'the bearer';
const bearers = ['no bearer', 'a wrong bearer', 'the bearer'] as const;

/**
 * With the bearer these could change the configuration, or the keychain of the user who runs the
 * proof. No other route stops or changes the service, given an unknown id or an empty body.
 */
const neverWithBearer = /^(?:PUT|DELETE) \/api\/v1\/secrets\/|^PUT .*\/config$|\/restore$/;

type Parts = {
  readonly listener: ListenerName;
  readonly target: string;
  readonly method?: string;
  readonly lines?: readonly string[];
  readonly body?: string;
  readonly bearer?: Bearer;
  readonly isFixed?: boolean;
  readonly name?: string;
  readonly ends?: boolean;
  readonly closes?: boolean;
};

function textOf({ listener, target, method = 'GET', bearer, lines = [], body }: Parts): string {
  const right = listener === 'webhook' ? secret : adminToken;
  const token = bearer === 'the bearer' ? right : `${right}x`;
  const isChunked = lines.some((line) => line.startsWith('transfer-encoding'));
  const hasLength = isChunked || lines.some((line) => line.startsWith('content-length'));
  const head = [
    `${method} ${target} HTTP/1.1`,
    'host: 127.0.0.1',
    ...(bearer === undefined || bearer === 'no bearer' ? [] : [`authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : ['content-type: application/json']),
    ...(body === undefined || hasLength ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    ...lines,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

function kindOf(parts: Parts): Kind {
  const { listener, target, method = 'GET', bearer = 'no bearer' } = parts;
  const bytes = Buffer.from(textOf(parts), 'latin1');
  const { name = `${method} ${target}`, isFixed = false, ends = false, closes = false } = parts;
  const full = `${name} with ${bearer}`;
  return { name: full, listener, method, isFixed, ends, closes, make: () => ({ bytes, mark: '' }) };
}

/** @param assets paths of files of the pages */
export function adminKinds(api: OpenApi, assets: readonly string[]): readonly Kind[] {
  const operations = operationsOf(api).filter(({ path }) => path !== '/api/v1/events');
  const listener = 'admin';
  const places = new Set(operations.map(({ path }) => filled(path)));
  const others = ['/', '/unknown', '/api/v1/unknown', ...assets];
  return [
    ...operations.flatMap(operationKinds),
    ...[...places].map((target) => kindOf({ listener, target, method: 'PATCH', isFixed: true })),
    ...others.map((target) => kindOf({ listener, target, isFixed: true })),
    kindOf({ listener, target: '/healthz', name: 'GET /healthz with a body', body: '{}' }),
  ];
}

const filled = (path: string): string => path.replaceAll(/\{\w+\}/g, 'nobody');

function operationKinds({ path, method, requestBody }: Operation): readonly Kind[] {
  const [target, listener] = [filled(path), 'admin'] as const;
  const body = requestBody === undefined ? {} : { body: '{}' };
  const isFixed = /^\/(?:ui|builder)|openapi/.test(path);
  const allowed = bearers.filter((bearer) => {
    return bearer !== 'the bearer' || !neverWithBearer.test(`${method} ${path}`);
  });
  const kinds = allowed.map((bearer) => {
    return kindOf({ listener, target, method, bearer, ...body, isFixed });
  });
  return method === 'GET' ? [...kinds, kindOf({ listener, target, method: 'HEAD' })] : kinds;
}

/** @param idLength of its conversation @param textLength of its text */
function message(name: string, idLength: number, textLength: number, more: Partial<Parts> = {}) {
  const make = (one: string): { bytes: Buffer; mark: string } => {
    const id = one.padEnd(idLength, 'c');
    const said = {
      sender_id: 'sender',
      conversation_id: id,
      text: 'hello '.padEnd(textLength, 't'),
    };
    const body = JSON.stringify(said);
    const isChunked = more.lines?.some((line) => line.startsWith('transfer-encoding'));
    const sent = isChunked === true ? inChunks(body) : body;
    const parts = { listener, target: '/webhook', method: 'POST', bearer, ...more, body: sent };
    return { bytes: Buffer.from(textOf(parts)), mark: `"conversation_id":"${id}"` };
  };
  const [listener, bearer] = ['webhook', 'the bearer'] as const;
  const { ends = false } = more;
  const rest = { method: 'POST', isFixed: false, ends, closes: false, make };
  return { name: `POST /webhook: ${name}`, listener, ...rest };
}

function inChunks(body: string): string {
  const chunks = [body.slice(0, 7), body.slice(7)];
  return `${chunks.map((one) => `${one.length.toString(16)}\r\n${one}\r\n`).join('')}0\r\n\r\n`;
}

export const longConversation: Kind = message('a long conversation id', 1_024, 6);

export const webhookKinds: readonly Kind[] = [
  message('a short message', 1, 6),
  longConversation,
  message('a long text', 1, 3_000),
  message('a long conversation id and text', 1_024, 1_500),
  message('a chunked body', 1, 6, { lines: ['transfer-encoding: chunked'] }),
  message('Expect', 1, 6, { lines: ['expect: 100-continue'] }),
  ...(
    [
      { name: 'no bearer', method: 'POST', bearer: 'no bearer', body: '{}' },
      { name: 'a wrong bearer', method: 'POST', bearer: 'a wrong bearer', body: '{}' },
      { name: 'not JSON', method: 'POST', bearer: 'the bearer', body: '{' },
      { name: 'no fields', method: 'POST', bearer: 'the bearer', body: '{}' },
      { name: 'no body', method: 'POST', bearer: 'the bearer' },
      { name: 'GET', bearer: 'the bearer' },
      { name: 'PUT with a body', method: 'PUT', bearer: 'the bearer', body: '{}' },
    ] as const
  ).map((parts) => kindOf({ listener: 'webhook', target: '/webhook', isFixed: true, ...parts })),
  ...(['GET', 'HEAD', 'POST'] as const).map((method) => {
    return kindOf({ listener: 'webhook', target: '/healthz', method, isFixed: true });
  }),
  ...(['GET', 'POST'] as const).map((method) => {
    return kindOf({ listener: 'webhook', target: '/unknown', method, isFixed: true });
  }),
];

const lie = { ends: true } as const;
/** Bodies with a wrong length. */
const lies: readonly Kind[] = [
  message('a longer body than it says', 1, 200, { ...lie, lines: ['content-length: 60'] }),
  message('a shorter body than it says', 1, 6, { ...lie, lines: ['content-length: 500'] }),
  kindOf({
    listener: 'webhook',
    target: '/webhook',
    method: 'POST',
    bearer: 'the bearer',
    name: 'a chunk that is no number',
    lines: ['transfer-encoding: chunked'],
    body: 'zz\r\n{}\r\n0\r\n\r\n',
    ...lie,
  }),
];

/** Requests to insert among others. */
export const odd: Readonly<Record<ListenerName, readonly Kind[]>> = {
  webhook: [...lies, closing('webhook')],
  admin: [
    kindOf({ listener: 'admin', target: '/api/v1/events', ends: true }),
    kindOf({ listener: 'admin', target: '/api/v1/events', ends: true, bearer: 'the bearer' }),
    kindOf({
      listener: 'admin',
      target: '/api/v1/models/look',
      method: 'POST',
      bearer: 'the bearer',
      name: 'POST /api/v1/models/look, Expect',
      lines: ['expect: 100-continue'],
      body: '{}',
    }),
    closing('admin'),
  ],
};

function closing(listener: ListenerName): Kind {
  const lines = ['connection: close'];
  const name = 'GET /healthz, Connection: close';
  return kindOf({ listener, target: '/healthz', lines, name, closes: true });
}

/** No request can follow it. */
export const halfBody: Readonly<Record<ListenerName, Kind>> = {
  webhook: halfOf('webhook', '/webhook'),
  admin: halfOf('admin', '/api/v1/config/validate'),
};

function halfOf(listener: ListenerName, target: string): Kind {
  const lines = ['content-length: 1000'];
  const name = `half a body for ${target}`;
  const rest = { method: 'POST', bearer: 'the bearer', lines, body: '{"a":', ends: true } as const;
  return kindOf({ listener, target, name, ...rest });
}
