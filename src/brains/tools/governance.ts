/**
 * The one dispatcher of tool calls. Order of checks: listed → granted on this channel → mode → not
 * repeated → available → arguments → dry run → approval → call log → the tool itself with its cage.
 * A call that outlives its turn is given up, even if the tool ignores its signal.
 */
import type { GrantConfig } from '../../config/config.ts';
import type { WantedCall } from '../../domain/approval.ts';
import { completionsChannel } from '../../domain/ids.ts';
import type { Ability, BegunCall, GrantMode, ToolOutcome, ToolUse } from '../../domain/tool-use.ts';
import type { Clock } from '../../lib/clock.ts';
import { wellFormed } from '../../lib/plain-text.ts';
import { stopOf, unlessStopped } from '../../lib/stop.ts';
import type {
  AnnouncedTool,
  AskedCall,
  CallSurroundings,
  CheckedCall,
  Ran,
  Tool,
  Toolbox,
  ToolResult,
} from './tool.ts';
import { canonicalJson, isObject } from '../../lib/json.ts';
import { nodeCrypto } from '../../lib/node-http.ts';

export type GovernanceOptions = Clock & {
  /** In listed order. */
  readonly tools: readonly Tool[];
  /** Empty: every listed tool is allowed on every channel. */
  readonly grants: readonly GrantConfig[];
  /** Called with the error of a bug that was contained. */
  readonly onFault: (error: unknown) => void;
};

export function createToolbox(options: GovernanceOptions): Toolbox {
  return new GovernedToolbox(options);
}

type GrantDecision = { readonly mode: GrantMode; readonly rule: string };

/** The result of one call, before it is written down. */
type Ending = {
  readonly text: string;
  readonly outcome: ToolOutcome;
  readonly rule: string;
  /** The key of the earlier call, if an earlier run of the turn began this one. */
  readonly earlierKey?: string;
};

/** One call whose arguments were checked. */
type ReadyCall = {
  readonly checked: Extract<CheckedCall, { kind: 'ready' }>;
  /** The call's record: what the audit keeps, and the hash that identifies the call. */
  readonly begun: BegunCall;
};

