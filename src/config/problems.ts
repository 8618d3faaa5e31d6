/**
 * Every problem and warning that a configuration can have: its stable code, and its meaning in one
 * sentence. The reference prints this table. `ProblemList` collects the problems of one text.
 */
import type { Place } from './locate.ts';

/**
 * One error or warning of a configuration. `path` is written like `brains[0].policy.kind`, and is
 * empty for the whole file. Line and column count from 1; 0 means that there is no place.
 */
export type ConfigProblem = {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly remedy: string;
};

export const problemCodes = {
  // the file
  file_missing: error('There is no such file.'),
  file_unreadable: error('svc cannot read the file, or it is a folder.'),
  file_too_large: error('The file is larger than 1 MiB.'),
  file_not_utf8: error('The file is not UTF-8 text.'),
  file_writable_by_others: warning('Other users of the machine can change the file.'),
  database_readable_by_others: warning('Other users of the machine can read the database.'),
  config_elsewhere: warning(
    'The configuration in use is in the database, and differs from the file.',
  ),
  config_behind: warning('The configuration in use is not everywhere yet.'),
  // JSON
  syntax: error('The file is not JSON; comments and trailing commas are not allowed either.'),
  too_deep: error('Objects and lists are nested too deep.'),
  duplicate_key: error('One object has the same key twice.'),
  // the environment
  secret_missing: error('A variable that the configuration names is not set.'),
  secret_unreadable: error('svc cannot read the place that has the value of a variable.'),
  secret_unfit: error('The value of a variable does not suit the field that names it.'),
  // fields
  unknown_key: error('There is no such field here.'),
  required: error('A required field is missing, or empty.'),
  wrong_type: error('The value has another type than the field.'),
  unknown_value: error('The value is none of the allowed names.'),
  out_of_range: error('The number is too small or too large.'),
  too_few: error('The list is empty but needs an entry.'),
  not_here: error('The field does not belong to this kind of channel.'),
  value_not_name: error('The field wants the name of an environment variable.'),
  bad_url: error('This is no http or https address, or it holds a password.'),
  bad_address: error('This is no address to listen on.'),
  bad_path: error('A webhook path begins with / and is not /healthz.'),
  bad_time: error('This is no time of day, HH:MM.'),
  bad_user_id: error('A user id is digits only.'),
  bad_approver: error('An approver is a channel and a user id of it.'),
  bad_name: error('A name has characters that it may not have.'),
  bad_command: error(
    'A command of a route is / and at most 32 small letters, digits and _. It is no trigger and ' +
      'no command of svc.',
  ),
  bad_id: error('An id is empty or has white space, or its platform has no such ids.'),
  too_long: error('The text is too long.'),
  bad_trigger: error('A trigger is one word, and no command of svc.'),
  trigger_is_command: warning('A trigger is the word of a command of svc, and takes its place.'),
  clamped: warning('A limit is above its useful maximum. svc uses the maximum.'),
  // what fields mean together
  duplicate_channel: error('Two channels have one name, or one type and no name.'),
  name_reserved: error(
    'A channel has the name of another type, or the name of the completions API.',
  ),
  token_shared: error('Two bots have one token.'),
  duplicate_brain: error('Two brains have one name.'),
  unknown_channel: error('A route or a grant names a channel that is not configured.'),
  unknown_brain: error('A route or `completions` names a brain that is not configured.'),
  routed_twice: error('One channel is routed to two brains without conditions.'),
  route_without_rest: error(
    'Every route of a channel has conditions, so nobody answers the other messages.',
  ),
  consensus_alone: error('Consensus needs at least two models.'),
  cage_missing: error('A tool lacks the block that limits it.'),
  grant_unlisted: error('A grant is for a tool that the agent does not list.'),
  mcp_server_twice: error('Two MCP servers of one agent have one name.'),
  mcp_reach: error('An MCP server has both a command and a url, or neither.'),
  mcp_unknown_server: error('A tool is of an MCP server that the agent does not list.'),
  speech_far: error('Voice notes to a private brain would go to a public address.'),
  mcp_far: error(
    'svc would ask an MCP server without encryption over the network, or it leads too far.',
  ),
  mcp_server_idle: warning('An agent lists an MCP server and none of its tools.'),
  mcp_unpinned: warning('A tool of an MCP server is not pinned, so the agent does not get it.'),
  mcp_down: warning('An MCP server is down.'),
  mcp_unannounced: warning('An agent lists a tool of an MCP server, and does not get it.'),
  mcp_pins_unreadable: warning('svc cannot read the file of pins, so agents get no MCP tool.'),
  grants_overlap: error('Two grants of one tool hold on the same channel.'),
  memory_without_storage: error('Notes need the storage block.'),
  brain_scope_not_local: error(
    'Notes of a whole brain need a local model that its runtime keeps here.',
  ),
  session_without_storage: error('Sessions need the storage block.'),
  pairing_without_storage: error('Pairing needs the storage block.'),
  storage_twice: error('The storage names a file and a database server.'),
  address_twice: error('Two listeners have one address, or two webhooks one path of it.'),
  flag_unclear: error('A flag of `svc serve` does not say which of several webhooks it means.'),
  cloud_tag_private: error('A private brain has a model that its runtime sends to a vendor.'),
  private_far: error('A private brain has a model declared local that certainly runs elsewhere.'),
  cloud_tag: warning(
    'The runtime of a model that is declared local sends its requests to a vendor.',
  ),
  private_without_local: warning('A private brain has no local model and answers nobody.'),
  base_url_ending: warning(
    'A model’s `base_url` ends in a path of the API, which svc adds by itself.',
  ),
  private_elsewhere: warning('A private brain asks a model on another machine.'),
  speech_elsewhere: warning('Voice notes to a private brain go to another machine.'),
  private_not_shown: warning('Conversations have private turns that cloud models will not see.'),
  budget_unbounded: error('A model with a budget has no `max_output_tokens`.'),
  budget_without_price: error('A budget of money holds for a model without a price.'),
  budget_idle: warning('A budget holds for no model: none of the brain costs anything.'),
  context_differs: warning(
    'One model has two values of `context_tokens`: its runtime loads it again at each change.',
  ),
  output_over_context: warning('An answer may be as long as the whole context of its model.'),
  order_unknown: warning('An entry of the order matches no model.'),
  order_not_asked: warning('Sequential dispatch asks as listed, not as the order says.'),
  consensus_sequential: warning('Consensus can never be reached one model at a time.'),
  not_loopback: warning('A listener can be reached from other machines, without encryption.'),
  not_encrypted: warning('svc sends a secret to another machine without encryption.'),
  browser_port: warning('Browsers refuse to connect to this port.'),
  flag_unused: warning(
    'A flag of `svc serve` gives an address to a listener that is off, or not configured.',
  ),
  mapping_shared: warning('Two message fields are read from one JSON key.'),
  channel_without_route: warning('A channel has no route, so svc does not start it.'),
  brain_without_route: warning('A brain has no route, so svc does not start it.'),
  brain_repeated: warning('A brain is listed twice for clients of the completions API.'),
  private_beside_public: warning(
    'Clients of the completions API can send the history of a private brain to a public one.',
  ),
  route_repeated: warning('A route is listed twice.'),
  route_never_reached: warning('An earlier route takes every message that fits this one.'),
  topics_of_each_chat: warning(
    'A route names topics without a chat, and their numbers are the same in every group.',
  ),
  description_unseen: warning('A route has a description, and no command that shows it.'),
  private_falls_through: warning(
    'A message that misses the conditions of a private brain goes to a public one.',
  ),
  access_open: warning('Anyone on the platform may talk to the bot.'),
  tool_repeated: warning('A tool is listed twice.'),
  cage_without_tool: warning('A block limits a tool that is not listed.'),
  ask_unheard: warning(
    'A grant asks a person on the completions API, where nobody can answer: it denies.',
  ),
  grant_idle: warning('A grant names no channel, or one that is not configured or not routed.'),
  approver_unreached: warning(
    'An approver is on a channel that is no messenger, or not configured.',
  ),
  approver_turned_away: warning('The gate of an approver’s channel does not let them in.'),
  approver_sees_private: warning(
    'The platform of an approver sees the arguments of a private brain’s calls.',
  ),
  approvers_idle: warning('There are approvers, and no tool that asks.'),
  host_never_matches: warning('An allowed host can never match.'),
  host_without_port: warning('An agent may reach every port of this machine.'),
  brain_scope_leaves_out: warning(
    'Notes of a whole brain stay local: a cloud model is never asked.',
  ),
  agent_reads_to_cloud: warning('An agent sends the files that it reads to a cloud model.'),
  agent_can_leak: warning('An agent can read private things and also send them out.'),
  skill_faulty: warning('A skill is skipped, or is not as agreed.'),
  skills_missing: warning('The folder of skills does not exist.'),
  read_root_missing: warning('The folder that an agent may read does not exist.'),
  read_root_wide: warning('An agent may read `/etc`, a home, or the folder of the configuration.'),
  read_root_mount: warning('Other folders are mounted below the folder that an agent may read.'),
  folder_elsewhere: error(
    'An agent’s folder lies elsewhere, and the file of this machine does not name it.',
  ),
  mcp_command: error('A program of an MCP server is not in the file of this machine.'),
  admin_unserved: warning('The admin block has no effect while observability is off.'),
  admin_token_unset: warning("The administrator's variable is not set: the service is read-only."),
  secret_file_unused: warning(
    'svc does not use the file of a secret, since its variable is set too.',
  ),
  short_token: warning('A secret is shorter than 16 characters.'),
  secret_trimmed: warning('svc left out white space around a secret.'),
  too_many_problems: warning('There are more problems than svc reports at once.'),
} as const satisfies Record<string, { severity: 'error' | 'warning'; meaning: string }>;

