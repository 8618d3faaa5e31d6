/** Why the channel is not up, in our own words: logs must not hold text of the other side. */
import type { CallResult, Refused } from './bot-api.ts';

export function refusedToken(tokenName: string): string {
  return (
    `Telegram refused the token in ${tokenName}: ask @BotFather for the bot's token, ` +
    `set ${tokenName} to it, and restart`
  );
}

/** @param refused a 409: another program polls, or has set a webhook */
export function conflictReason(
  { description }: Pick<Refused, 'description'>,
  tokenName: string,
): string {
  if (/webhook/i.test(description)) {
    return (
      `another program set a webhook for the bot of ${tokenName}, and svc takes it away: end ` +
      'that program, or use another bot here; svc doctor tells where the webhook leads'
    );
  }
  return `another program polls with the token in ${tokenName}: stop it, or use another bot here`;
}

export function reasonOf(result: CallResult): string {
  if (result.kind === 'done') return 'Telegram gave an answer that could not be understood';
  if (result.kind === 'refused') return `Telegram answered ${result.status}; it is asked again`;
  const check = ': check the way from this machine to the network';
  const faults = {
    connect_failed: `Telegram could not be reached${check}`,
    connect_timeout: `Telegram could not be reached in time${check}`,
    connection_lost: `the connection to Telegram broke${check}`,
    timeout: `Telegram did not answer in time${check}`,
    answer_too_large: 'Telegram sent more than is read at once',
    cancelled: 'the call to Telegram was given up',
  } as const;
  return `${faults[result.fault]}; it is asked again`;
}
