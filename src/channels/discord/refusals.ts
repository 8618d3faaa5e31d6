/** Final refusals of the platform, and the remedy for each. */

export function tokenRefused(tokenName: string): string {
  return (
    `the token in ${tokenName} was refused; copy it anew from the developer portal ` +
    '(Bot → Reset Token), and restart'
  );
}

export function tokenMalformed(tokenName: string): string {
  return (
    `the value of ${tokenName} is no bot token, which has three parts with dots between them; ` +
    'copy it from the developer portal (Bot → Reset Token)'
  );
}

/**
 * Format: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway
 * @param code the close code of the gateway
 * @returns null: another try may succeed
 */
export function refusalOf(code: number, tokenName: string): string | null {
  switch (code) {
    case 4004:
      return tokenRefused(tokenName);
    case 4013:
    case 4014:
      return 'switch on MESSAGE CONTENT INTENT under Bot in the developer portal, and restart';
    case 4010:
    case 4011:
      return 'the bot is in more servers than one connection serves (2,500); take it out of some';
    case 4012:
      return 'the platform no longer speaks version 10 of its gateway; a newer svc is needed';
    default:
      return null;
  }
}
