/**
 * The one hub: every room reports what happened by calling a method of `Events`. The hub writes the
 * log line and counts; live-events.ts makes the live event. Counters are plain numbers in objects,
 * looked up by channel or provider. The metrics page reads them on request.
 *
 * Log lines about a single message have the level `debug`. Repeated events (refusals, failed
 * attempts) are logged once in ten seconds per cause, with the number of lines left out. A dead
 * letter always has its line.
 */
import type { Events } from '../domain/event.ts';
import { describeCut, describeNoAnswer, shortages, type Shortage } from '../domain/remedy.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { CallTable } from './call-meters.ts';
import { DeliveryTable } from './delivery-meters.ts';
import {
  ChannelTable,
  entryOf,
  isNews,
  Pace,
  newDecisions,
  newPace,
  newTallies,
  newTally,
  Throughput,
  type Meters,
  type ToolTally,
  type UnreadTally,
} from './meters.ts';
import { LiveEvents } from './live-events.ts';
import { SpendMeters } from './spend-meters.ts';
import { verdicts, type Verdict } from '../domain/approval.ts';
import { registeredNameOf } from '../domain/ids.ts';
import { isOperatorsMatter, describeUnread } from '../domain/attachment.ts';

export interface EventHub extends Events {
  /** Live numbers. Read them, and do not keep the objects. */
  readonly meters: Meters;
  readonly frames: LiveEvents;
}

export function createEvents(options: Clock & { log: Log }): EventHub {
  return new Hub(options.log, options);
}

/**
 * The most codes counted per channel. Codes come from svc's own tables; the cap is for a code made
 * of received text.
 */
const codesMax = 64;

