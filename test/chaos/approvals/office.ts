/** The operator, who decides by the API, and asks again where no answer came. */
import assert from 'node:assert/strict';
import type { Approval, ApprovalRow } from '../../../src/domain/approval.ts';
import type { ToolUseRow } from '../../../src/domain/tool-use.ts';
import type { Instance } from '../many/instance.ts';
import { ask, type Asked } from '../outside.ts';
import { keyOf, type OrderKey } from './orders.ts';
import { until } from '../../support/waiting.ts';

type Verb = 'approve' | 'refuse';

/** After this time it asks another instance, since this one may be dead. */
const answerMs = 5_000;
const rowsMax = 100;

export class Office {
  readonly #instances: readonly Instance[];
  readonly #token: string;
  readonly #random: () => number;
  readonly #ids = new Map<OrderKey, string>();
  readonly #read = new Set<string>();

  constructor(instances: readonly Instance[], token: string, random: () => number) {
    this.#instances = instances;
    this.#token = token;
    this.#random = random;
  }

  /** Waits for the question, and returns its id. */
  async idOf(key: OrderKey): Promise<string> {
    await until(`the API lists the question of ${key}`, async () => {
      if (!this.#ids.has(key)) await this.#readNewest();
      return this.#ids.has(key);
    });
    return this.#ids.get(key)!;
  }

  /**
   * @param first the first instance to ask
   * @returns whether this very request decided it, as far as its answer came
   */
  async decide(id: string, verb: Verb, first?: Instance): Promise<'decided' | 'late'> {
    const { status, body } = await this.#ask(`/api/v1/approvals/${id}/${verb}`, '', first);
    assert.ok(status === 200 || status === 409, `${verb} is answered ${status} ${body}`);
    return status === 200 ? 'decided' : 'late';
  }

  /** Somebody without the token tries to say yes. */
  async intrude(id: string): Promise<void> {
    const path = `/api/v1/approvals/${id}/approve`;
    const { status } = await this.#ask(path, '', undefined, 'another-token-of-somebody');
    assert.equal(status, 401, 'who has another token says nothing');
  }

  /** All stored approvals, with the text of each question. */
  async all(): Promise<readonly Approval[]> {
    const rows = await this.#pages<ApprovalRow>('/api/v1/approvals?state=all&');
    const all: Approval[] = [];
    for (const { id } of rows) all.push(await this.#get<Approval>(`/api/v1/approvals/${id}`));
    return all;
  }

  /** Approvals that wait, and those that are decided but not settled. */
  async open(): Promise<readonly ApprovalRow[]> {
    const rows = await this.#pages<ApprovalRow>('/api/v1/approvals?state=all&');
    return rows.filter(({ settledAt }) => settledAt === null);
  }

  /** What each instance has in hand, by its metrics. */
  async inHand(): Promise<readonly string[]> {
    const headers = { authorization: `Bearer ${this.#token}` };
    const asked = this.#instances.map(async ({ name, adminPort: port }) => {
      const page = await ask({ port, path: '/metrics', headers, timeoutMs: answerMs });
      const lines = page?.body.match(/^svc_(rows|suspects|commits_pending)\b.*$/gm) ?? [];
      return `${name}: ${lines.join(', ')}`;
    });
    return Promise.all(asked);
  }

  toolUses(): Promise<readonly ToolUseRow[]> {
    return this.#pages<ToolUseRow>('/api/v1/tool-uses?');
  }

  async #readNewest(): Promise<void> {
    const path = `/api/v1/approvals?state=all&limit=${rowsMax}`;
    const { rows } = await this.#get<{ rows: readonly ApprovalRow[] }>(path);
    for (const { id } of rows.filter((row) => !this.#read.has(row.id))) {
      const { arguments: given } = await this.#get<Approval>(`/api/v1/approvals/${id}`);
      this.#read.add(id);
      const key = keyOf(given);
      assert.ok(key !== null, `a question without its order: ${given}`);
      this.#ids.set(key, id);
    }
  }

  async #pages<Row>(path: string): Promise<Row[]> {
    const all: Row[] = [];
    for (let after = ''; ;) {
      const page = await this.#get<{ rows: Row[]; next: string | null }>(
        `${path}limit=${rowsMax}${after}`,
      );
      all.push(...page.rows);
      if (page.next === null) return all;
      after = `&after=${encodeURIComponent(page.next)}`;
    }
  }

  async #get<Told>(path: string): Promise<Told> {
    const { status, body } = await this.#ask(path);
    assert.equal(status, 200, `${path}: ${body}`);
    return JSON.parse(body) as Told;
  }

  /** Asks until there is an answer other than "not now". */
  #ask(path: string, body?: string, first?: Instance, token = this.#token): Promise<Asked> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    let next = first;
    return until(`an answer to ${path}`, async () => {
      const at = Math.floor(this.#random() * this.#instances.length);
      const { adminPort: port } = next ?? this.#instances[at]!;
      next = undefined;
      const asked = { port, path, headers, timeoutMs: answerMs };
      const answer = await ask(body === undefined ? asked : { ...asked, body });
      return answer?.status === 503 ? null : answer;
    });
  }
}
