import { messengerTypes } from '../../channels/registry.ts';
import {
  unknownCode,
  type Admission,
  type PairingRemoval,
  type TurnedAway,
} from '../../domain/gate.ts';
import type { AdminPorts } from '../admin.ts';
import { turnedAwayBy } from '../reports/merging.ts';
import { wholeOf } from '../reports/report.ts';
import { json, problem, answerWith, type Answer } from '../http/answer.ts';
import {
  pairingSchema,
  pairingsSchema,
  turnedAwaySchema,
  sendersTurnedAwaySchema,
  unpairedSchema,
} from '../schemas/gate.ts';
import { segment, readRoute, writeRoute, type Route } from './route.ts';

const contentType = 'application/json';
const unknownSender = 'Nobody with this id was let in by a code on that channel, or asks to be.';
const messengers = messengerTypes.map((type) => `\`${type}\``).join(' or ');
const failed = 'The storage failed; the log says how. Nothing was changed.';
const storage = { 503: 'The storage failed.' };

/** Senders that messengers turned away, pairing requests, and admitting people. */
export function gateRoutes(ports: AdminPorts): Route[] {
  return [...thoseTurnedAway(ports), ...pairings(ports)];
}

function thoseTurnedAway(ports: AdminPorts): Route[] {
  const turnedAway = async (): Promise<readonly TurnedAway[]> => {
    const { members, reports } = await wholeOf(ports);
    return members.length === 0 ? ports.turnedAway() : turnedAwayBy(reports);
  };
  return [
    readRoute({
      path: '/api/v1/turned-away',
      principal: 'reader',
      summary: 'Senders that messengers turned away since the start, without ids, newest first.',
      contentType,
      schema: { name: 'TurnedAway', of: turnedAwaySchema },
      answer: async () => answerWith(turnedAwaySchema, { rows: await turnedAway() }),
    }),
    readRoute({
      path: '/api/v1/turned-away/senders',
      principal: 'operator',
      summary: 'Senders that messengers turned away since the start, with their ids.',
      contentType,
      schema: { name: 'SendersTurnedAway', of: sendersTurnedAwaySchema },
      answer: async () => answerWith(sendersTurnedAwaySchema, { rows: await turnedAway() }),
    }),
  ];
}

function pairings({ pairings: admissions }: AdminPorts): Route[] {
  return [
    readRoute({
      path: '/api/v1/pairings',
      principal: 'operator',
      summary: 'People who came in by a code, and people who have one. No codes.',
      contentType,
      schema: { name: 'Pairings', of: pairingsSchema },
      answer: async () => answerWith(pairingsSchema, { rows: await admissions.list() }),
    }),
    writeRoute({
      path: '/api/v1/pairings/{code}',
      method: 'POST',
      action: 'pair',
      summary: 'Lets the person in who has this code.',
      parameters: { code: { kind: 'segment', summary: 'The code.', charactersMax: 64 } },
      contentType,
      problems: { ...storage, 404: unknownCode, 409: 'As many as may be are let in already.' },
      schema: { name: 'Pairing', of: pairingSchema },
      answer: async ({ code }) => admitted(await admissions.admit(code)),
    }),
    writeRoute({
      path: '/api/v1/pairings/{channel}/{sender}',
      method: 'DELETE',
      action: 'unpair',
      summary: 'Makes a person a stranger again. A code that they have counts no more.',
      parameters: {
        channel: segment(`The name of the channel; without a name, its type: ${messengers}.`),
        sender: segment('The id of the sender.'),
      },
      contentType,
      problems: { ...storage, 404: unknownSender },
      schema: { name: 'Unpaired', of: unpairedSchema },
      answer: async ({ channel, sender }) => removed(await admissions.remove(channel, sender)),
    }),
  ];
}

function admitted(admission: Admission): Answer {
  switch (admission.kind) {
    case 'admitted':
      return answerWith(pairingSchema, admission.pairing);
    case 'not_found':
      return problem(404, 'not_found', unknownCode);
    case 'full':
      return problem(409, 'pairings_full', 'As many as may be are let in: remove somebody first.');
    case 'storage_failed':
      return problem(503, 'storage_failed', failed);
    default:
      return admission satisfies never;
  }
}

function removed(result: PairingRemoval): Answer {
  switch (result) {
    case 'done':
      return json(200, { result });
    case 'not_found':
      return problem(404, result, unknownSender);
    case 'storage_failed':
      return problem(503, result, failed);
    default:
      return result satisfies never;
  }
}