class GovernedToolbox implements Toolbox {
  readonly #options: GovernanceOptions;
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(options: GovernanceOptions) {
    this.#options = options;
    // By two names: models use the wire name, approvals use the tool's own name.
    this.#tools = new Map(
      options.tools.flatMap((tool) => [
        [tool.name, tool],
        [tool.wireName ?? tool.name, tool],
      ]),
    );
  }

  announcedOn(channel: string): readonly AnnouncedTool[] {
    return this.#options.tools.flatMap((tool) => {
      const isShown = this.#grantFor(tool, channel).mode !== 'deny' && tool.available?.() !== false;
      if (!isShown) return [];
      const { name, wireName = name, description, parameters } = tool;
      return [{ name: wireName, description, parameters }];
    });
  }

  abilitiesOn(channel: string): readonly Ability[] {
    return this.#options.tools.map((tool) => {
      const { mode } = this.#grantFor(tool, channel);
      const isAvailable = tool.available?.() !== false;
      return { tool: tool.name, mode, cage: tool.cage, isAvailable };
    });
  }

  async run(call: AskedCall, surroundings: CallSurroundings): Promise<Ran> {
    const { now, steady } = this.#options;
    const at = now();
    const since = steady();
    const tool = this.#tools.get(call.name);
    const grant: GrantDecision =
      tool === undefined
        ? { mode: 'deny', rule: 'not_listed' }
        : this.#grantFor(tool, surroundings.channel);
    const argumentsText = writtenArguments(call);
    const auditText = forAudit(
      argumentsText ?? '',
      tool === undefined ? call.name : null,
    ).toWellFormed();
    const asked = argumentsText === null ? null : { given: call.arguments, at, kept: auditText };
    const ending =
      tool === undefined || grant.mode === 'deny'
        ? { text: 'There is no such tool here.', outcome: 'denied' as const, rule: grant.rule }
        : await this.#checkAndRun(tool, grant, asked, surroundings);
    const use: ToolUse = {
      key: ending.earlierKey ?? surroundings.key,
      at,
      ms: steady() - since,
      tool: tool?.name ?? unlistedName,
      mode: grant.mode,
      rule: ending.rule,
      outcome: ending.outcome,
      arguments: auditText,
    };
    return { text: ending.text.toWellFormed(), use };
  }

  /** @param asked null: its arguments cannot be read; `kept` is their text for the audit */
  async #checkAndRun(
    tool: Tool,
    { mode, rule }: GrantDecision,
    asked: { readonly given: unknown; readonly at: number; readonly kept: string } | null,
    surroundings: CallSurroundings,
  ): Promise<Ending> {
    if (surroundings.repeated === true)
      return { text: repeatedText, outcome: 'refused', rule: 'repeated' };
    if (asked === null) return invalid(argumentsTooLarge, rule);
    if (tool.available?.() === false) return unavailable;
    const args = wellFormed(argumentsOf(tool, asked.given));
    if (args === null) return invalid('The arguments must be a JSON object.', rule);
    const missing = missingIn(tool, args);
    if (missing.length > 0) return invalid(`Missing: ${missing.join(', ')}.`, rule);
    const canonical = canonicalArguments(args);
    if (canonical === null) return invalid(argumentsTooLarge, rule);
    try {
      const checked = tool.check(args);
      if (checked.kind === 'invalid') return invalid(checked.text, rule);
      const runsNothing = mode === 'shadow' || (surroundings.dryRun && tool.reachesOut);
      if (runsNothing || (surroundings.dryRun && mode === 'ask')) {
        const text = mode === 'ask' ? dryRunAskText(tool.name) : dryRunText(tool.name);
        return { text, outcome: 'rehearsed', rule };
      }
      const { signal, key, approved } = surroundings;
      const { at, kept } = asked;
      const hash = hashOf(tool, canonical);
      if (mode === 'ask' && approved?.hash !== hash) {
        if (!isShortEnough(canonical)) return invalid(argumentsTooLarge, rule);
        const wanted = { tool: tool.name, arguments: canonical, hash };
        return await askFirst(wanted, rule, surroundings);
      }
      const effectiveRule = approved?.hash === hash ? `approved_by_${approved.by}` : rule;
      const call = { key, hash, at, tool: tool.name, mode, rule: effectiveRule, arguments: kept };
      const begun = { ...call, sensitivity: surroundings.sensitivity };
      return await orOutOfTime(signal, () => this.#perform(tool, { checked, begun }, surroundings));
    } catch (error) {
      this.#options.onFault(error);
      const text = 'The tool failed by a fault of the service.';
      return { text, outcome: 'failed', rule: 'fault' };
    }
  }

  async #perform(
    tool: Tool,
    { checked, begun }: ReadyCall,
    surroundings: CallSurroundings,
  ): Promise<Ending> {
    const { key, rule } = begun;
    const { steady } = this.#options;
    const since = steady();
    // One approval is for one run, whatever the tool says about its own effect.
    const needsNoLog = tool.effect === 'none' && !(tool.reachesOut && surroundings.approved);
    if (needsNoLog) return endingOf(await checked.run(surroundings), rule);
    const logged = await surroundings.logCall(begun);
    switch (logged.kind) {
      case 'unwritten':
        return notLogged;
      case 'unknown':
        return { text: notRepeated, outcome: 'unknown', rule, earlierKey: logged.key };
      case 'done': {
        const { text, outcome } = logged.ending;
        return { text, outcome, rule, earlierKey: logged.key };
      }
      case 'run':
        break;
      default:
        return logged satisfies never;
    }
    if (surroundings.signal.aborted) return outOfTime;
    const ending = endingOf(await checked.run(surroundings), rule);
    const { text, outcome } = ending;
    surroundings.logCallEnd(key, { text, outcome, ms: steady() - since });
    return ending;
  }

  /**
   * Without grants all listed tools are allowed. With grants, a tool or channel that they lack is
   * denied. A request of an API client keeps no notes, and there is nobody to ask.
   */
  #grantFor({ name }: Tool, channel: string): GrantDecision {
    const isApi = channel === completionsChannel;
    if (isApi && name === 'memory_note') return { mode: 'deny', rule: 'no_notes' };
    const { grants } = this.#options;
    if (grants.length === 0) return { mode: 'allow', rule: 'no_governance' };
    const at = grants.findIndex(
      ({ tool, channels }) => tool === name && (channels === null || channels.includes(channel)),
    );
    if (at < 0) return { mode: 'deny', rule: 'no_grant' };
    const { mode } = grants[at]!;
    return { mode: isApi && mode === 'ask' ? 'deny' : mode, rule: `governance[${at}]` };
  }
}

/** The audit's name for a tool that the model made up: the made-up name may hold anything. */
const unlistedName = 'unlisted';

const argumentsTooLarge = 'Its arguments are too long or too deep.';

const outOfTime: Ending = {
  text: 'The tool was given up, for the time of this turn was over.',
  outcome: 'failed',
  rule: 'deadline',
};

const unavailable: Ending = {
  text: 'The call was not made: this tool is not available now. Do without it, and say so.',
  outcome: 'refused',
  rule: 'unavailable',
};

const repeatedText =
  'This very call was run before, and gives nothing new. Go on with what you have.';

const dryRunText = (name: string): string =>
  `This was a rehearsal: ${name} was not run, and nothing was changed or fetched.`;

