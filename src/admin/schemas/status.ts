import { failureKinds } from '../../domain/failure.ts';
import { channelTypes, type RunningType } from '../../channels/registry.ts';
import { mcpServerStates, mcpToolStates } from '../../domain/tool-use.ts';
import { storageBackends } from '../../domain/remedy.ts';
import {
  boolean,
  integer,
  list,
  maybe,
  maybeInteger,
  maybeText,
  maybeBoolean,
  object,
  objectWith,
  oneOf,
  text,
  maybeNumber,
  textLike,
  type Schema,
  type IdText,
} from './schema.ts';
import { standings } from '../../domain/health.ts';
import { routeKeys } from '../../domain/routing.ts';
import type { ModelName } from '../../domain/ids.ts';

export const modelNameSchema = object({ model: text });

/** The schema of `ModelProbe` in model-probes.ts. */
export const modelProbeSchema = object({
  model: text as IdText<ModelName>,
  address: text,
  keyEnv: maybeText,
  failure: maybe(object({ kind: oneOf(...failureKinds), detail: text })),
  others: list(text),
});

/** Parts of the schemas for the types in model-probes.ts. */
const probeStatusFailureKind = oneOf(...failureKinds);
const span = object({ answers: integer, failures: integer });
const window = object({ oneMinute: span, fiveMinutes: span });

const times = object({ p50Ms: maybeNumber, p95Ms: maybeNumber });

const calls = {
  provider: text,
  answers: integer,
  failures: integer,
  givenUp: integer,
  reasons: list(object({ code: probeStatusFailureKind, count: integer })),
  times,
};

const standing = {
  standing: maybe(oneOf(...standings)),
  shownAt: maybeInteger,
  window: maybe(window),
};

const providers = list(
  objectWith(
    {
      ...calls,
      state: oneOf('up', 'failing', 'unknown'),
      since: maybeInteger,
      reason: maybe(probeStatusFailureKind),
      model: maybeText,
    },
    standing,
  ),
);

const models = list(
  objectWith(
    { model: text, ...calls },
    {
      ...standing,
      inUse: maybeBoolean,
      since: maybeInteger,
      reason: maybe(probeStatusFailureKind),
      answeredByOthers: maybeInteger,
    },
  ),
);

const answering = list(
  object({
    brain: text,
    standing: oneOf(...standings),
    since: maybeInteger,
    shownAt: maybeInteger,
    model: maybeText,
    reason: maybe(probeStatusFailureKind),
    window,
  }),
);

const completions = 'completions' satisfies RunningType;
const channelType = oneOf(...channelTypes, completions);
const failureKind = oneOf(...failureKinds);
const storage = oneOf(...storageBackends);

const channels = list(
  objectWith(
    {
      type: channelType,
      state: oneOf('starting', 'up', 'degraded', 'failed', 'stopped', 'unrouted'),
      since: maybeInteger,
      reason: maybeText,
      lastSeenAt: maybeInteger,
      brain: maybeText,
      address: maybeText,
    },
    {
      name: textLike('type'),
      instance: maybeInteger,
      addresses: maybe(list(object({ instance: integer, address: text }))),
    },
  ),
);

/**
 * `starting`: the instance has sent no report yet. `late`: its last report is more than five
 * seconds old, because it hangs or is cut off from the server. Its numbers are then those of
 * `toldAt`. `stopping`: it ends.
 */
const instanceStates = ['starting', 'up', 'failing', 'stopping', 'late'] as const;
export type InstanceState = (typeof instanceStates)[number];

const instances = list(
  object({
    id: integer,
    state: oneOf(...instanceStates),
    reason: maybeText,
    version: text,
    revision: maybeText,
    startedAt: integer,
    toldAt: maybeInteger,
    host: maybeText,
    addresses: list(object({ of: text, address: text })),
    posts: list(object({ post: text, name: text })),
    perMinute: maybeInteger,
    inHand: maybeInteger,
    waiting: maybeInteger,
  }),
);

const brains = list(
  object({
    name: text,
    sensitivity: oneOf('public', 'private'),
    dispatch: oneOf('fanout', 'sequential'),
    policy: oneOf('priority', 'consensus'),
    models: list(
      object({
        name: text,
        locality: oneOf('local', 'cloud'),
        state: oneOf('asked', 'dropped'),
      }),
    ),
  }),
);

