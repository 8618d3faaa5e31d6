/** Checks the format of a text field, and has the message for each fault. */
import { messengerTypes } from '../channels/registry.ts';
import { parseListenAddress, parseWebAddress } from './address.ts';
import { routeCommandShape } from '../domain/routing.ts';
import { isChannelName, parseApprover } from './config.ts';
import type { Format } from './field.ts';
import type { ProblemCode } from './problems.ts';

/** No fault quotes the text, since it may be a secret in the wrong place. */
export type FormatFault = {
  readonly code: ProblemCode;
  readonly message: string;
  readonly remedy: string;
};

/** @returns null when the text has the format */
export function formatFault(format: Format, text: string): FormatFault | null {
  switch (format) {
    case 'env':
      return envFault(text);
    case 'url':
    case 'base_url':
      return urlFault(text, format === 'base_url');
    case 'address':
      return parseListenAddress(text, true) === null ? badAddress : null;
    case 'url_path':
      return pathFault(text);
    case 'time':
      return /^(?:[01]\d|2[0-3]):[0-5]\d$/.test(text) ? null : badTime;
    case 'digits':
      return /^\d{1,32}$/.test(text) ? null : badUserId;
    case 'approver':
      return parseApprover(text) === null ? badApprover : null;
    case 'channel_name':
      return isChannelName(text) ? null : badChannelName;
    case 'route_command':
      return routeCommandShape.test(text) ? null : badRouteCommand;
    case 'server_name':
      return isChannelName(text) ? null : badServerName;
    case 'mcp_tool':
      return isMcpTool(text) ? null : badMcpTool;
    default:
      return format satisfies never;
  }
}

const badAddress: FormatFault = {
  code: 'bad_address',
  message: 'this is no address to listen on',
  remedy: 'Write host:port, :port or [::1]:port, with a port from 0 to 65535.',
};
const badTime: FormatFault = {
  code: 'bad_time',
  message: 'this is no time of day',
  remedy: 'Write two digits, a colon and two digits, such as 04:00.',
};
const badUserId: FormatFault = {
  code: 'bad_user_id',
  message: 'this is no user id: ids are digits only, and names can change',
  remedy: 'Write the numeric id in quotes, such as "123456789".',
};
export const badApprover: FormatFault = {
  code: 'bad_approver',
  message: 'this names nobody who could be asked',
  remedy: `Write the name of a messenger channel and a user id: ${messengerTypes[0]}:123456789.`,
};

const badName = (what: string, example: string): FormatFault => ({
  code: 'bad_name',
  message: `this is no name of ${what}`,
  remedy: `Use small letters, digits, _ and -, a letter first, 32 at most: ${example}.`,
});
const badServerName = badName('a server', 'files');
const badChannelName = badName('a channel', 'support');
const badRouteCommand: FormatFault = {
  code: 'bad_command',
  message: 'this is no command that every platform can show',
  remedy: 'Write / and small letters, digits and _, 32 at most: /code.',
};
const badMcpTool: FormatFault = {
  code: 'bad_name',
  message: 'this is no name of a tool of an MCP server',
  remedy: 'Write mcp, the name of the server and that of its tool: mcp.files.read_text_file.',
};

/** A tool of a server has a name of up to 128 letters, digits, `_`, `-`, `.` and `/`. */
const isMcpTool = (text: string): boolean =>
  /^mcp\.[a-z][a-z0-9_-]{0,31}\.[\w./-]{1,128}$/.test(text);

/** Whether this can be the name of a variable with a secret. It must not look like a secret. */
export function isEnvName(text: string): boolean {
  return /^[A-Za-z_]\w{0,127}$/.test(text) && !looksSecret(text);
}

function envFault(text: string): FormatFault | null {
  if (isEnvName(text)) return null;
  return {
    code: 'value_not_name',
    message: 'this is not the name of an environment variable; it may be a secret itself',
    remedy:
      'Put the secret into an environment variable and write its name here, such as MY_TOKEN. ' +
      'If it was a secret, replace it where it was issued.',
  };
}

/** Whether a text has a known prefix of keys, or is a long run of letters and digits. */
export function looksSecret(text: string): boolean {
  if (/^(?:[spr]k[_-]|gsk_|hf_|xox[a-z]|gh[opsur]_|github_pat_|glpat|AIza|eyJ)/.test(text)) {
    return true;
  }
  if (text.includes('_') || text.length < 20) return false;
  if (/^[0-9a-f]{24,}$/i.test(text)) return true;
  const digits = text.replace(/\D/g, '').length;
  const mixed = /[a-z]/.test(text) && /[A-Z]/.test(text);
  return digits >= (mixed ? 3 : 5);
}

function urlFault(text: string, isBase: boolean): FormatFault | null {
  const address = parseWebAddress(text);
  const example = isBase ? 'http://127.0.0.1:11434' : 'https://example.com/replies';
  if (address === null) {
    return badUrl('this is no http or https address', `Write it in full, such as ${example}.`);
  }
  if (address.hasCredentials) {
    const remedy = 'Take the part before the @ out; a secret belongs in an environment variable.';
    return badUrl('the address holds a user name or password', remedy);
  }
  if (address.hasFragment) return badUrl('the address has a # part', 'Leave it out.');
  if (isBase && address.hasQuery) {
    return badUrl('the address has a ? part, but paths are put after it', 'Leave it out.');
  }
  return null;
}

function pathFault(text: string): FormatFault | null {
  if (!text.startsWith('/')) return badPath('the path does not begin with /', 'Put a / before it.');
  if (text === '/healthz') {
    return badPath('/healthz answers whether the service lives', 'Choose another path.');
  }
  if (!/^[\x21-\x7e]+$/.test(text) || /[?#]/.test(text)) {
    return badPath('no request can have this path', 'Leave out ?, #, spaces and special letters.');
  }
  return null;
}

function badUrl(message: string, remedy: string): FormatFault {
  return { code: 'bad_url', message, remedy };
}

function badPath(message: string, remedy: string): FormatFault {
  return { code: 'bad_path', message, remedy };
}
