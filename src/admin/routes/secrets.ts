import { formatFault } from '../../config/formats.ts';
import { faultOfSecretValue, secretCharactersMax } from '../../config/secret-value.ts';
import type { AdminPorts } from '../admin.ts';
import { noContent, problem, answerWith, type Answer } from '../http/answer.ts';
import {
  keychainUnavailable,
  namesSchema,
  presenceSchema,
  secretsSchema,
  valueSchema,
} from '../schemas/config.ts';
import type { SecretChange } from '../secret-control.ts';
import { askRoute, readRoute, writeRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'secrets'>;

const contentType = 'application/json';
const namesMax = 200;
/** A character may be written as one or two escapes of six letters. */
const bodyBytesMax = 16_384;

const parameters = {
  name: {
    kind: 'segment',
    summary: 'The name of the variable.',
    charactersMax: 128,
    format: 'env',
  },
} as const;
const unavailable = {
  503: { summary: 'The keychain does not take it; `state` says why.', also: [keychainUnavailable] },
} as const;
const byHand = 'It is asked for from elsewhere, or for the variable of `admin.token_env`.';
const unknown = 'The keychain has no secret of this name from svc.';

/** Where secrets are stored, and the keychain's changes. No answer contains a value. */
export function secretRoutes(ports: Ports): Route[] {
  return [...looks(ports), ...changes(ports)];
}

function looks({ secrets }: Ports): Route[] {
  return [
    readRoute({
      path: '/api/v1/secrets',
      principal: 'operator',
      summary:
        'Variables of the configuration in use, then others that svc keeps, and where each is set.',
      contentType,
      schema: { name: 'Secrets', of: secretsSchema },
      answer: async () => answerWith(secretsSchema, await secrets.list()),
    }),
    askRoute({
      path: '/api/v1/secrets/presence',
      summary: 'Where these variables are set. No values.',
      contentType,
      body: {
        kind: 'json',
        summary: `Up to ${namesMax} names of variables.`,
        bytesMax: 65_536,
        example: { names: ['WEBHOOK_SECRET'] },
        schema: { name: 'VariableNames', of: namesSchema },
      },
      schema: { name: 'SecretPresence', of: presenceSchema },
      answer: async (_values, { body: { names } }) => {
        const fault = faultIn(names);
        if (fault !== null) return problem(400, 'invalid_field', `Of the body, ${fault}`);
        return answerWith(presenceSchema, { rows: await secrets.presence(names) });
      },
    }),
  ];
}

function changes({ secrets }: Ports): Route[] {
  return [
    writeRoute({
      path: '/api/v1/secrets/{name}',
      method: 'PUT',
      action: 'secret_set',
      onlyHere: true,
      summary: 'Puts a value into the keychain, for svc alone to read.',
      parameters,
      body: {
        kind: 'json',
        summary: `The value: one line of at most ${secretCharactersMax} characters.`,
        bytesMax: bodyBytesMax,
        example: { value: 'a long random value' },
        schema: { name: 'SecretValue', of: valueSchema },
      },
      contentType: [],
      problems: {
        ...unavailable,
        403: byHand,
        409: 'As many as may be are kept.',
        429: 'Too many changes wait.',
      },
      answer: async ({ name }, { body: { value }, left }) => {
        const fault = faultOfSecretValue(value);
        if (fault !== null) return byOperator(problem(400, 'invalid_value', fault));
        return byOperator(answerOf(await secrets.set(name, value, left)));
      },
    }),
    writeRoute({
      path: '/api/v1/secrets/{name}',
      method: 'DELETE',
      action: 'secret_deleted',
      onlyHere: true,
      summary: 'Removes a value from the keychain. A running svc keeps it until it ends.',
      parameters,
      contentType: [],
      problems: { ...unavailable, 403: byHand, 404: unknown, 429: 'Too many changes wait.' },
      answer: async ({ name }, { left }) => byOperator(answerOf(await secrets.delete(name, left))),
    }),
  ];
}

const byOperator = (answer: Answer): Answer => ({
  ...answer,
  auditDetails: { principal: 'operator' },
});

function answerOf(change: SecretChange): Answer {
  switch (change.kind) {
    case 'done':
      return noContent;
    case 'not_found':
      return problem(404, 'not_found', unknown);
    case 'by_hand':
      return problem(
        403,
        'set_by_hand',
        'This variable opens the admin API, so it is set by hand: in the environment of svc, or ' +
          'with svc secrets set. Restart svc afterwards.',
      );
    case 'full':
      return problem(409, 'secrets_full', 'As many as may be are kept: remove one first.');
    case 'busy':
      return problem(429, 'busy', 'Other changes wait for the keychain; ask again soon.', {
        'retry-after': '5',
      });
    case 'unavailable': {
      const { state, message, remedy } = change;
      const detail = `${message} ${remedy}`;
      return problem(503, 'keychain_unavailable', detail, {}, { state, remedy });
    }
    default:
      return change satisfies never;
  }
}

/** The answer does not repeat a name, which may be a misplaced secret. */
function faultIn(names: readonly string[]): string | null {
  if (names.length > namesMax) return `names has more than ${namesMax} entries.`;
  const at = names.findIndex((name) => formatFault('env', name) !== null);
  return at < 0 ? null : `names[${at}] is not the name of an environment variable.`;
}