const mcp = maybe(
  list(
    object({
      brain: text,
      server: text,
      kind: oneOf('command', 'url'),
      state: oneOf(...mcpServerStates),
      reason: maybeText,
      tools: list(object({ tool: text, state: oneOf(...mcpToolStates) })),
    }),
  ),
);

const throughput = maybe(
  object({
    answered: list(object({ channel: text, brain: text, perMinute: integer })),
    asked: list(object({ brain: text, model: text, perMinute: integer })),
  }),
);

/** The schema of `DeliveryStatus` in deliveries.ts. */
const tries = object({ tried: integer, failed: integer });
const deliveries = list(
  objectWith(
    {
      channel: text,
      state: oneOf('arriving', 'failing', 'unknown'),
      since: maybeInteger,
      minute: tries,
      fiveMinutes: tries,
      reasons: list(
        object({
          code: failureKind,
          status: maybeInteger,
          minute: integer,
          fiveMinutes: integer,
        }),
      ),
      waiting: integer,
      oldestAt: maybeInteger,
    },
    { someArrive: maybeBoolean },
  ),
);

const statusFields = {
  status: oneOf('ok', 'failing'),
  reason: maybeText,
  version: text,
  revision: text,
  plan: object({ usedAt: integer }),
  startedAt: integer,
  uptimeMs: integer,
  storage,
  access: oneOf('read_only', 'operator'),
  perMinute: integer,
  channels,
  brains,
  providers,
  models,
  backlog: list(
    object({
      channel: text,
      inbox: integer,
      outbox: integer,
      unroutable: integer,
      oldestAt: maybeInteger,
    }),
  ),
  counts: object({
    accepted: integer,
    duplicates: integer,
    refused: integer,
    settled: integer,
    delivered: integer,
    deadLetters: integer,
    faults: integer,
    waiting: integer,
    inFlight: integer,
    deadLettersKept: integer,
  }),
  times: object({ waited: times, turns: times, endToEnd: times }),
  warnings: list(
    objectWith(
      { code: text, path: text, message: text, remedy: text },
      { instances: maybe(list(integer)) },
    ),
  ),
  warningsLeftOut: integer,
};

/** The schema of `Status` in admin.ts. */
export const statusSchema = objectWith(statusFields, {
  answering: maybe(answering),
  application: maybeBoolean,
  traffic: throughput,
  held: maybeInteger,
  approvals: maybe(object({ waiting: integer })),
  mcp,
  instance: maybeInteger,
  asOf: maybeInteger,
  instances: maybe(instances),
  deliveries: maybe(deliveries),
});

export const channelsSchema = object({ rows: channels });
export const brainsSchema = object({ rows: brains });

/** The schema of `RouteStatus` in admin.ts. */
export const routesSchema = object({
  rows: list(
    objectWith(
      { channel: text, brain: text, running: boolean },
      {
        number: maybeInteger,
        when: maybe(list(object({ key: oneOf(...routeKeys), entries: maybe(list(text)) }))),
      },
    ),
  ),
});

/** The schema of `ConfigNames` in admin.ts. */
export const configNamesSchema = object({
  revision: text,
  usedAt: integer,
  channels: list(text),
  brains: list(text),
  routes: list(object({ channel: text, brain: text })),
  storage,
  session: boolean,
  secrets: list(text),
});

/** The answer of `/healthz`. */
export const healthSchema = object({
  status: oneOf('ok', 'failing'),
  version: text,
  uptimeMs: integer,
  channels: list(
    object({ type: channelType, state: oneOf('starting', 'up', 'degraded', 'failed', 'stopped') }),
  ),
});

/** Every error. Format: RFC 9457, and a stable `code`. */
export const problemSchema = object({
  type: text,
  title: text,
  status: integer,
  code: text,
  detail: text,
});

/** A problem with further members, told apart by its code. */
export function problemAnd<
  const Code extends string,
  const Members extends Readonly<Record<string, Schema>>,
>(code: Code, members: Members) {
  return object({ ...problemSchema.properties, code: oneOf(code), ...members });
}