class Hub implements EventHub {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #steady: () => SteadyTime;
  readonly #debug: boolean;
  readonly #channels = new ChannelTable();
  readonly #deliveries = new DeliveryTable();
  readonly #calls: CallTable;
  readonly #throughput = new Throughput();
  readonly #tools = new Map<string, ToolTally & { count: number }>();
  readonly #spend: SpendMeters;
  readonly #totals = { decisions: newDecisions(), faults: 0 };
  readonly #operator: OperatorCounts;
  readonly #approvals: ApprovalCounts;
  readonly #attachments: AttachmentCounts;
  readonly #shortages = { connections: new Pace(), files: new Pace() };
  readonly meters: Meters;
  readonly frames: LiveEvents;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#calls = new CallTable(clock);
    this.#operator = new OperatorCounts(log, clock);
    this.#approvals = new ApprovalCounts(log);
    this.#attachments = new AttachmentCounts(log, clock);
    this.#spend = new SpendMeters(clock.now);
    this.#steady = clock.steady;
    this.#now = clock.now;
    this.frames = new LiveEvents(clock.now);
    this.#debug = log.enabled('debug');
    const totals = this.#totals;
    const calls = this.#calls;
    this.meters = {
      channels: this.#channels.byName,
      get providers() {
        return calls.providers;
      },
      get models() {
        return calls.models;
      },
      get brains() {
        return calls.brains;
      },
      firstWords: calls.firstWords,
      deliveries: () => this.#deliveries.read(clock.now(), clock.steady()),
      perMinute: () => this.#throughput.perMinute(clock.steady()),
      ways: () => this.#throughput.ways(clock.steady()),
      tools: this.#tools,
      spend: this.#spend,
      decisions: totals.decisions,
      get faults() {
        return totals.faults;
      },
      writes: this.#operator.writes,
      configs: this.#operator.configs,
      bearersRefused: this.#operator.bearers,
      approvals: this.#approvals,
      unread: this.#attachments.unread,
      shortages: this.#shortages,
    };
  }

  messageAccepted(e: Parameters<Events['messageAccepted']>[0]): void {
    const counts = this.#channels.of(e.channel);
    if (e.duplicate) {
      counts.duplicates++;
    } else {
      counts.accepted++;
      this.#throughput.accepted(this.#steady());
    }
    this.frames.messageAccepted(e);
    if (this.#debug) this.#log.debug('message_accepted', 'A message was accepted.', e);
  }

  messageRefused(e: Parameters<Events['messageRefused']>[0]): void {
    const counts = this.#channels.of(e.channel);
    const code = counts.refused.has(e.code) || counts.refused.size < codesMax ? e.code : 'other';
    const pace = entryOf(counts.refused, code, newPace);
    pace.count++;
    this.frames.messageRefused(e);
    if (!pace.isDue(this.#steady())) return;
    const fields = { ...e, ...pace.unsaid() };
    this.#log.warn('message_refused', `${counts.name} refused a message: ${code}.`, fields);
  }

  messageTurnedAway(e: Parameters<Events['messageTurnedAway']>[0]): void {
    const counts = this.#channels.of(e.channel);
    const pace = entryOf(counts.turnedAway, e.reason, newPace);
    pace.count++;
    this.frames.messageTurnedAway(e);
    // A group message addressed to others deserves no log line.
    if (e.reason === 'not_addressed' || !pace.isDue(this.#steady())) return;
    const fields = { ...e, ...pace.unsaid() };
    const message = `${counts.name} let a message not in: ${e.reason}.`;
    this.#log.info('message_turned_away', message, fields);
  }

  confirmedEarly(e: Parameters<Events['confirmedEarly']>[0]): void {
    const counts = this.#channels.of(e.channel);
    counts.confirmedEarly += e.count;
    if (this.#debug) this.#log.debug('confirmed_early', 'Messages were let go early.', e);
  }

  turnStarted(e: Parameters<Events['turnStarted']>[0]): void {
    this.#channels.of(e.channel).waited.observe(e.waitedMs);
    this.frames.turnStarted(e);
    if (this.#debug) this.#log.debug('turn_started', 'A turn began.', e);
  }

  turnFinished(e: Parameters<Events['turnFinished']>[0]): void {
    const { decision } = e;
    const kind = decision.kind === 'apology' ? decision.apology : decision.kind;
    this.#totals.decisions[kind]++;
    if (decision.kind !== 'abandoned') {
      this.#channels.of(e.channel).turns.observe(e.ms);
      this.#throughput.answered(e.channel, e.brain, this.#steady());
      this.#calls.decided({ brain: e.brain, decision });
    }
    this.frames.turnFinished(e);
    if (!this.#debug) return;
    const model = decision.kind === 'reply' ? decision.model : undefined;
    const { channel, id, brain, ms } = e;
    const fields = { channel, id, brain, decision: kind, model, why: decision.why, ms };
    this.#log.debug('turn_finished', 'A turn ended.', fields);
  }

  firstWord({ channel, ms }: Parameters<Events['firstWord']>[0]): void {
    this.#channels.of(channel).firstWords.observe(ms);
  }

  readonly attachmentUnread: Events['attachmentUnread'] = (e) => this.#attachments.wasUnread(e);

  commandAnswered(e: Parameters<Events['commandAnswered']>[0]): void {
    const counts = this.#channels.of(e.channel);
    counts.commands.set(e.command, (counts.commands.get(e.command) ?? 0) + 1);
    this.#throughput.answered(e.channel, e.brain, this.#steady());
    this.frames.commandAnswered(e);
    if (!this.#debug) return;
    const { sender: _, ...fields } = e;
    this.#log.debug('command_answered', 'A command was answered.', fields);
  }

  answeredByOperator(e: Parameters<Events['answeredByOperator']>[0]): void {
    this.#totals.decisions.by_hand++;
    this.frames.answeredByOperator(e);
    if (this.#debug) this.#log.debug('answered_by_hand', 'An operator answered a message.', e);
  }

  toolUsed(e: Parameters<Events['toolUsed']>[0]): void {
    const { tool, mode, outcome } = e;
    const key = `${tool} ${mode} ${outcome}`;
    entryOf(this.#tools, key, () => ({ tool, mode, outcome, count: 0 })).count++;
    this.frames.toolUsed(e);
    if (this.#debug) this.#log.debug('tool_used', 'A tool was asked for.', e);
  }

  readonly modelAsked: Events['modelAsked'] = (e) => this.#calls.began(e);

  modelAnswered(e: Parameters<Events['modelAnswered']>[0]): void {
    const { brain, model, result, isCut, reuse } = e;
    if (brain !== undefined) this.#throughput.asked(brain, model, this.#steady());
    const { pace } = this.#calls.ended(e);
    if (reuse !== undefined) this.#spend.reuse.seen(model, 'prefix', reuse);
    this.frames.modelAnswered(e);
    if (isNews(result) && pace.isDue(this.#steady())) {
      this.#log.warn('model_failed', describeNoAnswer(model, result, e), {
        ...e,
        ...pace.unsaid(),
      });
    } else if (isCut === true && pace.isDue(this.#steady())) {
      this.#log.warn('model_cut', describeCut(model), { ...e, ...pace.unsaid() });
    } else if (this.#debug) this.#log.debug('model_answered', 'A model call ended.', e);
  }

  readonly modelSpent: Events['modelSpent'] = (e) => this.#spend.spent(e);

  readonly budgetRefused: Events['budgetRefused'] = (e) => this.#spend.refusals.refused(e);

  readonly budgetReached: Events['budgetReached'] = (e) => this.#spend.budgets.reached(e, this);

  modelLooked(e: Parameters<Events['modelLooked']>[0]): void {
    this.#calls.probed(e);
    if (this.#debug) this.#log.debug('model_looked', 'A model was looked at.', e);
  }

  replyDelivered(e: Parameters<Events['replyDelivered']>[0]): void {
    const counts = this.#channels.of(e.channel);
    counts.delivered++;
    counts.endToEnd.observe(e.totalMs);
    this.#deliveries.arrived(e.channel, this.#steady());
    this.frames.replyDelivered(e);
    if (this.#debug) this.#log.debug('reply_delivered', 'A reply was delivered.', e);
  }

  readonly deliveryBegan: Events['deliveryBegan'] = (channel) =>
    this.#deliveries.began(channel, this.#steady());
  readonly deliveryEnded: Events['deliveryEnded'] = (channel) =>
    this.#deliveries.ended(channel, this.#steady());

  deliveryFailed(e: Parameters<Events['deliveryFailed']>[0]): void {
    const counts = this.#channels.of(e.channel);
    const pace = entryOf(counts.failedTries, e.failure.kind, newPace);
    pace.count++;
    const { kind, status } = e.failure;
    const tried = { kind, status, isAgain: e.attempt > 1 };
    this.#deliveries.failed(e.channel, tried, this.#now(), this.#steady());
    this.frames.deliveryFailed(e);
    if (!pace.isDue(this.#steady())) return;
    const { channel, id, attempt, failure, nextAt } = e;
    const words = nextAt === null ? 'It is not tried again.' : 'It will be tried again.';
    const next = nextAt === null ? undefined : new Date(nextAt).toISOString();
    const why = { failure: failure.kind, status: failure.status };
    const fields = { channel, id, attempt, ...why, next, ...pace.unsaid() };
    this.#log.warn('delivery_failed', `${counts.name}: ${failure.detail}. ${words}`, fields);
  }

  buried(e: Parameters<Events['buried']>[0]): void {
    this.#channels.of(e.channel).deadLetters[e.box]++;
    this.frames.buried(e);
    const what = e.box === 'in' ? 'message' : 'reply';
    this.#log.error('dead_letter', `A ${what} became a dead letter: ${e.failure.detail}.`, {
      box: e.box,
      channel: e.channel,
      id: e.id,
      failure: e.failure.kind,
      whose: e.failure.whose,
      status: e.failure.status,
    });
  }

  channelChanged(e: Parameters<Events['channelChanged']>[0]): void {
    this.frames.channelChanged(e);
    const message = `${e.channel} is ${e.state}${e.reason === null ? '' : `: ${e.reason}`}`;
    if (e.state === 'failed') this.#log.error('channel_changed', message, e);
    else if (e.state === 'degraded') this.#log.warn('channel_changed', message, e);
    else this.#log.info('channel_changed', message, e);
  }

  configUsed(e: Parameters<Events['configUsed']>[0]): void {
    const { models, ...fields } = e;
    this.#calls.keep(models);
    this.frames.configUsed(e);
    this.#log.info('plan_used', `Configuration ${e.revision} is in use.`, fields);
  }

  warned(e: Parameters<Events['warned']>[0]): void {
    this.frames.warned(e);
    this.#log.warn(e.code, e.message, e.path === undefined ? undefined : { path: e.path });
  }

  noticed(e: Parameters<Events['noticed']>[0]): void {
    this.#log.info(e.code, e.message, e.details);
  }

  operatorWrote(e: Parameters<Events['operatorWrote']>[0]): void {
    this.frames.operatorWrote(e);
    this.#operator.wrote(e);
  }
  readonly configTried: Events['configTried'] = (e) => this.#operator.tried(e);
  readonly bearerRefused: Events['bearerRefused'] = (e) => this.#operator.refused(e);
  readonly approvalAsked: Events['approvalAsked'] = (e) => this.#approvals.asked(e);
  readonly approvalDecided: Events['approvalDecided'] = (e) => this.#approvals.decided(e);
  readonly approvalsWait: Events['approvalsWait'] = (...now) => this.#approvals.wait(...now);

  ranShort({ of }: { of: Shortage }): void {
    const pace = this.#shortages[of];
    pace.count++;
    if (!pace.isDue(this.#steady())) return;
    this.#log.warn(shortages[of].code, shortages[of].sentence, pace.unsaid());
  }

  faulted({ where, error }: Parameters<Events['faulted']>[0]): void {
    this.#totals.faults++;
    reportFault(this.#log, where, error);
  }
}

/** Counts and logs approvals: waiting calls and decisions, without naming a person. */
class ApprovalCounts {
  readonly byVerdict = perVerdict();
  readonly waitedMs = perVerdict();
  waiting = 0;
  oldestAt: number | null = null;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  asked(e: Parameters<Events['approvalAsked']>[0]): void {
    this.#log.info('approval_asked', `A call of ${e.tool} waits for a yes.`, e);
  }

  decided(e: Parameters<Events['approvalDecided']>[0]): void {
    this.byVerdict[e.verdict]++;
    this.waitedMs[e.verdict] += e.waitedMs;
    this.#log.info('approval_decided', `A call of ${e.tool} that waited was ${e.verdict}.`, e);
  }

  wait(...[count, oldestAt]: Parameters<Events['approvalsWait']>): void {
    this.waiting = count;
    this.oldestAt = oldestAt;
  }
}

const perVerdict = () =>
  Object.fromEntries(verdicts.map((one) => [one, 0])) as Record<Verdict, number>;

/**
 * Counts attachments that could not be read, and paces their log lines. Holds nothing of their
 * content.
 */
class UnreadCount extends Pace implements UnreadTally {
  readonly channel: string;
  readonly part: UnreadTally['part'];
  readonly reason: UnreadTally['reason'];

  constructor({ channel, part, reason }: Omit<UnreadTally, 'count'>) {
    super();
    this.channel = channel;
    this.part = part;
    this.reason = reason;
  }
}

export class AttachmentCounts {
  readonly unread = new Map<string, UnreadCount>();
  readonly #log: Log;
  readonly #steady: () => SteadyTime;

  constructor(log: Log, { steady }: Pick<Clock, 'steady'>) {
    this.#log = log;
    this.#steady = steady;
  }

  wasUnread({ channel: key, ...unread }: Parameters<Events['attachmentUnread']>[0]): void {
    const { part, reason, detail } = unread;
    const channel = registeredNameOf(key);
    const counted = { channel, part, reason };
    const make = (): UnreadCount => new UnreadCount(counted);
    const count = entryOf(this.unread, `${channel} ${part} ${reason}`, make);
    count.count++;
    if (!count.isDue(this.#steady())) return;
    const message = `${channel}: ${describeUnread(unread)}`;
    const fields = { ...counted, detail, ...count.unsaid() };
    if (isOperatorsMatter(unread)) this.#log.warn('attachment_unread', message, fields);
    else this.#log.info('attachment_unread', message, fields);
  }
}

/** Writes the log line of a contained bug. */
function reportFault(log: Log, where: string, error: unknown): void {
  const name = error instanceof Error ? error.name : typeof error;
  // A parser's error quotes its input, which may be a person's text.
  const quotes = !(error instanceof Error) || error instanceof SyntaxError;
  log.error('fault', `Something went wrong in svc itself, in ${where}.`, {
    where,
    error: name,
    reason: quotes ? undefined : error.message,
  });
  if (log.enabled('debug') && error instanceof Error)
    log.debug('fault_stack', 'Where it went wrong.', { stack: error.stack });
}

/** Counts and logs operators' actions, and attempts made in their name. */
class OperatorCounts {
  readonly writes = new Map<string, Map<number, { count: number }>>();
  readonly configs = new Map<string, { count: number }>();
  readonly bearers = { missing: new Pace(), wrong: new Pace() };
  readonly #log: Log;
  readonly #steady: () => SteadyTime;

  constructor(log: Log, { steady }: Pick<Clock, 'steady'>) {
    this.#log = log;
    this.#steady = steady;
  }

  wrote({ action, target, status }: Parameters<Events['operatorWrote']>[0]): void {
    entryOf(entryOf(this.writes, action, newTallies), status, newTally).count++;
    const message = `An operator used the admin API: ${action}, answered ${status}.`;
    this.#log.info('operator_wrote', message, { ...target, who: 'operator', action, status });
  }

  tried({ by, result, detail }: Parameters<Events['configTried']>[0]): void {
    entryOf(this.configs, result, newTally).count++;
    // An operator who asked over the API has the answer. For a signal, the log is the only answer.
    if (detail !== null && by === 'signal')
      this.#log.error('config_not_applied', detail, { result });
  }

  refused({ why }: Parameters<Events['bearerRefused']>[0]): void {
    const pace = this.bearers[why];
    pace.count++;
    if (!pace.isDue(this.#steady())) return;
    const what = why === 'missing' ? 'without a bearer' : 'with a wrong bearer';
    const fields = { why, ...pace.unsaid() };
    this.#log.warn('bearer_refused', `The admin server was asked ${what}.`, fields);
  }
}