const dryRunAskText = (name: string): string =>
  `This was a rehearsal: in use, ${name} would wait for a person's yes. It was not run.`;

const askedFor: Ending['text'] = 'It waits for a yes. It was not run.';

/** A call that nobody is asked about, so it can never run. */
const notAsked = {
  waits: 'This very call waits for a yes already. It was not run, and is not asked again.',
  too_many: 'No more calls can wait for a yes now. This one was not run, and nobody was asked.',
  unread: 'Nobody could be asked for a yes now. The call was not run.',
} as const;

async function askFirst(
  wanted: WantedCall,
  rule: string,
  surroundings: CallSurroundings,
): Promise<Ending> {
  const asked = await surroundings.ask(wanted);
  if (asked === 'asked') return { text: askedFor, outcome: 'asked', rule };
  return { text: notAsked[asked], outcome: 'refused', rule: `ask_${asked}` };
}

const notRepeated =
  'This call had begun before the service was interrupted. Whether it took effect is not known, ' +
  'and it was not repeated. Say so to the person if it matters.';

const notLogged: Ending = {
  text: 'The call could not be written down before it runs, so it was not run. Nothing was sent.',
  outcome: 'refused',
  rule: 'not_written_down',
};

function invalid(text: string, rule: string): Ending {
  return { text: `The call was not run. ${text}`, outcome: 'invalid', rule };
}

function endingOf(result: ToolResult, rule: string): Ending {
  switch (result.kind) {
    case 'done':
      return { text: result.text, outcome: 'done', rule };
    case 'refused':
      return { text: result.text, outcome: 'refused', rule: result.rule };
    case 'failed':
      return { text: result.text, outcome: 'failed', rule };
    default:
      return result satisfies never;
  }
}

/** The result of `work`, unless the signal aborts first; then the result is ignored. */
async function orOutOfTime(signal: AbortSignal, work: () => Promise<Ending>): Promise<Ending> {
  if (signal.aborted) return outOfTime;
  return (await unlessStopped(work(), stopOf(signal))) ?? outOfTime;
}

/** The arguments of a call: as its model wrote them, as the tool reads them, as they are stored. */
const argumentsLengthMax = 65_536;
const auditLengthMax = 2_000;

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Reads arguments from an object or from its JSON text; for no arguments, some models write null.
 * If one parameter is missing and one text was given, bare or under another name, that text fills
 * it. Null: none of these.
 */
function argumentsOf(tool: Tool, rawArguments: unknown): Arguments | null {
  const value =
    (typeof rawArguments === 'string' ? parseArguments(rawArguments) : rawArguments) ?? {};
  const { required } = tool.parameters;
  if (isObject(value)) {
    const args: Arguments = value;
    const [only, ...more] = missingIn(tool, args);
    if (only === undefined || more.length > 0) return args;
    const texts = Object.entries(args).filter(
      ([name, text]) =>
        typeof text === 'string' && !Object.hasOwn(tool.parameters.properties, name),
    );
    return texts.length === 1 ? { ...args, [only]: texts[0]![1] } : args;
  }
  if (required.length !== 1 || typeof value !== 'string') return null;
  // A text that begins like JSON but is not was cut or garbled: nobody knows what was meant.
  const isGarbled = value === rawArguments && /^\s*[{[]/.test(value);
  return isGarbled ? null : { [required[0]!]: value };
}

function missingIn({ parameters }: Tool, args: Arguments): readonly string[] {
  return parameters.required.filter((name) => !Object.hasOwn(args, name));
}

/** A text that is not JSON stands for itself. */
function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The arguments as text; null: too long or too deep to read. An object is serialized; a text stays
 * as the model wrote it.
 */
function writtenArguments({ arguments: rawArguments }: AskedCall): string | null {
  try {
    const text =
      typeof rawArguments === 'string' ? rawArguments : (JSON.stringify(rawArguments) ?? '');
    return text.length <= argumentsLengthMax ? text : null;
  } catch {
    return null;
  }
}

/** @param name of a tool that is not listed: only readers of the arguments may see it */
function forAudit(written: string, name: string | null): string {
  const text = name === null ? written : `${name} ${written}`;
  return text.length <= auditLengthMax ? text : `${text.slice(0, auditLengthMax)}…`;
}

/** The arguments as one text, whatever the order of their names; null: too deep. */
function canonicalArguments(args: Arguments): string | null {
  return canonicalJson(args);
}

/** Whether the stored arguments would be accepted again. */
function isShortEnough(canonical: string): boolean {
  return canonical.length <= argumentsLengthMax;
}

/** The identity of a call: a hash of its tool and its canonical arguments. */
function hashOf({ name }: Tool, canonical: string): string {
  const text = `[${JSON.stringify(name)},${canonical}]`;
  return nodeCrypto().createHash('sha256').update(text).digest('base64');
}