export type ProblemCode = keyof typeof problemCodes;

type Severity<S extends string> = { readonly severity: S; readonly meaning: string };
function error(meaning: string): Severity<'error'> {
  return { severity: 'error', meaning };
}
function warning(meaning: string): Severity<'warning'> {
  return { severity: 'warning', meaning };
}

/** The most problems that a list reports for one text. */
export const problemsMax = 200;

/** A sentence, or a function that makes it. A list calls the function only if it needs it. */
type Sentence = string | (() => string);

/**
 * Collects the problems of one text, and gives each its line and column. It reports the first ones,
 * errors before warnings, and counts the others.
 */
export class ProblemList {
  readonly #problems: ConfigProblem[] = [];
  readonly #counts = { error: 0, warning: 0 };
  readonly #places: ReadonlyMap<string, Place>;
  readonly #lineStarts: readonly number[];

  constructor(text: string, places: ReadonlyMap<string, Place>) {
    this.#places = places;
    const starts = [text.startsWith('\uFEFF') ? 1 : 0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
  }

  /** Adds a problem at the value of `path`, or at the object or list that lacks this value. */
  add(code: ProblemCode, path: string, message: string, remedy: Sentence): void {
    this.#put(() => this.#offsetOf(path, 'value'), { code, path, message, remedy });
  }

  /** Adds a problem at the key of `path`. */
  addAtKey(code: ProblemCode, path: string, message: string, remedy: Sentence): void {
    this.#put(() => this.#offsetOf(path, 'key'), { code, path, message, remedy });
  }

  /** @param offset in UTF-16 units from the start of the text */
  addAt(offset: number, code: ProblemCode, path: string, message: string, remedy: string): void {
    this.#put(() => offset, { code, path, message, remedy });
  }

  #put(offset: () => number, { code, path, message, remedy }: NewProblem): void {
    const { severity } = problemCodes[code];
    if (++this.#counts[severity] > problemsMax) return;
    const sentence = typeof remedy === 'string' ? remedy : remedy();
    const place = this.#placeOf(offset());
    this.#problems.push({ severity, code, path, ...place, message, remedy: sentence });
  }

  #placeOf(offset: number): { readonly line: number; readonly column: number } {
    let line = 0;
    let after = this.#lineStarts.length;
    while (after - line > 1) {
      const middle = (line + after) >> 1;
      if (this.#lineStarts[middle]! <= offset) line = middle;
      else after = middle;
    }
    return { line: line + 1, column: offset - this.#lineStarts[line]! + 1 };
  }

  has(path: string): boolean {
    return this.#places.has(path);
  }

  /**
   * @returns the problems by place; problems of one place keep their order. If some were left out,
   *   the last problem says how many.
   */
  sorted(): readonly ConfigProblem[] {
    let warningsLeft = Math.max(0, problemsMax - this.#counts.error);
    const reported = this.#problems.filter(
      ({ severity }) => severity === 'error' || warningsLeft-- > 0,
    );
    reported.sort(byPlace);
    const leftOut = this.#counts.error + this.#counts.warning - reported.length;
    const last = reported.at(-1);
    if (leftOut === 0 || last === undefined) return reported;
    return [...reported, { ...tooManyProblems(leftOut), line: last.line, column: last.column }];
  }

  #offsetOf(path: string, which: 'key' | 'value'): number {
    for (let at = path; ; at = parentPath(at)) {
      const place = this.#places.get(at);
      if (place !== undefined) return at === path ? place[which] : place.value;
      if (at === '') return 0;
    }
  }
}

type NewProblem = {
  readonly code: ProblemCode;
  readonly path: string;
  readonly message: string;
  readonly remedy: Sentence;
};

function tooManyProblems(count: number): ConfigProblem {
  const message = `${count} more ${count === 1 ? 'is' : 'are'} not told here`;
  const remedy = 'Mend those that are, and check again.';
  return problemWithoutPlace('too_many_problems', '', message, remedy);
}

/** Orders problems as they stand in the file; those without a place come first. */
export function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  return a.line - b.line || a.column - b.column;
}

/** A problem without a line: it is about the whole file, or about the environment. */
export function problemWithoutPlace(
  code: ProblemCode,
  path: string,
  message: string,
  remedy: string,
): ConfigProblem {
  return { severity: problemCodes[code].severity, code, path, line: 0, column: 0, message, remedy };
}

/** `brains[0].policy` → `brains[0]` → `brains` → ``. */
function parentPath(path: string): string {
  return path.replace(/(?:^|\.)[^.[\]]+$|\[(?:\d+|"(?:[^"\\]|\\.)*")\]$/, '');
}
