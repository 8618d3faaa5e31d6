/** Faults of MCP servers, their tools and their environments. */
import { agent, change, spoil, type Case } from './cases.ts';

const withServer = (server: string, tool = 'mcp.files.read'): string =>
  change(
    change(agent, '"webhook_call", "memory_note"]', `"webhook_call", "memory_note", "${tool}"]`),
    '"memory": { "scope": "brain" }',
    `"memory": { "scope": "brain" }, "mcp": [${server}]`,
  );
const good = '{ "name": "files", "command": ["/usr/bin/files", "/srv"], "env": { "A": "B" } }';
const atUrl = '{ "name": "files", "url": "https://mcp.test/mcp", "token_env": "T" }';
const base = withServer(good);
const ofCommand = spoil(base);
const ofUrl = spoil(withServer(atUrl));
const at = 'brains[0].agent.mcp[0]';
const command = '"command": ["/usr/bin/files", "/srv"],';
const url = '"url": "https://mcp.test/mcp"';
const asPrivate = ['"sensitivity": "public"', '"sensitivity": "private"'] as const;

export const goodServers: readonly string[] = [base, withServer(atUrl)];

export const mcpCases: readonly Case[] = [
  ofCommand(
    'a name with blanks',
    ['"name": "files"', '"name": «"my files"'],
    'bad_name',
    `${at}.name`,
  ),
  ofCommand(
    'two servers of one name',
    [good, `${good}, { "name": «"files", "url": "https://b.test/" }`],
    'mcp_server_twice',
    'brains[0].agent.mcp[1].name',
  ),
  ofCommand('neither command nor url', [good, '«{ "name": "files" }'], 'mcp_reach', at),
  ofCommand(
    'both of them',
    [good, `«${good.replace('{', '{ "url": "https://a.test/",')}`],
    'mcp_reach',
    at,
  ),
  ofCommand('no program', [command, '"command": «[],'], 'too_few', `${at}.command`),
  ofCommand('an empty program', ['"/usr/bin/files",', '«"",'], 'required', `${at}.command[0]`),
  ofCommand(
    'a token for a program',
    [command, `${command} «"token_env": "T",`],
    'not_here',
    `${at}.token_env`,
  ),
  ofCommand(
    'a value in the environment',
    ['"A": "B"', '"A": «"sk-abcdef0123456789abcdef"'],
    'value_not_name',
    `${at}.env.A`,
  ),
  ofCommand('a number in the environment', ['"A": "B"', '"A": «5'], 'wrong_type', `${at}.env.A`),
  ofCommand('an odd variable', ['"A": "B"', '«"A-B": "B"'], 'bad_name', `${at}.env.A-B`),
  ofCommand('an environment that is a list', ['{ "A": "B" }', '«["A"]'], 'wrong_type', `${at}.env`),
  ofCommand(
    'a tool of a server that is not there',
    ['"mcp.files.read"', '"mcp.files.read", «"mcp.others.read"'],
    'mcp_unknown_server',
    'brains[0].agent.tools[6]',
  ),
  ofCommand(
    'a tool without a server',
    ['"mcp.files.read"', '"mcp.files.read", «"mcp.read"'],
    'bad_name',
    'brains[0].agent.tools[6]',
  ),
  ofCommand(
    'a grant for what is not listed',
    ['{ "tool": "http_fetch"', '{ "tool": «"mcp.files.write"'],
    'grant_unlisted',
    'brains[0].agent.governance[0].tool',
  ),
  ofCommand(
    'a server of no use',
    [', "mcp.files.read"]', ']', good, `«${good}`],
    'mcp_server_idle',
    at,
  ),
  ofUrl('plain http to elsewhere', [url, '"url": «"http://mcp.test/mcp"'], 'mcp_far', `${at}.url`),
  ofUrl('a password in the url', [url, '"url": «"https://a:b@mcp.test/"'], 'bad_url', `${at}.url`),
  ofUrl('an environment at a url', [url, `${url}, «"env": { "A": "B" }`], 'not_here', `${at}.env`),
  ofUrl(
    'a public server for a private brain',
    [...asPrivate, url, '"url": «"https://8.8.8.8/mcp"'],
    'mcp_far',
    `${at}.url`,
  ),
  ofCommand(
    'a server of others beside notes',
    [
      '"tools": ["time"',
      '"tools": «["time"',
      '"governance": [{ "tool": "http_fetch", "mode": "shadow", "channels": ["telegram"] }]',
      '"governance": [{ "tool": "memory_note", "mode": "allow" }, ' +
        '{ "tool": "mcp.files.read", "mode": "allow" }]',
    ],
    'agent_can_leak',
    'brains[0].agent.tools',
  ),
];
