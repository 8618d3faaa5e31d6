/**
 * How many conversations and turns are kept of each channel. Nothing counts them as they come and
 * go, since all turns would change one row. They are counted when somebody asks, by their key
 * alone; where there are very many, the server's statistics tell about how many there are.
 */
import type { ChannelKey } from '../../../domain/ids.ts';
import type { ConversationCount } from '../../../domain/records.ts';
import { num, type Ask } from './ask.ts';
import { looksMax } from './lists.ts';

/** So many turns are counted each time: that takes the server about 40 ms. */
const countedMax = 200_000;
/** Channels that are told where they are not counted. */
const channelsMax = 500;

const counts =
  `SELECT channel, ${num('count(*)', 'conversations')}, ${num('sum(turns)', 'turns')}, ` +
  `${num('max(last)', 'lastAt')} FROM (SELECT channel, conversation, count(*) AS turns, ` +
  'max(at) AS last FROM svc.turn GROUP BY channel, conversation) AS spoken ' +
  'GROUP BY channel ORDER BY channel';

/** @param most turns that are counted; of more the numbers are rounded estimates */
export async function listConversationCounts(
  ask: Ask,
  most: number = countedMax,
): Promise<readonly ConversationCount[]> {
  const turns = await estimate(ask, 'turn', null);
  return turns > most ? estimates(ask) : ask<ConversationCount>(counts);
}

const channels =
  'WITH RECURSIVE keys AS (SELECT min(channel) AS channel FROM svc.lane UNION ALL ' +
  'SELECT (SELECT min(channel) FROM svc.lane WHERE channel > keys.channel) FROM keys ' +
  'WHERE keys.channel IS NOT NULL) ' +
  `SELECT channel FROM keys WHERE channel IS NOT NULL LIMIT ${channelsMax}`;
/** Of channels of which nothing was said among the newest messages it is not known. */
const newest =
  `SELECT channel, ${num('max(accepted_at)', 'lastAt')} FROM (SELECT channel, accepted_at ` +
  `FROM svc.message ORDER BY id DESC LIMIT ${looksMax}) AS newest GROUP BY channel`;

type Last = { readonly channel: ChannelKey; readonly lastAt: number };

async function estimates(ask: Ask): Promise<readonly ConversationCount[]> {
  const [found, lasts] = await Promise.all([
    ask<{ readonly channel: ChannelKey }>(channels),
    ask<Last>(newest),
  ]);
  const lastOf = new Map(lasts.map(({ channel, lastAt }) => [channel, lastAt]));
  const told = await Promise.all(
    found.map(async ({ channel }) => {
      const [turns, queues] = await Promise.all([
        estimate(ask, 'turn', channel),
        estimate(ask, 'lane', channel),
      ]);
      const conversations = rounded(Math.min(turns, queues));
      return { channel, conversations, turns: rounded(turns), lastAt: lastOf.get(channel) ?? null };
    }),
  );
  return told.filter(({ turns }) => turns > 0);
}

type Plan = {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows': number } }];
};

/** How many rows the server believes that there are. */
async function estimate(
  ask: Ask,
  table: 'turn' | 'lane',
  channel: ChannelKey | null,
): Promise<number> {
  const plan = `EXPLAIN (FORMAT JSON) SELECT FROM svc.${table}`;
  const [found] = await (channel === null
    ? ask<Plan>(plan)
    : ask<Plan>(`${plan} WHERE channel = $1`, channel));
  return found?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** To two digits, so that nobody takes it for counted. */
function rounded(estimated: number): number {
  return Number(estimated.toPrecision(2));
}
